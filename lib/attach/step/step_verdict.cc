// The causes in order.
#include "attach/step/step_verdict.h"

#include <algorithm>

namespace gw::attach {

int StepVerdict::exit_code(const TaskTable& tasks) const {
  if (const Own* own = cause_.in<Own>()) return own->code;
  if (cause_.is<NotStarted>()) return std::max(tasks.own_exit_code(), 1);
  if (const MpiFailed* failed = cause_.in<MpiFailed>()) return std::max(tasks.own_exit_code(), failed->at_least);
  return has_lost_ ? std::max(tasks.exit_code(), 1) : tasks.exit_code();
}

}  // namespace gw::attach
