// `gcontrol top`: one of a user's jobs comes before the others of his that are alike. Those that are ahead of it get a
// higher nice value, an array as a whole, so that nobody else's job waits longer for it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "client/show/prio_fields.h"
#include "cmds/gcontrol/control_verbs.h"
#include "cmds/shared/job_ids.h"
#include "model/job_state.h"

namespace gw::cmds {
namespace {

using base::ErrorCode;
using client::Program;
using wire::JobPriority;

/// A job that waits, and what it is a part of.
struct Waiting {
  int64_t nice = 0;
  uint32_t array = 0;  ///< Number of its array; 0: it is alone.
  uint32_t het = 0;    ///< Of its first component; 0: it has one.
};
using WaitingJobs = std::map<uint32_t, Waiting>;
/// Nice values to come by the number of a job, or of a whole array.
using Changes = std::map<uint32_t, int64_t>;

bool are_alike(const JobPriority& a, const JobPriority& b) {
  return a.uid() == b.uid() && a.account() == b.account() && a.qos() == b.qos() && a.partition() == b.partition();
}

base::Result<wire::ListPrioritiesReply> priorities(client::Connection& connection, const wire::JobFilter& filter) {
  wire::ApiRequest request;
  *request.mutable_list_priorities()->mutable_filter() = filter;
  GW_TRY(reply, connection.call(std::move(request)));
  return std::move(*reply.mutable_list_priorities());
}

/// All jobs of a user that stand in line, suspended ones too.
base::Result<WaitingJobs> waiting_jobs(client::Connection& connection, const wire::JobFilter& filter) {
  wire::ApiRequest request;
  wire::JobFilter& asked = *request.mutable_list_jobs()->mutable_filter();
  asked = filter;
  asked.add_states(static_cast<uint32_t>(model::JobState::kPending));
  asked.add_states(static_cast<uint32_t>(model::JobState::kSuspended));
  GW_TRY(reply, connection.call(std::move(request)));
  WaitingJobs jobs;
  for (const wire::Job& job : reply.list_jobs().jobs()) {
    const wire::JobSpec& spec = job.spec();
    jobs[job.id()] = {spec.nice(), spec.has_array() ? spec.array().job() : 0, spec.het_job()};
  }
  return jobs;
}

/// What a step of nice takes from the score; 0: nothing that is known. The score of the orders of submission is the
/// priority of the QOS less nice.
double weight_of_nice(const wire::ListPrioritiesReply& list) {
  if (list.order() == "fifo" || list.order() == "fifo_skip") return 1;
  double weight = 0;
  for (int i = 0; i < std::min(list.names_size(), list.weights_size()); ++i)
    if (list.names(i).ends_with("nice")) weight = list.weights(i);
  return weight;
}

base::Result<Changes> changes_for(const wire::ListPrioritiesReply& list, const JobPriority& job,
                                  const WaitingJobs& waiting) {
  const double weight = weight_of_nice(list);
  if (weight <= 0)
    return base::fail(ErrorCode::kConflict,
                      fmt::format("no job can be put before others: the order {} does not weigh nice", list.order()),
                      "scheduler.order_weights: nice says how much it counts");
  Changes changes;
  for (const JobPriority& other : list.jobs()) {
    if (!are_alike(job, other) || !client::is_served_before(other, job)) continue;
    if (other.submitted_priority() > job.submitted_priority())
      return base::fail(ErrorCode::kConflict,
                        fmt::format("job {} stays before job {}: it has priority {} from an administrator", other.id(),
                                    job.id(), other.submitted_priority()));
    const auto found = waiting.find(other.id());
    if (found == waiting.end()) continue;  // it has started meanwhile
    const Waiting& ahead = found->second;
    const double nice = static_cast<double>(ahead.nice) + std::floor((other.score() - job.score()) / weight) + 1;
    if (!(nice < INT32_MAX))
      return base::fail(ErrorCode::kInvalid, fmt::format("the nice value of job {} would be too large", other.id()));
    // Tasks that are still to come are where those of their array are.
    const auto [change, is_new] =
        changes.try_emplace(ahead.array == 0 ? other.id() : ahead.array, static_cast<int64_t>(nice));
    if (!is_new) change->second = std::max(change->second, static_cast<int64_t>(nice));
  }
  return changes;
}

base::Status put_on_top(client::Connection& connection, uint32_t id) {
  wire::JobFilter filter;
  filter.add_ids(id);
  GW_TRY(named, waiting_jobs(connection, filter));
  if (const auto it = named.find(id); it != named.end() && it->second.array != 0)
    return base::fail(ErrorCode::kConflict, fmt::format("job {} is of an array, whose tasks stay together", id),
                      "gcontrol update JobId=... Nice= changes the place of all of them");
  // The place of a job with several components is that of its first.
  if (const auto it = named.find(id); it != named.end() && it->second.het != 0) filter.set_ids(0, it->second.het);
  GW_TRY(found, priorities(connection, filter));
  if (found.jobs().empty())
    return base::fail(ErrorCode::kConflict, fmt::format("job {} does not wait for resources", id),
                      "of a job that is held, or waits for others or for a time, there is no place in line");
  const JobPriority& job = found.jobs(0);
  wire::JobFilter of_user;
  of_user.add_uids(job.uid());
  GW_TRY(list, priorities(connection, of_user));
  GW_TRY(waiting, waiting_jobs(connection, of_user));
  GW_TRY(changes, changes_for(list, job, waiting));
  std::map<int64_t, std::vector<uint32_t>> by_nice;
  for (const auto& [other, nice] : changes) by_nice[nice].push_back(other);
  for (const auto& [nice, ids] : by_nice) {
    wire::ApiRequest request;
    wire::UpdateJobRequest& update = *request.mutable_update_job();
    update.mutable_ids()->Assign(ids.begin(), ids.end());
    update.set_nice(static_cast<int32_t>(nice));
    GW_TRY(reply, connection.call(std::move(request)));
    for (const wire::JobFault& fault : reply.jobs().faults()) {
      const auto code = static_cast<ErrorCode>(fault.error().code());
      if (code == ErrorCode::kNotFound) continue;  // it has ended meanwhile
      return base::fail(code, fmt::format("job {}: {}", fault.id(), fault.error().what()));
    }
  }
  return {};
}

}  // namespace

int control_top(const Program& program, const ControlOptions&, Args words) {
  JobIds ids;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (const auto parsed = parse_job_ids(word.substr(equals == std::string::npos ? 0 : equals + 1), ids); !parsed)
      return failed(program, parsed.error());
  }
  if (ids.empty()) return failed(program, {ErrorCode::kInvalid, "top: expected JOB_IDS", {}});
  const auto numbers = numbers_of(program, ids);
  if (!numbers) return failed(program, numbers.error());
  auto connection = client::connect(program);
  if (!connection) return failed(program, connection.error());
  // The first that is named ends up before the others.
  for (auto id = numbers->rbegin(); id != numbers->rend(); ++id)
    if (const base::Status done = put_on_top(*connection, *id); !done) return failed(program, done.error());
  return client::kExitOk;
}

}  // namespace gw::cmds
