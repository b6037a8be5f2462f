// The agreement between a job's state and the data it holds.
#include "model/job.h"

namespace gw::model {

const Limits::Table& Limits::table() const {
  static const Table kNone;
  return table_ ? *table_ : kNone;
}

bool Job::is_consistent() const {
  if (state == JobState::kPending) return waiting() != nullptr;
  if (!is_end(state)) return placed() != nullptr && placed()->outcome.has_value() == (state == JobState::kCompleting);
  return ended() != nullptr && ended()->outcome.end == state;
}

}  // namespace gw::model
