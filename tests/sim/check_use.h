// Checker 1: no core, no GPU and no byte of memory of a node is held twice.
// Whose processes may run holds all that it was given. Who is suspended keeps its memory, and its GPUs where the
// partition does not lend them. A share without a process here is held all the same, unless the run has a lease, by
// which it may be over without a word.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "model/topology.h"
#include "tests/sim/checker.h"

namespace gw::sim_cluster {

class UseChecker final : public Checker {
 public:
  /// `lending`: partitions that lend the GPUs of those that are suspended.
  UseChecker(std::map<std::string, model::NodeTopology> nodes, std::set<std::string> lending)
      : nodes_(std::move(nodes)), lending_(std::move(lending)) {}
  void on_node_heard(const std::string& node, const wire::ControllerToNode& message) override;
  void on_node_said(const Machine& machine, const wire::NodeToController& message) override;
  void on_machine(const Machine& machine) override;

 private:
  /// All of a job on one node.
  struct Holder {
    wire::NodeShare share;
    bool has_process = false, runs = false, has_lease = false;
  };
  using Place = std::pair<std::string, RunKey>;

  std::map<RunKey, Holder> holders_on(const Machine& machine);
  static void check_step(const Machine& machine, const Machine::Seen& step, const wire::NodeShare& job);

  std::map<std::string, model::NodeTopology> nodes_;
  std::set<std::string> lending_;
  std::map<RunKey, std::string> partition_of_;
  std::map<Place, wire::NodeShare> shares_;
  std::set<Place> standing_;  // who said that it is suspended
};

}  // namespace gw::sim_cluster
