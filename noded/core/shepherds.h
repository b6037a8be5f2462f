// What is heard of the runs on this node: of the user database, of prolog and epilog, of shepherds and of what launches
// them, of containments. Invariants: each may come late, twice, or for a run that has gone on, and changes nothing
// then; what is said of a run whose end is under way counts no more.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "noded/core/core.h"

namespace gw::noded {

void on_user(Core& core, RunKey key, const base::Result<UserInfo>& user);
/// The errors say how the program failed.
void on_program_ended(Core& core, RunKey key, NodeProgram which, const base::Status& status);
void on_launch_failed(Core& core, RunKey key, const std::string& why);
void on_share_prepared(Core& core, RunKey key, const base::Status& status);
/// `problem` is empty if every process is gone.
void on_share_released(Core& core, RunKey key, const std::string& problem);

void on_shepherd_connected(Core& core, RunKey key);
void on_shepherd_lost(Core& core, RunKey key);
void on_shepherd(Core& core, RunKey key, const wire::FromShepherd& message);

/// How a shepherd died, and what it left.
struct ShepherdDeath {
  int code = 0;   ///< As far as known, else 0.
  int signo = 0;  ///< Likewise.
  std::optional<wire::StepExit> exit = {};
};
void on_shepherd_gone(Core& core, RunKey key, const ShepherdDeath& death);
/// For people.
std::string death_text(const Run& run, const ShepherdDeath& death);
/// The shepherd is gone for good, or never was.
void lose_shepherd(Core& core, Run& run, const ShepherdDeath& death);

}  // namespace gw::noded
