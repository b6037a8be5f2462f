// Lines for the user.
#include "attach/step/step_reports.h"

#include <utility>

namespace gw::attach {

void StepReports::tell_ends_soon() {
  constexpr base::Duration kDelay = base::milliseconds(20);
  if (!timer_.is_active()) timer_ = loop_.after(kDelay, [this] { tell_ends(); });
}

void StepReports::tell_ends() {
  timer_.cancel();
  for (const std::string& line : tasks_.take_bad_ends())
    if (!verdict_.outweighs_tasks() && !options_.quiet_ends) say(true, line);
}

void StepReports::tell_killed() {
  for (const std::string& line : tasks_.take_bad_ends()) say(true, line);
}

void StepReports::tell_limit(const std::string& text) {
  if (!std::exchange(has_reported_limit_, true)) say(true, "step " + options_.step + ": " + text);
}

}  // namespace gw::attach
