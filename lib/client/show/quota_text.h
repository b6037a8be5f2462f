// The tree of quotas as `gacctmgr show` prints it: tables of QOS, users and associations, and JSON.
// Invariants: a row is one line; no byte that a user wrote reaches a terminal as a command to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/show/quota_fields.h"
#include "wire/api.pb.h"

namespace gw::client {

/// How a table is drawn.
struct QuotaTableStyle {
  bool no_header = false;
  bool parsable = false;   ///< `|` behind each field.
  bool parsable2 = false;  ///< `|` between fields.
  bool is_slurm = false;   ///< A line of dashes below the header, no tree unless asked for.
};

/// Which rows, and which columns of them.
struct QuotaQuery {
  std::vector<std::string> names;  ///< Of the QOS or users shown; empty: all.
  std::vector<std::string> qos;    ///< Of associations.
  std::string format;              ///< "Name,Parent%20,Limit%-30"; empty: the usual columns.
  bool tree = false;               ///< Also what is below the named ones, indented.
  bool associations = false;       ///< Of users.
};

/// Errors: names that there are none of, with "did you mean"; unknown columns.
base::Result<std::string> qos_table(const wire::ListQuotasReply& list, const QuotaQuery& query, QuotaTableStyle style);
/// Everybody who has a default QOS or a role.
base::Result<std::string> user_table(const wire::ListQuotasReply& list, const QuotaQuery& query, QuotaTableStyle style);
/// A row for each user, or @group, of each QOS. A group is shown for each name of `query` that is in it. As sacctmgr
/// has it also a row for each name and each QOS that everybody may use.
base::Result<std::string> association_table(const wire::ListQuotasReply& list, const QuotaQuery& query,
                                            QuotaTableStyle style);

/// The rows of that table, which point into `tree`. With `with_open` also where one may submit without being named,
/// which Slurm has no word for.
std::vector<AssociationRow> association_rows(const wire::ListQuotasReply& list, const std::vector<model::Qos>& tree,
                                             const QuotaQuery& query, bool with_open);

/// What is used of each budget, in GPU-hours of the period that runs.
base::Result<std::string> budget_table(const wire::ListQuotasReply& list, const QuotaQuery& query,
                                       QuotaTableStyle style);

/// {"schema_version", "qos": [...], "users": [...], "budgets": [...], "default_qos", "last_update"}
std::string quotas_json(const wire::ListQuotasReply& list);
/// {"schema_version", "dry_run", "changes": [...], "effects": [...]}
std::string quota_changes_json(const wire::ChangeQuotasReply& reply, bool dry_run);

}  // namespace gw::client
