// `gcontrol top`: one of a user's jobs comes before the others of his that are alike. Those that are ahead of it get a
// higher nice value, so that nobody else's job waits longer for it.
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

/// Nice values to come, with the jobs that get each.
using Changes = std::map<int64_t, std::vector<uint32_t>>;
using NiceValues = std::map<uint32_t, int64_t>;

bool are_alike(const JobPriority& a, const JobPriority& b) {
  return a.uid() == b.uid() && a.account() == b.account() && a.qos() == b.qos() && a.partition() == b.partition();
}

base::Result<wire::ListPrioritiesReply> priorities(client::Connection& connection, const wire::JobFilter& filter) {
  wire::ApiRequest request;
  *request.mutable_list_priorities()->mutable_filter() = filter;
  GW_TRY(reply, connection.call(std::move(request)));
  return std::move(*reply.mutable_list_priorities());
}

/// The nice values of all jobs that wait of a user.
base::Result<NiceValues> nice_values(client::Connection& connection, uint32_t uid) {
  wire::ApiRequest request;
  wire::JobFilter& filter = *request.mutable_list_jobs()->mutable_filter();
  filter.add_uids(uid);
  filter.add_states(static_cast<uint32_t>(model::JobState::kPending));
  request.mutable_list_jobs()->set_whole_ranges(true);
  GW_TRY(reply, connection.call(std::move(request)));
  NiceValues values;
  for (const wire::Job& job : reply.list_jobs().jobs()) values[job.id()] = job.spec().nice();
  return values;
}

/// What a step of nice takes from the score of `job`; 0: nothing. A score without parts may be the priority of the QOS
/// less nice, which shows where alike jobs differ by that alone.
double weight_of_nice(const wire::ListPrioritiesReply& list, const JobPriority& job, const NiceValues& nice) {
  const auto whole = [&](const JobPriority& j) {
    const auto it = nice.find(j.id());
    return j.score() + (it == nice.end() ? 0 : static_cast<double>(it->second));
  };
  if (list.names().empty())
    return std::ranges::all_of(list.jobs(),
                               [&](const JobPriority& other) {
                                 return !are_alike(job, other) || !nice.contains(other.id()) ||
                                        whole(other) == whole(job);
                               })
               ? 1
               : 0;
  double weight = 0;
  for (int i = 0; i < std::min(list.names_size(), list.weights_size()); ++i)
    if (list.names(i).ends_with("nice")) weight = list.weights(i);
  return weight;
}

base::Result<Changes> changes_for(const wire::ListPrioritiesReply& list, const JobPriority& job,
                                  const NiceValues& nice) {
  const double weight = weight_of_nice(list, job, nice);
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
    const double ahead = std::floor((other.score() - job.score()) / weight) + 1;
    const auto present = nice.find(other.id());
    if (present == nice.end()) continue;  // it has started meanwhile
    changes[present->second + std::llround(ahead)].push_back(other.id());
  }
  return changes;
}

base::Status put_on_top(client::Connection& connection, uint32_t id) {
  wire::JobFilter one;
  one.add_ids(id);
  GW_TRY(found, priorities(connection, one));
  if (found.jobs().empty())
    return base::fail(ErrorCode::kConflict, fmt::format("job {} does not wait for resources", id),
                      "of a job that is held, or waits for others or for a time, there is no place in line");
  const JobPriority& job = found.jobs(0);
  wire::JobFilter of_user;
  of_user.add_uids(job.uid());
  GW_TRY(list, priorities(connection, of_user));
  GW_TRY(nice_now, nice_values(connection, job.uid()));
  GW_TRY(changes, changes_for(list, job, nice_now));
  for (const auto& [nice, ids] : changes) {
    if (nice > INT32_MAX) return base::fail(ErrorCode::kInvalid, "the nice value of other jobs would be too large");
    wire::ApiRequest request;
    wire::UpdateJobRequest& update = *request.mutable_update_job();
    update.mutable_ids()->Assign(ids.begin(), ids.end());
    update.set_nice(static_cast<int32_t>(nice));
    GW_TRY(reply, connection.call(std::move(request)));
    for (const wire::JobFault& fault : reply.jobs().faults())
      // What has started meanwhile is before it anyway.
      if (fault.error().code() == static_cast<uint32_t>(ErrorCode::kDenied))
        return base::fail(ErrorCode::kDenied, fault.error().what());
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
