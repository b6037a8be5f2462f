// See change.h.
#include "cmds/pbs/change.h"

#include "wire/convert.h"

namespace gw::cmds::pbs {

std::string name_of(const wire::JobFault& fault, const std::string& cluster) {
  const std::string& task = fault.task();
  const size_t line = task.find('_');
  if (line == std::string::npos) return std::to_string(fault.id()) + "." + cluster;
  return task.substr(0, line) + "[" + task.substr(line + 1) + "]." + cluster;
}

int report(const queue::Caller& caller, const google::protobuf::RepeatedPtrField<wire::JobFault>& faults,
           const std::string& cluster) {
  int code = client::kExitOk;
  for (const wire::JobFault& fault : faults) {
    const base::Error error = wire::from_wire(fault.error());
    const std::string id = name_of(fault, cluster);
    if (error.code == base::ErrorCode::kNotFound)
      code = refuse_unknown(caller, id);
    else if (error.code == base::ErrorCode::kConflict && error.what.find("ended") != std::string::npos)
      code = refuse_finished(caller, id);
    else
      code = refuse(caller, error, id);
  }
  return code;
}

}  // namespace gw::cmds::pbs
