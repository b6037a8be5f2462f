// See limit_plan.h.
#include "sched/cycle/limit_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sched/cycle/patience.h"
#include "sched/cycle/session.h"

namespace gw::sched {
namespace {

bool counts(const QuotaTree& tree, const Binding& limit, uint32_t limited_uid, uint32_t leaf, uint32_t uid) {
  return tree.common(leaf, limit.qos) == limit.qos && (!limit.is_of_user || limited_uid == uid);
}

}  // namespace

void LimitPlans::keep(Session& session, const Served& served) {
  if (session.view.policy().max_planned_starts == 0) return;
  for (const Binding& limit : session.quotas().limits_in_way(served.leaf, *served.amounts, served.job.uid))
    keep(session, served, limit);
}

std::map<JobId, base::Time> LimitPlans::foreseen() const {
  std::map<JobId, base::Time> out;
  for (const auto& [limit, plan] : plans_)
    if (plan) out[plan->job] = std::max(out[plan->job], plan->when);
  return out;
}

void LimitPlans::add_jobs(std::set<JobId>& to) const { to.insert(held_back_.begin(), held_back_.end()); }

/// Once a pass: a limit of each user is asked about many users.
void LimitPlans::list(const Session& session) {
  if (std::exchange(are_listed_, true)) return;
  const auto& holdings = session.capacity().holdings();
  for (const auto& [job, holder] : session.view.quota().holders())
    if (const auto holding = holdings.find(job); holding != holdings.end())
      all_.push_back({holder.is_leaving ? session.now : holding->second.expected_end, &holder});
  std::sort(all_.begin(), all_.end(), [](const Leaver& a, const Leaver& b) { return a.end < b.end; });
  if (!session.quotas().tree().has_user_limits()) return;
  for (const Leaver& leaver : all_) of_users_[leaver.holder->uid].push_back(leaver);
}

void LimitPlans::keep(Session& session, const Served& served, const Binding& limit) {
  const uint32_t uid = limit.is_of_user ? served.job.uid : 0;
  const Key key{limit.qos, limit.resource, limit.is_of_user, uid};
  if (plans_.contains(key)) return;
  if (limit.asked > limit.bound) {  // nothing is kept for it, but its QOS has its turn by what it asks for
    if (never_.insert(served.leaf).second) held_back_.insert(served.job.id);
    return;
  }
  LimitPlan plan{limit, uid, served.job.id, served.is_guaranteed, Time::never(), 0};
  const uint64_t lacks = limit.held + limit.asked - std::min(limit.bound, limit.held + limit.asked);
  uint64_t freed = 0;
  list(session);
  for (const auto& [end, holder] : limit.is_of_user ? of_users_[uid] : all_) {
    if (end == Time::never() || (freed >= lacks && end > plan.when)) break;
    if (!counts(session.quotas().tree(), limit, uid, holder->leaf, holder->uid)) continue;
    freed += holder->amounts[limit.resource];
    if (freed >= lacks) plan.when = end;
  }
  if (plan.when != Time::never())
    plan.spare = limit.bound - std::min(limit.bound, limit.held - std::min(limit.held, freed) + limit.asked);
  const bool is_foreseen = plan.when != Time::never();
  held_back_.insert(plan.job);
  plans_.emplace(key, is_foreseen || has_lost_patience(session, served) ? std::optional(plan) : std::nullopt);
}

template <typename Visit>
void LimitPlans::each(const Session& session, const Served& served, const Quantities& amounts, const Visit& visit) {
  const QuotaTree& tree = session.quotas().tree();
  for (uint32_t q = served.leaf; !plans_.empty() && q != kNoQos; q = tree.qos(q).parent)
    for (size_t r = 0; r < amounts.size(); ++r)
      for (const bool is_of_user : {false, true}) {
        if (amounts[r] == 0) continue;
        const auto it = plans_.find({q, r, is_of_user, is_of_user ? served.job.uid : 0});
        if (it != plans_.end() && it->second) visit(*it->second);
      }
}

namespace {

/// Would it be gone before the planned job needs what it holds? Not where nobody knows when that is.
bool ends_before(const LimitPlan& plan, Time until) { return plan.when != Time::never() && until <= plan.when; }

}  // namespace

const LimitPlan* LimitPlans::in_way(const Session& session, const Served& served, const Quantities& amounts,
                                    Time until) {
  const LimitPlan* out = nullptr;
  each(session, served, amounts, [&](const LimitPlan& plan) {
    const bool yields = plan.job == served.job.id || (served.is_guaranteed && !plan.is_guaranteed);
    if (!yields && !ends_before(plan, until) && amounts[plan.limit.resource] > plan.spare) out = &plan;
  });
  return out;
}

void LimitPlans::take(const Session& session, const Served& served, const Quantities& amounts, Time until) {
  each(session, served, amounts, [&](LimitPlan& plan) {
    if (!ends_before(plan, until)) plan.spare -= std::min(plan.spare, amounts[plan.limit.resource]);
  });
}

}  // namespace gw::sched
