// From the call of grun to its end.
#include "cmds/grun/run_session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

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

}  // namespace

RunSession::RunSession(client::Program program, config::Config config, RunPlan plan)
    : program_(std::move(program)),
      plan_(std::move(plan)),
      line_(loop_, program_, config),
      queries_(loop_, program_, std::move(config)),
      allocation_(loop_, line_, queries_),
      end_of_job_(loop_, queries_),
      interrupts_(!plan_.options.disable_status && !plan_.options.quit_on_interrupt),
      beside_(loop_, program_, plan_.options, plan_.operands) {}

int RunSession::run() {
  watch_signals();
  if (has_own_allocation())
    ask_for_allocation();
  else if (!plan_.knows_size)
    ask_for_facts();
  else
    create_step(plan_.job.id);
  loop_.run();
  client_.reset();
  return exit_code_.value_or(client::kExitFailed);
}

void RunSession::ask_for_allocation() {
  const RunOptions& o = plan_.options;
  allocation_.on_note([this](const std::string& text) { say(false, text); });
  allocation_.attend(!o.keep);
  if (o.immediate_seconds) allocation_.limit_wait(base::seconds(*o.immediate_seconds));
  wire::CreateStepRequest& first = *plan_.submit.mutable_first_step();
  *first.mutable_step() = wire::to_wire(plan_.step);
  first.set_client_key(std::string(auth::view(key_.public_key())));
  allocation_.request(std::move(plan_.submit), [this](Result<wire::Job> job) {
    if (stage_.is<GivingUp>()) return;
    if (!job) return fail(job.error());
    const JobFacts facts = facts_of_job(*job);
    plan_.step.min_nodes = plan_.step.max_nodes = static_cast<uint32_t>(facts.nodes.size());
    if (plan_.step.tasks == 0) plan_.step.tasks = facts.tasks;
    create_step(job->id());
  });
}

void RunSession::ask_for_facts() {
  wire::ApiRequest request;
  request.mutable_show_job()->set_id(plan_.job.id);
  line_.call(std::move(request), [this](Result<wire::ApiReply> reply) {
    if (!reply) return fail(reply.error());
    on_facts(reply->show_job().job());
  });
}

void RunSession::on_facts(const wire::Job& job) {
  JobFacts facts = facts_of_job(job);
  if (plan_.options.het_group) add_request(job.spec().request(), facts);
  auto step = step_inside(plan_.options, facts);
  if (!step) return fail(step.error());
  plan_.step = std::move(*step);
  create_step(plan_.job.id);
}

void RunSession::create_step(uint32_t job) {
  wire::ApiRequest request;
  wire::CreateStepRequest& create = *request.mutable_create_step();
  create.set_job_id(job);
  *create.mutable_step() = wire::to_wire(plan_.step);
  create.set_client_key(std::string(auth::view(key_.public_key())));
  create.set_immediate(!has_own_allocation() && plan_.options.immediate_seconds.has_value());
  stage_.change_if<Asking>(Creating{loop_.after(base::seconds(1), [this, job] {
    say(false,
        fmt::format("job {}: step creation waits for cores or GPUs that other steps have, or for its nodes", job));
  })});
  line_.call(std::move(request), [this](Result<wire::ApiReply> reply) { on_step(std::move(reply)); });
}

void RunSession::on_step(Result<wire::ApiReply> reply) {
  if (const GivingUp* giving_up = stage_.in<GivingUp>()) {
    if (reply && !has_own_allocation()) end_step(reply->step().step(), giving_up->code);
    return;
  }
  stage_.change_if<Creating>(Answered{});
  if (!reply) {
    base::Error error = reply.error();
    error.what = "Unable to create step: " + error.what;
    return fail(error);
  }
  step_ = std::move(*reply->mutable_step()->mutable_step());
  wire::TicketRequest ticket;
  ticket.set_job_id(step_.job());
  ticket.set_step(step_.step());
  ticket.set_client_key(std::string(auth::view(key_.public_key())));
  tickets_.emplace(queries_, std::move(ticket), reply->step().ticket());
  if (has_own_allocation()) watch_allocation();
  beside_.before(step_, plan_.context.work_dir, [this](Result<std::string> copies) {
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
    if (!client_) return give_up(client::kExitFailed);
    if (Answered* answered = stage_.in<Answered>())
      answered->kill_timer = loop_.after(kAfterTheJob, [this] { client_->kill(); });
  });
}

Result<Commands> RunSession::commands() const {
  if (!plan_.parts.empty()) return commands_of(plan_.parts);
  if (!plan_.options.multi_prog) return Commands{plan_.operands};
  return parse_multi_prog(plan_.multi_prog, plan_.operands.front(), task_count(step_));
}

Result<attach::Sink*> RunSession::open_output(const Redirect& redirect, int otherwise, const char* name) {
  int fd = otherwise;
  std::string label = name;
  if (redirect.to == To::kFile && !is_opened_there(redirect)) {
    label = local_path(redirect, step_, plan_.options, plan_.context);
    const int how = plan_.options.append ? O_APPEND : O_TRUNC;
    fd = open_file(label, O_WRONLY | O_CREAT | O_CLOEXEC | how);
    if (fd < 0) return base::fail_errno("cannot write output to " + base::printable(label), errno);
    files_.emplace_back(fd);
  }
  sinks_.push_back(std::make_unique<attach::Sink>(loop_, attach::Descriptor::for_writing(fd), label));
  return sinks_.back().get();
}

Status RunSession::open_input() {
  const Redirect& input = plan_.options.input;
  if (plan_.options.detach || input.to == To::kNone || is_opened_there(input)) return {};
  int fd = STDIN_FILENO;
  if (input.to == To::kFile) {
    const std::string path = local_path(input, step_, plan_.options, plan_.context);
    fd = open_file(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return base::fail_errno("cannot read input from " + base::printable(path), errno);
    files_.emplace_back(fd);
  }
  client_->take_input(attach::Descriptor::for_reading(fd));
  return {};
}

Status RunSession::begin(const std::string& copies) {
  const RunOptions& o = plan_.options;
  GW_TRY(words, commands());
  read_terminal_size();
  GW_TRY(plans, make_plans(step_, o, words, plan_.context));
  if (!copies.empty()) run_copies(plans, copies);
  if (plan_.adjust) plan_.adjust(step_, plans, plan_.context);
  if (program_.verbose > 0)
    for (const std::string& line : launch_lines(step_, plans)) say(false, line);
  GW_TRY(out, open_output(o.output, STDOUT_FILENO, "standard output"));
  const Redirect error = error_of(o);
  const bool is_same = error.to == To::kFile && error.path == o.output.path;
  attach::Sink* error_sink = out;
  if (!is_same) {
    GW_TRY(opened, open_output(error, STDERR_FILENO, "standard error"));
    error_sink = opened;
  }
  attach::StepOptions s;
  s.step = fmt::format("{}.{}", step_.job(), step_.step());
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
    if (!plan_.options.detach) return;
    say(false, "step " + client_->step() + " continues by itself");
    client_->depart(client::kExitOk);
  });
  GW_TRY_STATUS(open_input());
  enter_terminal();
  return client_->start([this](size_t) { return tickets_->for_node(); });
}

/// As late as may be, since it may have changed while the step waited. What changes from here on comes with SIGWINCH.
void RunSession::read_terminal_size() {
  const auto size = plan_.options.pty ? attach::terminal_size(STDIN_FILENO) : std::nullopt;
  if (!size) return;
  plan_.context.rows = size->rows;
  plan_.context.columns = size->columns;
}

void RunSession::enter_terminal() {
  if (!plan_.options.pty || ::isatty(STDIN_FILENO) != 1) return;
  raw_.emplace(STDIN_FILENO);
}

// In raw mode a new line does not begin at the left by itself.
void RunSession::say(bool is_error, const std::string& text) const {
  const std::string line = raw_ ? text + "\r" : text;
  if (is_error) return client::print_error(program_, line);
  if (!plan_.options.quiet) client::print_note(program_, line);
}

void RunSession::fail(const base::Error& error) {
  if (exit_code_) return;
  say(true, error.text());
  give_up(client::kExitFailed);
}

/// Before any task runs: takes back what was asked for.
void RunSession::give_up(int code) {
  if (stage_.is<GivingUp>()) return finish(code);
  const bool has_step = step_.nodes_size() > 0;
  // One that has not come within a second waits for other steps, and is forgotten with the connection.
  const Creating* creating = stage_.in<Creating>();
  const bool may_come = creating != nullptr && creating->slow_timer.is_active();
  stage_.change_if<Asking, Creating, Answered>(GivingUp{code, {}});
  const bool may_have_job = allocation_.job() != 0 || allocation_.is_asked();
  if (has_own_allocation() ? !may_have_job : !has_step && !may_come) return finish(code);
  stage_.in<GivingUp>()->limit_timer =
      loop_.after(base::seconds(has_step || has_own_allocation() ? 5 : 1), [this, code] { finish(code); });
  if (has_own_allocation())
    return allocation_.cancel([this, code] {
      const bool is_interrupted = code > 128;  // else an error has said why
      if (is_interrupted && allocation_.job() != 0)
        say(false, fmt::format("job {} has been cancelled", allocation_.job()));
      finish(code);
    });
  if (has_step) end_step(step_, code);
}

void RunSession::end_step(const wire::Step& step, int code) {
  wire::ApiRequest request;
  request.mutable_signal_step()->set_job_id(step.job());
  request.mutable_signal_step()->set_step(step.step());
  queries_.call(std::move(request), [this, code](const Result<wire::ApiReply>&) { finish(code); });
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
  end_of_job_.ask(step_.job(), is_lost, [this, code](const std::string& text) {
    if (!text.empty() && !has_reported_end_) say(true, text);
    finish(code);
  });
}

void RunSession::finish(int code) {
  if (!exit_code_) exit_code_ = code;
  leave_terminal(code == attach::kExitTakenOver);
  if (code == attach::kExitTakenOver) say(false, "another client took step " + client_->step() + " over");
  beside_.after(step_, [this] { loop_.stop(); });
}

/// Before anything is said for good: a program's screen would take it along, or its colours.
void RunSession::leave_terminal(bool speaks) {
  if (!raw_) return;
  if (client_) attach::write_to_terminal(STDOUT_FILENO, client_->screen_leave() + (speaks ? "\r\n" : ""));
  raw_.reset();
}

}  // namespace gw::cmds
