// One pass over the queue: whose turn it is, and what is tried for each job. What is tried stands in the lists of
// pass.cc; the actions are in the other files of this folder. Invariant: when run() returns, the view's ledger is as it
// was.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sched/cycle/session.h"
#include "sched/quota/fair_queue.h"

namespace gw::sched {

class Pass {
 public:
  Pass(ClusterView& view, Time now, const Budget& budget);
  Plan run();

 private:
  /// A class in the course of the pass.
  struct Progress {
    const ClassKey* key = nullptr;
    JobClass* job_class = nullptr;
    std::map<Rank, PendingJob>::const_iterator next;
    uint32_t leaf = 0;   ///< Of the tree of quotas.
    Quantities amounts;  ///< That each of its jobs counts at the least.
    bool is_blocked = false;
  };
  enum class Outcome { kStarted, kBlocked, kLimited, kNominated, kRejected };

  ClusterView& view_;
  Session session_;
  FairQueue queue_order_;
  std::vector<Progress> progress_;  // by number of the class; made once, so that each stays where it is
  uint64_t put_back_ = 0;           // turns that came too early by what their users had got meanwhile
  uint64_t spent_ = 0;              // of the budget of placements
  std::unordered_map<uint32_t, uint64_t> spent_by_;  // by users, on classes that are theirs alone
  uint64_t allowance_ = 0;                           // of each

  void open();
  void serve_queue();
  std::optional<ClassHead> take_turn();
  bool is_guaranteed(const ClassHead& turn) const;
  void end();
  std::optional<ClassHead> next_turn(Progress& progress);
  void serve(const ClassHead& turn);
  void look_at(Progress& progress, Served& served, bool is_passed);
  void put_off(const Served& served, uint32_t uid);
  Outcome decide(Progress& progress, Served& served, bool is_blocked, bool is_known);
  Outcome wait(Progress& progress, Served& served, bool is_blocked, bool is_known);
};

}  // namespace gw::sched
