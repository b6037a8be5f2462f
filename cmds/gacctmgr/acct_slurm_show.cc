// Accounts, users, associations and QOS in the columns of sacctmgr. An account is a QOS under another name; the root of
// the tree is the account root, whose user is root.
#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "client/show/field_table.h"
#include "cmds/gacctmgr/acct.h"
#include "cmds/shared/admin_level.h"
#include "config/config.h"
#include "model/qos.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

using base::Result;
using client::QosRow;
using client::QuotaQuery;
using client::TableField;

/// An account, or a user of one.
struct AssocRow {
  std::string cluster, user, default_account, level;
  const model::Qos* qos = nullptr;
};
struct SlurmUserRow {
  std::string name, default_account, level, coordinates;
};

template <typename Row>
TableField<Row> column(std::vector<std::string_view> names, std::string_view header,
                       std::function<std::string(const Row&)> text) {
  return {std::move(names), header, std::move(text), true};
}

template <typename Row>
TableField<Row> constant(std::vector<std::string_view> names, std::string_view header, std::string value) {
  return column<Row>(std::move(names), header, [value](const Row&) { return value; });
}

/// What the own table shows of a QOS under this name.
std::function<std::string(const QosRow&)> own(std::string_view name) {
  for (const TableField<QosRow>& field : client::qos_fields())
    if (field.names.front() == name) return field.text;
  return [](const QosRow&) { return std::string(); };
}

const std::vector<TableField<QosRow>>& qos_columns() {
  using R = QosRow;
  static const std::vector<TableField<R>> kColumns = {
      column<R>({"name"}, "Name", [](const R& r) { return r.qos->name; }),
      column<R>({"priority"}, "Priority", own("priority")),
      column<R>({"gracetime"}, "GraceTime",
                [](const R& r) { return base::format_duration(r.qos->grace.value_or(base::Duration{})); }),
      constant<R>({"preempt"}, "Preempt", ""),
      column<R>({"preemptexempttime"}, "PreemptExemptTime", own("min_runtime")),
      constant<R>({"preemptmode"}, "PreemptMode", "cluster"),
      constant<R>({"flags"}, "Flags", ""),
      constant<R>({"usagethreshold"}, "UsageThres", ""),
      constant<R>({"usagefactor"}, "UsageFactor", "1.000000"),
      column<R>({"grptres"}, "GrpTRES", own("grptres")),
      column<R>({"grptresmins"}, "GrpTRESMins", own("grptresmins")),
      constant<R>({"grptresrunmins"}, "GrpTRESRunMins", ""),
      column<R>({"grpjobs"}, "GrpJobs", own("grpjobs")),
      column<R>({"grpsubmitjobs"}, "GrpSubmit", own("grpsubmitjobs")),
      constant<R>({"grpwall"}, "GrpWall", ""),
      constant<R>({"maxtres", "maxtresperjob", "maxtrespj"}, "MaxTRES", ""),
      constant<R>({"maxtrespernode", "maxtrespn"}, "MaxTRESPerNode", ""),
      constant<R>({"maxtresmins"}, "MaxTRESMins", ""),
      column<R>({"maxwall", "maxwalldurationperjob"}, "MaxWall", own("max_wall")),
      column<R>({"maxtrespu", "maxtresperuser"}, "MaxTRESPU", own("maxtrespu")),
      column<R>({"maxjobspu", "maxjobsperuser"}, "MaxJobsPU", own("max_jobs_per_user")),
      column<R>({"maxsubmitpu", "maxsubmitjobspu", "maxsubmitjobsperuser"}, "MaxSubmitPU", own("max_submit_per_user")),
      constant<R>({"maxtrespa", "maxtresperaccount"}, "MaxTRESPA", ""),
      constant<R>({"maxtresrunminspa"}, "MaxTRESRunMinsPA", ""),
      constant<R>({"maxtresrunminspu"}, "MaxTRESRunMinsPU", ""),
      constant<R>({"maxjobspa", "maxjobsperaccount"}, "MaxJobsPA", ""),
      constant<R>({"maxsubmitpa", "maxsubmitjobsperaccount"}, "MaxSubmitPA", ""),
      constant<R>({"mintres"}, "MinTRES", ""),
      column<R>({"description"}, "Descr", own("description")),
      constant<R>({"id"}, "ID", "")};
  return kColumns;
}
constexpr std::string_view kQosFormat =
    "Name,Priority,GraceTime,Preempt,PreemptExemptTime,PreemptMode,Flags,UsageThreshold,UsageFactor,GrpTRES,"
    "GrpTRESMins,GrpTRESRunMins,GrpJobs,GrpSubmitJobs,GrpWall,MaxTRES,MaxTRESPerNode,MaxTRESMins,MaxWall,MaxTRESPU,"
    "MaxJobsPU,MaxSubmitPU,MaxTRESPA,MaxTRESRunMinsPA,MaxTRESRunMinsPU,MaxJobsPA,MaxSubmitPA,MinTRES";

const std::vector<TableField<AssocRow>>& association_columns() {
  using R = AssocRow;
  static const auto kColumns = [] {
    const auto of_account = [](std::string_view name) {
      return [text = own(name)](const R& r) { return r.user.empty() ? text({r.qos}) : std::string(); };
    };
    const auto of_user = [](std::string_view name) {
      return [text = own(name)](const R& r) { return r.user.empty() ? std::string() : text({r.qos}); };
    };
    const auto account = [](const R& r) { return r.qos->name == model::kRootQos ? std::string("root") : r.qos->name; };
    const auto parent = [](const R& r) {
      if (!r.user.empty() || r.qos->name == model::kRootQos) return std::string();
      return r.qos->parent.empty() ? std::string("root") : r.qos->parent;
    };
    return std::vector<TableField<R>>{
        column<R>({"cluster"}, "Cluster", [](const R& r) { return r.cluster; }),
        column<R>({"account"}, "Account", account),
        column<R>({"user"}, "User", [](const R& r) { return r.user; }),
        constant<R>({"partition"}, "Partition", ""),
        column<R>({"share", "fairshare"}, "Share", [](const R& r) { return std::to_string(r.qos->weight); }),
        column<R>({"priority"}, "Priority", of_account("priority")),
        column<R>({"grpjobs"}, "GrpJobs", of_account("grpjobs")),
        column<R>({"grptres"}, "GrpTRES", of_account("grptres")),
        column<R>({"grpsubmitjobs"}, "GrpSubmit", of_account("grpsubmitjobs")),
        constant<R>({"grpwall"}, "GrpWall", ""),
        column<R>({"grptresmins"}, "GrpTRESMins", of_account("grptresmins")),
        column<R>({"maxjobs"}, "MaxJobs", of_user("max_jobs_per_user")),
        constant<R>({"maxtres", "maxtresperjob"}, "MaxTRES", ""),
        constant<R>({"maxtrespernode"}, "MaxTRESPerNode", ""),
        column<R>({"maxsubmitjobs"}, "MaxSubmit", of_user("max_submit_per_user")),
        column<R>({"maxwall", "maxwalldurationperjob"}, "MaxWall",
                  [text = own("max_wall")](const R& r) { return text({r.qos}); }),
        constant<R>({"maxtresmins"}, "MaxTRESMins", ""),
        column<R>({"qos"}, "QOS", account),
        column<R>({"defaultqos"}, "Def QOS", [](const R& r) { return r.default_account; }),
        constant<R>({"grptresrunmins"}, "GrpTRESRunMins", ""),
        column<R>({"parentname"}, "Par Name", parent),
        column<R>({"defaultaccount"}, "Def Acct", [](const R& r) { return r.default_account; }),
        column<R>({"adminlevel"}, "Admin", [](const R& r) { return r.level; }),
        constant<R>({"id"}, "ID", "")};
  }();
  return kColumns;
}
constexpr std::string_view kAssociationFormat =
    "Cluster,Account,User,Partition,Share,Priority,GrpJobs,GrpTRES,GrpSubmitJobs,GrpWall,GrpTRESMins,MaxJobs,MaxTRES,"
    "MaxTRESPerNode,MaxSubmitJobs,MaxWall,MaxTRESMins,QOS,DefaultQOS,GrpTRESRunMins";

constexpr std::string_view kUserFormat =
    "User,DefaultAccount,AdminLevel,Cluster,Account,Partition,Share,Priority,MaxJobs,MaxSubmitJobs,MaxWall,QOS,"
    "DefaultQOS";

const std::vector<TableField<QosRow>>& account_columns() {
  using R = QosRow;
  const auto name = [](const R& r) { return r.qos->name == model::kRootQos ? std::string("root") : r.qos->name; };
  static const std::vector<TableField<R>> kColumns = {
      column<R>({"account", "name"}, "Account", name),
      column<R>({"description"}, "Descr",
                [name](const R& r) { return r.qos->description.empty() ? name(r) : r.qos->description; }),
      column<R>({"organization"}, "Org",
                [name](const R& r) { return r.qos->parent.empty() ? name(r) : r.qos->parent; }),
      column<R>({"coordinators"}, "Coord Accounts", own("operators"))};
  return kColumns;
}

const std::vector<TableField<SlurmUserRow>>& user_columns() {
  using R = SlurmUserRow;
  static const std::vector<TableField<R>> kColumns = {
      column<R>({"user", "name"}, "User", [](const R& r) { return r.name; }),
      column<R>({"defaultaccount"}, "Def Acct", [](const R& r) { return r.default_account; }),
      constant<R>({"defaultwckey"}, "Def WCKey", ""),
      column<R>({"adminlevel"}, "Admin", [](const R& r) { return r.level; }),
      column<R>({"coordinators"}, "Coord Accounts", [](const R& r) { return r.coordinates; })};
  return kColumns;
}

bool takes(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

/// The tree with what jobs may name although nobody wrote it there: its root, and the default QOS.
class SlurmTables {
 public:
  SlurmTables(const wire::ListQuotasReply& list, const config::Config& config)
      : list_(list), cluster_(config.cluster), levels_(list, config) {
    std::map<std::string, model::Qos> all;
    for (const wire::Qos& q : list.qos()) all.emplace(q.name(), wire::from_wire(q));
    root_.name = model::kRootQos;
    if (const auto it = all.find(root_.name); it != all.end()) root_ = it->second, all.erase(it);
    if (!list.default_qos().empty()) all[list.default_qos()].name = list.default_qos();
    for (auto& [name, q] : all) qos_.push_back(std::move(q));
    for (const wire::QuotaUser& user : list.users())
      if (!user.default_qos().empty()) defaults_[user.name()] = user.default_qos();
    for (const model::Qos& q : qos_)
      for (const std::string& user : q.operators) coordinates_[user].push_back(q.name);
  }

  Result<std::string> qos(const QuotaQuery& query, client::QuotaTableStyle style) const {
    std::vector<QosRow> rows;
    for (const model::Qos& q : qos_)
      if (takes(query.names, q.name)) rows.push_back({&q});
    return client::field_table(query.format, kQosFormat, qos_columns(), rows, style);
  }

  Result<std::string> accounts(const QuotaQuery& query, client::QuotaTableStyle style) const {
    std::vector<QosRow> rows;
    for (const model::Qos& q : qos_)
      if (takes(query.names, q.name)) rows.push_back({&q});
    if (takes(query.names, "root")) rows.push_back({&root_});
    return client::field_table(query.format, "Account,Description,Organization", account_columns(), rows, style);
  }

  Result<std::string> users(const QuotaQuery& query, client::QuotaTableStyle style) const {
    std::set<std::string> members;
    if (!query.qos.empty())
      for (const client::AssociationRow& row : association_rows(list_, qos_, query, false)) members.insert(row.user);
    std::vector<SlurmUserRow> rows;
    for (const std::string& name : all_users())
      if (takes(query.names, name) && (query.qos.empty() || members.contains(name)))
        rows.push_back({name, default_of(name), level_of(name), coordinated_by(name)});
    return client::field_table(query.format, "User,DefaultAccount,AdminLevel", user_columns(), rows, style);
  }

  /// `of_users`: those of users alone, in the columns of users.
  Result<std::string> associations(const QuotaQuery& query, client::QuotaTableStyle style, bool of_users) const {
    std::map<std::string, std::set<std::string>> users;  // by account
    for (const client::AssociationRow& row : association_rows(list_, qos_, query, true)) {
      // A group stands for those of it who were asked for.
      const bool is_for_others = row.user.starts_with('@') && !query.names.empty();
      if (is_for_others)
        users[row.qos->name].insert(query.names.begin(), query.names.end());
      else
        users[row.qos->name].insert(row.user);
    }
    if (takes(query.names, "root")) users[root_.name].insert("root");
    std::vector<AssocRow> rows;
    const auto add = [&](const model::Qos& q, const std::string& name) {
      if (!takes(query.qos, name)) return;
      if (query.names.empty() && !of_users) rows.push_back({cluster_, "", "", "", &q});
      for (const std::string& user : users[q.name])
        rows.push_back({cluster_, user, default_of(user), level_of(user), &q});
    };
    add(root_, "root");
    for (const model::Qos& q : qos_) add(q, q.name);
    return client::field_table(query.format, of_users ? kUserFormat : kAssociationFormat, association_columns(), rows,
                               style);
  }

 private:
  std::set<std::string> all_users() const {
    std::set<std::string> names = {"root"};
    const auto add = [&names](const model::Qos& q) {
      for (const auto* list : {&q.users, &q.operators})
        for (const std::string& user : *list)
          if (!user.starts_with('@')) names.insert(user);
    };
    add(root_);
    for (const model::Qos& q : qos_) add(q);
    for (const wire::QuotaUser& user : list_.users()) names.insert(user.name());
    return names;
  }
  std::string default_of(const std::string& user) const {
    const auto it = defaults_.find(user);
    return it == defaults_.end() ? list_.default_qos() : it->second;
  }
  std::string level_of(const std::string& user) const { return std::string(levels_.of(user)); }
  std::string coordinated_by(const std::string& user) const {
    const auto it = coordinates_.find(user);
    return it == coordinates_.end() ? std::string() : base::join(it->second, ",");
  }

  const wire::ListQuotasReply& list_;
  std::string cluster_;
  AdminLevels levels_;
  model::Qos root_;
  std::vector<model::Qos> qos_;  // by name
  std::map<std::string, std::string> defaults_;
  std::map<std::string, std::vector<std::string>> coordinates_;
};

}  // namespace

Result<std::string> slurm_account_table(AcctEntity entity, const QuotaQuery& query, client::QuotaTableStyle style,
                                        const wire::ListQuotasReply& list, const config::Config& config) {
  const SlurmTables tables(list, config);
  if (entity == AcctEntity::kQos) return tables.qos(query, style);
  if (entity == AcctEntity::kAccount && !query.associations) return tables.accounts(query, style);
  if (entity == AcctEntity::kUser && !query.associations) return tables.users(query, style);
  return tables.associations(query, style, entity == AcctEntity::kUser);
}

}  // namespace gw::cmds
