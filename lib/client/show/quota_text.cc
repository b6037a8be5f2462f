// See quota_text.h.
#include "client/show/quota_text.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "client/show/field_table.h"
#include "client/show/quota_fields.h"
#include "client/show/show_json.h"
#include "config/quota_file.h"
#include "wire/convert.h"

namespace gw::client {
namespace {

using base::Result;
using Json = nlohmann::ordered_json;
using model::Qos;
using Text = std::string_view;

// ---- Rows

std::vector<Qos> tree_of(const wire::ListQuotasReply& list) {
  std::vector<Qos> out;
  for (const wire::Qos& q : list.qos()) out.push_back(wire::from_wire(q));
  return out;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Scripts ask sacctmgr whether there is a name, and take an empty table for no.
base::Status check_names(const std::vector<std::string>& asked, const std::vector<std::string>& known, Text what,
                         bool is_slurm) {
  if (is_slurm) return {};
  for (const std::string& name : asked)
    if (!holds(known, name))
      return base::fail(base::ErrorCode::kNotFound, fmt::format("no {} \"{}\"", what, base::printable(name, 60)),
                        base::did_you_mean(name, known));
  return {};
}

/// With `tree` what is below a chosen QOS is chosen, too.
std::vector<QosRow> qos_rows(const std::vector<Qos>& tree, const QuotaQuery& query, bool indents) {
  std::vector<QosRow> out;
  size_t chosen_depth = SIZE_MAX;
  for (const config::TreePlace& place : config::tree_order(tree)) {
    const Qos& q = tree[place.index];
    if (place.depth <= chosen_depth) chosen_depth = SIZE_MAX;
    const bool is_named = query.names.empty() || holds(query.names, q.name);
    if (is_named && query.tree && chosen_depth == SIZE_MAX) chosen_depth = place.depth;
    if (!is_named && chosen_depth == SIZE_MAX) continue;
    out.push_back({&q, indents && place.depth > 0 ? place.depth - 1 : 0});
  }
  return out;
}

std::vector<UserRow> user_rows(const wire::ListQuotasReply& list, const std::vector<Qos>& tree) {
  std::map<std::string, UserRow> rows;
  const auto row = [&](const std::string& name) -> UserRow& {
    rows[name].name = name;
    return rows[name];
  };
  for (const wire::QuotaUser& user : list.users()) {
    row(user.name()).default_qos = user.default_qos();
    if (const auto budget = wire::from_wire(user).budget) row(user.name()).budget = model::format_gpu_budget(*budget);
  }
  for (const config::TreePlace& place : config::tree_order(tree)) {
    const Qos& q = tree[place.index];
    for (const std::string& name : q.users) row(name).qos.push_back(q.name);
    for (const std::string& name : q.operators) row(name).operates.push_back(q.name);
  }
  std::vector<UserRow> out;
  for (auto& [name, one] : rows) out.push_back(std::move(one));
  return out;
}

std::set<std::string> groups_of(const std::string& user) {
  const passwd* entry = ::getpwnam(user.c_str());
  if (entry == nullptr) return {};
  const gid_t own = entry->pw_gid;
  int count_of_groups = 1024;
  std::vector<gid_t> ids(static_cast<size_t>(count_of_groups));
  if (::getgrouplist(user.c_str(), own, ids.data(), &count_of_groups) < 0) return {};
  std::set<std::string> out;
  for (int i = 0; i < count_of_groups; ++i)
    if (const group* g = ::getgrgid(ids[static_cast<size_t>(i)])) out.insert(g->gr_name);
  return out;
}

std::vector<BudgetRow> budget_rows(const wire::ListQuotasReply& list) {
  std::vector<BudgetRow> out;
  for (const wire::BudgetUse& use : list.budgets())
    out.push_back({use.is_user() ? "user" : "QOS", use.name(),
                   wire::from_wire(use.budget()).value_or(model::GpuBudget{}), static_cast<double>(use.used_us()) / 1e6,
                   static_cast<double>(use.rate_milli()) / 1e3, base::Time{use.until_us()}, base::Time{list.now_us()},
                   use.is_spent()});
  return out;
}

/// May everybody submit to it? Nobody is named at it or above it.
bool is_open(const std::vector<Qos>& tree, const Qos& qos) {
  const Qos* at = &qos;
  for (size_t steps = 0; at != nullptr && steps <= tree.size(); ++steps) {
    if (!at->users.empty()) return false;
    const auto above = std::find_if(tree.begin(), tree.end(), [&](const Qos& q) { return q.name == at->parent; });
    at = above == tree.end() ? nullptr : &*above;
  }
  return true;
}

}  // namespace

std::vector<AssociationRow> association_rows(const wire::ListQuotasReply& list, const std::vector<Qos>& tree,
                                             const QuotaQuery& query, bool with_open) {
  std::map<std::string, std::string> defaults;
  for (const wire::QuotaUser& user : list.users()) defaults[user.name()] = user.default_qos();
  std::set<std::string> groups;
  for (const std::string& name : query.names)
    if (!name.starts_with('@')) groups.merge(groups_of(name));
  const auto is_wanted = [&](const std::string& name) {
    return query.names.empty() || holds(query.names, name) ||
           (name.starts_with('@') && groups.contains(name.substr(1)));
  };
  std::vector<AssociationRow> out;
  for (const config::TreePlace& place : config::tree_order(tree)) {
    const Qos& q = tree[place.index];
    if (!query.qos.empty() && !holds(query.qos, q.name)) continue;
    std::vector<std::string> names = q.users;
    std::copy_if(q.operators.begin(), q.operators.end(), std::back_inserter(names),
                 [&](const std::string& name) { return !holds(q.users, name); });
    for (const std::string& name : names)
      if (is_wanted(name)) out.push_back({name, defaults[name], &q, holds(q.users, name), holds(q.operators, name)});
    if (!with_open || !is_open(tree, q)) continue;
    for (const std::string& name : query.names)
      if (!holds(q.operators, name)) out.push_back({name, defaults[name], &q, true, false});
  }
  return out;
}

namespace {

// ---- JSON

Json amounts_json(const model::Amounts& amounts) {
  Json out = Json::object();
  for (const auto& [resource, amount] : amounts) {
    if (resource.starts_with("gpu"))
      out[resource] = static_cast<double>(amount) / 1000;
    else
      out[resource] = amount;
  }
  return out;
}

Json qos_json(const Qos& q) {
  return {{"name", q.name},
          {"parent", q.parent},
          {"description", q.description},
          {"guaranteed", amounts_json(q.guaranteed)},
          {"limit", amounts_json(q.limit)},
          {"weight", q.weight},
          {"priority", q.priority},
          {"preempt_children", q.preempt_children},
          {"min_runtime", q.min_runtime.seconds()},
          {"grace", q.grace ? Json(q.grace->seconds()) : Json(nullptr)},
          {"patience", q.patience ? Json(q.patience->seconds()) : Json(nullptr)},
          {"max_wall", q.max_wall.seconds()},
          {"max_jobs", q.max_jobs},
          {"max_submit", q.max_submit},
          {"max_jobs_per_user", q.max_jobs_per_user},
          {"max_submit_per_user", q.max_submit_per_user},
          {"limit_per_user", amounts_json(q.limit_per_user)},
          {"users", q.users},
          {"operators", q.operators},
          {"budget", q.budget ? Json(model::format_gpu_budget(*q.budget)) : Json(nullptr)}};
}

Json budgets_json(const wire::ListQuotasReply& list) {
  Json out = Json::array();
  for (const BudgetRow& row : budget_rows(list)) {
    const base::Time spent_at = row.spent_at();
    out.push_back({{"owner", row.owner},
                   {"name", row.name},
                   {"budget", model::format_gpu_budget(row.budget)},
                   {"gpu_seconds", row.budget.gpu_seconds},
                   {"used_gpu_seconds", row.used},
                   {"gpus_now", row.gpus},
                   {"is_spent", row.is_spent},
                   {"spent_at", spent_at ? Json(spent_at.seconds()) : Json(nullptr)},
                   {"next_at", row.until ? Json(row.until.seconds()) : Json(nullptr)}});
  }
  return out;
}

std::string finished(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

Result<std::string> qos_table(const wire::ListQuotasReply& list, const QuotaQuery& query, QuotaTableStyle style) {
  const std::vector<Qos> tree = tree_of(list);
  std::vector<std::string> known;
  for (const Qos& q : tree) known.push_back(q.name);
  GW_TRY_STATUS(check_names(query.names, known, "QOS", style.is_slurm));
  const bool is_parsable = style.parsable || style.parsable2;
  const bool indents = query.tree || (query.names.empty() && !is_parsable && !style.is_slurm);
  constexpr Text kUsual = "Name,Guaranteed,Limit,Weight,Priority,Users,Operators";
  constexpr Text kFlat = "Name,Parent,Guaranteed,Limit,Weight,Priority,Users,Operators";
  return field_table(query.format, indents && !is_parsable ? kUsual : kFlat, qos_fields(),
                     qos_rows(tree, query, indents), style);
}

Result<std::string> user_table(const wire::ListQuotasReply& list, const QuotaQuery& query, QuotaTableStyle style) {
  if (query.associations) return association_table(list, query, style);
  const std::vector<Qos> tree = tree_of(list);
  std::vector<UserRow> rows = user_rows(list, tree);
  std::vector<std::string> known;
  for (const UserRow& row : rows) known.push_back(row.name);
  GW_TRY_STATUS(check_names(query.names, known, "role or default QOS of a user", style.is_slurm));
  if (!query.names.empty()) std::erase_if(rows, [&](const UserRow& r) { return !holds(query.names, r.name); });
  return field_table(query.format, "User,DefaultQOS,QOS,Operates", user_fields(), rows, style);
}

Result<std::string> budget_table(const wire::ListQuotasReply& list, const QuotaQuery& query, QuotaTableStyle style) {
  std::vector<BudgetRow> rows = budget_rows(list);
  std::vector<std::string> known;
  for (const BudgetRow& row : rows) known.push_back(row.name);
  GW_TRY_STATUS(check_names(query.names, known, "budget of", style.is_slurm));
  if (!query.names.empty()) std::erase_if(rows, [&](const BudgetRow& r) { return !holds(query.names, r.name); });
  return field_table(query.format, "Owner,Name,Budget,Used,Left,Percent,GPUs,SpentAt,Next", budget_fields(), rows,
                     style);
}

Result<std::string> association_table(const wire::ListQuotasReply& list, const QuotaQuery& query,
                                      QuotaTableStyle style) {
  std::vector<Qos> tree = tree_of(list);
  const bool has_default =
      std::any_of(tree.begin(), tree.end(), [&](const Qos& q) { return q.name == list.default_qos(); });
  // Jobs may name it although it is not in the tree.
  if (style.is_slurm && !has_default && !list.default_qos().empty()) tree.emplace_back().name = list.default_qos();
  return field_table(query.format, "Account,User,Role,DefaultQOS,Share,Limit", association_fields(),
                     association_rows(list, tree, query, style.is_slurm), style);
}

std::string quotas_json(const wire::ListQuotasReply& list) {
  Json j;
  j["schema_version"] = kSchemaVersion;
  j["qos"] = Json::array();
  const std::vector<Qos> tree = tree_of(list);
  for (const config::TreePlace& place : config::tree_order(tree)) j["qos"].push_back(qos_json(tree[place.index]));
  j["users"] = Json::array();
  for (const UserRow& row : user_rows(list, tree))
    j["users"].push_back({{"name", row.name},
                          {"default_qos", row.default_qos},
                          {"qos", row.qos},
                          {"operates", row.operates},
                          {"budget", row.budget.empty() ? Json(nullptr) : Json(row.budget)}});
  j["budgets"] = budgets_json(list);
  j["default_qos"] = list.default_qos();
  j["last_update"] = list.now_us() / 1'000'000;
  return finished(j);
}

std::string quota_changes_json(const wire::ChangeQuotasReply& reply, bool dry_run) {
  Json j;
  j["schema_version"] = kSchemaVersion;
  j["dry_run"] = dry_run;
  j["changes"] = std::vector<std::string>(reply.changes().begin(), reply.changes().end());
  j["effects"] = std::vector<std::string>(reply.effects().begin(), reply.effects().end());
  return finished(j);
}

}  // namespace gw::client
