// What nodes are told of a job's run: to prepare it, to go, to stop, to be suspended, to resume. Each order is made
// from the run's contract and placement, never from present settings, so that it can be said again word for word.
// Invariant: an order that overtakes what waits for the disk is one for a run that is durable itself (docs/adr/0006):
// after a crash the controller finds the run again, hears from the nodes that it has ended, and records that. A run
// whose placement is not durable yet must not be stopped at once: its number would be given again, and the nodes refuse
// what they were told to stop.
#pragma once

#include "ctld/core/core.h"
#include "ctld/core/jobs/signals.h"

namespace gw::ctld {

/// What is left of the job on a node that it has no longer, or whose grace is over, is ended.
void clear_node(Core& core, const model::Job& job, NodeId node);
/// The script's node is told which nodes the gang has from now on.
void tell_size(Core& core, const model::Job& job);
/// What all its nodes are told of a job, without script and environment.
wire::Prepare prepare_of(const Core& core, const model::Job& job);
/// What one of them is told beside.
void complete_for(const model::Job& job, NodeId node, wire::Prepare& p);
/// Tells a node to prepare its share of the run.
void send_prepare(Core& core, const model::Job& job, NodeId node);
void send_prepare(Core& core, const model::Job& job, NodeId node, const wire::Prepare& common);
/// Tells a node that the gang is complete: what it prepared starts.
void send_go(Core& core, const model::Job& job, NodeId node);
/// `kill_now`: even if the node gives it a grace already.
void send_stop(Core& core, const model::Job& job, NodeId node, bool kill_now = false);
/// False: nobody is there to be signalled.
bool signal(Core& core, const model::Job& job, int signo, SignalReach reach);
/// Tells a node to freeze the run, after what is left of its grace.
void send_suspend(Core& core, const model::Job& job, NodeId node);
/// Tells a node to let the run resume.
void send_resume(Core& core, const model::Job& job, NodeId node);
/// What was told before the fault was known waits with what cannot be written: it is told again.
void repeat_stops(Core& core);

}  // namespace gw::ctld
