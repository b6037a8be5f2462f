// Checker: the controller's prolog and epilog of a run come before and after it.
// Nodes are told of a run when its prolog has succeeded; a run that had an epilog coming is over when that has ended,
// whether it failed or not; nothing that is under way is passed over.
#pragma once

#include <map>
#include <set>

#include "tests/sim/checker.h"

namespace gw::sim_cluster {

class ProgramChecker final : public Checker {
 public:
  void on_sent(const std::string& node, const wire::ControllerToNode& message) override;
  void on_program_asked(const ctld::RunJobProgram& asked) override;
  void on_program_ended(const ctld::RunJobProgram& asked, const ctld::ProgramEnd& end) override;
  void on_rows(std::span<const store::Batch> batches, bool is_sure) override;
  void on_loaded(const store::Snapshot& snapshot) override;

 private:
  struct Programs {
    bool owes_epilog = false;  ///< By its contract.
    bool prolog_asked = false, prolog_succeeded = false, epilog_ended = false;
    uint32_t times_asked = 0;  ///< For the prolog.
    model::JobProgram under_way = model::JobProgram::kNone;
  };
  std::map<RunKey, Programs> runs_;  // those that are not over

  void look_at(const store::JobRow& row);
};

}  // namespace gw::sim_cluster
