// See gpu_budgets.h.
#include "ctld/core/cluster/gpu_budgets.h"

#include <fmt/format.h>

#include <cmath>

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

/// Jobs that wait are kept from the scheduler or let go before it, and elastic ones grow no further, or do again.
void look_at_jobs(Core& core) {
  core.jobs.each([&core](model::Job& job) {
    if (!model::may_hold_gpus(job.spec.request)) return;
    if (job.placed() != nullptr && job.spec.request.elastic) return tell_of_running(core, job);
    if (job.waiting() == nullptr) return;
    const bool was_kept = job.waiting()->reason == model::WaitReason::kBudgetSpent;
    if (was_kept == (spent_budget_of(core, job) != nullptr)) return;
    update_eligibility(core, job);
    core.rows.job(job);
  });
}

void arm(Core& core) {
  if (core.gpu_budgets.empty()) return;
  core.timers.set({Time{core.now.us - core.now.us % kEvery.us} + kEvery, TimerKind::kBudgets, 0, 0});
}

/// What is spent now and was not, or the other way round, changes who may start and what is guaranteed.
void take_changes(Core& core, bool is_another_tree) {
  bool do_jobs_change = is_another_tree;
  for (const GpuBudgets::Change& change : core.gpu_budgets.look(core.now)) {
    const Meter& meter = core.gpu_budgets.meters().at(change.owner);
    tell(core, change, meter);
    do_jobs_change |= (change.before == BudgetState::kSpent) != (meter.state == BudgetState::kSpent);
  }
  if (!do_jobs_change) return;
  publish_quotas(core);
  look_at_jobs(core);
}

}  // namespace

void set_budgets(Core& core) {
  const bool had_any = !core.gpu_budgets.empty();
  core.gpu_budgets.set_budgets(core.quotas, core.now);
  take_changes(core, had_any || !core.gpu_budgets.empty());
  arm(core);
}

void budgets_due(Core& core) {
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
  if (core.gpu_budgets.empty() || !model::may_hold_gpus(spec.request)) return {};
  const std::vector<std::string> path = core.quotas.path(spec.qos);
  const auto& meters = core.gpu_budgets.meters();
  if (const BudgetOwner* owner = core.gpu_budgets.refusing(spec.user, path))
    return base::fail(base::ErrorCode::kUnavailable, spent_text(core, *owner, meters.at(*owner)),
                      "submit to a QOS whose budget is not spent; gacctmgr show budgets");
  std::vector<BudgetOwner> owners = {{true, spec.user}};
  for (const std::string& name : path) owners.push_back({false, name});
  for (const BudgetOwner& owner : owners) {
    const auto it = meters.find(owner);
    if (it == meters.end() || it->second.state == BudgetState::kWithin) continue;
    if (it->second.state == BudgetState::kSpent)
      warnings.push_back(spent_text(core, owner, it->second) + "; the job only borrows GPUs, and may be preempted");
    else
      warnings.push_back(use_text(core, owner, it->second) + until_text(core, it->second));
  }
  return {};
}

}  // namespace gw::ctld
