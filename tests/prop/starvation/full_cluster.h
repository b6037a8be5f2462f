// Random clusters, nearly full of jobs that can be preempted, in which one job waits that is within its guarantee: what
// a scenario says of them, and what the oracle of the quota rules knows.
// Invariants: at most ten jobs run (kMostRunning, an extension of an elastic gang counted as one), so that every set of
// them can be tried; the waiting job is the only one; every draw shrinks towards the plain.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/oracle/quota.h"

namespace gw::prop {

inline constexpr int64_t kWhole = 1000;  ///< A GPU, in thousandths.

/// What makes a cluster hard to search.
struct Traits {
  bool has_gang = false;          ///< On two nodes.
  bool has_sizes = false;         ///< Nodes of several sizes.
  bool has_leaves = false;        ///< Two nodes below one leaf switch.
  bool has_closed_nodes = false;  ///< Some excluded by the job, or kept for a maintenance.
  bool has_cores = false;         ///< Guarantees of cores besides, and jobs without GPUs.
  bool has_types = false;         ///< GPUs of two types, guaranteed by type.
  bool shares_gpus = false;
  bool has_components = false;  ///< A heterogeneous job waits.
  bool has_elastic = false;     ///< Gangs run that can give back what they have above their smallest size.
  bool has_spanning = false;    ///< Gangs run on two nodes.
  bool has_grace = false;       ///< Who is told to go leaves after a while.
  bool has_tree = false;        ///< Two levels of QOS.
};
/// Two to four of them.
Traits draw_traits();

struct Node {
  int64_t gpus = 8;
  std::string type;  ///< Empty: one that has no name.
  int64_t cpus = 64;
  int leaf = 0;
  bool is_closed = false;  ///< A maintenance begins before the job could end.
};

/// So many equal tasks.
struct Tasks {
  int64_t count = 1;
  int64_t gpus = 0, cpus = 1;
  std::string type;
  bool is_one_a_node = false;
};

/// The job that waits.
struct Waiting {
  std::vector<Tasks> parts;  ///< Several: a heterogeneous job.
  int64_t milli = 1000;      ///< Of the one GPU of a job that shares it.
  std::set<int> excluded;
  bool is_below_one_leaf = false;
};

/// A running job, or an extension of one.
struct Running {
  int id = 0;    ///< In FullCluster::rules.
  int line = 0;  ///< Of the scenario: from 0.
  std::vector<int> at;
  Tasks task;
  int64_t milli = 1000;
};

struct FullCluster {
  std::vector<Node> nodes;
  std::vector<Running> running;
  Waiting waiting;
  oracle::World rules;  ///< Of all jobs; that which waits is the last.
  std::string scenario;
  int waiting_id() const { return rules.jobs.back().id; }
};

FullCluster draw_full_cluster(const Traits& traits);

}  // namespace gw::prop
