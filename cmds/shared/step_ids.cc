// Reading names of steps.
#include "cmds/shared/step_ids.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {
namespace {

base::Result<StepId> parse_step_id(const std::string& text) {
  const size_t dot = text.find('.');
  const std::string_view job = std::string_view(text).substr(0, dot), step = std::string_view(text).substr(dot + 1);
  const auto bad = [&] {
    return base::invalid("Invalid step id " + base::printable(text, 60),
                         "JOB.STEP, such as 7.0, or 7.batch for the batch script");
  };
  std::vector<uint32_t> ids;
  if (job.empty() || job.find('-') != std::string_view::npos) return bad();
  GW_TRY_STATUS(parse_job_ids(job, ids));
  if (step == "batch" || step == "extern") return StepId{ids.front(), std::nullopt, step == "extern"};
  const auto number = base::parse_int(step, 0, UINT32_MAX, "step");
  if (!number) return bad();
  return StepId{ids.front(), static_cast<uint32_t>(*number), false};
}

}  // namespace

std::string StepId::text() const {
  return fmt::format("{}.{}", job, number ? std::to_string(*number) : is_extern ? "extern" : "batch");
}

base::Status parse_step_ids(std::string_view text, StepChoice& choice) {
  if (text.empty()) return base::invalid("Invalid job id: the text is empty");
  for (const std::string& part : base::split(text, ',')) {
    if (part.find('.') == std::string::npos) {
      GW_TRY_STATUS(parse_job_ids(part, choice.jobs));
      continue;
    }
    GW_TRY(step, parse_step_id(part));
    choice.steps.push_back(step);
  }
  return {};
}

}  // namespace gw::cmds
