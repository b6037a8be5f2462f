// Launches that fail on account of a node: the job goes elsewhere, uncharged, and a node that fails several different
// jobs in a row is drained before it eats the queue, since a node on which everything fails at once is always free.
// What counts as the node's fault the node says (containment, a shepherd that does not come up, a user database that
// does not answer); one whose prolog or epilog fails says with that that it is unfit, and is drained at once; what only
// the job's owner can mend (a folder or a user that is not there, a script that cannot be executed) ends the job and
// blames nobody. Invariant: a job is evidence against at most kMostShunned nodes at a time; one that fails on more is
// itself suspect.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// It has failed on so many nodes that it is no evidence against a further one.
bool is_suspect(const Core& core, const model::Job& job);
/// The node's prolog has failed for it: the node is drained. A job whose prolog has failed on as many nodes already is
/// at fault itself, and held when it is back in the queue.
void prolog_failed(Core& core, model::Job& job, model::Node& node, std::string why);
/// These nodes failed to launch it. It is charged, which leads to a back-off and in the end to a hold, only if there is
/// nowhere else to go, or if it has failed wherever it went. Before the job is stopped, so that what follows knows.
void blame(Core& core, model::Job& job, const std::set<NodeId>& nodes, const std::string& why);
/// A node that fails launches of several jobs in a row is drained.
void count_launch_fault(Core& core, model::Node& node, JobId job, const std::string& why);
/// No more jobs are to start on the node, which has said why: its prolog or epilog has failed. One that an
/// administrator has drained or taken down keeps his reason.
void drain_faulty(Core& core, model::Node& node, std::string why);
/// A start that failed, and nowhere else to go: wait longer each time, and hold the job in the end.
void launch_failed(Core& core, model::Job& job);
/// What was held against the job and its nodes is forgotten.
void launch_succeeded(Core& core, model::Job& job);

}  // namespace gw::ctld
