// See fair_share_text.h.
#include "cmds/gshare/fair_share_text.h"

#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "client/show/field_table.h"
#include "config/quota_file.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

using client::TableField;

using model::Qos;

struct Row {
  std::string account, user, partition;
  size_t depth = 0;
  bool is_root = false;
  uint32_t weight = 0;
  double norm = 0;      ///< Its part of all shares,
  double used = 0;      ///< GPU-seconds that count now,
  double part = 0;      ///< and their part of all.
  uint64_t budget = 0;  ///< GPU-minutes; 0: none.
};

/// Slurm's classic factor, by which gctld ranks users (plugins/order/multifactor.cc).
double fair_share(const Row& row) { return row.norm <= 0 ? 0 : std::exp2(-row.part / row.norm); }

std::string fraction(double value) { return fmt::format("{:.6f}", value); }

const std::vector<TableField<Row>>& fields() {
  static const std::vector<TableField<Row>> kFields = {
      {{"account"}, "Account", [](const Row& r) { return std::string(r.depth, ' ') + r.account; }},
      {{"user"}, "User", [](const Row& r) { return r.user; }, true},
      {{"partition"}, "Partition", [](const Row& r) { return r.partition; }, true},
      {{"rawshares"}, "RawShares", [](const Row& r) { return r.is_root ? "" : std::to_string(r.weight); }, true},
      {{"normshares"}, "NormShares", [](const Row& r) { return fraction(r.norm); }, true},
      {{"rawusage"}, "RawUsage", [](const Row& r) { return fmt::format("{:.0f}", r.used); }, true},
      {{"normusage"}, "NormUsage", [](const Row& r) { return fraction(r.part); }, true},
      {{"effectvusage"}, "EffectvUsage", [](const Row& r) { return fraction(r.part); }, true},
      {{"fairshare"}, "FairShare", [](const Row& r) { return fraction(fair_share(r)); }, true},
      {{"levelfs"},
       "LevelFS",
       [](const Row& r) { return r.is_root     ? ""
                                 : r.part <= 0 ? "inf"
                                               : fraction(r.norm / r.part); },
       true},
      {{"grptresmins"},
       "GrpTRESMins",
       [](const Row& r) { return r.budget == 0 ? "" : fmt::format("gres/gpu={}", r.budget); },
       true},
      {{"tresrunmins"}, "TRESRunMins", [](const Row&) { return std::string(); }, true},
  };
  return kFields;
}

std::string user_name(uint32_t uid) {
  const passwd* entry = ::getpwuid(uid);
  return entry == nullptr ? std::to_string(uid) : entry->pw_name;
}

/// Puts the rows together: each QOS below its parent, its users below it.
class Rows {
 public:
  Rows(const wire::ListQuotasReply& list, const FairShareQuery& query) : list_(list), query_(query) {
    for (const wire::Qos& qos : list.qos())
      if (qos.name() != model::kRootQos) tree_.push_back(wire::from_wire(qos));
    const auto is_default = [&](const Qos& q) { return q.name == list.default_qos(); };
    if (!list.default_qos().empty() && std::none_of(tree_.begin(), tree_.end(), is_default))
      tree_.emplace_back().name = list.default_qos();
    sum_up();
  }

  std::vector<Row> run() {
    Row root;
    root.account = "root";
    root.is_root = true;
    root.norm = 1;
    root.used = all_;
    root.part = all_ > 0 ? 1 : 0;
    if (query_.accounts.empty() && !query_.users_alone) out_.push_back(root);
    std::vector<double> norms = {1};
    for (const config::TreePlace& place : config::tree_order(tree_)) {
      const Qos& qos = tree_[place.index];
      norms.resize(place.depth);
      norms.push_back(norms.back() * part_of_level(qos));
      add(qos, place.depth, norms.back());
    }
    return std::move(out_);
  }

 private:
  const wire::ListQuotasReply& list_;
  const FairShareQuery& query_;
  std::vector<Qos> tree_;
  std::map<std::string, double> used_, users_, weights_;
  double all_ = 0;
  std::vector<Row> out_;

  double part_of_level(const Qos& qos) const {
    const double all = weights_.at(qos.parent);
    return all <= 0 ? 0 : qos.weight / all;
  }

  /// What is used at a QOS counts there and at all above it.
  void sum_up() {
    std::map<std::string, std::string> parents;
    for (const Qos& qos : tree_) parents[qos.name] = qos.parent;
    for (const Qos& qos : tree_) weights_[qos.parent] += qos.weight;
    for (const wire::PastUse& past : list_.past()) {
      if (past.qos().empty()) {
        users_[user_name(past.uid())] += past.gpu_seconds();
        continue;
      }
      all_ += past.gpu_seconds();
      size_t steps = 0;
      for (auto at = parents.find(past.qos()); at != parents.end() && steps <= parents.size();
           at = parents.find(at->second), ++steps)
        used_[at->first] += past.gpu_seconds();
    }
  }

  double part_of(double used) const { return all_ <= 0 ? 0 : used / all_; }

  static bool holds(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  void add(const Qos& qos, size_t depth, double norm) {
    if (!query_.accounts.empty() && !holds(query_.accounts, qos.name)) return;
    Row row;
    row.account = qos.name;
    row.depth = depth;
    row.weight = qos.weight;
    row.norm = norm;
    row.used = used_[qos.name];
    row.part = part_of(row.used);
    if (qos.budget && qos.budget->period == base::Period::kNone) row.budget = qos.budget->gpu_seconds / 60;
    if (!query_.users_alone) out_.push_back(row);
    for (const std::string& user : users_at(qos)) add_user(row, user);
  }

  /// Who is named there, or submits there without saying so.
  std::set<std::string> users_at(const Qos& qos) const {
    std::set<std::string> out, placed;
    for (const std::string& name : qos.users)
      if (!name.starts_with('@')) out.insert(name);
    for (const wire::QuotaUser& user : list_.users()) {
      if (!user.default_qos().empty()) placed.insert(user.name());
      if (user.default_qos() == qos.name) out.insert(user.name());
    }
    if (qos.name != list_.default_qos()) return out;
    for (const auto& [name, used] : users_)
      if (!placed.contains(name)) out.insert(name);
    return out;
  }

  void add_user(const Row& account, const std::string& user) {
    if (!query_.all_users && !holds(query_.users, user)) return;
    Row row;
    row.account = account.account;
    row.depth = account.depth + 1;
    row.user = user;
    row.weight = 1;  // users share evenly
    row.norm = users_.empty() ? 1 : 1.0 / static_cast<double>(users_.size());
    const auto used = users_.find(user);
    row.used = used == users_.end() ? 0 : used->second;
    row.part = part_of(row.used);
    out_.push_back(std::move(row));
  }
};

}  // namespace

base::Result<std::string> fair_share_table(const wire::ListQuotasReply& list, const FairShareQuery& query,
                                           client::QuotaTableStyle style) {
  constexpr std::string_view kUsual = "Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare";
  constexpr std::string_view kLong =
      "Account,User,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,LevelFS,GrpTRESMins,TRESRunMins";
  return client::field_table(query.format, query.is_long ? kLong : kUsual, fields(), Rows(list, query).run(), style);
}

std::string fair_share_columns() {
  std::string out;
  for (const TableField<Row>& field : fields()) out += fmt::format("{:<20}\n", field.header);
  return out;
}

}  // namespace gw::cmds
