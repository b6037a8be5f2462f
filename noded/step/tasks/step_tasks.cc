// The tasks that a client launches in a step: what holds their machines together.
#include "noded/step/tasks/step_tasks.h"

#include "base/text.h"

namespace gw::noded::step {

StepTasks::StepTasks(const wire::StepSpec& spec, Containment& contain, std::string hosts, const MpiSupport& mpi)
    : spec_(spec),
      contain_(contain),
      hosts_(std::move(hosts)),
      streams_(loop_, audience_, [this] { advance(); }),
      mpi_(loop_, spec, contain, mpi, hosts_, tasks_,
           {[this] { return launch_.is_ending(); }, [this](const std::string& why) { launch_.end(why, kEndGrace); },
            [this] { advance(); }}),
      launch_(loop_, spec, contain, hosts_, {audience_, streams_, tasks_, mpi_},
              {[this] { advance(); }, [this] { is_woken_ = true; }}),
      farewell_(loop_, audience_, spec.access().settle_limit_us(),
                {[this] { return streams_.untaken(); }, [this](bool is_stopped) { return launch_.exit(is_stopped); },
                 [this] { is_woken_ = true; }}),
      sessions_(loop_, spec, {audience_, streams_, tasks_, mpi_}, launch_,
                {[this] { advance(); }, [this] { is_woken_ = true; }}) {}

void StepTasks::wait(std::span<const pollfd> fds, int64_t limit_us) {
  std::vector<io::Watch> watches;
  for (const pollfd& fd : fds) {
    if (fd.fd < 0) continue;
    watches.push_back(loop_.watch_readable(fd.fd, [this] { is_woken_ = true; }));
    if (fd.events & POLLOUT) watches.push_back(loop_.watch_writable(fd.fd, [this] { is_woken_ = true; }));
  }
  const base::Duration limit = limit_us > 0 ? base::microseconds(limit_us) : base::hours(1);
  loop_.run_until([this] { return is_woken_; }, limit);
  is_woken_ = false;
}

void StepTasks::on_stop(const std::string& words) {
  farewell_.stop();
  launch_.stop(words);
  advance();
}

void StepTasks::on_notice(const std::string& text) {
  audience_.say_to_owner(
      stream::StepState{stream::StepState::Phase::kRunning, base::printable(text, stream::kMaxStateText)});
}

void StepTasks::advance() {
  launch_.settle();
  if (launch_.is_over() && !farewell_.has_begun()) drain();
  farewell_.advance(!mpi_.is_judging() && streams_.is_drained());
}

void StepTasks::drain() {
  farewell_.begin();
  mpi_.close();
  sessions_.on_tasks_end();
  // Else its client would see a signal and no reason.
  if (launch_.has_run() && contain_.memory_use().oom)
    audience_.say(stream::StepState{stream::StepState::Phase::kEnding, "out of memory; ask for more with --mem"});
  streams_.drain();
  farewell_.await_owner();
}

}  // namespace gw::noded::step
