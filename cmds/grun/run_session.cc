// From the call of grun to its end.
#include "cmds/grun/run_session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "attach/control/allocation_env.h"
#include "base/text.h"
#include "client/show/job_view.h"
#include "cmds/grun/open_file.h"
#include "cmds/grun/run_bcast.h"
#include "cmds/grun/run_multi.h"
#include "cmds/grun/run_programs.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

using base::Result;
using base::Status;
using To = Redirect::To;

/// So long the shepherds may take to say what became of a job that has ended.
constexpr base::Duration kAfterTheJob = base::seconds(15);
constexpr base::Duration kGiveBackLimit = base::seconds(10);

JobFacts facts_of_job(const wire::Job& job) {
  JobFacts facts;
  facts.id = job.id();
  for (const wire::NodeShare& share : client::shares_of(job)) {
    facts.nodes.push_back(share.node());
    facts.tasks += share.tasks();
  }
  return facts;
}

/// What the variables of its own script would say of a component.
void add_request(const wire::Request& request, JobFacts& facts) {
  facts.tasks_per_node = request.tasks_per_node();
  if (request.cpus_per_task() > 1) facts.cpus_per_task = request.cpus_per_task();
  const auto counting = static_cast<model::GpuCounting>(request.gpu_counting());
  if (counting == model::GpuCounting::kPerTask) facts.gpus_per_task = request.gpus();
}

RunSteps::Ask calls(attach::Errands& line) {
  return
      [&line](wire::ApiRequest request, attach::Errands::ReplyFn fn) { line.call(std::move(request), std::move(fn)); };
}

}  // namespace

RunSession::RunSession(client::Program program, config::Config config, RunPlan plan)
    : program_(std::move(program)),
      plan_(std::move(plan)),
      line_(loop_, program_, config),
      queries_(loop_, program_, std::move(config)),
      allocation_(loop_, line_, queries_),
      end_of_job_(loop_, queries_),
      interrupts_(!plan_.options().disable_status && !plan_.options().quit_on_interrupt),
      beside_(loop_, program_, plan_.options(), plan_.words()),
      has_own_allocation_(plan_.members.front().job.id == 0),
      steps_(loop_, {calls(line_), calls(queries_), queries_}, key_,
             [this](const std::string& text) { say(false, text); }) {}

int RunSession::run() {
  watch_signals();
  has_own_allocation() ? ask_for_allocation() : ask_for_facts();
  loop_.run();
  client_.reset();
  return exit_code_.value_or(client::kExitFailed);
}

void RunSession::ask_for_allocation() {
  const RunOptions& o = plan_.options();
  allocation_.on_note([this](const std::string& text) { say(false, text); });
  allocation_.on_message([this](const std::string& text) { say(true, text); });
  allocation_.attend(!o.keep);
  if (o.immediate_seconds) allocation_.limit_wait(base::seconds(*o.immediate_seconds));
  if (plan_.members.size() == 1) {
    wire::CreateStepRequest& first = *plan_.submit.mutable_first_step();
    *first.mutable_step() = wire::to_wire(plan_.members.front().step);
    first.set_client_key(std::string(auth::view(key_.public_key())));
  }
  allocation_.request(std::move(plan_.submit), [this](Result<wire::Job> job) {
    if (stage_.is<GivingUp>()) return;
    job ? on_allocated(*job) : fail(job.error());
  });
}

void RunSession::on_allocated(const wire::Job& job) {
  for (size_t i = 0; i < plan_.members.size(); ++i) {
    const JobFacts facts = facts_of_job(i == 0 ? job : allocation_.components()[i]);
    plan_.members[i].job.id = facts.id;
    model::StepRequest& step = plan_.members[i].step;
    step.min_nodes = step.max_nodes = static_cast<uint32_t>(facts.nodes.size());
    if (step.tasks == 0) step.tasks = facts.tasks;
  }
  if (plan_.members.size() > 1)
    for (const auto& [name, value] : attach::component_variables(allocation_.components()))
      plan_.context.environment.push_back(name + "=" + value);
  create_steps();
}

/// Of all that are not known, then goes on.
void RunSession::ask_for_facts() {
  const auto next = std::find_if(plan_.members.begin(), plan_.members.end(),
                                 [](const MemberStep& member) { return !member.knows_size; });
  if (next == plan_.members.end()) return create_steps();
  wire::ApiRequest request;
  request.mutable_show_job()->set_id(next->job.id);
  line_.call(std::move(request), [this, &member = *next](Result<wire::ApiReply> reply) {
    if (!reply) return fail(reply.error());
    on_facts(member, reply->show_job().job());
  });
}

void RunSession::on_facts(MemberStep& member, const wire::Job& job) {
  JobFacts facts = facts_of_job(job);
  if (job.spec().het_job() != 0 && plan_.members.size() > 1 && member.options.job_id != 0)
    return fail({base::ErrorCode::kInvalid,
                 fmt::format("job {} has components: parts run in them when they are called inside of it", job.id()),
                 "call it in the batch script or below galloc; --jobid names one component"});
  if (!member.options.het_groups.empty() || plan_.members.size() > 1) add_request(job.spec().request(), facts);
  auto step = step_inside(member.options, facts);
  if (!step) return fail(step.error());
  member.step = std::move(*step);
  member.knows_size = true;
  ask_for_facts();
}

void RunSession::create_steps() {
  stage_.change_if<Asking>(Creating{});
  if (!stage_.is<Creating>()) return;
  const bool is_immediate = !has_own_allocation() && plan_.options().immediate_seconds.has_value();
  steps_.create(plan_.members, is_immediate, [this](const Status& created) { on_steps(created); });
}

void RunSession::on_steps(const Status& created) {
  stage_.change_if<Creating>(Answered{});
  if (stage_.is<GivingUp>()) return;
  if (!created) return fail(created.error());
  if (has_own_allocation()) watch_allocation();
  const base::Duration limit = std::min(kMostBefore, kMostBeforeAndHeld - steps_.held());
  beside_.before(steps_.steps(), plan_.context.work_dir, limit, [this](Result<std::string> copies) {
    if (stage_.is<GivingUp>()) return;
    const Status begun = copies ? begin(*copies) : Status(base::pass(copies));
    if (!begun) fail(begun.error());
  });
}

void RunSession::watch_allocation() {
  allocation_.watch([this](const wire::Job& job) {
    if (stage_.is<GivingUp>()) return;  // by ourselves: the answer to that ends it
    const auto state = client::state_of(job);
    has_reported_end_ = state != model::JobState::kCompleted && state != model::JobState::kFailed;
    if (has_reported_end_) say(true, attach::end_text(job));
    if (has_reported_end_ && program_.is_slurm) say(false, fmt::format("Force Terminated JobId={}", job.id()));
    if (!client_) return give_up(client::kExitFailed);
    if (Answered* answered = stage_.in<Answered>())
      answered->kill_timer = loop_.after(kAfterTheJob, [this] { client_->kill(); });
  });
}

Result<Commands> RunSession::commands() const {
  if (!plan_.options().multi_prog) return commands_of(plan_.members, steps_.steps());
  return parse_multi_prog(plan_.multi_prog, plan_.words().front(), task_count(steps_.steps()));
}

Result<attach::Sink*> RunSession::open_output(const Redirect& redirect, int otherwise, const char* name) {
  int fd = otherwise;
  std::string label = name;
  if (redirect.to == To::kFile && !is_opened_there(redirect)) {
    label = local_path(redirect, steps_.steps().front(), plan_.options(), plan_.context);
    const int how = plan_.options().append ? O_APPEND : O_TRUNC;
    fd = open_file(label, O_WRONLY | O_CREAT | O_CLOEXEC | how);
    if (fd < 0) return base::fail_errno("cannot write output to " + base::printable(label), errno);
    files_.emplace_back(fd);
  }
  sinks_.push_back(std::make_unique<attach::Sink>(loop_, attach::Descriptor::for_writing(fd), label));
  return sinks_.back().get();
}

Status RunSession::open_input() {
  const Redirect& input = plan_.options().input;
  if (plan_.options().detach || input.to == To::kNone || is_opened_there(input)) return {};
  int fd = STDIN_FILENO;
  if (input.to == To::kFile) {
    const std::string path = local_path(input, steps_.steps().front(), plan_.options(), plan_.context);
    fd = open_file(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return base::fail_errno("cannot read input from " + base::printable(path), errno);
    files_.emplace_back(fd);
  }
  client_->take_input(attach::Descriptor::for_reading(fd));
  return {};
}

Status RunSession::begin(const std::string& copies) {
  const RunOptions& o = plan_.options();
  GW_TRY(words, commands());
  read_terminal_size();
  plan_.context.address = own_address_towards(steps_.steps().front().nodes(0).address());
  std::vector<StepToLaunch> steps;
  for (size_t i = 0; i < plan_.members.size(); ++i) steps.push_back({steps_.steps()[i], plan_.members[i].options});
  GW_TRY(plans, make_plans(steps, words, plan_.context));
  if (!copies.empty()) run_copies(plans, copies);
  if (plan_.adjust) plan_.adjust(steps_.steps().front(), plans, plan_.context);
  if (program_.verbose > 0)
    for (const std::string& line : launch_lines(steps_.steps(), plans)) say(false, line);
  GW_TRY(out, open_output(o.output, STDOUT_FILENO, "standard output"));
  const Redirect error = error_of(o);
  const bool is_same = error.to == To::kFile && error.path == o.output.path;
  attach::Sink* error_sink = out;
  if (!is_same) {
    GW_TRY(opened, open_output(error, STDERR_FILENO, "standard error"));
    error_sink = opened;
  }
  attach::StepOptions s;
  s.step = fmt::format("{}.{}", steps_.steps().front().job(), steps_.steps().front().step());
  s.label = o.label;
  s.unbuffered = o.unbuffered;
  s.quiet_ends = plan_.quiet_ends;
  s.ends_on_bad_exit = o.kill_on_bad_exit;
  s.may_detach = o.keep && o.pty && ::isatty(STDIN_FILENO) == 1;
  s.keeps_input_open = o.detach && o.pty;
  if (o.wait_seconds) s.wait_after_first = base::seconds(*o.wait_seconds);
  client_ = std::make_unique<attach::StepClient>(loop_, key_, std::move(s), std::move(plans), *out, *error_sink);
  client_->on_say([this](bool is_error, const std::string& text) { say(is_error, text); });
  client_->on_done([this](int code) { on_done(code); });
  client_->on_detach(
      [this] { client_->is_running() ? leave(client::kExitOk) : say(false, "the step has not started"); });
  client_->on_running([this] {
    if (!plan_.options().detach) return;
    say(false, "step " + client_->step() + " continues by itself");
    client_->depart(client::kExitOk);
  });
  GW_TRY_STATUS(open_input());
  enter_terminal();
  return client_->start([this](size_t node) { return steps_.ticket_for(node); });
}

/// As late as may be, since it may have changed while the step waited. What changes from here on comes with SIGWINCH.
void RunSession::read_terminal_size() {
  const auto size = plan_.options().pty ? attach::terminal_size(STDIN_FILENO) : std::nullopt;
  if (!size) return;
  plan_.context.rows = size->rows;
  plan_.context.columns = size->columns;
}

void RunSession::enter_terminal() {
  if (!plan_.options().pty || ::isatty(STDIN_FILENO) != 1) return;
  raw_.emplace(STDIN_FILENO);
}

// In raw mode a new line does not begin at the left by itself.
void RunSession::say(bool is_error, const std::string& text) const {
  const std::string line = raw_ ? text + "\r" : text;
  if (is_error) return client::print_error(program_, line);
  if (!plan_.options().quiet) client::print_note(program_, line);
}

void RunSession::fail(const base::Error& error) {
  if (exit_code_) return;
  say(true, error.text());
  give_up(client::kExitFailed);
}

/// Before any task runs: takes back what was asked for.
void RunSession::give_up(int code) {
  if (stage_.is<GivingUp>()) return finish(code);
  const bool has_step = steps_.has_some();
  // One that has not come within a second waits for other steps, and is forgotten with the connection.
  const bool may_come = steps_.may_come();
  stage_.change_if<Asking, Creating, Answered>(GivingUp{code, {}});
  const bool may_have_job = allocation_.job() != 0 || allocation_.is_asked();
  if (has_own_allocation() ? !may_have_job : !has_step && !may_come) return finish(code);
  stage_.in<GivingUp>()->limit_timer =
      loop_.after(base::seconds(has_step || has_own_allocation() ? 5 : 1), [this, code] { finish(code); });
  if (has_own_allocation()) {
    steps_.forget();
    return allocation_.cancel([this, code] {
      const bool is_interrupted = code > 128;  // else an error has said why
      if (is_interrupted && allocation_.job() != 0)
        say(false, program_.is_slurm ? fmt::format("Force Terminated JobId={}", allocation_.job())
                                     : fmt::format("job {} has been cancelled", allocation_.job()));
      finish(code);
    });
  }
  steps_.give_back([this, code] { finish(code); });
}

/// The tasks are kept, and continue.
void RunSession::leave(int code) {
  leave_terminal(true);
  say(false,
      fmt::format("left step {}, which continues; gattach {} comes back to it", client_->step(), client_->step()));
  client_->depart(code);
}

/// Of its own allocation it is told anyway, but of its failure: see watch_allocation().
void RunSession::on_done(int code) {
  const bool is_lost = client_->has_lost();
  if (!is_lost && (has_own_allocation() || code <= 128)) return finish(code);
  leave_terminal(false);
  end_of_job_.ask(steps_.steps().front().job(), is_lost, [this, code](const std::string& text) {
    if (!text.empty() && !has_reported_end_) say(true, text);
    finish(code);
  });
}

void RunSession::finish(int code) {
  if (!exit_code_) exit_code_ = code;
  leave_terminal(code == attach::kExitTakenOver);
  if (code == attach::kExitTakenOver) say(false, "another client took step " + client_->step() + " over");
  beside_.after(steps_.steps(), [this] { end_allocation(*exit_code_); });
}

/// One of several components does not end with a step of it.
void RunSession::end_allocation(int code) {
  const bool is_there = has_own_allocation() && plan_.members.size() > 1 && allocation_.job() != 0;
  if (!is_there || stage_.is<GivingUp>() || end_timer_.is_active()) return loop_.stop();
  wire::ApiRequest request;
  request.mutable_end_allocation()->set_job_id(allocation_.job());
  request.mutable_end_allocation()->set_exit_code(code);
  end_timer_ = loop_.after(kGiveBackLimit, [this] { loop_.stop(); });  // it ends with its client
  queries_.call(std::move(request), [this](const Result<wire::ApiReply>&) { loop_.stop(); });
}

/// Before anything is said for good: a program's screen would take it along, or its colours.
void RunSession::leave_terminal(bool speaks) {
  if (!raw_) return;
  if (client_) attach::write_to_terminal(STDOUT_FILENO, client_->screen_leave() + (speaks ? "\r\n" : ""));
  raw_.reset();
}

}  // namespace gw::cmds
