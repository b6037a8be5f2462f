// What a program or a page changes by the API, for who holds a token. Pure.
#pragma once

#include "webd/core/api.h"

namespace gw::webd {

base::Result<Question> submit_job(const std::string& name, const Asked& asked);
base::Result<Question> cancel_job(const std::string& name, const Asked& asked);
base::Result<Question> hold_job(const std::string& name, const Asked& asked);
base::Result<Question> release_job(const std::string& name, const Asked& asked);
base::Result<Question> requeue_job(const std::string& name, const Asked& asked);

}  // namespace gw::webd
