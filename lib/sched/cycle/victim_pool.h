// The running jobs that a pass may preempt or move, listed once and kept true as decisions take them: in the order of
// rule 8 (docs/quotas.md), by the node where they run, and with the labels of all running jobs. Invariant: the list
// never moves, so that pointers into it hold for the pass.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "sched/quota/permission.h"

namespace gw::sched {

using base::NodeId;

struct PendingJob;
struct Group;
struct Session;

class VictimPool {
 public:
  /// Everybody who could be preempted when the pass began, the rules aside; in the order of rule 8. Those that were
  /// taken since are no longer preemptible (is_preemptible()).
  const std::vector<Candidate>& candidates(const Session& session);
  /// The same as pointers.
  const std::vector<const Candidate*>& ranked(const Session& session);
  /// Those of them that hold something on a node.
  const std::vector<const Candidate*>& on(const Session& session, NodeId node);
  /// The nodes on which a candidate holds something; those of its extensions are theirs.
  const std::vector<NodeId>& nodes_of(const Session& session, const Candidate& candidate);
  /// The candidates by submitted priority and by what each GPU of theirs would lose; those without GPUs first.
  const std::vector<const Candidate*>& by_rate(const Session& session);
  /// The labels of all running jobs, with what the pass has decided so far.
  Covers& covers(const Session& session);
  /// When the youngest of the running jobs began, whoever may preempt it; costs a look at each, once.
  base::Time latest_start(const Session& session);
  /// Does an elastic gang at this leaf of the tree hold more than its smallest size?
  bool has_extensions(const Session& session, uint32_t leaf);
  /// When jobs of this QOS may be preempted again for a job beyond its guarantee: not before, since so many were within
  /// the hour before, with those of this pass; the past: at once.
  base::Time bounded_until(const Session& session, const std::string& qos);
  /// When anything may be taken from another QOS again: not before, since so much was in this round of the share
  /// policy, with this pass; the past: at once.
  base::Time round_until(const Session& session);
  /// Those that were told to go before this pass and still hold something.
  const std::vector<JobId>& leaving(const Session& session);

 private:
  std::optional<std::vector<Candidate>> candidates_;
  std::unordered_map<NodeId, std::vector<const Candidate*>> on_;
  std::vector<std::vector<NodeId>> nodes_of_;  // by candidate
  std::vector<const Candidate*> by_rate_, ranked_;
  std::optional<std::vector<JobId>> leaving_;
  std::optional<base::Time> latest_start_;
  std::optional<std::set<uint32_t>> with_extensions_;  // leaves
  std::optional<Covers> covers_;
  std::map<std::string, uint32_t> preempted_;  // in this pass, by QOS
  std::optional<uint64_t> taken_before_;       // in this round, before this pass: thousandths of GPUs
  uint64_t taken_ = 0;                         // in this pass
  size_t labelled_groups_ = 0;                 // of the plan, that are in the labels

  void list(const Session& session);
  void label(const Session& session);
  void label_decisions(const Session& session);
  void count_preemptions(const Session& session, const Group& group);
};

/// Does it run whole, and does nobody take it off yet?
bool is_there_to_take(const Session& session, JobId id, const PendingJob& running);
/// Could anybody preempt this running job, the rules aside?
bool is_preemptible(const Session& session, JobId id, const PendingJob& running);

}  // namespace gw::sched
