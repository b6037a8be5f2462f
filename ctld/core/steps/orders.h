// What nodes are told of a step, and the ticket by which a client reaches its shepherds.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// What all its nodes are told of a step.
wire::StartStep start_of(const Core& core, const model::Job& job, const model::Step& step);
/// Tells the node at this index of the step to start its shepherd.
void send_start_step(Core& core, const model::Job& job, const model::Step& step, size_t index,
                     const wire::StartStep& common);
/// How long its tasks have between SIGTERM and SIGKILL.
base::Duration kill_wait_of(const Core& core, const model::Step& step);
/// The nodes that are still at it are told to end it.
void stop_step(Core& core, model::Step& step, base::Duration grace);
/// Tells one node to end the step; without grace it is killed.
void stop_step_on(Core& core, const model::Step& step, NodeId node, base::Duration grace);
/// The client gets the shepherds' addresses, and what proves to them who it is.
void send_ticket(Core& core, const model::Step& step, ConnId conn, uint64_t request_id, const std::string& client_key,
                 bool watch);
/// The node need not say it again.
void acknowledge_step(Core& core, NodeId node, uint32_t job, uint32_t attempt, uint32_t step, wire::RunPhase phase);
/// Length of the key by which a client and the shepherds of its step know each other.
inline constexpr size_t kKeyBytes = 32;

}  // namespace gw::ctld
