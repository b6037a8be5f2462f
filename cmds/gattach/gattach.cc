// gattach (sattach): takes up a step that runs, or watches it.
// Invariants: which step is meant is known before anything is taken from another client; the exit code is that of the
// tasks, unless this leaves before they end.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "base/text.h"
#include "client/show/job_view.h"
#include "cmds/gattach/attach_session.h"
#include "cmds/shared/step_ids.h"

namespace gw::cmds {
namespace {

using base::Result;
using base::Status;
using client::Arg;
using client::Program;
using Text = std::string_view;

client::Handler task_number(std::optional<uint32_t>& task, std::string option) {
  return [&task, option = std::move(option)](Text v) -> Status {
    if (v == "all") {
      task.reset();
      return {};
    }
    GW_TRY(number, base::parse_int(v, 0, UINT32_MAX, option));
    task = static_cast<uint32_t>(number);
    return {};
  };
}

std::vector<client::Option> table(AttachOptions& o, client::CommonFlags& flags) {
  std::vector<client::Option> t;
  const auto kPlain = client::kPlain;
  t.push_back({"watch",
               'r',
               Arg::kNone,
               {},
               "look only: what is typed goes nowhere, but ctrl-C, which leaves",
               {},
               kPlain,
               sets(o.watch)});
  t.push_back({"read-only", 0, Arg::kNone, {}, {}, {}, client::kHidden, sets(o.watch)});
  t.push_back({"label", 'l', Arg::kNone, {}, "lines begin with the number of their task", {}, kPlain, sets(o.label)});
  t.push_back(
      {"layout", 0, Arg::kNone, {}, "print which tasks are on which node, and end", {}, kPlain, sets(o.layout)});
  t.push_back({"output-filter",
               0,
               Arg::kRequired,
               "TASK",
               "what this task alone prints, or all",
               {},
               kPlain,
               task_number(o.only_output, "--output-filter")});
  t.push_back({"error-filter",
               0,
               Arg::kRequired,
               "TASK",
               "the same of standard error",
               {},
               kPlain,
               task_number(o.only_error, "--error-filter")});
  t.push_back({"quiet", 'Q', Arg::kNone, {}, "no messages but errors", {}, kPlain, sets(o.quiet)});
  t.push_back({"verbose", 'v', Arg::kNone, {}, {}, {}, client::kHidden, [](Text) -> Status { return {}; }});
  // A step's terminal is found by itself, and nothing is held back.
  t.push_back({"pty", 0, Arg::kNone, {}, {}, {}, client::kHidden, [](Text) { return base::Status{}; }});
  t.push_back({"unbuffered", 'u', Arg::kNone, {}, {}, {}, client::kHidden, [](Text) { return base::Status{}; }});
  client::add_common_options(t, flags, 0);
  static constexpr client::Unsupported kUnsupported[] = {{"input-filter"}};
  client::add_unsupported(t, kUnsupported);
  return t;
}

client::CommandDoc doc() {
  client::CommandDoc d;
  d.summary = "take up a running step again, or watch it";
  d.synopsis = "[OPTIONS] JOB_ID[.STEP]";
  d.description =
      "Takes up a step that was started with grun --keep or --detach: what its tasks print from now on comes here, and "
      "what is typed goes to them; of a terminal (--pty) the last screenful comes first, and full-screen programs draw "
      "theirs anew. Another client that still has the step loses it. Without .STEP it is the only step of the job that "
      "runs, or the only one with a terminal that is kept. One that is about to start is waited for.\n\n"
      "Ctrl-\\ twice leaves a terminal and its programs alone; so does grun --pty --keep. Without a terminal ctrl-C "
      "shows "
      "how the tasks are, and twice within a second leaves them. SIGTERM and SIGHUP leave, too; SIGUSR1, SIGUSR2 and "
      "SIGALRM are passed on.\n\n"
      "With --watch any step that runs is shown, with all that it prints, to its owner and to operators: as many as 16 "
      "at "
      "once. Who watches holds up nobody: what comes faster than it can be shown is left out, and how much that was is "
      "said. Ctrl-C leaves.";
  d.exit_codes = {
      {"N", "the highest exit code of the tasks, once they have ended"},
      {"128+N", "the highest, of a task that ended by signal N; or signal N ended this program"},
      {"0", "left before the end"},
      {"1",
       "refused, a bad option, a connection was lost for good, or the controller is out of reach or does not "
       "say how tasks ended"},
      {"75", "another client took the step over"},
      {"141", "nobody reads standard output any more"}};
  d.environment = {{"GANGWAY_CONF", "configuration file (/etc/gangway/gangway.yaml)"},
                   {"GANGWAY_TIMEOUT", "seconds to keep trying to reach the controller (60)"}};
  d.operands = client::Completes::kJobs;
  d.examples = {{"gattach 7", "back to the shell that grun --pty --keep had started"},
                {"gattach --watch 7.0", "look over somebody's shoulder"},
                {"gattach --layout 7.0", "which tasks run where"}};
  return d;
}

struct Target {
  uint32_t job = 0;
  std::optional<uint32_t> step;
};

Result<Target> read_target(const Program& program, const std::vector<std::string>& operands) {
  constexpr const char* kHint = "JOB or JOB.STEP, such as 7 or 7.0";
  if (operands.empty()) return base::invalid("No job step given", kHint);
  if (operands.size() > 1) return base::invalid("more than one step given: " + base::printable(operands[1], 60), kHint);
  StepChoice choice;
  GW_TRY_STATUS(parse_step_ids(operands.front(), choice));
  GW_TRY_STATUS(resolve(program, choice));
  if (choice.jobs.size() + choice.steps.size() != 1) return base::invalid("one step at a time can be taken up", kHint);
  if (!choice.jobs.empty()) return Target{choice.jobs.front(), std::nullopt};
  const StepId& id = choice.steps.front();
  if (id.is_extern)
    return base::invalid(id.text() + " is the allocation, which runs nothing by itself",
                         fmt::format("{} is the step of job {} that can be taken up", id.job, id.job));
  if (!id.number)
    return base::invalid("a batch script has no client: nothing can be taken up of " + id.text(),
                         fmt::format("its output is in the file that gcontrol show job {} names", id.job));
  return Target{id.job, id.number};
}

std::string name_of(const wire::Step& step) { return fmt::format("{}.{}", step.job(), step.step()); }

std::string names_of(const std::vector<const wire::Step*>& steps) {
  std::string text;
  for (const wire::Step* step : steps)
    text +=
        fmt::format("{}{} ({})", text.empty() ? "" : ", ", name_of(*step), base::printable(step->request().name(), 40));
  return text;
}

/// Why no step is found.
base::Error nothing_there(const wire::Job& job, const Target& target, const std::vector<const wire::Step*>& steps) {
  const auto state = client::state_of(job);
  const std::string what = target.step ? fmt::format("{}.{}", target.job, *target.step) : std::to_string(target.job);
  if (state != model::JobState::kRunning)
    return {base::ErrorCode::kNotFound,
            fmt::format("cannot attach to {}: the job is {}", what, model::long_name(state)),
            model::is_end(state) ? "" : "wait until it runs"};
  if (steps.empty())
    return {base::ErrorCode::kNotFound, fmt::format("cannot attach to {}: the job runs, but no step of it", what),
            "grun --keep or --detach starts one; a batch script's output is in its file"};
  return {base::ErrorCode::kNotFound,
          fmt::format("job {} has no step {} that runs", target.job, target.step.value_or(0)),
          "these run: " + names_of(steps)};
}

Result<wire::Step> choose(const std::vector<const wire::Step*>& steps, const Target& target) {
  std::vector<const wire::Step*> fits = steps;
  if (target.step) std::erase_if(fits, [&](const wire::Step* s) { return s->step() != *target.step; });
  if (fits.size() > 1)
    std::erase_if(fits, [](const wire::Step* s) { return !s->request().kept() || !s->request().terminal(); });
  if (fits.size() == 1) return *fits.front();
  return base::fail(base::ErrorCode::kConflict, fmt::format("job {} has several steps that run", target.job),
                    "name one: " + names_of(fits.empty() ? steps : fits));
}

/// A step, unless the one that is meant has yet to start.
Result<std::optional<wire::Step>> find_step(client::Connection& connection, const Target& target) {
  wire::ApiRequest ask_job, ask_steps;
  ask_job.mutable_show_job()->set_id(target.job);
  GW_TRY(shown, connection.call(std::move(ask_job)));
  const wire::Job& job = shown.show_job().job();
  ask_steps.mutable_list_steps()->add_job_ids(target.job);
  GW_TRY(listed, connection.call(std::move(ask_steps)));
  std::vector<const wire::Step*> steps;
  bool is_coming = false;
  for (const wire::Step& step : listed.list_steps().steps()) {
    if (step.is_ending()) continue;
    if (step.started_us() != 0) steps.push_back(&step);
    is_coming |= step.started_us() == 0 && (!target.step || *target.step == step.step());
  }
  const auto is_it = [&](const wire::Step* s) { return !target.step || s->step() == *target.step; };
  const bool is_there = std::any_of(steps.begin(), steps.end(), is_it);
  if (!is_there && is_coming) return std::nullopt;
  if (!is_there) return tl::unexpected(nothing_there(job, target, steps));
  GW_TRY(step, choose(steps, target));
  return std::optional(std::move(step));
}

void note_waiting(const Program& program, uint32_t job) {
  client::print_note(program, fmt::format("the step of job {} has not started yet: waiting for it", job));
}

/// Waits for the step if need be; ctrl-C ends that.
Result<wire::Step> await_step(const Program& program, const AttachOptions& o, client::Connection& connection,
                              const Target& target) {
  constexpr auto kBetweenLooks = std::chrono::milliseconds(200);
  for (bool has_said = o.quiet;; std::this_thread::sleep_for(kBetweenLooks)) {
    GW_TRY(step, find_step(connection, target));
    if (step) return std::move(*step);
    if (!std::exchange(has_said, true)) note_waiting(program, target.job);
  }
}

/// What the step's node would refuse, said with who has the step.
Status may_take(client::Connection& connection, const wire::Step& step) {
  if (step.request().kept()) return {};
  wire::ApiRequest request;
  request.mutable_show_job()->set_id(step.job());
  GW_TRY(shown, connection.call(std::move(request)));
  const wire::JobSpec& spec = shown.show_job().job().spec();
  const std::string host = spec.submit_host().empty() ? "" : ", from " + base::printable(spec.submit_host(), 80);
  return base::fail(base::ErrorCode::kConflict,
                    fmt::format("step {} was not started with --keep: the grun that started it has it (job of {}{})",
                                name_of(step), base::printable(spec.user(), 60), host),
                    fmt::format("gattach --watch {} shows it", name_of(step)));
}

Result<wire::Step> find(const Program& program, const AttachOptions& o, const Target& target) {
  GW_TRY(connection, client::connect(program));
  GW_TRY(step, await_step(program, o, connection, target));
  if (!o.watch && !o.layout) GW_TRY_STATUS(may_take(connection, step));
  return step;
}

}  // namespace

int run_gattach(const Program& called, Args args) {
  AttachOptions o;
  client::CommonFlags flags;
  const auto t = table(o, flags);
  Parsed parsed = parse_command(called, doc(), t, flags, args, client::kExitUsage);
  if (parsed.exit) return *parsed.exit;
  const client::Program program = louder(called, parsed);
  const auto target = read_target(program, parsed.operands);
  if (!target) return failed(program, target.error());
  auto config = client::load_config();
  if (!config) return failed(program, config.error());
  const auto step = find(program, o, *target);
  if (!step) return failed(program, step.error());
  std::optional<int> code = AttachSession(program, *config, o, *step).run();
  if (!code && !o.quiet) note_waiting(program, target->job);
  while (!code) code = AttachSession(program, *config, o, *step).run();
  std::fflush(nullptr);
  std::_Exit(*code);  // a request that is still under way has a thread
}

}  // namespace gw::cmds
