// See attempts.h.
#include "sched/cycle/attempts.h"

#include <algorithm>
#include <array>

#include "sched/cycle/consolidate.h"
#include "sched/cycle/lend.h"
#include "sched/cycle/patience.h"
#include "sched/cycle/preempt.h"
#include "sched/cycle/start.h"

namespace gw::sched {
namespace {

/// One way to start the served job, in the order in which they are tried.
struct Attempt {
  bool (*start)(Session& session, Served& served);
  bool is_vain_if_known;  ///< Not tried where it is known that no node has gained what the job lacks.
  bool is_vain_if_bound;  ///< Not tried where a limit is in the way: only who is preempted makes it smaller.
};
/// Nobody is taken for a closeness that is only preferred.
bool preempt_unless_it_holds_out(Session& session, Served& served) {
  return !only_holds_out(session, served) && preempt(session, served);
}

constexpr std::array kAttempts = {
    Attempt{start_now, true, true},
    Attempt{start_shortened, true, true},
    Attempt{start_lent, true, true},
    Attempt{consolidate, false, true},
    Attempt{preempt_unless_it_holds_out, false, false},
};

}  // namespace

bool starts(Session& session, Served& served, bool is_known, bool is_bound) {
  return std::any_of(kAttempts.begin(), kAttempts.end(), [&](const Attempt& attempt) {
    const bool is_vain = (is_known && attempt.is_vain_if_known) || (is_bound && attempt.is_vain_if_bound);
    return !is_vain && attempt.start(session, served);
  });
}

}  // namespace gw::sched
