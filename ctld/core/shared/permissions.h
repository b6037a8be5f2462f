// Who may do what with which job.
#pragma once

#include <set>

#include "ctld/core/core.h"

namespace gw::ctld {

Role role_for(const Core& core, const Caller& caller, const model::Job& job);
/// The refusal for somebody else's job; of one that the caller may not know of, as if there were none.
base::Error denied_job(const Core& core, const Caller& caller, const model::Job& job);
/// The job, unless there is none that the caller may know of. Error: kNotFound.
base::Result<model::Job*> seen_job(Core& core, const Caller& caller, uint32_t id);
/// The job whose steps the caller asks for. Errors: kNotFound, kDenied.
base::Result<model::Job*> job_for_step(Core& core, const Caller& caller, uint32_t id);
/// The jobs that a request names, each once.
inline std::set<uint32_t> job_ids(const google::protobuf::RepeatedField<uint32_t>& ids) {
  return {ids.begin(), ids.end()};
}

}  // namespace gw::ctld
