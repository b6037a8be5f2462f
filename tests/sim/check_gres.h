// Checker: no more of a generic resource is in use on a node than it has.
// A job has its part as long as something of it is there; one that is suspended keeps it.
#pragma once

#include <map>
#include <string>

#include "model/named_counts.h"
#include "tests/sim/checker.h"

namespace gw::sim_cluster {

class GresChecker final : public Checker {
 public:
  /// What each node has.
  explicit GresChecker(std::map<std::string, model::Gres> there) : there_(std::move(there)) {}
  void on_node_heard(const std::string& node, const wire::ControllerToNode& message) override;
  void on_machine(const Machine& machine) override;

 private:
  std::map<std::string, model::Gres> there_;
  std::map<uint32_t, model::Gres> asked_;  // by job, of each node
};

}  // namespace gw::sim_cluster
