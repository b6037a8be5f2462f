// What is said of jobs that have ended: their comment, and the exit code that their user takes them for.
// Invariants: nothing but the record changes; a job in memory and its row say the same.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Answers amend_job. Of a job that is in memory no more the shell fetches the row first.
void amend_job(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
/// The row that a FetchEnded has asked for.
void on_ended_job(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request,
                  const store::JobRow& row);

}  // namespace gw::ctld
