// What went wrong with single jobs of a request.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <string>

#include "client/conn/program.h"
#include "wire/api.pb.h"

namespace gw::cmds {

/// "job 7: WHAT (HINT)"; the job is not named again where the text names it.
std::string fault_text(const wire::JobFault& fault);

/// Prints each as an error unless `quiet`; kExitFailed if there are any.
int report_faults(const client::Program& program, const google::protobuf::RepeatedPtrField<wire::JobFault>& faults,
                  bool quiet);

}  // namespace gw::cmds
