// Requests about jobs that are named, and what is said of those that they do not fit.
#pragma once

#include <string>

#include "cmds/pbs/words.h"
#include "wire/api.pb.h"

namespace gw::cmds::pbs {

/// How a job is named where it has no number of its own; "7.lab" otherwise.
std::string name_of(const wire::JobFault& fault, const std::string& cluster);
/// Each fault in PBS's words; the last one's code, or that of success.
int report(const queue::Caller& caller, const google::protobuf::RepeatedPtrField<wire::JobFault>& faults,
           const std::string& cluster);

}  // namespace gw::cmds::pbs
