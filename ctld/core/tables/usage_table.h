// What users and QOS have used of the cluster, which fades (sched/usage.h); stored with the change that caused it, told
// to the scheduler in fixed periods.
// Invariant: users and QOS are charged for the same, at the same time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/time.h"
#include "sched/quota/usage.h"
#include "sched/view/view.h"
#include "store/rows.h"

namespace gw::ctld {

class UsageTable {
 public:
  explicit UsageTable(base::Duration half_life) : users_(half_life), qos_(half_life) {}

  /// They hold so much more from now on, or less.
  void change_rate(base::Time now, uint32_t uid, const std::string& qos, int64_t rate) {
    users_.change_rate(uid, rate, now);
    qos_.change_rate(qos, rate, now);
  }
  /// They held so much when the controller was ended.
  void resume_rate(base::Time now, uint32_t uid, const std::string& qos, int64_t rate) {
    users_.resume_rate(uid, rate, now);
    qos_.resume_rate(qos, rate, now);
  }
  /// False: the row is no use of a user or a QOS.
  bool restore(const store::PutUsage& row);
  void set_half_life(base::Duration half_life, base::Time now) {
    users_.set_half_life(half_life, now);
    qos_.set_half_life(half_life, now);
  }
  void forget_small(base::Time now) {
    users_.forget_small(now);
    qos_.forget_small(now);
  }

  bool empty() const { return users_.empty(); }
  const std::map<uint32_t, sched::Used>& users() const { return users_.holders(); }
  const std::map<std::string, sched::Used>& qos() const { return qos_.holders(); }
  /// GPU-seconds of users, as the scheduler was told.
  const std::map<uint32_t, double>& last_sent_users() const { return last_sent_.usage; }
  /// What the scheduler is to be told as of `at`, of those that count; nothing if it knows that.
  std::optional<sched::UsageSet> news(base::Time at, bool do_users_count, bool does_qos_count);
  /// Rows of what changed since the last call.
  store::Batch take_rows();

 private:
  sched::UsageMeter<uint32_t> users_;
  sched::UsageMeter<std::string> qos_;
  sched::UsageSet last_sent_;
};

}  // namespace gw::ctld
