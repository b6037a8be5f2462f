// See closeness.h.
#include "sched/place/closeness.h"

#include <algorithm>

namespace gw::sched {

using base::Duration;
using base::Time;

Closeness closeness_of(const model::Request& r, Time eligible, Time now) {
  Closeness out;
  Duration waited_for = {};
  for (const model::LocalityStep& step : r.locality) {
    out.level = step.level;
    if (step.wait == base::kUnlimited) break;
    waited_for = waited_for + step.wait;
    if (const Time until = eligible + waited_for; now < until) {
      out.until = until;
      break;
    }
    out.level = model::Locality::kAny;
  }
  if (r.max_switches == 0) return out;
  const Time until = eligible + r.switches_wait;
  if (now >= until) return out;
  out.until = std::min(out.until, until);
  out.switches = r.max_switches;
  return out;
}

}  // namespace gw::sched
