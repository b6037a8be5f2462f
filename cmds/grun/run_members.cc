// See run_members.h.
#include "cmds/grun/run_members.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gw::cmds {
namespace {

using base::invalid;
using base::Result;
using base::Status;

constexpr uint64_t kMostTasks = 1'000'000;

uint32_t tasks_of(const RunOptions& options) {
  const model::Request& r = options.job.spec.request;
  const uint64_t all = uint64_t{r.nodes_given ? r.min_nodes : 1} * std::max(r.tasks_per_node, 1U);
  return static_cast<uint32_t>(std::min<uint64_t>(r.tasks_given ? r.tasks : all, kMostTasks));
}

/// The components in which a part runs; none: the job has no components, or nobody spoke of them.
Result<std::vector<uint32_t>> groups_of(const RunOptions& options, size_t part, bool is_alone, uint32_t components) {
  if (options.het_groups.empty()) {
    if (is_alone || components == 0 || options.job_id != 0) return std::vector<uint32_t>();
    if (part < components) return std::vector<uint32_t>{static_cast<uint32_t>(part)};
    return invalid(fmt::format("part {} of the call has no component: the job has {}", part, components),
                   "name one with --het-group before its program");
  }
  if (options.job_id != 0)
    return invalid("--het-group does not go with --jobid", "the number of a component is a job id, too");
  if (components == 0)
    return invalid("--het-group: this is no heterogeneous job", "it is for jobs with several components");
  for (const uint32_t group : options.het_groups)
    if (group >= components)
      return invalid(
          fmt::format("--het-group: there is no component {}: the job has {}, from 0 on", group, components));
  return options.het_groups;
}

/// Otherwise a part would have those of the job, as a call by itself.
void say_tasks(RunOptions& options) {
  options.job.spec.request.tasks = tasks_of(options);
  options.job.spec.request.tasks_given = true;
}

/// What goes on in the step of `member`, by its rank.
void join(MemberStep& member, const CallPart& part) {
  model::Request& r = member.options.job.spec.request;
  if (member.parts.size() == 1) {
    member.parts.front().tasks = r.tasks = tasks_of(member.options);
    r.tasks_given = true;
    r.tasks_per_node = 0;  // it was said of the first
  }
  member.parts.push_back({tasks_of(part.options), part.command});
  r.tasks = static_cast<uint32_t>(std::min<uint64_t>(uint64_t{r.tasks} + member.parts.back().tasks, kMostTasks));
}

Status check_joined(const RunOptions& options) {
  if (options.multi_prog)
    return invalid("parts of a call do not go with --multi-prog", "its file says which program each task has");
  if (options.bcast) return invalid("parts of a call do not go with --bcast", "send the programs with gbcast");
  return {};
}

/// What was said of one step alone.
Status settle_members(std::vector<MemberStep>& members) {
  if (members.size() == 1) return {};
  if (members.front().options.bcast)
    return invalid("--bcast does not go with several components", "send the program with gbcast");
  for (MemberStep& member : members) {
    RunOptions& o = member.options;
    if (!o.distribution.is_arbitrary) continue;
    if (!o.is_distribution_of_environment)
      return invalid("-m arbitrary does not go with several steps that are launched as one",
                     "name the nodes of each part with -w");
    o.distribution = {};  // it was said of the job
  }
  return {};
}

}  // namespace

Result<std::vector<MemberStep>> members_of(std::vector<CallPart> parts, const client::GetEnv& get) {
  const uint32_t components = components_of_environment(get);
  const bool is_alone = parts.size() == 1;
  std::vector<MemberStep> members;
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i].options.job_id = parts.front().options.job_id;
    GW_TRY(groups, groups_of(parts[i].options, i, is_alone, components));
    if (!is_alone) GW_TRY_STATUS(check_joined(parts.front().options));
    if (i > 0 && groups.empty() && parts[i].says_only_tasks) {
      join(members.back(), parts[i]);
      continue;
    }
    if (!is_alone && groups.empty()) say_tasks(parts[i].options);
    MemberStep member;
    member.options = parts[i].options;
    member.parts = {{tasks_of(parts[i].options), parts[i].command}};
    member.job.id = parts[i].options.job_id;
    if (groups.empty()) members.push_back(member);
    for (const uint32_t group : groups) {
      GW_TRY(job, component_of_environment(get, group));
      member.job.id = job;
      members.push_back(member);
    }
  }
  GW_TRY_STATUS(settle_members(members));
  return members;
}

Commands commands_of(const std::vector<MemberStep>& members, const std::vector<wire::Step>& steps) {
  if (members.size() == 1 && members.front().parts.size() == 1) return {members.front().parts.front().command};
  Commands out;
  for (size_t i = 0; i < members.size(); ++i) {
    const std::vector<StepPart>& parts = members[i].parts;
    for (const StepPart& part : parts)
      out.insert(out.end(), parts.size() == 1 ? task_count(steps[i]) : part.tasks, part.command);
  }
  return out;
}

}  // namespace gw::cmds
