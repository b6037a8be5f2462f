// The submission program: what it is given, and what its answer makes of a submission. Invariant: an answer changes
// what the table of settable keys has, as a whole, or nothing.
#pragma once

#include "base/result.h"
#include "config/config.h"
#include "program/run_program.h"
#include "wire/script.pb.h"

namespace gw::ctld {

/// The program's input is JSON: {"schema_version", "cluster", "user_name", "user_id", "group_name", "group_id",
/// "groups", "jobs": [as `gqueue --json` has them], "kind", "array_tasks", "script", "script_is_whole", "test_only"}.
/// Errors: no program is configured (kUnavailable); it is too long for one (kInvalid).
base::Result<program::ProgramCall> submit_call(const wire::ScriptSubmit& submit, const config::Config& config);

/// The answer is nothing, or JSON: {"refuse": TEXT} or {"set": {...}, "tell": TEXT}, where `set` has keys of a job as
/// they are shown; it holds for every component of a heterogeneous job. Errors, for administrators: the program failed;
/// its answer is another.
base::Result<wire::ScriptVerdict> read_verdict(const wire::ScriptSubmit& submit, const program::ProgramResult& result);

}  // namespace gw::ctld
