// When the prolog and the epilog of the node run: the prolog once nothing of an earlier run of the job is left and
// before anything of this one is there; the epilog when nothing of it is left any more, of every run whose prolog
// began. Invariants: neither of a step; what runs is never cut short by the run's end, only by its own limit; a daemon
// that ends takes the program along, and the next one runs the epilog from its beginning.
#pragma once

#include <string>

#include "noded/core/core.h"

namespace gw::noded {

/// Whether runs here have a prolog or an epilog.
inline bool has_programs(const NodeFacts& node) { return !node.prolog.empty() || !node.epilog.empty(); }

/// Writes down what the programs are told of the job. True: the prolog begins, and is answered by on_program_ended().
bool begin_prolog(Core& core, Run& run, const UserInfo& user);
/// No more jobs are to start here, since a program has failed.
void tell_unfit(Core& core, const Run& run, NodeProgram which, std::string why);
/// Says it again, to a controller that may not have heard it.
void repeat_unfit(Core& core);
/// It has heard one of them.
void on_unfit_heard(Core& core, const wire::UnfitHeard& message);
/// True: the epilog is owed and begins. It is owed once.
bool begin_epilog(Core& core, Run& run);

}  // namespace gw::noded
