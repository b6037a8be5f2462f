// Slurm's options that say in a form of their own what attributes of a job say here, or what only the submission needs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attach/ranks.h"
#include "client/options/option_table.h"
#include "cmds/request/job_options.h"

namespace gw::cmds {

/// How long the login of a script's user may take where --get-user-env says nothing, and at most.
constexpr uint32_t kLoginSeconds = 30, kMostLoginSeconds = 600;

/// Adds those that these commands take (kByBatch, ...); `options` must outlive the table.
void add_slurm_forms(std::vector<client::Option>& table, BatchOptions& options, uint8_t commands);

/// What becomes of --ntasks-per-gpu, --gpus-per-socket, --spread-job and what goes with them: tasks, GPUs, nodes. To be
/// called before apply_gpus(); twice is as good as once. Errors: numbers that do not divide, or that something else is
/// needed for.
base::Status apply_slurm_forms(BatchOptions& options);

/// --hint: nomultithread gives each CPU a core of its own, multithread takes that back; other hints are left out.
/// Errors: no hint of Slurm's.
/// --sockets-per-node and --threads-per-core; `option` is for errors.
base::Status set_sockets(BatchOptions& options, std::string_view option, std::string_view value);
base::Status set_threads_per_core(BatchOptions& options, std::string_view option, std::string_view value);
base::Status set_hint(BatchOptions& options, std::string_view value);

/// What -m/--distribution says of nodes.
struct DistributionWords {
  uint32_t plane = attach::kBlock;  ///< As in attach::Distribution.
  bool is_arbitrary = false;        ///< As a list of hosts says.
  /// "block", "cyclic", "plane", "arbitrary"
  std::string_view text() const;
};
/// -m/--distribution: block, cyclic, plane=N, arbitrary, or `*`; behind a colon words about sockets, behind a comma
/// Pack or NoPack, which say nothing here.
base::Result<DistributionWords> parse_distribution(std::string_view value);

/// Of the soft limits those that --propagate names. Errors: an unknown name.
base::Status keep_propagated(std::string_view names, std::map<std::string, uint64_t>& limits);

/// The variables that --export-file names: NAME=value, each behind the last with a NUL. Errors: unreadable, too large,
/// an entry that is none.
base::Result<std::vector<std::string>> read_export_file(const std::string& file);

}  // namespace gw::cmds
