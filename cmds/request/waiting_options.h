// Options of the commands that wait for an allocation: galloc and grun.
#pragma once

#include <optional>
#include <vector>

#include "client/options/option_table.h"
#include "cmds/shared/commands.h"
#include "model/job.h"

namespace gw::cmds {

/// --test-only: asks whether it could run, and says what the controller answered. Returns the exit code.
int test_submission(const client::Program& program, wire::SubmitRequest submit);

/// --immediate and --preemptible.
void add_waiting_options(std::vector<client::Option>& table, std::optional<uint32_t>& immediate_seconds,
                         bool& preemptible);
/// Errors: --signal=B:, without a batch script.
base::Status check_signal_of_steps(const model::JobSpec& spec);

}  // namespace gw::cmds
