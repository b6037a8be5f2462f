// Checker 3: no attempt of a job runs twice, nor beside an earlier one that still has processes somewhere.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "tests/sim/checker.h"

namespace gw::sim_cluster {

class AttemptChecker final : public Checker {
 public:
  void on_begun(const std::string& node, RunKey run) override;
  void on_machine(const Machine& machine) override;

 private:
  std::map<uint32_t, std::map<std::pair<std::string, RunKey>, uint32_t>>
      live_;  // by job: runs that began and are there
  std::map<std::string, std::set<RunKey>> live_on_;
  std::map<uint32_t, uint32_t> last_;                 // attempt that began, by job
  std::set<std::tuple<uint32_t, uint32_t>> scripts_;  // job and attempt whose script began
  std::set<std::pair<std::string, RunKey>> steps_;    // likewise
};

}  // namespace gw::sim_cluster
