// See programs.h.
#include "ctld/core/shared/programs.h"

#include <algorithm>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"

namespace gw::ctld {

using model::Job;
using model::JobProgram;

namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// What the kernel takes of one is 128 KiB.
constexpr size_t kLongestValue = 64 << 10;

void add(Variables& to, const char* name, std::string value) {
  if (value.size() <= kLongestValue && value.find('\0') == std::string::npos) to.emplace_back(name, std::move(value));
}

void add_if_said(Variables& to, const char* name, const std::string& value) {
  if (!value.empty()) add(to, name, value);
}

void add_request(Variables& to, const model::JobSpec& spec) {
  add(to, "JOB_NAME", spec.name);
  add(to, "JOB_UID", std::to_string(spec.uid));
  add(to, "JOB_GID", std::to_string(spec.gid));
  add(to, "JOB_USER", spec.user);
  add(to, "JOB_GROUP", spec.group);
  add_if_said(to, "JOB_ACCOUNT", spec.account);
  add_if_said(to, "JOB_QOS", spec.qos);
  add_if_said(to, "JOB_RESERVATION", spec.reservation);
  add_if_said(to, "JOB_COMMENT", spec.comment);
  add_if_said(to, "JOB_CONSTRAINTS", model::format_features(spec.request.features));
  add_if_said(to, "JOB_LICENSES", spec.licenses);
  add_if_said(to, "WCKEY", spec.wckey);
  add(to, "JOB_WORK_DIR", spec.launch.work_dir);
  if (spec.is_het()) {
    add(to, "HET_JOB_ID", spec.het_job.text());
    add(to, "HET_JOB_OFFSET", std::to_string(spec.het_offset));
  }
  if (spec.array) {
    add(to, "ARRAY_JOB_ID", spec.array->job.text());
    add(to, "ARRAY_TASK_ID", std::to_string(spec.array->task));
  }
}

void add_place(Variables& to, const Job& job) {
  const model::Placed& placed = *job.placed();
  uint64_t cpus = 0, gpus = 0;
  for (const model::NodeShare& share : placed.allocation.shares) {
    cpus += share.cpus;
    gpus += share.gpus.size();
  }
  const base::Time begun = placed.started ? placed.started : placed.placed;
  add(to, "JOB_PARTITION", placed.partition);
  add(to, "JOB_NODELIST", base::compress_hostlist(placed.allocation.node_names()));
  add(to, "JOB_NUM_NODES", std::to_string(placed.allocation.shares.size()));
  add(to, "JOB_CPUS", std::to_string(cpus));
  add(to, "JOB_NUM_GPUS", std::to_string(gpus));
  add(to, "JOB_START_TIME", std::to_string(begun.us / 1'000'000));
  if (job.spec.time_limit != base::kUnlimited)
    add(to, "JOB_END_TIME", std::to_string((begun + job.spec.time_limit).us / 1'000'000));
  add(to, "RESTART_COUNT", std::to_string(job.restarts));
}

/// As the status that wait(2) gives, and as CODE:SIGNAL.
void add_end(Variables& to, const Job& job) {
  const model::Outcome& outcome = *job.placed()->outcome;
  add(to, "JOB_EXIT_CODE", std::to_string(outcome.exit.code * 256 + outcome.exit.signo));
  add(to, "JOB_EXIT_CODE2", outcome.exit.text());
  add(to, "JOB_DERIVED_EC", std::to_string(job.derived_exit.code * 256 + job.derived_exit.signo));
  add(to, "JOB_STATE", std::string(model::long_name(outcome.end)));
}

}  // namespace

void ask_for_program(Core& core, const Job& job) {
  const JobProgram program = job.placed()->program;
  RunJobProgram out{job.spec.uid, job.id, job.attempt, program};
  add(out.variables, "SCRIPT_CONTEXT", program == JobProgram::kProlog ? "prolog_slurmctld" : "epilog_slurmctld");
  add(out.variables, "CLUSTER_NAME", core.settings.cluster);
  add(out.variables, "JOB_ID", job.id.text());
  add_request(out.variables, job.spec);
  add_place(out.variables, job);
  if (program == JobProgram::kEpilog) add_end(out.variables, job);
  core.out.send(std::move(out));
}

}  // namespace gw::ctld
