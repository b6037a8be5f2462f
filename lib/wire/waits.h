// Where the time of a wait went, as messages and rows have it (lib/model/wait_split.h).
#pragma once

#include "model/wait_split.h"
#include "wire/job.pb.h"

namespace gw::wire {

using WaitParts = google::protobuf::RepeatedPtrField<WaitPart>;

/// Replaces what stands there.
inline void set_waits(WaitParts& to, const model::WaitSplit& split) {
  to.Clear();
  for (const model::WaitSplit::Part& part : split.parts()) {
    WaitPart& w = *to.Add();
    w.set_cause(static_cast<uint32_t>(part.cause));
    w.set_time_us(part.time.us);
  }
}

/// A cause of a later version becomes kController; what is no time counts for nothing.
inline model::WaitSplit waits_from(const WaitParts& from) {
  model::WaitSplit out;
  for (const WaitPart& w : from) {
    const bool is_known = w.cause() <= static_cast<uint32_t>(model::kLastWaitCause);
    const auto cause = is_known ? static_cast<model::WaitCause>(w.cause()) : model::WaitCause::kController;
    if (w.time_us() > 0) out.add(cause, base::Duration{w.time_us()});
  }
  return out;
}

}  // namespace gw::wire
