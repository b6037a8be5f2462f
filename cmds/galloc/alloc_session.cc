// From the call of galloc to its end.
#include "cmds/galloc/alloc_session.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "attach/control/allocation_env.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "client/show/job_view.h"

namespace gw::cmds {
namespace {

using base::Result;

/// A command whose allocation is gone gets SIGHUP, and after this SIGKILL.
constexpr base::Duration kAfterTheJob = base::seconds(5);
constexpr base::Duration kGiveBackLimit = base::seconds(10);
constexpr base::Duration kBellAfter = base::seconds(10);

int code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

void reset_signals() {
  for (const int signo : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTTOU, SIGTTIN, SIGTSTP, SIGPIPE, SIGCHLD})
    std::signal(signo, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

AllocSession::AllocSession(client::Program program, config::Config config, AllocOptions options,
                           std::vector<std::string> command, wire::SubmitRequest submit)
    : program_(std::move(program)),
      options_(std::move(options)),
      command_(std::move(command)),
      submit_(std::move(submit)),
      cluster_(config.cluster),
      line_(loop_, program_, config),
      queries_(loop_, program_, std::move(config)),
      allocation_(loop_, line_, queries_),
      // In the background of a shell it is somebody else's.
      has_terminal_(::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp()) {}

int AllocSession::run() {
  watch_signals();
  allocation_.on_note([this](const std::string& text) { say(text); });
  allocation_.on_message([this](const std::string& text) { client::print_note(program_, text); });
  if (program_.is_slurm)
    allocation_.on_pending([this] { say(fmt::format("Pending job allocation {}", allocation_.job())); });
  allocation_.attend(!options_.no_shell);
  if (options_.immediate_seconds) allocation_.limit_wait(base::seconds(*options_.immediate_seconds));
  const base::Duration asked = io::Loop::monotonic();
  allocation_.request(std::move(submit_), [this, asked](Result<wire::Job> job) {
    const bool has_waited = io::Loop::monotonic() - asked > kBellAfter;
    if (job && options_.bell.value_or(has_waited) && ::isatty(STDERR_FILENO) == 1) std::fputc('\a', stderr);
    on_started(std::move(job));
  });
  loop_.run();
  return exit_code_.value_or(client::kExitFailed);
}

void AllocSession::watch_signals() {
  std::signal(SIGTTOU, SIG_IGN);  // this program puts the command into the foreground, and itself afterwards
  std::signal(SIGTTIN, SIG_IGN);
  for (const int signo : {SIGINT, SIGQUIT, SIGTERM, SIGHUP})
    loop_.on_signal(signo, [this, signo] { on_signal(signo); });
  loop_.on_signal(SIGCHLD, [this] { on_child(); });
}

// While the command runs what is typed is for the command.
void AllocSession::on_signal(int signo) {
  if (child_ == 0) return give_up(128 + signo);
  if (signo == SIGTERM || signo == SIGHUP) ::kill(-child_, signo);
}

void AllocSession::on_started(Result<wire::Job> job) {
  if (is_ending_) return;
  if (!job) {
    client::print_error(program_, job.error().text());
    return finish(client::kExitFailed);
  }
  say(fmt::format("Granted job allocation {}", job->id()));
  if (program_.is_slurm) say("Waiting for resource configuration");
  say(fmt::format("Nodes {} are ready for job", nodes_of(*job)));
  if (options_.no_shell) return finish(client::kExitOk);
  if (const base::Status started = start(*job); !started) {
    client::print_error(program_, started.error().text());
    exit_code_ = client::kExitFailed;
    return give_back(client::kExitFailed << 8);
  }
  allocation_.watch([this](const wire::Job& ended) { on_job_ended(ended); });
}

std::string AllocSession::nodes_of(const wire::Job& job) const {
  if (allocation_.components().empty()) return client::node_list(job);
  std::vector<std::string> names;
  for (const wire::Job& component : allocation_.components())
    for (const wire::NodeShare& share : client::shares_of(component)) names.push_back(share.node());
  base::sort_hostlist(names);
  return base::compress_hostlist(names);
}

base::Status AllocSession::start(const wire::Job& job) {
  std::fflush(nullptr);
  child_ = ::fork();
  if (child_ < 0) return base::fail_errno("cannot start the command", errno);
  if (child_ == 0) become_command(job);
  ::setpgid(child_, child_);
  if (has_terminal_) ::tcsetpgrp(STDIN_FILENO, child_);
  return {};
}

void AllocSession::become_command(const wire::Job& job) {
  ::setpgid(0, 0);
  if (has_terminal_) ::tcsetpgrp(STDIN_FILENO, ::getpid());
  reset_signals();
  char* here = ::getcwd(nullptr, 0);
  for (const auto& [name, value] : attach::allocation_variables(job, cluster_, here == nullptr ? "/" : here))
    ::setenv(name.c_str(), value.c_str(), 1);
  if (!allocation_.components().empty())
    for (const auto& [name, value] : attach::component_variables(allocation_.components()))
      ::setenv(name.c_str(), value.c_str(), 1);
  if (!options_.chdir.empty() && ::chdir(options_.chdir.c_str()) != 0) {
    client::print_error(program_, fmt::format("cannot change to {}: {}", options_.chdir, std::strerror(errno)));
    ::_exit(client::kExitFailed);
  }
  std::vector<char*> words;
  for (std::string& word : command_) words.push_back(word.data());
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  const int error = errno;
  const std::string name = base::printable(command_[0]);
  const std::string what =
      program_.is_slurm ? fmt::format("Unable to exec command \"{}\"", name) : "cannot run " + name;
  client::print_error(program_, fmt::format("{}: {}", what, std::strerror(error)));
  ::_exit(error == ENOENT ? 127 : 126);
}

void AllocSession::on_child() {
  int status = 0;
  const pid_t pid = child_ == 0 ? 0 : ::waitpid(child_, &status, WNOHANG | WUNTRACED);
  if (pid <= 0) return;
  if (WIFSTOPPED(status)) {  // ctrl-Z stops this program with its command; fg continues with both
    if (has_terminal_) ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
    ::raise(SIGSTOP);
    if (has_terminal_) ::tcsetpgrp(STDIN_FILENO, child_);
    ::kill(-child_, SIGCONT);
    return;
  }
  child_ = 0;
  if (has_terminal_) ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
  exit_code_ = code_of(status);
  if (is_over_) return finish(*exit_code_);
  give_back(status);
}

void AllocSession::on_job_ended(const wire::Job& job) {
  if (is_ending_) return;
  is_over_ = true;
  const bool is_timeout = client::state_of(job) == model::JobState::kTimeout;
  say(is_timeout && program_.is_slurm
          ? fmt::format("Job {} has exceeded its time limit and its allocation has been revoked.", job.id())
          : fmt::format("Job allocation {} has been revoked: {}", job.id(), attach::end_text(job)));
  if (child_ == 0) return finish(exit_code_.value_or(client::kExitFailed));
  ::kill(-child_, SIGHUP);
  ::kill(-child_, SIGCONT);
  timer_ = loop_.after(kAfterTheJob, [this] {
    if (child_ != 0) ::kill(-child_, SIGKILL);
  });
}

void AllocSession::give_back(int status) {
  if (std::exchange(is_ending_, true)) return;
  say(fmt::format("Relinquishing job allocation {}", allocation_.job()));
  wire::ApiRequest request;
  wire::EndAllocationRequest& end = *request.mutable_end_allocation();
  end.set_job_id(allocation_.job());
  if (WIFSIGNALED(status))
    end.set_exit_signo(WTERMSIG(status));
  else
    end.set_exit_code(WEXITSTATUS(status));
  timer_ = loop_.after(kGiveBackLimit, [this] { finish(*exit_code_); });  // the controller takes it back by itself
  queries_.call(std::move(request), [this](const Result<wire::ApiReply>& reply) {
    if (!reply) client::print_error(program_, reply.error().text());
    finish(*exit_code_);
  });
}

/// Before the command runs.
void AllocSession::give_up(int code) {
  if (std::exchange(is_ending_, true) || (allocation_.job() == 0 && !allocation_.is_asked())) return finish(code);
  timer_ = loop_.after(kGiveBackLimit, [this, code] {
    say("the controller does not answer: gqueue shows whether there is an allocation that is left");
    finish(code);
  });
  allocation_.cancel([this, code] {
    const char* what = program_.is_slurm ? "revoked" : "cancelled";
    if (allocation_.job() != 0) say(fmt::format("Job allocation {} has been {}", allocation_.job(), what));
    finish(code);
  });
}

void AllocSession::say(const std::string& text) const {
  if (!options_.quiet) client::print_note(program_, text);
}

void AllocSession::finish(int code) {
  if (!exit_code_) exit_code_ = code;
  loop_.stop();
}

}  // namespace gw::cmds
