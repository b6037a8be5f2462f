// The options of gbatch, galloc and grun that say what a job is, and the job that they describe.
// Invariant: options given later win; nothing here touches the network, and of files only those that options name.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "client/options/option_table.h"
#include "cmds/request/gpu_options.h"
#include "cmds/request/left_out.h"
#include "model/job.h"
#include "wire/job_attributes.h"

namespace gw::cmds {

/// The controller puts the partition's default in the place of a time limit of zero; none at all is kUnlimited.
inline model::JobSpec spec_without_a_time() {
  model::JobSpec spec;
  spec.time_limit = {};
  return spec;
}

/// What Slurm's options say that no attribute of a job holds.
struct SlurmForms {
  std::string clusters;        ///< -M as written; empty: not given.
  std::string propagate;       ///< --propagate as written; empty: all limits.
  std::string export_file;     ///< Empty: not given.
  uint32_t login_seconds = 0;  ///< --get-user-env: its limit; 0: not given.
  bool is_spread = false;      ///< Over as many nodes as there are tasks for.
  bool is_for_memory = false;  ///< The tasks of a socket are one because --hint=memory_bound was the last hint.
  std::vector<std::pair<std::string, std::string>> for_steps;  ///< Variables that the job's steps read.
};

/// What options of qsub say of a job that nothing in gbatch says (queue_options.h).
struct QueueForms {
  bool has_environment = false;        ///< That of the submission goes along.
  std::vector<std::string> variables;  ///< NAME or NAME=value.
  std::string join;                    ///< "oe", "eo", "n" or empty: one file for both outputs, and whose.
  std::string output, error, shell, arguments;
  std::string environment;            ///< The parallel environment, -pe of Grid Engine.
  std::vector<std::string> hold_for;  ///< Jobs whose end it waits for, by number or name.
  std::string hold_for_array;         ///< An array, each of whose tasks a task of this one waits for.
  uint32_t slots = 0;                 ///< Of that environment.
  uint64_t memory_bytes = 0;          ///< Of the whole job, which its nodes share; 0: not said.
  uint32_t at_once = 0;               ///< Tasks of the array; 0: not said.
  int priority = 0;
  bool is_command = false;  ///< What is submitted is a command, not a script.
  bool is_terse = false;
};

/// Everything that gbatch was told of a job, or of one component of a heterogeneous job.
struct BatchOptions {
  /// What one source (directives, environment, command line) has given of options that exclude each other.
  struct Given {
    bool cpus_per_task = false, cpus_per_gpu = false;
  };

  base::Time now;                               ///< When gbatch was started.
  model::JobSpec spec = spec_without_a_time();  ///< A time limit of zero: not said.
  GpuOptions gpus;
  SlurmForms slurm;
  QueueForms queue;
  LeftOut left_out;
  Given given;
  bool says_cpus = false;  ///< Some source has given one of them.
  std::string chdir;
  std::string export_form;                ///< --export as written; empty: ALL.
  std::optional<model::ArraySpec> array;  ///< --array
  std::optional<std::string> wrap;
  bool parsable = false;
  bool wait = false;
  bool test_only = false;
  bool quiet = false;
  bool ignore_pbs = false;
  bool has_pbs_lines = false;  ///< Its script has #PBS lines, and they count.
};

/// The option of an attribute. Its handler writes into `options`; both must outlive it.
client::Option attribute_option(const wire::JobAttribute& attribute, BatchOptions& options);

/// Options of the attributes that these commands take, in the order of the attributes.
void add_attributes(std::vector<client::Option>& table, BatchOptions& options, wire::Commands commands);

/// The rows that say what resources are asked for and as whom: those of every command that asks for some.
void add_allocation_options(std::vector<client::Option>& table, BatchOptions& options, base::Time now);

/// To be called after each source but the last: what it gave replaces what excludes it from an earlier source. Errors:
/// options that exclude each other in one source.
base::Status end_of_source(BatchOptions& options);

/// Completes the request after the last option: GPUs into one way of counting, then model::normalise; times
/// are checked against each other. A note for the
/// user (Slurm's "can't run 1 processes on 2 nodes") is added to `notes`.
base::Status complete(BatchOptions& options, std::vector<std::string>& notes);

/// [B:]SIG[@SECONDS]; SIG a number or a name with or without SIG.
base::Result<model::WarnSignal> parse_warn_signal(std::string_view text);
/// "USR1", "SIGUSR1", "10". Errors: unknown.
base::Result<int> parse_signal(std::string_view text, std::string_view option);

}  // namespace gw::cmds
