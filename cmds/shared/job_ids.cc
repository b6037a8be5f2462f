// Reading names of jobs.
#include "cmds/shared/job_ids.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/text.h"
#include "cmds/shared/commands.h"
#include "model/task_set.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

constexpr size_t kMaxIds = 1'000'000;

base::Status invalid_id(std::string_view text, std::string hint = {}) {
  return base::invalid("Invalid job id " + base::printable(text, 60), std::move(hint));
}

/// "5_3", "5_[1-3,7]"
base::Status read_tasks(std::string_view part, JobIds& ids) {
  const size_t line = part.find('_');
  const auto array = base::parse_int(part.substr(0, line), 1, UINT32_MAX, "job id");
  std::string_view tasks = part.substr(line + 1);
  if (!array) return invalid_id(part, "tasks of array 5 are 5_3 or 5_[1-3,7]");
  const bool is_list = tasks.starts_with('[') && tasks.ends_with(']');
  if (is_list) tasks = tasks.substr(1, tasks.size() - 2);
  if (const size_t percent = tasks.find('%'); is_list && percent != std::string_view::npos)
    tasks = tasks.substr(0, percent);  // as squeue shows what waits
  if (!is_list && tasks.find_first_not_of("0123456789") != std::string_view::npos)
    return invalid_id(part, "several tasks of an array stand in brackets: 5_[1-3,7]");
  if (!model::TaskSet::parse(tasks)) return invalid_id(part, "tasks of array 5 are 5_3 or 5_[1-3,7]");
  std::string& all = ids.tasks[static_cast<uint32_t>(*array)];
  all += (all.empty() ? "" : ",") + std::string(tasks);
  return {};
}

/// "12+1" is component 1 of job 12, whose own id is 13.
base::Status read_component(std::string_view part, size_t plus, JobIds& ids) {
  const auto job = base::parse_int(part.substr(0, plus), 1, UINT32_MAX, "job id");
  const auto offset = base::parse_int(part.substr(plus + 1), 0, 1000, "component");
  if (!job || !offset || *job + *offset > UINT32_MAX) return invalid_id(part);
  ids.jobs.push_back(static_cast<uint32_t>(*job + *offset));
  return {};
}

base::Status read_range(std::string_view part, JobIds& ids) {
  const size_t dash = part.find('-');
  const auto low = base::parse_int(part.substr(0, dash), 1, UINT32_MAX, "job id");
  const auto high = dash == std::string::npos ? low : base::parse_int(part.substr(dash + 1), 1, UINT32_MAX, "job id");
  if (!low || !high) return invalid_id(part);
  if (*high < *low) return invalid_id(part, "the range runs backwards");
  if (static_cast<uint64_t>(*high - *low) + ids.jobs.size() >= kMaxIds)
    return invalid_id(part, fmt::format("at most {} ids at once", kMaxIds));
  for (int64_t id = *low; id <= *high; ++id) ids.jobs.push_back(static_cast<uint32_t>(id));
  return {};
}

/// Of the tasks of arrays, as the controller has them now.
base::Status add_numbers(const client::Program& program, const JobIds& ids, std::vector<uint32_t>& numbers) {
  wire::ApiRequest request;
  wire::JobFilter& filter = *request.mutable_list_jobs()->mutable_filter();
  JobIds tasks;
  tasks.tasks = ids.tasks;
  tasks.put(*filter.mutable_ids(), *filter.mutable_tasks());
  filter.set_all_states(true);
  GW_TRY(reply, ask(program, std::move(request)));
  const std::string shown = fmt::format("{}_[{}]", ids.tasks.begin()->first, ids.tasks.begin()->second);
  if (!reply.list_jobs().unknown_ids().empty())
    return base::fail(base::ErrorCode::kNotFound, "Invalid job id specified: " + base::printable(shown, 60));
  for (const wire::Job& job : reply.list_jobs().jobs()) {
    if (!job.spec().array().has_task())
      return base::fail(base::ErrorCode::kConflict,
                        base::printable(shown, 60) + ": the task waits with others of its array, and is no job yet");
    numbers.push_back(job.id());
  }
  return {};
}

}  // namespace

void JobIds::put(google::protobuf::RepeatedField<uint32_t>& ids,
                 google::protobuf::RepeatedPtrField<wire::TasksOfArray>& to) const {
  ids.Assign(jobs.begin(), jobs.end());
  for (const auto& [array, text] : tasks) {
    wire::TasksOfArray& of = *to.Add();
    of.set_array(array);
    if (const auto set = model::TaskSet::parse(text)) wire::to_wire(*set, *of.mutable_tasks());
  }
}

std::vector<std::string> split_ids(std::string_view text) {
  std::vector<std::string> parts(1);
  bool is_inside = false;
  for (const char c : text) {
    if (c == '[' || c == ']') is_inside = c == '[';
    if (c == ',' && !is_inside)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

base::Status parse_job_ids(std::string_view text, JobIds& ids) {
  if (text.empty()) return base::invalid("Invalid job id: the text is empty");
  for (const std::string& part : split_ids(text)) {
    if (part.find('.') != std::string::npos)
      return invalid_id(text, "name the job; steps go with gqueue -s, gcancel and gcontrol show step");
    if (part.find('_') != std::string::npos) {
      GW_TRY_STATUS(read_tasks(part, ids));
    } else if (const size_t plus = part.find('+'); plus != std::string::npos) {
      GW_TRY_STATUS(read_component(part, plus, ids));
    } else {
      GW_TRY_STATUS(read_range(part, ids));
    }
  }
  return {};
}

base::Result<std::vector<uint32_t>> numbers_of(const client::Program& program, const JobIds& ids) {
  std::vector<uint32_t> numbers = ids.jobs;
  if (!ids.tasks.empty()) GW_TRY_STATUS(add_numbers(program, ids, numbers));
  return numbers;
}

base::Result<uint32_t> number_of(const client::Program& program, const JobIds& ids) {
  GW_TRY(numbers, numbers_of(program, ids));
  if (numbers.size() != 1) return base::invalid("one job at a time");
  return numbers.front();
}

}  // namespace gw::cmds
