// A limit of a QOS as a resource of the timeline: once it has held a job back, the moment is foreseen at which those
// that run will have left enough of it, and no job behind that one takes so much that it would start later. Source:
// conservative backfill (backfill.h), of an amount in place of nodes. Invariants: one job is planned for each limit,
// the first that it held back in this pass; a job within its guarantee yields only to another one.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "sched/quota/quota.h"

namespace gw::sched {

struct Session;
struct Served;

/// The start foreseen of a job that a limit holds back.
struct LimitPlan {
  Binding limit;
  uint32_t uid = 0;  ///< Whose limit it is, of a limit of each user.
  JobId job;
  bool is_guaranteed = false;
  base::Time when;     ///< Time::never(): nobody knows; it has waited its patience.
  uint64_t spare = 0;  ///< What others may still hold of it then.
};

class LimitPlans {
 public:
  /// Of all limits that hold the served job back. Nothing of one that held somebody back before, nor if nothing is
  /// foreseen and the job's patience lasts.
  void keep(Session& session, const Served& served);
  /// The plan that so much, held by the served job until then, would delay.
  const LimitPlan* in_way(const Session& session, const Served& served, const Quantities& amounts, base::Time until);
  /// It has started: it holds what others could have held beside the plans.
  void take(const Session& session, const Served& served, const Quantities& amounts, base::Time until);

  /// By job: when the limits that hold it back will have room for it, as far as that is foreseen.
  std::map<JobId, base::Time> foreseen() const;
  /// The first that each limit held back.
  void add_jobs(std::set<JobId>& to) const;

 private:
  using Key = std::tuple<uint32_t, size_t, bool, uint32_t>;  // QOS, resource, of each user, uid
  /// A running job, and when it leaves what it holds.
  struct Leaver {
    base::Time end;
    const QuotaLedger::Holder* holder = nullptr;
  };
  using Leavers = std::vector<Leaver>;             // the first first
  std::map<Key, std::optional<LimitPlan>> plans_;  // nothing: it is not foreseen, and nobody has lost patience
  std::set<JobId> held_back_;                      // the first of each of them, and of each QOS one that never fits
  std::set<uint32_t> never_;                       // QOS of the latter
  bool are_listed_ = false;
  Leavers all_;
  std::map<uint32_t, Leavers> of_users_;

  /// Calls `visit` with the plan of each limit that the served job counts against.
  template <typename Visit>
  void each(const Session& session, const Served& served, const Quantities& amounts, const Visit& visit);
  void list(const Session& session);
  void keep(Session& session, const Served& served, const Binding& limit);
};

}  // namespace gw::sched
