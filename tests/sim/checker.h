// What a checker may know: the messages of the wire, the rows that became durable, what clients asked and were
// answered, and the processes of the machines. Nothing of the controller's or of the node daemon's own state, and none
// of their code: a checker that asked the ledger would believe what the ledger believes.
#pragma once

#include <span>
#include <string>

#include "store/rows.h"
#include "tests/sim/box.h"
#include "tests/sim/clients.h"
#include "tests/sim/parts/machine.h"

namespace gw::sim_cluster {

using ctld::testing::Machine;
using noded::RunKey;

class Checker {
 public:
  Checker() = default;
  virtual ~Checker() = default;
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  /// The controller lets this go, whether it arrives or not.
  virtual void on_sent(const std::string& /*node*/, const wire::ControllerToNode& /*message*/) {}
  virtual void on_node_heard(const std::string& /*node*/, const wire::ControllerToNode& /*message*/) {}
  virtual void on_node_said(const Machine& /*machine*/, const wire::NodeToController& /*message*/) {}
  virtual void on_controller_heard(const std::string& /*node*/, const wire::NodeToController& /*message*/) {}
  /// A script, or the tasks of a step, run from now on.
  virtual void on_begun(const std::string& /*node*/, RunKey /*run*/) {}
  /// Something may have changed there.
  virtual void on_machine(const Machine& /*machine*/) {}
  /// A request arrives.
  virtual void on_asked(const Asked& /*asked*/) {}
  /// An answer leaves: from now on it holds.
  virtual void on_answer(const Asked& /*asked*/, const wire::ApiReply& /*reply*/) {}
  /// The controller has a program of the site run for a job; it asks again after a restart.
  virtual void on_program_asked(const ctld::RunJobProgram& /*asked*/) {}
  /// It hears how that came out.
  virtual void on_program_ended(const ctld::RunJobProgram& /*asked*/, const ctld::ProgramEnd& /*end*/) {}
  /// These became durable. Not `is_sure`: the disk failed meanwhile, and they may be there or not, all of them.
  virtual void on_rows(std::span<const store::Batch> /*batches*/, bool /*is_sure*/) {}
  /// What a controller that starts finds on its disk.
  virtual void on_loaded(const store::Snapshot& /*snapshot*/) {}
};

}  // namespace gw::sim_cluster
