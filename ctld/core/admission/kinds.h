// What holds for a job by its kind and by what it asks of preemption.
#pragma once

#include "ctld/core/core.h"
#include "model/named_counts.h"

namespace gw::ctld {

/// What holds for every job without a script.
void accept_kind(model::JobSpec& spec);
/// Errors: signals that do not exist. What says nothing beside other options becomes a warning.
base::Status check_preemption(const model::JobSpec& spec, std::vector<std::string>& warnings);
/// Where the cluster counts no licences at all none are asked for. Were there any?
bool leave_out_licenses(const Core& core, model::JobSpec& spec);
/// Errors: licences that the cluster has not, or not so many of.
base::Status check_licenses(const Core& core, const model::Licenses& asked);
base::Status check_licenses(const Core& core, const model::JobSpec& spec);

}  // namespace gw::ctld
