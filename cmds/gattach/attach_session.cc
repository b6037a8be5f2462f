// From the ticket to the end.
#include "cmds/gattach/attach_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/hostlist.h"

namespace gw::cmds {

using base::Result;
using base::Status;

AttachSession::AttachSession(client::Program program, config::Config config, AttachOptions options,
                             const wire::Step& step)
    : program_(std::move(program)),
      options_(options),
      line_(loop_, program_, std::move(config)),
      end_of_job_(loop_, line_),
      end_of_step_(loop_, [this](auto request, auto fn) { line_.call(std::move(request), std::move(fn)); }),
      name_(fmt::format("{}.{}", step.job(), step.step())),
      out_(loop_, attach::Descriptor::for_writing(STDOUT_FILENO), "standard output"),
      error_(loop_, attach::Descriptor::for_writing(STDERR_FILENO), "standard error") {
  ticket_.set_job_id(step.job());
  ticket_.set_step(step.step());
  ticket_.set_watch(only_looks());
  ticket_.set_client_key(std::string(auth::view(key_.public_key())));
}

std::optional<int> AttachSession::run() {
  watch_signals();
  wire::ApiRequest request;
  *request.mutable_ticket() = ticket_;
  line_.call(std::move(request), [this](Result<wire::ApiReply> reply) { on_ticket(std::move(reply)); });
  loop_.run();
  const bool is_too_early = client_ && client_->is_too_early();
  client_.reset();
  if (is_too_early && !exit_code_) return std::nullopt;
  return exit_code_.value_or(client::kExitFailed);
}

void AttachSession::on_ticket(Result<wire::ApiReply> reply) {
  if (!reply) return fail(reply.error());
  tickets_.emplace(line_, ticket_, reply->step().ticket());
  if (Status begun = begin(reply->step().step()); !begun) fail(begun.error());
}

attach::StepOptions AttachSession::step_options() const {
  attach::StepOptions s;
  s.step = name_;
  s.part = only_looks() ? attach::Part::kWatch : attach::Part::kJoin;
  s.label = options_.label;
  s.may_detach = ::isatty(STDIN_FILENO) == 1;
  s.only_output = options_.only_output;
  s.only_error = options_.only_error;
  return s;
}

Status AttachSession::begin(const wire::Step& step) {
  GW_TRY(plans, plans_to_join(step));
  step_ = step;
  step_.clear_nodes();
  std::vector<std::string> gone;
  for (const wire::StepNode& node : step.nodes())
    if (node.is_gone()) gone.push_back(node.share().node());
  if (!gone.empty()) say(false, "the tasks on " + base::compress_hostlist(gone) + " have ended");
  attach::StepOptions options = step_options();
  for (const wire::StepNode& node : step.nodes()) options.tasks += node.share().tasks();
  for (const std::optional<uint32_t>& only : {options_.only_output, options_.only_error})
    if (only && *only >= options.tasks)
      return base::invalid(fmt::format("step {} has no task {}", name_, *only),
                           fmt::format("its tasks are 0 to {}", options.tasks - 1));
  const bool reads = !options_.layout && (!options_.watch || options.may_detach);
  client_ = std::make_unique<attach::StepClient>(loop_, key_, std::move(options), std::move(plans), out_, error_);
  client_->on_say([this](bool is_error, const std::string& text) { say(is_error, text); });
  client_->on_done([this](int code) { on_done(code); });
  client_->on_running([this] { on_joined(); });
  client_->on_detach([this] { leave(client::kExitOk); });
  if (reads) client_->take_input(attach::Descriptor::for_reading(STDIN_FILENO));
  return client_->start([this, names = client_->node_names()](size_t i) { return tickets_->for_node(names[i]); });
}

void AttachSession::on_joined() {
  stage_.change_if<Joining>(Joined{});
  if (options_.layout) return print_layout();
  if (const auto screen = client_->screen()) enter_terminal(*screen);
}

void AttachSession::enter_terminal(const stream::Joined& screen) {
  const auto size = attach::terminal_size(STDIN_FILENO);
  if (!size) return;
  const bool is_small = size->rows < screen.rows || size->columns < screen.columns;
  if (options_.watch && is_small)
    say(false, fmt::format("the terminal of step {} has {} rows and {} columns, this one {} and {}", name_, screen.rows,
                           screen.columns, size->rows, size->columns));
  raw_.emplace(STDIN_FILENO);
  on_resized();
}

void AttachSession::print_layout() {
  std::vector<std::string> nodes;
  for (const auto& node : client_->node_names()) nodes.push_back(node);
  const int code = printed(layout_text(nodes, client_->layout()));
  depart(code);
}

bool AttachSession::has_joined() const {
  const Leaving* leaving = stage_.in<Leaving>();
  return stage_.is<Joined>() || (leaving != nullptr && leaving->had_joined);
}

void AttachSession::depart(int code) {
  stage_.change_if<Joining, Joined>(Leaving{has_joined()});
  client_->depart(code);
}

void AttachSession::leave(int code) {
  if (!client_ || client_->is_too_early() || stage_.is<FindingCodes>()) return finish(code);
  leave_terminal(true);
  if (!options_.layout) say(false, fmt::format("left step {}, which continues", name_));
  depart(code);
}

// --- signals ---

void AttachSession::watch_signals() {
  std::signal(SIGTTIN, SIG_IGN);  // see attach::Source
  const auto on = [this](int signo, io::Callback fn) {
    struct sigaction found {};
    if (::sigaction(signo, nullptr, &found) == 0 && found.sa_handler == SIG_IGN) return;
    loop_.on_signal(signo, std::move(fn));
  };
  on(SIGINT, [this] { on_interrupt(); });
  on(SIGQUIT, [this] { leave(client::kExitOk); });
  for (const int signo : {SIGTERM, SIGHUP}) on(signo, [this, signo] { on_end(signo); });
  for (const int signo : {SIGUSR1, SIGUSR2, SIGALRM})
    on(signo, [this, signo] {
      if (client_) client_->signal(signo);
    });
  on(SIGCONT, [this] {
    if (client_ && client_->source() != nullptr) client_->source()->look_again();
  });
  on(SIGWINCH, [this] { on_resized(); });
  on(SIGTSTP, [this] { on_stop(); });
}

void AttachSession::on_interrupt() {
  if (!has_joined()) return finish(128 + SIGINT);
  if (only_looks() || interrupts_.next(io::Loop::monotonic()) != attach::Interrupts::Act::kShow)
    return leave(client::kExitOk);
  for (const std::string& line : client_->tasks().state_lines(client_->step())) say(false, line);
  say(false, fmt::format("one more within 1 sec leaves step {} alone; gcancel {} ends it", name_, name_));
}

void AttachSession::on_end(int signo) { leave(128 + signo); }

void AttachSession::on_resized() {
  if (!has_joined()) return;
  if (const auto size = attach::terminal_size(STDIN_FILENO)) client_->resize(size->rows, size->columns);
}

// The terminal belongs to the shell while this process is stopped.
void AttachSession::on_stop() {
  if (raw_) raw_->leave();
  ::raise(SIGSTOP);
  if (raw_) raw_->enter();
  on_resized();
}

// --- the end ---

// In raw mode a new line does not begin at the left by itself.
void AttachSession::say(bool is_error, const std::string& text) const {
  if (raw_) attach::write_to_terminal(STDERR_FILENO, "\r");
  const std::string line = raw_ ? text + "\r" : text;
  if (is_error) return client::print_error(program_, line);
  if (!options_.quiet) client::print_note(program_, line);
}

void AttachSession::fail(const base::Error& error) {
  say(true, error.text());
  finish(client::kExitFailed);
}

void AttachSession::on_done(int code) {
  if (client_->is_too_early()) return try_again();
  if (client_->has_departed()) return on_end_of_step(code);
  client_->misses_ends() ? find_codes(code) : on_end_of_step(std::max(code, attach::code_of(step_)));
}

/// Tasks that ended while this came told nobody here, and the controller may hear of them only now.
void AttachSession::find_codes(int code) {
  constexpr base::Duration kLong = base::seconds(1);
  stage_.change_if<Joining, Joined>(FindingCodes{
      loop_.after(kLong, [this] { say(false, "waiting for the controller to know how step " + name_ + " ended"); })});
  leave_terminal(false);
  end_of_step_.find(ticket_, step_, [this, code](const attach::EndOfStep::Found& found) {
    if (FindingCodes* finding = stage_.in<FindingCodes>()) finding->slow_timer.cancel();
    const int worst = std::max(code, found.code);
    if (found.is_known) return on_end_of_step(worst);
    say(true, "the controller does not say how all tasks of step " + name_ + " ended");
    finish(std::max<int>(worst, client::kExitFailed));
  });
}

void AttachSession::on_end_of_step(int code) {
  const bool is_lost = client_->has_lost();
  if (stage_.is<Leaving>() || (!is_lost && code <= 128)) return finish(code);
  leave_terminal(false);
  end_of_job_.ask(ticket_.job_id(), is_lost, [this, code](const std::string& text) {
    if (!text.empty()) say(true, text);
    finish(code);
  });
}

/// The step's nodes stand ready, and its tasks are about to run. A session is good once: the next run has another key.
void AttachSession::try_again() {
  constexpr base::Duration kSoon = base::milliseconds(250);
  retry_timer_ = loop_.after(kSoon, [this] { loop_.stop(); });
}

void AttachSession::finish(int code) {
  if (!exit_code_) exit_code_ = code;
  leave_terminal(code == attach::kExitTakenOver);
  if (code == attach::kExitTakenOver) say(false, "another client took step " + name_ + " over");
  loop_.stop();
}

/// Before anything is said for good: a program's screen would take it along, or its colours.
void AttachSession::leave_terminal(bool speaks) {
  if (!raw_) return;
  attach::write_to_terminal(STDOUT_FILENO, client_->screen_leave() + (speaks ? "\r\n" : ""));
  raw_.reset();
}

// --- plans ---

Result<std::vector<attach::NodePlan>> plans_to_join(const wire::Step& step) {
  std::vector<attach::NodePlan> plans;
  for (const wire::StepNode& node : step.nodes()) {
    if (node.is_gone()) continue;  // its tasks have ended
    attach::NodePlan plan{node.share().node(), node.address(), {}, {}};
    if (node.key().size() != plan.key.size())
      return base::fail(base::ErrorCode::kProtocol, "the controller gave no key of the shepherd on " + plan.node);
    std::memcpy(plan.key.data(), node.key().data(), plan.key.size());
    for (uint32_t i = 0; i < node.share().tasks(); ++i) plan.launch.add_tasks()->set_rank(UINT32_MAX);
    plans.push_back(std::move(plan));
  }
  if (plans.empty()) return base::fail(base::ErrorCode::kConflict, "all of the step's tasks have ended");
  return plans;
}

std::string layout_text(const std::vector<std::string>& nodes, const std::vector<std::vector<uint32_t>>& ranks) {
  size_t tasks = 0;
  for (const auto& here : ranks) tasks += here.size();
  std::string text =
      fmt::format("Job step layout:\n\t{} tasks, {} nodes ({})\n\n", tasks, nodes.size(), fmt::join(nodes, ","));
  for (size_t i = 0; i < nodes.size(); ++i)
    text += fmt::format("\tNode {} ({}), {} task(s): {}\n", i, nodes[i], ranks[i].size(), fmt::join(ranks[i], " "));
  return text;
}

}  // namespace gw::cmds
