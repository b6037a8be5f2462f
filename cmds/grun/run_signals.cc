// What grun does at signals.
// Invariant: a signal that was ignored when grun was started stays so (nohup, a shell's background jobs).
#include <unistd.h>

#include <csignal>
#include <utility>

#include "cmds/grun/open_file.h"
#include "cmds/grun/run_session.h"

namespace gw::cmds {
namespace {

/// For programs that catch SIGINT, to tidy up.
constexpr base::Duration kAfterInterrupt = base::seconds(1);
constexpr base::Duration kGrace = base::seconds(2);

}  // namespace

void RunSession::on_signal(int signo, void (RunSession::*handler)(int)) {
  struct sigaction found {};
  if (::sigaction(signo, nullptr, &found) == 0 && found.sa_handler == SIG_IGN) return;
  loop_.on_signal(signo, [this, signo, handler] {
    note_handled(signo);
    (this->*handler)(signo);
  });
  note_arrivals(signo);
}

void RunSession::watch_signals() {
  std::signal(SIGTTIN, SIG_IGN);  // see attach::Source
  on_signal(SIGINT, &RunSession::on_interrupt);
  on_signal(SIGQUIT, &RunSession::on_quit);
  on_signal(SIGTERM, &RunSession::on_terminate);
  on_signal(SIGHUP, &RunSession::on_terminate);
  for (const int signo : {SIGUSR1, SIGUSR2, SIGALRM}) on_signal(signo, &RunSession::on_forwarded);
  on_signal(SIGCONT, &RunSession::on_continue);
  if (!plan_.options().pty) return;
  on_signal(SIGWINCH, &RunSession::on_resized);
  on_signal(SIGTSTP, &RunSession::on_stop);
}

void RunSession::on_interrupt(int) {
  if (exit_code_) return finish(*exit_code_);  // its epilog runs
  if (!client_) return give_up(128 + SIGINT);
  using Act = attach::Interrupts::Act;
  const Act act = plan_.options().quit_on_interrupt ? Act::kKill : interrupts_.next(io::Loop::monotonic());
  if (act == Act::kKill) return client_->kill();
  if (act == Act::kShow) {
    say(false, "interrupt (one more within 1 sec to abort)");
    for (const std::string& line : client_->tasks().state_lines(client_->step())) say(false, line);
    return;
  }
  say(false, "sending Ctrl-C to step " + client_->step());
  client_->signal(SIGINT);
  if (Answered* answered = stage_.in<Answered>())
    answered->interrupt_timer = loop_.after(kAfterInterrupt, [this] { client_->end(kGrace); });
}

void RunSession::on_quit(int) {
  if (exit_code_) return finish(*exit_code_);
  if (!client_) return give_up(128 + SIGQUIT);
  client_->kill();
}

void RunSession::on_terminate(int signo) {
  if (exit_code_) return finish(*exit_code_);
  if (!client_) return give_up(128 + signo);
  if (plan_.options().keep && client_->is_running()) return leave(128 + signo);
  say(false, "ending step " + client_->step());
  client_->end(kGrace);
}

void RunSession::on_forwarded(int signo) {
  if (client_) client_->signal(signo);
}

void RunSession::on_resized(int) {
  if (!client_) return;
  if (const auto size = attach::terminal_size(STDIN_FILENO)) client_->resize(size->rows, size->columns);
}

// The terminal belongs to the shell while this process is stopped.
void RunSession::on_stop(int) {
  if (raw_) raw_->leave();
  ::raise(SIGSTOP);
  if (raw_) raw_->enter();
  on_resized(SIGWINCH);
}

void RunSession::on_continue(int signo) {
  if (!client_) return;
  if (client_->source() != nullptr) client_->source()->look_again();
  client_->signal(signo);
}

}  // namespace gw::cmds
