// See gpu_budgets.h.
#include "ctld/core/tables/gpu_budgets.h"

#include <algorithm>
#include <utility>

namespace gw::ctld {

using base::Time;

namespace {

constexpr char kOfUser[] = "user-budget", kOfQos[] = "qos-budget";
constexpr int64_t kMicro = 1'000'000;

void add(std::map<std::string, int64_t>& rates, const std::string& name, int64_t by) {
  const auto it = rates.try_emplace(name, 0).first;
  it->second += by;
  if (it->second == 0) rates.erase(it);
}

std::map<BudgetOwner, model::GpuBudget> budgets_of(const QuotaTable& quotas) {
  std::map<BudgetOwner, model::GpuBudget> out;
  for (const auto& [name, qos] : quotas.qos)
    if (qos.budget) out.emplace(BudgetOwner{false, name}, *qos.budget);
  for (const auto& [name, user] : quotas.users)
    if (user.budget) out.emplace(BudgetOwner{true, name}, *user.budget);
  return out;
}

BudgetState state_of(const GpuBudgets::Meter& meter, Time now) {
  const auto all = static_cast<int64_t>(meter.budget.gpu_seconds) * kMicro;
  const int64_t used = GpuBudgets::used_at(meter, now);
  if (used >= all) return BudgetState::kSpent;
  return used >= all / 100 * kLowPercent ? BudgetState::kLow : BudgetState::kWithin;
}

}  // namespace

int64_t GpuBudgets::used_at(const Meter& meter, Time now) {
  if (now < meter.from) return 0;  // the clock was ahead
  if (now < meter.until) return sched::used_by(meter.used, now, base::kUnlimited);
  const Time begun = base::period_start(meter.budget.period, now);
  return sched::used_by({0, meter.used.rate, std::max(begun, meter.used.at)}, now, base::kUnlimited);
}

void GpuBudgets::settle(const BudgetOwner& owner, Meter& meter, Time now) {
  meter.used.amount = used_at(meter, now);
  const bool is_another = now < meter.from || now >= meter.until;
  meter.used.at = is_another ? now : std::max(meter.used.at, now);
  if (is_another) {
    meter.from = base::period_start(meter.budget.period, now);
    meter.until = base::period_end(meter.budget.period, now);
  }
  changed_.insert(owner);
}

void GpuBudgets::count_rates(const std::string& user, const std::string& qos, int64_t by) {
  add(qos_rates_, qos, by);
  add(user_rates_, user, by);
}

template <typename Fn>
void GpuBudgets::each_of(const std::string& user, const std::string& qos, const QuotaTable& quotas, const Fn& fn) {
  if (empty()) return;
  const auto call = [&](const BudgetOwner& owner) {
    if (const auto it = meters_.find(owner); it != meters_.end()) fn(it->first, it->second);
  };
  for (const std::string& name : quotas.path(qos)) call({false, name});
  call({true, user});
}

void GpuBudgets::change_rate(Time now, const std::string& user, const std::string& qos, const QuotaTable& quotas,
                             int64_t by) {
  count_rates(user, qos, by);
  each_of(user, qos, quotas, [&](const BudgetOwner& owner, Meter& meter) {
    settle(owner, meter, now);
    meter.used.rate += by;
  });
}

void GpuBudgets::resume_rate(const std::string& user, const std::string& qos, const QuotaTable& quotas, int64_t by) {
  count_rates(user, qos, by);
  each_of(user, qos, quotas, [by](const BudgetOwner&, Meter& meter) { meter.used.rate += by; });
}

void GpuBudgets::set_budgets(const QuotaTable& quotas, Time now) {
  const auto budgets = budgets_of(quotas);
  for (auto it = meters_.begin(); it != meters_.end();) {
    if (budgets.contains(it->first)) {
      ++it;
      continue;
    }
    changed_.insert(it->first);
    it = meters_.erase(it);
  }
  std::map<std::string, int64_t> below;
  for (const auto& [qos, rate] : qos_rates_)
    for (const std::string& name : quotas.path(qos)) below[name] += rate;
  for (const auto& [owner, budget] : budgets) {
    const auto [it, is_new] = meters_.try_emplace(owner);
    Meter& meter = it->second;
    const auto& rates = owner.is_user ? user_rates_ : below;
    const auto found = rates.find(owner.name);
    const int64_t rate = found == rates.end() ? 0 : found->second;
    if (!is_new && meter.budget == budget && meter.used.rate == rate) continue;
    if (is_new) meter.used.at = now;
    if (!is_new) settle(owner, meter, now);
    meter.budget = budget;
    meter.from = base::period_start(budget.period, now);
    meter.until = base::period_end(budget.period, now);
    meter.used.rate = rate;
    changed_.insert(owner);
  }
}

bool GpuBudgets::restore(const store::PutUsage& row) {
  const bool is_user = row.kind == kOfUser;
  if ((!is_user && row.kind != kOfQos) || row.amount < 0 || row.at.us < 0) return false;
  const BudgetOwner owner{is_user, row.name};
  const auto it = meters_.find(owner);
  if (it == meters_.end()) return true;
  Meter& meter = it->second;
  meter.used = {row.amount, meter.used.rate, row.at};
  meter.from = base::period_start(meter.budget.period, row.at);
  meter.until = base::period_end(meter.budget.period, row.at);
  changed_.erase(owner);
  return true;
}

std::vector<GpuBudgets::Change> GpuBudgets::look(Time now) {
  std::vector<Change> out;
  for (auto& [owner, meter] : meters_) {
    if (now < meter.from || now >= meter.until) settle(owner, meter, now);
    const BudgetState before = std::exchange(meter.state, state_of(meter, now));
    if (meter.state != before) out.push_back({owner, before});
  }
  return out;
}

const GpuBudgets::Meter* GpuBudgets::find(const BudgetOwner& owner) const {
  const auto it = meters_.find(owner);
  return it == meters_.end() ? nullptr : &it->second;
}

const BudgetOwner* GpuBudgets::refusing(const std::string& user, const std::vector<std::string>& path) const {
  if (empty()) return nullptr;
  const auto refuses = [this](const BudgetOwner& owner) -> const BudgetOwner* {
    const auto it = meters_.find(owner);
    const bool is_closed = it != meters_.end() && it->second.state == BudgetState::kSpent && !it->second.budget.borrows;
    return is_closed ? &it->first : nullptr;
  };
  for (const std::string& name : path)
    if (const BudgetOwner* owner = refuses({false, name})) return owner;
  return refuses({true, user});
}

bool GpuBudgets::only_borrows(const std::string& qos) const {
  const Meter* meter = find({false, qos});
  return meter != nullptr && meter->state == BudgetState::kSpent && meter->budget.borrows;
}

bool GpuBudgets::only_borrows(const std::vector<std::string>& path) const {
  return std::any_of(path.begin(), path.end(), [this](const std::string& name) { return only_borrows(name); });
}

store::Batch GpuBudgets::take_rows() {
  store::Batch rows;
  for (const BudgetOwner& owner : std::exchange(changed_, {})) {
    const char* kind = owner.is_user ? kOfUser : kOfQos;
    if (const Meter* meter = find(owner))
      rows.push_back(store::PutUsage{kind, owner.name, meter->used.amount, meter->used.at});
    else
      rows.push_back(store::DropUsage{kind, owner.name});
  }
  return rows;
}

}  // namespace gw::ctld
