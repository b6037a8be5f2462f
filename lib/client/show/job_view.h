// What people are shown of a job: one function per value, over the message as it came (no copies of 10,000 jobs).
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/job_state.h"
#include "model/wait_split.h"
#include "wire/api.pb.h"

namespace gw::client {

/// A job and the controller's time at the answer.
struct JobRow {
  const wire::Job* job = nullptr;
  base::Time now;
  const wire::JobLabel* label = nullptr;  ///< Of running jobs, where it was asked for.
  std::string tasks = {};  ///< The row stands for these tasks of the job's array: "7", "[6-99%2]". Empty: for the job.
  bool says_more = false;  ///< Of why it waits, than Slurm's word.
};

/// "covered", "borrowed at dept"; empty without a label.
std::string quota_text(const wire::JobLabel* label);
/// "a,b,...", "none"; empty without a label.
std::string preemptors_text(const wire::JobLabel* label);

/// Never outside the enum: an unknown number counts as PENDING.
model::JobState state_of(const wire::Job& job);
/// Shares held now or last; empty if it never started.
const google::protobuf::RepeatedPtrField<wire::NodeShare>& shares_of(const wire::Job& job);
/// "n[0-3]"
std::string host_list(const google::protobuf::RepeatedPtrField<std::string>& names);
/// The node names as a host list; empty if it never started.
std::string node_list(const wire::Job& job);
std::string first_node(const wire::Job& job);
/// The partition it runs or ran in, else those it asks for.
std::string partition_of(const wire::Job& job);
/// Zero while it has not started.
base::Time start_of(const wire::Job& job);
/// Of a job that has not started: the estimate, or --begin; of one that ended so: its end. Zero if unknown.
base::Time expected_start(const wire::Job& job);
/// The forecast of a job that waits: "LOW/HIGH", with ".." for an end that is not foreseen; "N/A" if it has none.
std::string start_range(const wire::Job& job);
/// The likeliest start of that forecast, or "N/A".
std::string likely_start(const wire::Job& job);
/// Its "low", "likely" and "high" in seconds since 1970, 0 for what is not foreseen; empty if it has none.
std::map<std::string, int64_t> start_range_seconds(const wire::Job& job);
/// Of a job before the scheduler what the controller ranks it by; else as submitted. Only a job that is held has 0,
/// since that is what a priority of 0 says to Slurm's users and tools.
int64_t priority_of(const wire::Job& job);
/// When it ended, or will by its limit; zero if unknown.
base::Time end_of(const wire::Job& job);
base::Duration run_time(const JobRow& row);
/// So long the run was suspended, without a suspension that lasts still.
base::Duration stood_still(const wire::Job& job);
/// Since when it is suspended; zero: it does not.
base::Time suspended_at(const wire::Job& job);
/// "for job 7; waits: needs 1 node; ..."
std::string why_suspended(const wire::Job& job);
base::Duration time_limit(const wire::Job& job);
/// "0:15", "1:0"
std::string exit_code(const wire::Job& job);
/// Slurm's word: "Resources", "NonZeroExitCode", "RaisedSignal:9(Killed)", "None".
std::string reason_word(const wire::Job& job);
/// The same, and where Slurm would say Priority of a job that free nodes have room for, who they are kept for, if the
/// row says more: "Priority, behind job 7".
std::string reason_word(const JobRow& row);
/// What is left of its dependency, as squeue has it; "(null)": nothing.
std::string dependency_text(const wire::Job& job);
/// More for people; may be empty.
std::string reason_detail(const wire::Job& job);
/// squeue's %R: node list, or the reason in brackets.
std::string reason_or_nodes(const JobRow& row);
uint32_t node_count(const wire::Job& job);
uint32_t cpu_count(const wire::Job& job);
uint32_t task_count(const wire::Job& job);
/// GPUs held, or asked for.
uint32_t gpu_count(const wire::Job& job);
/// MiB held in all, or asked for; 0: not said.
uint64_t memory_mb(const wire::Job& job);
/// "gres/gpu:h100:8" ("gres/shard:250" of a shared GPU), or empty, if GPUs are counted as `counting`
/// (model::GpuCounting).
std::string gpu_request(const wire::Job& job, uint32_t counting);
/// What nodes it asks for by their layout, "2:8:*": sockets (0: any), cores of each, threads of a core.
std::string layout_of(const wire::Job& job);
/// GPUs and generic resources of each node, "gres/gpu:8,gres/nvme:1"; empty: neither.
std::string tres_per_node(const wire::Job& job);
/// ",gres/nvme=2": generic resources on so many nodes.
std::string gres_tres(const wire::Request& request, uint64_t nodes);
/// Memory in a list of trackable resources, exact: "8G", "4000M".
std::string tres_memory(uint64_t mb);
/// "cpu=4,mem=8G,node=1,billing=4,gres/gpu=8"
std::string tres_requested(const wire::Job& job);
std::string tres_allocated(const wire::Job& job);
/// Smallest memory as Slurm shows it: "4G" or "500M"; 0 where not said.
std::string min_memory(const wire::Job& job);
std::string features_of(const wire::Job& job);
/// "leaf@00:10:00,block"; empty where not asked for. The same of the next two.
std::string locality_of(const wire::Job& job);
/// "2@00:10:00": at most so many leaf switches, and how long that wish holds.
std::string switches_of(const wire::Job& job);
/// "best"
std::string fit_of(const wire::Job& job);
/// "requeue", "cancel", "checkpoint": what becomes of it when it is preempted for another.
std::string_view on_preempt_of(const wire::Job& job);
/// Seconds of whole GPUs whose work it lost by that.
double lost_gpu_seconds(const wire::Job& job);
/// Time multiplied by GPUs that it has had until `now`, in all its runs.
double attained_gpu_seconds(const wire::Job& job, base::Time now);
/// How far it says that it is, "1200/10000"; empty: it said nothing. And how fast, "3.2"; empty: that is not known.
std::string progress_of(const wire::Job& job);
std::string step_rate_of(const wire::Job& job);
/// When it ends by what it told; zero: it told nothing, or has run for longer than it told.
base::Time told_end(const wire::Job& job);
/// Output path with patterns filled in as far as they are known.
std::string stdout_path(const wire::Job& job);
std::string stderr_path(const wire::Job& job);
std::string stdin_path(const wire::Job& job);

/// "(null)" or "N/A" where a text is empty.
std::string or_else(std::string text, std::string_view otherwise);
/// ISO local time, `otherwise` for zero and never. $SLURM_TIME_FORMAT=%s gives seconds since the epoch.
std::string show_time(base::Time t, std::string_view otherwise);

/// Where the time went that it waited: "quota:00:10:00,resources:00:04:20"; empty: it did not wait a second.
std::string waited_text(const wire::Job& job);
/// Likewise, in seconds by cause.
std::vector<std::pair<model::WaitCause, int64_t>> waited_seconds(const wire::Job& job);

}  // namespace gw::client
