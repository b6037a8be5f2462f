// gcontrol show step.
#include "cmds/gcontrol/control_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "client/show/step_fields.h"
#include "client/show/step_text.h"

namespace gw::cmds {
namespace {

using client::Program;

base::Result<StepChoice> read_choice(const Program& program, Args words) {
  StepChoice choice;
  bool is_all = false;
  for (const std::string& word : words) {
    if (base::iequals(word, "all"))
      is_all = true;
    else
      GW_TRY_STATUS(parse_step_ids(word, choice));
  }
  if (is_all) return StepChoice{};
  GW_TRY_STATUS(resolve(program, choice));
  return choice;
}

int not_there(const Program& program, const base::Error& error) {
  if (!program.is_slurm) return failed(program, error);
  client::print_note({"slurm_get_job_steps error", true}, "Invalid job id specified");
  return client::kExitFailed;
}

std::string steps_text(const std::vector<client::StepRow>& rows, const ControlOptions& o, bool is_all) {
  if (rows.empty()) return is_all ? "No job steps in the system\n" : "No job steps run there\n";
  std::string out;
  for (const client::StepRow& row : rows) out += client::show_step_text(row, o.style);
  return out;
}

base::Result<StepReplies> ask_for(const Program& program, const StepChoice& choice) {
  wire::JobFilter filter;
  add_job_ids(choice, filter);
  add_states_with_steps(filter);
  GW_TRY(connection, client::connect(program));
  return ask_steps(connection, filter);
}

}  // namespace

base::Status check_shown(const StepChoice& choice, const StepReplies& replies,
                         const std::vector<client::StepRow>& rows) {
  for (const StepId& step : choice.steps)
    if (std::none_of(rows.begin(), rows.end(),
                     [&](const client::StepRow& row) { return client::step_id(row) == step.text(); }))
      return base::fail(base::ErrorCode::kNotFound, "Invalid step id specified: " + step.text(),
                        "gqueue -s lists the steps that run");
  if (replies.jobs.unknown_ids().empty()) return {};
  return base::fail(base::ErrorCode::kNotFound,
                    fmt::format("Invalid job id specified: {}", replies.jobs.unknown_ids(0)));
}

int show_steps(const Program& program, const ControlOptions& o, Args words) {
  const auto choice = read_choice(program, words);
  if (!choice) return failed(program, choice.error());
  const auto replies = ask_for(program, *choice);
  if (!replies) return failed(program, replies.error());
  const auto rows = step_rows(*replies, *choice, false);
  const base::Status shown = check_shown(*choice, *replies, rows);
  int code = client::kExitOk;
  if (shown || !rows.empty())
    code = printed(o.json ? client::steps_json(rows, replies->now()) : steps_text(rows, o, choice->empty()));
  return shown ? code : not_there(program, shown.error());
}

}  // namespace gw::cmds
