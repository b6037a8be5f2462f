// Checker: no more of a licence is in use than the cluster has.
// A job uses its licences wherever something of it runs; who is suspended uses none.
#pragma once

#include <map>
#include <string>

#include "model/named_counts.h"
#include "tests/sim/checker.h"

namespace gw::sim_cluster {

class LicenseChecker final : public Checker {
 public:
  explicit LicenseChecker(model::Licenses there) : there_(std::move(there)) {}
  void on_node_heard(const std::string& node, const wire::ControllerToNode& message) override;
  void on_machine(const Machine& machine) override;

 private:
  model::Licenses there_;
  std::map<uint32_t, model::Licenses> asked_;               // by job
  std::map<std::string, std::map<uint32_t, RunKey>> runs_;  // jobs with licences that run on each machine
};

}  // namespace gw::sim_cluster
