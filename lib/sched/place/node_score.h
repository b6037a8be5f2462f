// Which of the nodes that would do is taken, where a policy says so itself instead of a fit (best, worst, spread).
// Combining rule: what a job, its partition or an administrator asks for comes first (named nodes, weights, closeness);
// of nodes that are alike in that the one with the highest score is taken, then the fullest.
#pragma once

namespace gw::sched {

/// Amounts of three resources, each as a part of what somebody has of it: in [0, 1], and 0 where he has none.
struct ResourceParts {
  double gpus = 0, cpus = 0, memory = 0;
  double sum() const { return gpus + cpus + memory; }
};

/// How well an amount goes with what there is: the larger, the more of both are of the same kind.
inline double dot(const ResourceParts& a, const ResourceParts& b) {
  return a.gpus * b.gpus + a.cpus * b.cpus + a.memory * b.memory;
}

/// A node on which a job, or a part of it, could run.
struct NodeOffer {
  ResourceParts asked;  ///< Of what the node has; it would be taken there.
  ResourceParts free;   ///< Before that.
};

class NodeScore {
 public:
  virtual ~NodeScore() = default;
  /// Higher is better. Contract: a pure function; nodes that are alike are asked for once.
  virtual double node_score(const NodeOffer& offer) const = 0;
};

}  // namespace gw::sched
