// What the report of a script's end means for its job. See exit_report.h.
#include "ctld/core/shared/exit_report.h"

#include <fmt/format.h>

#include "base/text.h"

namespace gw::ctld {

using model::EndReason;
using model::JobState;

std::string lease_over_on(const std::string& node, const std::string& detail) {
  return fmt::format("the lease is over on {}{}{}", node, detail.empty() ? "" : ": ", detail);
}

model::Outcome outcome_of(const wire::BatchExited& m, const std::string& node, base::Time now) {
  model::Outcome outcome;
  outcome.exit = {m.exit_code() & 0xff, m.exit_signo()};
  outcome.peak_mem_mb = m.peak_mem_mb();
  outcome.ended = m.ended_us() > 0 && m.ended_us() <= now.us ? base::Time{m.ended_us()} : now;
  outcome.detail = base::printable(m.detail(), 1000);
  if (m.reason() <= static_cast<uint32_t>(EndReason::kPrologFailed))
    outcome.reason = static_cast<EndReason>(m.reason());
  if (outcome.reason == EndReason::kLeaseExpired) {
    outcome.end = JobState::kNodeFail;
    outcome.exit = {};  // the node killed it: that says nothing of the script
    outcome.detail = lease_over_on(node, outcome.detail);
  } else if (m.oom()) {
    outcome.end = JobState::kOutOfMemory;
    outcome.reason = EndReason::kOutOfMemory;
    if (outcome.detail.empty())
      outcome.detail = fmt::format("out of memory on {}: used {} MiB of {} MiB; ask for more with --mem", node,
                                   m.peak_mem_mb(), m.limit_mem_mb());
  } else if (outcome.reason != EndReason::kNone || m.exit_code() != 0 || m.exit_signo() != 0) {
    outcome.end = JobState::kFailed;
    if (m.exit_code() == 0 && m.exit_signo() == 0) outcome.exit.code = 1;  // nobody may take this for success
    if (outcome.reason == EndReason::kNone)
      outcome.reason = m.exit_signo() != 0 ? EndReason::kRaisedSignal : EndReason::kNonZeroExit;
  }
  return outcome;
}

}  // namespace gw::ctld
