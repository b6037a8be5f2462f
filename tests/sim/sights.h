// What was seen happening, over all seeds: a net that never meets suspension says nothing about suspension.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/checker.h"

namespace gw::sim_cluster {

using Sights = std::map<std::string, uint64_t>;

/// What many seeds together must have met.
std::vector<std::string> expected_sights();

class SightChecker final : public Checker {
 public:
  explicit SightChecker(Sights& seen) : seen_(seen) {}
  void on_sent(const std::string& node, const wire::ControllerToNode& message) override;
  void on_node_said(const Machine& machine, const wire::NodeToController& message) override;
  void on_program_ended(const ctld::RunJobProgram& asked, const ctld::ProgramEnd& end) override;
  void on_begun(const std::string& node, RunKey run) override;
  void on_answer(const Asked& asked, const wire::ApiReply& reply) override;
  void on_loaded(const store::Snapshot& snapshot) override;

 private:
  Sights& seen_;
};

}  // namespace gw::sim_cluster
