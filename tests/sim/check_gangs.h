// Checker 4: a gang starts whole or not at all: with the nodes and GPUs that were asked for, and its script begins only
// when the controller has heard of every node of every component that it is prepared.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/sim/checker.h"

namespace gw::sim_cluster {

class GangChecker final : public Checker {
 public:
  void on_node_heard(const std::string& node, const wire::ControllerToNode& message) override;
  void on_controller_heard(const std::string& node, const wire::NodeToController& message) override;
  void on_begun(const std::string& node, RunKey run) override;
  void on_answer(const Asked& asked, const wire::ApiReply& reply) override;

 private:
  using Run = std::pair<uint32_t, uint32_t>;  // job and attempt
  void check_size(const wire::Prepare& prepare) const;
  void check_prepared(const std::string& first, RunKey run, uint32_t job, const wire::Gang& gang) const;

  std::map<std::pair<std::string, uint32_t>, wire::Request> asked_;  // by the submission's name, and the component
  std::map<uint32_t, uint32_t> resized_;                             // jobs whose number of nodes somebody changed
  std::map<std::pair<std::string, Run>, wire::Prepare> orders_;      // what the node of the script was told
  std::map<uint32_t, std::map<uint32_t, std::set<std::string>>> prepared_;  // job, attempt, nodes
};

}  // namespace gw::sim_cluster
