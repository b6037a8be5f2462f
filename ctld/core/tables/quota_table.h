// The tree of quotas as the controller keeps it, and how it is changed: by administrators, and by the operators of a
// QOS below theirs. Pure: a request is applied to a copy, and either all of it holds or the first fault is told.
// Invariants: the QOS of a table pass check_qos_tree() once kRootQos is left out, which has roles only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ctld/core/authorize.h"
#include "model/qos.h"
#include "wire/api.pb.h"

namespace gw::ctld {

struct QuotaTable {
  std::map<std::string, model::Qos> qos;  ///< kRootQos among them only if it was given users or operators.
  std::map<std::string, model::QuotaUser> users;
  bool operator==(const QuotaTable&) const = default;

  /// For the scheduler: without the root, in the order of names.
  std::vector<model::Qos> tree() const;
  /// Names from the QOS up to the root, which is the last.
  std::vector<std::string> path(const std::string& name) const;
  /// All below it.
  std::vector<std::string> below(const std::string& name) const;
};

/// Is the caller an operator of the QOS, or of one above it?
bool is_operator(const QuotaTable& table, const Caller& caller, const std::string& qos);
/// May the caller submit there? Where no QOS on the way to the root names users, everybody may.
bool may_submit(const QuotaTable& table, const Caller& caller, const std::string& qos);

/// Who asks, and what the whole cluster has for guarantees: resources not named are not checked.
struct QuotaAuthor {
  const Caller& caller;
  bool is_admin = false;
};
struct QuotaBounds {
  model::Amounts capacity;
  base::Duration grace;  ///< Of QOS that say nothing: operators may not give longer ones than they have.
};

/// The table after the changes; `lines` says each of them. Errors: unknown names, with "did you mean"; kConflict: names
/// that clash; kDenied: not below a QOS that the caller operates, or more than that has; kInvalid: loops, guarantees
/// that do not fit (unless forced), amounts out of range.
base::Result<QuotaTable> changed(const QuotaTable& table, const wire::ChangeQuotasRequest& request,
                                 const QuotaAuthor& author, const QuotaBounds& bounds, std::vector<std::string>& lines);

}  // namespace gw::ctld
