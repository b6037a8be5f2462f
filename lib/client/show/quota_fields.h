// The columns of `gacctmgr show`: what each one is called, and what it shows of a row.
// Invariant: every name of a column is its own; the first one is written with underscores, as in the configuration.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/qos.h"

namespace gw::client {

/// A column: its names (the first with underscores), what stands above it, and what it shows.
template <typename Row>
struct TableField {
  std::vector<std::string_view> names;
  std::string_view header;
  std::function<std::string(const Row&)> text;
  bool is_right = false;
};

struct QosRow {
  const model::Qos* qos = nullptr;
  size_t indent = 0;
};
struct UserRow {
  std::string name, default_qos, budget;
  std::vector<std::string> qos, operates;
};
struct AssociationRow {
  std::string user, default_qos;
  const model::Qos* qos = nullptr;
  bool is_user = false, is_operator = false;
};

/// What is used of a budget.
struct BudgetRow {
  std::string owner, name;  ///< "QOS" or "user", and which.
  model::GpuBudget budget;
  double used = 0;   ///< GPU-seconds of the period that runs,
  double gpus = 0;   ///< and GPUs that are held now.
  base::Time until;  ///< When the next period begins; zero: never.
  base::Time now;
  bool is_spent = false;
  double left() const;
  /// When it is spent if as many GPUs are held as now; zero: not in this period.
  base::Time spent_at() const;
};

const std::vector<TableField<QosRow>>& qos_fields();
const std::vector<TableField<UserRow>>& user_fields();
const std::vector<TableField<AssociationRow>>& association_fields();
const std::vector<TableField<BudgetRow>>& budget_fields();

}  // namespace gw::client
