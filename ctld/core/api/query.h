// Reading: lists and details. Answers come from memory; the shell holds them back until what they show is durable.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// The jobs that a filter selects, piece by piece.
void list_jobs(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
/// One job, with what only the store has of it where that is asked for.
void show_job(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
/// Answers when the job has started, or has ended, as is asked for.
void wait_job(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
/// As ginfo shows it: base state, flags, reservation.
std::string node_state(const Core& core, const model::Node& node);
/// The nodes that are named, or all, piece by piece.
void list_nodes(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
/// The partitions that are named, or all, piece by piece.
void list_partitions(Core& core, ConnId conn, const wire::ApiRequest& request);
/// The settings in force.
void show_config(Core& core, ConnId conn, const wire::ApiRequest& request);
/// Who answers, since when, and how much there is to do.
void ping(Core& core, ConnId conn, const wire::ApiRequest& request);

}  // namespace gw::ctld
