// What is used of budgets of GPU-hours (model::GpuBudget): of a QOS by its jobs and by those below it, of a user by all
// of its jobs. Stored with the change that caused it, as other use is. A GPU counts from when a job is given it until
// it gives it back; jobs without GPUs count for nothing. Invariants: what jobs hold now is known of every QOS and user,
// so that a budget counts from the moment when it is set; nothing that was used in one period counts in the next.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/calendar.h"
#include "base/time.h"
#include "ctld/core/tables/quota_table.h"
#include "sched/quota/usage.h"
#include "store/rows.h"

namespace gw::ctld {

/// Whose a budget is.
struct BudgetOwner {
  bool is_user = false;
  std::string name;
  auto operator<=>(const BudgetOwner&) const = default;
  /// "QOS ml", "user ann".
  std::string text() const { return (is_user ? "user " : "QOS ") + name; }
};

enum class BudgetState : uint8_t {
  kWithin,
  kLow,  ///< kLowPercent of it are used.
  kSpent,
};
constexpr int kLowPercent = 80;

class GpuBudgets {
 public:
  struct Meter {
    model::GpuBudget budget;
    sched::Used used;        ///< In the period of `used.at`.
    base::Time from, until;  ///< That period: cached.
    BudgetState state = BudgetState::kWithin;
  };
  struct Change {
    BudgetOwner owner;
    BudgetState before = BudgetState::kWithin;
  };

  /// A job of this user and QOS holds so much more, or less, in millionths of a GPU.
  void change_rate(base::Time now, const std::string& user, const std::string& qos, const QuotaTable& quotas,
                   int64_t by);
  /// Likewise for what it has held since the meters were stored.
  void resume_rate(const std::string& user, const std::string& qos, const QuotaTable& quotas, int64_t by);
  /// The budgets are those of this tree, and of its users. What was used stays where there was one.
  void set_budgets(const QuotaTable& quotas, base::Time now);
  /// False: it is no use of a budget. One of a budget that is not there stays: its QOS may be held aside.
  bool restore(const store::PutUsage& row);
  /// Brings the states up to date; those that are others now.
  std::vector<Change> look(base::Time now);

  bool empty() const { return meters_.empty(); }
  const std::map<BudgetOwner, Meter>& meters() const { return meters_; }
  /// What is used in the period of `now`, in millionths of a GPU-second.
  static int64_t used_at(const Meter& meter, base::Time now);
  /// The first budget, from the QOS up and then of the user, that is spent and lets nothing start; null: none.
  const BudgetOwner* refusing(const std::string& user, const std::vector<std::string>& path) const;
  /// Is the budget of this very QOS spent, so that its jobs only borrow?
  bool only_borrows(const std::string& qos) const;
  /// Or that of one above it?
  bool only_borrows(const std::vector<std::string>& path) const;
  /// Rows of what changed since the last call.
  store::Batch take_rows();

 private:
  std::map<BudgetOwner, Meter> meters_;
  std::map<std::string, int64_t> qos_rates_, user_rates_;  // of the jobs at each QOS itself, without zeros
  std::set<BudgetOwner> changed_;

  void count_rates(const std::string& user, const std::string& qos, int64_t by);
  template <typename Fn>
  void each_of(const std::string& user, const std::string& qos, const QuotaTable& quotas, const Fn& fn);
  void settle(const BudgetOwner& owner, Meter& meter, base::Time now);
  const Meter* find(const BudgetOwner& owner) const;
};

}  // namespace gw::ctld
