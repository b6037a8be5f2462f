// See targets.h.
#include "ctld/core/jobs/targets.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/names.h"
#include "ctld/core/shared/sight.h"
#include "wire/convert.h"

namespace gw::ctld {
namespace {

constexpr size_t kShownTasks = 60;

base::Error no_such_target(const Target& target) {
  if (target.task.empty()) return no_such_job(target.id);
  return {base::ErrorCode::kNotFound, "Invalid job id specified: " + target.task, ""};
}

/// What is looked at for one request is bounded, whoever's the arrays are.
base::Status check_named(const google::protobuf::RepeatedPtrField<wire::TasksOfArray>& tasks) {
  std::set<uint32_t> arrays;
  size_t ranges = 0;
  for (const wire::TasksOfArray& named : tasks) {
    if (!arrays.insert(named.array()).second)
      return base::invalid(fmt::format("array {} is named several times", named.array()), "name its tasks as one list");
    ranges += static_cast<size_t>(named.tasks_size());
  }
  if (ranges <= kMostRanges) return {};
  return base::invalid(fmt::format("{} ranges of tasks; at most {} are taken at once", ranges, kMostRanges));
}

/// What the caller may not know of is not there.
void leave_out_hidden(const Core& core, const Sight& sight, Target& target) {
  std::erase_if(target.jobs, [&](const NamedTasks& named) { return !sight.sees(core.jobs.at(named.job)); });
}

Target by_number(Core& core, JobId id) {
  Target target{id, {}, {}, core.jobs.arrays().find(id) != nullptr};
  if (target.is_of_array) {
    for (const JobId job : jobs_of_array(core, id)) target.jobs.push_back({job, {}});
    return target;
  }
  const model::Job* job = core.jobs.find(id);
  if (job == nullptr) return target;
  target.jobs.push_back({id, {}});  // first: what becomes of it is what is told
  for (const model::Job* other : siblings(core, *job)) target.jobs.push_back({other->id, {}});
  return target;
}

}  // namespace

base::Result<std::vector<Target>> targets_of(Core& core, const Caller& caller,
                                             const google::protobuf::RepeatedField<uint32_t>& ids,
                                             const google::protobuf::RepeatedPtrField<wire::TasksOfArray>& tasks) {
  std::vector<Target> out;
  for (const uint32_t id : std::set<uint32_t>(ids.begin(), ids.end())) out.push_back(by_number(core, JobId(id)));
  GW_TRY_STATUS(check_named(tasks));
  for (const wire::TasksOfArray& named : tasks) {
    GW_TRY(asked, wire::from_wire(named.tasks()));
    const JobId array(named.array());
    const std::string text = asked.text();
    const std::string shown = asked.size() == 1 ? text : "[" + base::printable(text, kShownTasks) + "]";
    out.push_back({array, fmt::format("{}_{}", array.value, shown), find_tasks(core, array, asked), true});
  }
  const Sight sight(core, caller);
  for (Target& target : out) leave_out_hidden(core, sight, target);
  return out;
}

base::Result<wire::JobFilter> with_all_meant(const Core& core, const SeenJobs& seen, wire::JobFilter filter) {
  const auto is_seen = [&](JobId id) {
    const model::Job* job = core.jobs.find(id);
    return job != nullptr && seen.has(job->spec.uid, job->spec.qos);
  };
  std::vector<uint32_t> more;
  for (const uint32_t id : std::set<uint32_t>(filter.ids().begin(), filter.ids().end())) {
    for (const JobId job : jobs_of_array(core, JobId(id)))
      if (is_seen(job)) more.push_back(job.value);
    const model::Job* leader = core.jobs.find(JobId(id));
    if (leader == nullptr || !is_seen(leader->id) || leader->spec.het_job != leader->id) continue;
    for (uint32_t k = 1; k < leader->spec.het_size; ++k)
      if (core.jobs.contains(JobId(id + k))) more.push_back(id + k);
  }
  GW_TRY_STATUS(check_named(filter.tasks()));
  for (const wire::TasksOfArray& named : filter.tasks()) {
    GW_TRY(asked, wire::from_wire(named.tasks()));
    std::vector<NamedTasks> found = find_tasks(core, JobId(named.array()), asked);
    std::erase_if(found, [&](const NamedTasks& one) { return !is_seen(one.job); });
    if (found.empty()) more.push_back(0);  // nobody's number: it is told as unknown
    for (const NamedTasks& one : found) more.push_back(one.job.value);
  }
  for (const uint32_t id : more) filter.add_ids(id);
  return filter;
}

wire::JobsReply act_on_targets(const std::vector<Target>& targets,
                               const std::function<base::Status(const NamedTasks&)>& act) {
  wire::JobsReply reply;
  std::map<JobId, base::Status> results;
  for (const Target& target : targets) {
    base::Status result = tl::unexpected(no_such_target(target));
    bool is_first = true;
    for (const NamedTasks& named : target.jobs) {
      // Some tasks of a part are another job each time.
      const auto before = named.some.empty() ? results.find(named.job) : results.end();
      const base::Status done = before != results.end() ? before->second : act(named);
      if (before == results.end() && named.some.empty()) results.emplace(named.job, done);
      if (is_first || (target.is_of_array && done)) result = done;
      is_first = false;
    }
    if (result) {
      reply.add_done(target.id.value);
      continue;
    }
    wire::JobFault& fault = *reply.add_faults();
    fault.set_id(target.id.value);
    fault.set_task(target.task);
    *fault.mutable_error() = wire::to_wire(result.error());
  }
  return reply;
}

}  // namespace gw::ctld
