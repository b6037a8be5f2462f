// Reading names of steps.
#include "cmds/shared/step_ids.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "cmds/shared/job_ids.h"

namespace gw::cmds {
namespace {

base::Result<StepId> parse_step_id(const std::string& text) {
  const size_t dot = text.find('.');
  const std::string_view job = std::string_view(text).substr(0, dot), step = std::string_view(text).substr(dot + 1);
  const auto bad = [&] {
    return base::invalid("Invalid step id " + base::printable(text, 60),
                         "JOB.STEP, such as 7.0, or 7.batch for the batch script");
  };
  JobIds ids;
  if (job.empty() || job.find_first_of("-[") != std::string_view::npos) return bad();
  GW_TRY_STATUS(parse_job_ids(job, ids));
  StepId id;
  id.job = ids.jobs.empty() ? ids.tasks.begin()->first : ids.jobs.front();
  if (!ids.tasks.empty()) {
    GW_TRY(task, base::parse_int(ids.tasks.begin()->second, 0, UINT32_MAX, "task"));
    id.task = static_cast<uint32_t>(task);
  }
  id.is_extern = step == "extern";
  if (step == "batch" || id.is_extern) return id;
  const auto number = base::parse_int(step, 0, UINT32_MAX, "step");
  if (!number) return bad();
  id.number = static_cast<uint32_t>(*number);
  return id;
}

}  // namespace

std::string StepId::text() const {
  const std::string of = task ? fmt::format("{}_{}", job, *task) : std::to_string(job);
  return fmt::format("{}.{}", of, number ? std::to_string(*number) : is_extern ? "extern" : "batch");
}

base::Status parse_step_ids(std::string_view text, StepChoice& choice) {
  if (text.empty()) return base::invalid("Invalid job id: the text is empty");
  for (const std::string& part : split_ids(text)) {
    if (part.find('.') == std::string::npos) {
      JobIds ids{std::move(choice.jobs), std::move(choice.tasks)};
      const base::Status read = parse_job_ids(part, ids);
      choice.jobs = std::move(ids.jobs);
      choice.tasks = std::move(ids.tasks);
      GW_TRY_STATUS(read);
      continue;
    }
    GW_TRY(step, parse_step_id(part));
    choice.steps.push_back(step);
  }
  return {};
}

base::Status resolve(const client::Program& program, StepChoice& choice) {
  GW_TRY(jobs, numbers_of(program, {std::move(choice.jobs), std::exchange(choice.tasks, {})}));
  choice.jobs = std::move(jobs);
  for (StepId& step : choice.steps) {
    if (!step.task) continue;
    GW_TRY(job, number_of(program, {{}, {{step.job, std::to_string(*step.task)}}}));
    step.job = job;
    step.task.reset();
  }
  return {};
}

}  // namespace gw::cmds
