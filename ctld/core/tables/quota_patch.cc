// See quota_patch.h.
#include "ctld/core/tables/quota_patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "wire/convert.h"

namespace gw::ctld {

using base::Duration;
using base::Status;
using model::Amounts;
using model::Qos;

namespace {

constexpr size_t kMostNames = 1'000, kMostText = 1'000;
constexpr uint32_t kMostWeight = 1'000'000, kMostCount = 1'000'000'000;
constexpr int64_t kMostPriority = 1'000'000'000;
constexpr Duration kMostTime = base::hours(24 * 366);

Status patch_amounts(Amounts& to, const wire::AmountsPatch& patch, std::string_view key) {
  constexpr uint64_t kMost = uint64_t{1} << 50;
  if (patch.clear()) to.clear();
  for (const wire::QosAmount& a : patch.set()) {
    GW_TRY(resource, model::parse_resource(a.resource()));
    if (a.amount() > kMost) return base::invalid(fmt::format("{}: the amount of {} is out of range", key, resource));
    to[resource] = a.amount();
  }
  for (const std::string& name : patch.drop()) {
    GW_TRY(resource, model::parse_resource(name));
    to.erase(resource);
  }
  return {};
}

Status patch_names(std::vector<std::string>& to, const wire::NamesPatch& patch, std::string_view key) {
  if (patch.clear()) to.clear();
  for (const std::string& name : patch.add()) {
    if (!check_user_name(name.starts_with('@') ? name.substr(1) : name))
      return base::invalid(fmt::format("{}: \"{}\" is not a user or @group", key, base::printable(name)));
    to.push_back(name);
  }
  base::drop_duplicates(to);
  const std::unordered_set<std::string_view> dropped(patch.drop().begin(), patch.drop().end());
  std::erase_if(to, [&dropped](const std::string& name) { return dropped.contains(name); });
  if (to.size() > kMostNames)
    return base::invalid(fmt::format("{}: more than {} names", key, kMostNames), "use @groups");
  return {};
}

Status patch_time(Duration& to, int64_t us, std::string_view key) {
  if (us < 0 || us > kMostTime.us) return base::invalid(fmt::format("{} is out of range", key), "0 to 366 days");
  to = Duration{us};
  return {};
}

/// Negative: as above it.
Status patch_inherited(std::optional<Duration>& to, int64_t us, std::string_view key) {
  to.reset();
  if (us < 0) return {};
  to.emplace();
  return patch_time(*to, us, key);
}

Status patch_numbers(Qos& q, const wire::QosPatch& p) {
  if (p.has_priority()) q.priority = p.priority();
  if (q.priority < -kMostPriority || q.priority > kMostPriority) return base::invalid("priority is out of range");
  if (p.has_weight()) q.weight = p.weight();
  if (q.weight > kMostWeight) return base::invalid("weight is out of range", "0 to 1000000");
  const auto count = [](bool has, uint32_t n, uint32_t& to) {
    if (has) to = std::min(n, kMostCount);
  };
  count(p.has_max_jobs(), p.max_jobs(), q.max_jobs);
  count(p.has_max_submit(), p.max_submit(), q.max_submit);
  count(p.has_max_jobs_per_user(), p.max_jobs_per_user(), q.max_jobs_per_user);
  count(p.has_max_submit_per_user(), p.max_submit_per_user(), q.max_submit_per_user);
  if (p.has_min_runtime_us()) GW_TRY_STATUS(patch_time(q.min_runtime, p.min_runtime_us(), "min_runtime"));
  if (p.has_max_wall_us()) GW_TRY_STATUS(patch_time(q.max_wall, p.max_wall_us(), "max_wall"));
  if (p.has_grace_us()) GW_TRY_STATUS(patch_inherited(q.grace, p.grace_us(), "grace"));
  if (p.has_patience_us()) GW_TRY_STATUS(patch_inherited(q.patience, p.patience_us(), "patience"));
  return {};
}

}  // namespace

Status check_user_name(const std::string& name) {
  constexpr size_t kLongest = 256;
  if (!name.empty() && name.size() <= kLongest && name.find_first_of(" \t\n\r,:/@\"'") == std::string::npos) return {};
  return base::invalid(fmt::format("\"{}\" is not the name of a user", base::printable(name)));
}

std::string root_or(const std::string& name) { return name.empty() ? std::string(model::kRootQos) : name; }

std::string differences(const Qos& before, const Qos& after) {
  std::vector<std::string> out;
  const auto tell = [&](std::string_view key, const auto& a, const auto& b, const auto& text) {
    if (!(a == b)) out.push_back(fmt::format("{} {} -> {}", key, text(a), text(b)));
  };
  const auto amounts = [](const Amounts& a) { return a.empty() ? std::string("none") : model::format_amounts(a); };
  const auto number = [](const auto& n) { return fmt::format("{}", n); };
  const auto length = [](Duration d) { return d.us == 0 ? std::string("none") : base::format_duration(d); };
  const auto names = [](const auto& list) { return list.empty() ? std::string("none") : base::join(list, ","); };
  tell("parent", before.parent, after.parent, root_or);
  tell("description", before.description, after.description, [](const auto& t) { return '"' + t + '"'; });
  tell("guaranteed", before.guaranteed, after.guaranteed, amounts);
  tell("limit", before.limit, after.limit, amounts);
  tell("weight", before.weight, after.weight, number);
  tell("priority", before.priority, after.priority, number);
  tell("preempt_children", before.preempt_children, after.preempt_children, number);
  tell("min_runtime", before.min_runtime, after.min_runtime, length);
  const auto inherited = [](const auto& d) { return d ? base::format_duration(*d) : std::string("as above it"); };
  tell("grace", before.grace, after.grace, inherited);
  tell("patience", before.patience, after.patience, inherited);
  tell("max_wall", before.max_wall, after.max_wall, length);
  tell("max_jobs", before.max_jobs, after.max_jobs, number);
  tell("max_submit", before.max_submit, after.max_submit, number);
  tell("max_jobs_per_user", before.max_jobs_per_user, after.max_jobs_per_user, number);
  tell("max_submit_per_user", before.max_submit_per_user, after.max_submit_per_user, number);
  tell("limit_per_user", before.limit_per_user, after.limit_per_user, amounts);
  const auto budget = [](const auto& b) { return b ? model::format_gpu_budget(*b) : std::string("none"); };
  tell("budget", before.budget, after.budget, budget);
  tell("users", before.users, after.users, names);
  tell("operators", before.operators, after.operators, names);
  return base::join(out, "; ");
}

Status patch_qos(Qos& q, const wire::QosPatch& p) {
  if (p.has_parent()) q.parent = p.parent() == model::kRootQos ? std::string() : p.parent();
  if (p.has_description()) q.description = base::printable(p.description(), kMostText);
  if (p.has_preempt_children()) q.preempt_children = p.preempt_children();
  GW_TRY_STATUS(patch_numbers(q, p));
  GW_TRY_STATUS(patch_amounts(q.guaranteed, p.guaranteed(), "guaranteed"));
  GW_TRY_STATUS(patch_amounts(q.limit, p.limit(), "limit"));
  GW_TRY_STATUS(patch_amounts(q.limit_per_user, p.limit_per_user(), "limit_per_user"));
  if (p.has_budget()) q.budget = wire::from_wire(p.budget());
  GW_TRY_STATUS(patch_names(q.users, p.users(), "users"));
  return patch_names(q.operators, p.operators(), "operators");
}

}  // namespace gw::ctld
