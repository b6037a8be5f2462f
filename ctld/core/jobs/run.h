// A run from the word to go until nothing is left of it, and the job's way back to the queue or to its end. A gang
// starts in two phases: every node prepares, then all go. Invariants: a run that stops keeps its outcome until its last
// node has nothing left; what a node gives back is free at once. Steps and whoever else cares hear of it by events
// (events.h).
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// All nodes of one component are ready; it goes with the others.
void go_together(Core& core, model::Job& job);
/// A placed run begins: its nodes prepare, after the controller's prolog if there is one.
void prepare(Core& core, model::Job& job);
/// A restart of the controller asks again for the program that was under way.
void repeat_program(Core& core, const model::Job& job);
/// The prolog or the epilog that the controller had run for this run has ended.
void on_program_ended(Core& core, JobId id, uint32_t attempt, model::JobProgram program, const ProgramEnd& end);
/// Nobody knew what became of the epilog: it is asked for again.
void job_program_due(Core& core, const model::Job& job);
/// The node `by` has the run, as after the controller's state of earlier was put back: its prolog is over. Its other
/// nodes are told what they have not been told before.
void pass_prolog(Core& core, model::Job& job, NodeId by);
/// The run starts: its time counts from now on.
void go(Core& core, model::Job& job);
/// Ends a placed job: nodes are told to clean up, and the outcome is kept until they have.
void stop(Core& core, model::Job& job, model::Outcome outcome);
/// A node has nothing of the job left: its share is free again.
void share_gone(Core& core, model::Job& job, NodeId node);
/// A job that has ended waits again. `why` is for people.
void revive(Core& core, model::Job& job, const std::string& why);
/// The job is over.
void end(Core& core, model::Job& job, model::Outcome outcome);
/// A job that waits ends without having run.
void end_pending(Core& core, model::Job& job, model::JobState state, model::Outcome outcome);

}  // namespace gw::ctld
