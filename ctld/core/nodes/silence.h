// Heartbeats, and nodes that are not heard: out of reach, to be fenced, dead. A lease that runs out on a node ends what
// runs there. Invariant: whoever may have been heard by the deadline, and only not been read yet, is not given up.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// It shows nothing of the state, and must not wait for a disk that is full.
void send_beat(Core& core, NodeId id, int64_t echo_us);
/// The link is closed: the node is out of reach from now on.
void on_node_gone(Core& core, LinkId link, const std::string& reason);
/// One chain of heartbeats a node, however often it registers.
void arm_beat(Core& core, NodeId id);
/// It is time for a heartbeat, or the node has been silent for too long.
void node_silence_due(Core& core, NodeId id, Time due);
/// Links that would be given up now for their silence.
std::vector<LinkId> silent_links(const Core& core);
/// Something waits unread on the link, which is a sign of life.
void on_heard(Core& core, LinkId link);
/// Judges those whose deadline lies behind what has been heard.
void absent_due(Core& core);
/// The node has been away for the time-out: it is fenced, where that is configured and jobs are on it.
void node_down_due(Core& core, NodeId id);
/// What the fencing program came to; one of an earlier outage proves nothing.
void on_fenced(Core& core, const std::string& node, Time since, bool is_dead, const std::string& detail);
/// Nothing runs on the node any more: its runs are over there.
void node_dead(Core& core, model::Node& node, const std::string& why);
/// A node counts the lease from when it sent the last heartbeat that we answered, which is before we gave it up.
void lease_over_due(Core& core, model::Job& job, NodeId node);

}  // namespace gw::ctld
