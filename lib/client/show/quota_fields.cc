// See quota_fields.h.
#include "client/show/quota_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/time.h"

namespace gw::client {
namespace {

std::string length(base::Duration d) { return d.us == 0 ? "" : base::format_duration(d); }
std::string count(uint32_t n) { return n == 0 ? "" : std::to_string(n); }

/// As Slurm writes it: "cpu=96,gres/gpu=8".
std::string tres(const model::Amounts& amounts) {
  std::vector<std::string> parts;
  for (const auto& [resource, amount] : amounts)
    parts.push_back(fmt::format("{}{}={}", resource.starts_with("gpu") ? "gres/" : "", resource,
                                model::format_amount(resource, amount)));
  return base::join(parts, ",");
}

std::string budget_text(const std::optional<model::GpuBudget>& budget) {
  return budget ? model::format_gpu_budget(*budget) : "";
}

/// Slurm's limit of all that was ever used, in minutes.
std::string tres_minutes(const std::optional<model::GpuBudget>& budget) {
  return budget && budget->period == base::Period::kNone && !budget->borrows
             ? fmt::format("gres/gpu={}", budget->gpu_seconds / 60)
             : "";
}

std::vector<TableField<QosRow>> qos_limits() {
  using R = QosRow;
  return {
      {{"limit"}, "Limit", [](const R& r) { return model::format_amounts(r.qos->limit); }},
      {{"grptres"}, "GrpTRES", [](const R& r) { return tres(r.qos->limit); }},
      {{"max_wall", "maxwalldurationperjob"}, "MaxWall", [](const R& r) { return length(r.qos->max_wall); }, true},
      {{"max_jobs"}, "MaxJobs", [](const R& r) { return count(r.qos->max_jobs); }, true},
      {{"grpjobs"}, "GrpJobs", [](const R& r) { return count(r.qos->max_jobs); }, true},
      {{"max_submit", "maxsubmitjobs"}, "MaxSubmit", [](const R& r) { return count(r.qos->max_submit); }, true},
      {{"grpsubmitjobs"}, "GrpSubmit", [](const R& r) { return count(r.qos->max_submit); }, true},
      {{"max_jobs_per_user", "maxjobspu"},
       "MaxJobsPU",
       [](const R& r) { return count(r.qos->max_jobs_per_user); },
       true},
      {{"max_submit_per_user", "maxsubmitpu", "maxsubmitjobspu", "maxsubmitjobsperuser"},
       "MaxSubmitPU",
       [](const R& r) { return count(r.qos->max_submit_per_user); },
       true},
      {{"limit_per_user"}, "LimitPU", [](const R& r) { return model::format_amounts(r.qos->limit_per_user); }},
      {{"maxtrespu", "maxtresperuser"}, "MaxTRESPU", [](const R& r) { return tres(r.qos->limit_per_user); }},
      {{"budget"}, "Budget", [](const R& r) { return budget_text(r.qos->budget); }},
      {{"grptresmins"}, "GrpTRESMins", [](const R& r) { return tres_minutes(r.qos->budget); }},
  };
}

}  // namespace

const std::vector<TableField<QosRow>>& qos_fields() {
  using R = QosRow;
  static const auto kFields = [] {
    const auto parent = [](const R& r) {
      return r.qos->name == model::kRootQos ? "" : r.qos->parent.empty() ? std::string(model::kRootQos) : r.qos->parent;
    };
    const auto weight = [](const R& r) { return std::to_string(r.qos->weight); };
    const auto inherited = [](const std::optional<base::Duration>& d) { return d ? base::format_duration(*d) : ""; };
    const auto grace = [=](const R& r) { return inherited(r.qos->grace); };
    const auto patience = [=](const R& r) { return inherited(r.qos->patience); };
    const auto description = [](const R& r) { return r.qos->description; };
    std::vector<TableField<R>> t = {
        {{"name"}, "Name", [](const R& r) { return std::string(2 * r.indent, ' ') + r.qos->name; }},
        {{"account", "qos"}, "Account", [](const R& r) { return r.qos->name; }},
        {{"parent", "parentname"}, "Parent", parent},
        {{"description"}, "Descr", description},
        {{"guaranteed"}, "Guaranteed", [](const R& r) { return model::format_amounts(r.qos->guaranteed); }},
        {{"weight"}, "Weight", weight, true},
        {{"fairshare", "share"}, "Share", weight, true},
        {{"priority"}, "Priority", [](const R& r) { return std::to_string(r.qos->priority); }, true},
        {{"preempt_children"}, "Preempts", [](const R& r) { return r.qos->preempt_children ? "yes" : ""; }},
        {{"min_runtime", "preemptexempttime"},
         "MinRuntime",
         [](const R& r) { return length(r.qos->min_runtime); },
         true},
        {{"grace", "gracetime"}, "Grace", grace, true},
        {{"patience"}, "Patience", patience, true},
        {{"users"}, "Users", [](const R& r) { return base::join(r.qos->users, ","); }},
        {{"operators"}, "Operators", [](const R& r) { return base::join(r.qos->operators, ","); }},
    };
    for (TableField<R>& field : qos_limits()) t.push_back(std::move(field));
    return t;
  }();
  return kFields;
}

const std::vector<TableField<UserRow>>& user_fields() {
  using R = UserRow;
  static const std::vector<TableField<R>> kFields = {
      {{"user", "name"}, "User", [](const R& r) { return r.name; }},
      {{"default_qos"}, "DefaultQOS", [](const R& r) { return r.default_qos; }},
      {{"defaultaccount"}, "Def Acct", [](const R& r) { return r.default_qos; }},
      {{"qos", "accounts"}, "QOS", [](const R& r) { return base::join(r.qos, ","); }},
      {{"operates", "coordinators"}, "Operates", [](const R& r) { return base::join(r.operates, ","); }},
      {{"budget"}, "Budget", [](const R& r) { return r.budget; }},
  };
  return kFields;
}

double BudgetRow::left() const { return std::max(0.0, static_cast<double>(budget.gpu_seconds) - used); }

base::Time BudgetRow::spent_at() const {
  if (gpus <= 0 || is_spent) return {};
  const double seconds = left() / gpus;
  constexpr double kFar = 1e10;  // no calendar goes so far
  if (seconds > kFar) return {};
  const base::Time at = now + base::seconds(std::llround(seconds));
  return until && at >= until ? base::Time{} : at;
}

const std::vector<TableField<BudgetRow>>& budget_fields() {
  using R = BudgetRow;
  const auto time_or = [](base::Time t) { return t ? base::format_time(t) : std::string(); };
  static const std::vector<TableField<R>> kFields = {
      {{"owner"}, "Owner", [](const R& r) { return r.owner; }},
      {{"name"}, "Name", [](const R& r) { return r.name; }},
      {{"budget"}, "Budget", [](const R& r) { return model::format_gpu_budget(r.budget); }},
      {{"used"}, "Used", [](const R& r) { return model::gpu_hours(r.used); }, true},
      {{"left"}, "Left", [](const R& r) { return model::gpu_hours(r.left()); }, true},
      {{"percent"},
       "Used%",
       [](const R& r) {
         return fmt::format("{:.0f}", std::floor(100 * r.used / static_cast<double>(r.budget.gpu_seconds)));
       },
       true},
      {{"gpus"}, "GPUs", [](const R& r) { return fmt::format("{:g}", r.gpus); }, true},
      {{"spent_at"}, "SpentAt", [=](const R& r) { return r.is_spent ? "spent" : time_or(r.spent_at()); }},
      {{"next"}, "Next", [=](const R& r) { return time_or(r.until); }},
  };
  return kFields;
}

const std::vector<TableField<AssociationRow>>& association_fields() {
  using R = AssociationRow;
  static const std::vector<TableField<R>> kFields = {
      {{"account"}, "Account", [](const R& r) { return r.qos->name; }},
      {{"user"}, "User", [](const R& r) { return r.user; }},
      {{"role"}, "Role", [](const R& r) { return !r.is_operator ? "user"
                                                 : r.is_user    ? "user,operator"
                                                                : "operator"; }},
      {{"qos"}, "QOS", [](const R& r) { return r.qos->name; }},
      {{"default_qos", "defaultaccount"}, "DefaultQOS", [](const R& r) { return r.default_qos; }},
      {{"fairshare", "share"}, "Share", [](const R& r) { return std::to_string(r.qos->weight); }, true},
      {{"priority"}, "Priority", [](const R& r) { return std::to_string(r.qos->priority); }, true},
      {{"limit"}, "Limit", [](const R& r) { return model::format_amounts(r.qos->limit); }},
      {{"grptres"}, "GrpTRES", [](const R& r) { return tres(r.qos->limit); }},
      {{"max_wall"}, "MaxWall", [](const R& r) { return length(r.qos->max_wall); }, true},
      {{"max_jobs", "grpjobs"}, "MaxJobs", [](const R& r) { return count(r.qos->max_jobs); }, true},
  };
  return kFields;
}

}  // namespace gw::client
