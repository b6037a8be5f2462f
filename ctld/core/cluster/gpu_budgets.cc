// See gpu_budgets.h.
#include "ctld/core/cluster/gpu_budgets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "ctld/core/cluster/quota_feed.h"
#include "ctld/core/jobs/eligibility.h"
#include "ctld/core/jobs/facts.h"
#include "wire/convert.h"

namespace gw::ctld {

namespace {

using Meter = GpuBudgets::Meter;

constexpr base::Duration kEvery = base::minutes(1);

std::string until_text(const Core& core, const Meter& meter) {
  const Time until = base::period_end(meter.budget.period, core.now);
  return until == Time::never() ? "" : "; the next begins at " + base::format_time(until);
}

/// "87% of the budget of QOS ml (5000 GPU-hours a month) are used"
std::string use_text(const Core& core, const BudgetOwner& owner, const Meter& meter) {
  const double used = sched::gpu_seconds(GpuBudgets::used_at(meter, core.now));
  const double percent = std::floor(100 * used / static_cast<double>(meter.budget.gpu_seconds));
  return fmt::format("{:.0f}% of the budget of {} ({}) are used", percent, owner.text(), model::words(meter.budget));
}

std::string spent_text(const Core& core, const BudgetOwner& owner, const Meter& meter) {
  return fmt::format("the budget of {} is spent: {}{}", owner.text(), model::words(meter.budget),
                     until_text(core, meter));
}

void tell(Core& core, const GpuBudgets::Change& change, const Meter& meter) {
  if (meter.state == BudgetState::kSpent) {
    const char* then = meter.budget.borrows ? "; its jobs only borrow GPUs" : "; no job of it with GPUs starts";
    core.out.event("budget spent", spent_text(core, change.owner, meter) + then, {});
    core.out.note(spent_text(core, change.owner, meter) + then);
  } else if (change.before == BudgetState::kSpent) {
    core.out.event("budget renewed", use_text(core, change.owner, meter), {});
  } else if (meter.state == BudgetState::kLow) {
    core.out.event("budget low", use_text(core, change.owner, meter) + until_text(core, meter), {});
  }
}

/// What is the same for all jobs of a look, worked out once.
class Look {
 public:
  explicit Look(const Core& core) : core_(core) {}
  /// Has a budget that is spent something to say to it?
  bool is_kept(const model::JobSpec& spec) {
    const auto [it, is_new] = refused_.try_emplace({spec.user, spec.qos}, false);
    if (is_new) it->second = core_.gpu_budgets.refusing(spec.user, core_.quotas.path(spec.qos)) != nullptr;
    return it->second && may_hold_gpus(core_, spec, [this](const std::string& name) { return with_gpus(name); });
  }

 private:
  const Core& core_;
  std::map<std::pair<std::string_view, std::string_view>, bool> refused_;  // of texts that the jobs have
  std::map<std::string, bool> partitions_;

  bool with_gpus(const std::string& name) {
    const auto [it, is_new] = partitions_.try_emplace(name, false);
    if (is_new) it->second = has_gpus(core_, name);
    return it->second;
  }
};

/// It is kept from the scheduler, or let go before it: what else keeps it is not asked again.
bool is_to_be_looked_at(Look& look, const model::Job& job) {
  if (job.placed() != nullptr) return job.spec.request.elastic;
  if (job.waiting() == nullptr) return false;
  const model::WaitReason reason = job.waiting()->reason;
  const bool is_kept = reason == model::WaitReason::kBudgetSpent;
  if (!is_kept && reason != model::WaitReason::kNone) return false;
  return is_kept != look.is_kept(job.spec);
}

void arm(Core& core) {
  const std::deque<JobId>& rest = core.planning.jobs_of_budgets;
  if (!rest.empty()) return core.timers.set({core.now + base::milliseconds(1), TimerKind::kBudgets, 0, 0});
  if (core.gpu_budgets.empty()) return;
  core.timers.set({Time{core.now.us - core.now.us % kEvery.us} + kEvery, TimerKind::kBudgets, 0, 0});
}

/// Some of those whose budget was spent or renewed: jobs that wait are kept from the scheduler or let go before it, and
/// elastic ones grow no further, or do again.
void look_at_some(Core& core) {
  constexpr size_t kAtOnce = 1'000;
  std::deque<JobId>& rest = core.planning.jobs_of_budgets;
  for (size_t i = 0; i < kAtOnce && !rest.empty(); ++i) {
    model::Job* job = core.jobs.find(rest.front());
    rest.pop_front();
    if (job == nullptr) continue;
    if (job->placed() != nullptr && job->spec.request.elastic) tell_of_running(core, *job);
    if (job->waiting() == nullptr) continue;
    const auto before = std::pair(job->eligible, job->waiting()->reason);
    update_eligibility(core, *job);
    if (before != std::pair(job->eligible, job->waiting()->reason)) core.rows.job(*job);
  }
}

void look_at_jobs(Core& core) {
  std::deque<JobId>& rest = core.planning.jobs_of_budgets;
  rest.clear();
  Look look(core);
  core.jobs.each([&](const model::Job& job) {
    if (is_to_be_looked_at(look, job)) rest.push_back(job.id);
  });
  look_at_some(core);
}

/// What is spent now and was not, or the other way round, changes who may start and what is guaranteed.
void take_changes(Core& core, bool do_jobs_change) {
  bool does_tree_change = false;
  for (const GpuBudgets::Change& change : core.gpu_budgets.look(core.now)) {
    const Meter& meter = core.gpu_budgets.meters().at(change.owner);
    tell(core, change, meter);
    if ((change.before == BudgetState::kSpent) == (meter.state == BudgetState::kSpent)) continue;
    (meter.budget.borrows ? does_tree_change : do_jobs_change) = true;
  }
  if (does_tree_change || do_jobs_change) publish_quotas(core);
  if (do_jobs_change) look_at_jobs(core);
}

/// Do the trees differ in what budgets are asked about?
bool changes_budgets(const QuotaTable& before, const QuotaTable& after) {
  const auto differs = [](const auto& a, const auto& b) { return a.budget != b.budget; };
  if (before.qos.size() != after.qos.size()) return true;
  for (const auto& [name, qos] : after.qos) {
    const auto old = before.qos.find(name);
    if (old == before.qos.end() || old->second.parent != qos.parent || differs(old->second, qos)) return true;
  }
  const auto budget_of = [](const QuotaTable& table, const std::string& user) {
    const auto it = table.users.find(user);
    return it == table.users.end() ? std::optional<model::GpuBudget>() : it->second.budget;
  };
  const auto has_others = [&](const QuotaTable& a, const QuotaTable& b) {
    return std::any_of(a.users.begin(), a.users.end(),
                       [&](const auto& user) { return user.second.budget != budget_of(b, user.first); });
  };
  return has_others(before, after) || has_others(after, before);
}

}  // namespace

void set_budgets(Core& core, const QuotaTable& before) {
  const bool had_any = !core.gpu_budgets.empty();
  core.gpu_budgets.set_budgets(core.quotas, core.now);
  take_changes(core, (had_any || !core.gpu_budgets.empty()) && changes_budgets(before, core.quotas));
  arm(core);
}

void restore_budgets(Core& core) {
  (void)core.gpu_budgets.look(core.now);  // it was told before
  publish_quotas(core);
  arm(core);
}

void budgets_due(Core& core) {
  if (!core.planning.jobs_of_budgets.empty()) look_at_some(core);
  take_changes(core, false);
  arm(core);
}

void list_budgets(const Core& core, wire::ListQuotasReply& list) {
  for (const auto& [owner, meter] : core.gpu_budgets.meters()) {
    wire::BudgetUse& use = *list.add_budgets();
    use.set_name(owner.name);
    use.set_is_user(owner.is_user);
    *use.mutable_budget() = wire::to_wire(meter.budget);
    use.set_used_us(GpuBudgets::used_at(meter, core.now));
    use.set_rate_milli(meter.used.rate / (1'000'000 / model::kWholeGpu));
    use.set_from_us(base::period_start(meter.budget.period, core.now).us);
    if (const Time until = base::period_end(meter.budget.period, core.now); until != Time::never())
      use.set_until_us(until.us);
    use.set_is_spent(meter.state == BudgetState::kSpent);
  }
}

base::Status check_budgets(const Core& core, const model::JobSpec& spec, std::vector<std::string>& warnings) {
  if (core.gpu_budgets.empty()) return {};
  const std::vector<std::string> path = core.quotas.path(spec.qos);
  const auto& meters = core.gpu_budgets.meters();
  std::vector<BudgetOwner> owners = {{true, spec.user}};
  for (const std::string& name : path) owners.push_back({false, name});
  std::erase_if(owners, [&meters](const BudgetOwner& one) {
    const auto it = meters.find(one);
    return it == meters.end() || it->second.state == BudgetState::kWithin;
  });
  const auto with_gpus = [&core](const std::string& partition) { return has_gpus(core, partition); };
  if (owners.empty() || !may_hold_gpus(core, spec, with_gpus)) return {};
  const BudgetOwner* owner = core.gpu_budgets.refusing(spec.user, path);
  // One that begins later only than the budget comes back is none of its business.
  if (owner != nullptr && spec.begin < base::period_end(meters.at(*owner).budget.period, core.now))
    return base::fail(base::ErrorCode::kUnavailable, spent_text(core, *owner, meters.at(*owner)),
                      "submit to a QOS whose budget is not spent; gacctmgr show budgets");
  for (const BudgetOwner& one : owners) {
    const auto it = meters.find(one);
    if (it->second.state == BudgetState::kSpent && !it->second.budget.borrows)
      warnings.push_back(spent_text(core, one, it->second) + "; the job begins later");
    else if (it->second.state == BudgetState::kSpent)
      warnings.push_back(spent_text(core, one, it->second) +
                         (spec.not_preemptible || (!spec.requeue && spec.on_preempt != model::OnPreempt::kCancel)
                              ? "; a job that is never preempted does not start until then"
                              : "; the job only borrows GPUs, and may be preempted"));
    else
      warnings.push_back(use_text(core, one, it->second) + until_text(core, it->second));
  }
  return {};
}

}  // namespace gw::ctld
