// The shepherd of one step: what it does when its task, the node daemon or a timer speaks.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "model/stop_cause.h"
#include "noded/step/proc/files.h"
#include "noded/step/proc/step_clock.h"
#include "noded/step/proc/tree.h"
#include "noded/step/shepherd/last_line.h"
#include "noded/step/shepherd/shepherd.h"
#include "noded/step/shepherd/step_notes.h"
#include "noded/step/state/step_folder.h"
#include "noded/step/tasks/step_tasks.h"
#include "noded/step/tasks/task_set.h"
#include "wire/convert.h"

namespace gw::noded::step {
namespace {

constexpr int64_t kFirstPassWait = 10'000;  // between kill passes, doubling
constexpr int64_t kLongestPassWait = 1'000'000;
constexpr int64_t kSurvivalLimit = 10'000'000;  // after which survivors are reported
constexpr size_t kMaxNamedSurvivors = 3;

}  // namespace

// --- the task ---

void Shepherd::reap() {
  processes_.reap([this](pid_t pid, int status) {
    if (pid == notice_writer_) notice_writer_ = 0;
    if (tasks_) tasks_->on_child(pid, status);
    if (const auto end = batch_.take_end(pid)) {
      if (status != 0) log_note(spec_, "its epilog failed with code " + std::to_string(code_of_end(status)));
      return on_task_exit(*end);
    }
    if (!batch_.is_alive() || pid != batch_.pid()) return;
    processes_.used().name(pid, 0);
    batch_.on_reaped();
    on_task_events();
    const bool has_run = announcements_.has_started() && !announcements_.has_exit();
    // Then its end is told when that has ended, too.
    if (!has_run || !batch_.starts_epilog(spec_, processes_.containment(), status)) on_task_exit(status);
  });
}

std::vector<TaskAt> Shepherd::tasks_at() const {
  if (tasks_) return tasks_->running();
  if (batch_.is_alive() && announcements_.has_started()) return {{0, batch_.pid()}};
  return {};
}

void Shepherd::on_task_events() {
  const bool is_over = batch_.read([this](const TaskEvent& event) { on_task_event(event); });
  if (is_over && state_.is<Ready>()) on_exec_done(batch_.pid());
}

void Shepherd::on_task_event(const TaskEvent& event) {
  if (event.kind == TaskEventKind::kNote) return log_note(spec_, event.text);
  if (event.kind == TaskEventKind::kFailed) {
    if (state_.is<Configuring, Ready, Running>()) fail_start(event.reason, event.text);
    return;
  }
  if (!state_.is<Configuring>()) return;
  set_ready();
  if (state_.in<Ready>()->is_go_given) on_go();
}

void Shepherd::on_step_news() {
  if (!tasks_) return;
  if (const auto pid = tasks_->take_started(); pid && state_.is<Ready>()) on_exec_done(static_cast<pid_t>(*pid));
  auto exit = tasks_->take_exit();
  if (!exit || announcements_.has_exit()) return;
  tell_memory(*exit);
  record_exit_now(std::move(*exit));
}

void Shepherd::on_exec_done(pid_t task) {
  // A waiting task whose pipe closed without Go has died before it could execve.
  if (!tasks_ && spec_.wait_for_go() && !state_.in<Ready>()->is_go_given) return;
  std::optional<wire::StepSuspend> suspend;
  state_.leave<Ready>([&](Ready before) {
    suspend = std::move(before.suspend);
    return Running{StepSuspension(spec_, processes_, announcements_)};
  });
  release_bulk();
  wire::StepStarted started;
  started.set_task_pid(static_cast<uint32_t>(task));
  started.set_at_us(wall_us());
  announcements_.say_started(started);
  if (suspend) on_suspend(*suspend);
}

void Shepherd::on_task_exit(int status) {
  if (announcements_.has_exit()) return;
  if (!announcements_.has_started()) {
    if (state_.is<Configuring, Ready>())
      fail_start(model::EndReason::kLaunchFailed,
                 "the task died before its script started (status " + std::to_string(status) + ")");
    return;  // stopped before it began: there is no exit to tell
  }
  wire::StepExit exit;
  if (WIFSIGNALED(status)) {
    exit.set_signo(WTERMSIG(status));
  } else {
    exit.set_code(WEXITSTATUS(status));
  }
  tell_memory(exit);
  if (exit.oom()) say_in_output(spec_, model::oom_words(std::to_string(spec_.job()) + "." + spec_.step()), processes_);
  record_exit_now(std::move(exit));
}

void Shepherd::tell_memory(wire::StepExit& exit) const {
  const MemoryUse use = processes_.memory();
  exit.set_oom(use.oom);
  exit.set_peak_mem_mb(use.peak_mb);
  if (use.oom && exit.detail().empty())
    exit.set_detail("out of memory: limit " + std::to_string(spec_.containment().mem_limit_mb()) + " MiB, peak " +
                    std::to_string(use.peak_mb) + " MiB on " + (spec_.node().empty() ? "this node" : spec_.node()) +
                    "; ask for more with --mem");
}

void Shepherd::record_exit_now(wire::StepExit exit) {
  exit.set_ended_us(wall_us());
  exit.set_limit_mem_mb(spec_.containment().mem_limit_mb());
  if (const base::Status recorded = record_exit(spec_.dir(), exit); !recorded)
    exit.set_detail(exit.detail() + (exit.detail().empty() ? "" : "; ") + "exit record: " + recorded.error().text());
  if (state_.is<Configuring>()) {
    announcements_.keep_ready(ready_message());
    state_.go<Configuring, Exited>();
  }
  if (state_.is<Ready>()) state_.go<Ready, Exited>();
  if (state_.is<Running>()) state_.go<Running, Exited>();
  announcements_.say_exit(exit);
}

// --- the node daemon ---

void Shepherd::on_frame(const std::string& payload) {
  wire::ToShepherd message;
  if (!message.ParseFromString(payload)) return log_note(spec_, "a message that cannot be read was dropped");
  switch (message.kind_case()) {
    case wire::ToShepherd::kGo:
      return on_go();
    case wire::ToShepherd::kSignal:
      return on_signal_request(message.signal());
    case wire::ToShepherd::kStop:
      if (message.stop().lease_over()) return end_by_lease();
      return on_stop(message.stop());
    case wire::ToShepherd::kNotice:
      if (!state_.is<Running>()) return;
      if (tasks_) return tasks_->on_notice(message.notice().text());
      if (notice_writer_ != 0) return log_note(spec_, "a message was dropped: the one before is not written yet");
      notice_writer_ =
          say_in_output(spec_, base::printable(message.notice().text(), stream::kMaxStateText), processes_);
      return;
    case wire::ToShepherd::kForget:
      return on_forget();
    case wire::ToShepherd::kSuspend:
      return on_suspend(message.suspend());
    case wire::ToShepherd::kResume:
      return on_resume(message.resume());
    case wire::ToShepherd::kQuery:
      lease_.on_heard(heard_at(message.query().heard_boot_us(), message.query().age_us()));
      return announcements_.say_all_again();
    case wire::ToShepherd::kUsageQuery:
      return on_usage_query(message.usage_query().id());
    case wire::ToShepherd::kPlaces:
      return on_places(message.places());
    case wire::ToShepherd::KIND_NOT_SET:
      return;  // from a newer daemon
  }
}

void Shepherd::on_places(const wire::StepPlaces& places) {
  if (!tasks_) return;
  auto& known = *spec_.mutable_access()->mutable_places();
  for (int i = 0; i < std::min(known.size(), places.cpus_size()); ++i) known[i].set_cpus(places.cpus(i));
  tasks_->on_places();
}

void Shepherd::on_go() {
  if (auto* configuring = state_.in<Configuring>()) configuring->is_go_given = true;
  auto* ready = state_.in<Ready>();
  if (ready == nullptr || tasks_) return;  // tasks of a client go when it says so
  ready->is_go_given = true;
  batch_.let_go();
  if (!batch_.exists()) on_exec_done(0);  // a step without a task starts by being told
}

void Shepherd::on_signal_request(const wire::StepSignal& request) {
  if (request.signo() < 1 || request.signo() >= NSIG || !announcements_.has_started()) return;
  if (!request.batch_only()) return processes_.signal(request.signo());
  if (!batch_.is_alive() || (request.if_caught() && proc::would_die_of(batch_.pid(), request.signo()))) return;
  ::kill(batch_.pid(), request.signo());
}

void Shepherd::on_suspend(const wire::StepSuspend& request) {
  if (auto* configuring = state_.in<Configuring>()) configuring->suspend = request;
  if (auto* ready = state_.in<Ready>()) ready->suspend = request;
  if (auto* running = state_.in<Running>()) running->suspension.suspend(request);
}

void Shepherd::on_resume(const wire::StepResume& request) {
  const auto drop = [&](std::optional<wire::StepSuspend>& early) {
    if (early && early->round() <= request.round()) early.reset();
  };
  if (auto* configuring = state_.in<Configuring>()) drop(configuring->suspend);
  if (auto* ready = state_.in<Ready>()) drop(ready->suspend);
  if (auto* running = state_.in<Running>()) running->suspension.resume(request);
}

void Shepherd::on_usage_query(uint64_t id) {
  wire::FromShepherd message;
  message.mutable_used()->set_id(id);
  *message.mutable_used()->mutable_usage() = processes_.usage(monotonic_us(), [this] { return tasks_at(); });
  announcements_.say(message);
}

void Shepherd::on_forget() {
  if (auto* clean = state_.in<Clean>()) {
    clean->is_forgotten = true;
    return;
  }
  wire::StepStop kill;
  kill.set_kill_now(true);
  on_stop(kill);
  state_.in<Completing>()->is_forgotten = true;
}

// --- the end ---

void Shepherd::begin_completing() {
  if (state_.is<Configuring>()) {
    announcements_.keep_ready(ready_message());
    state_.go<Configuring, Completing>();
  }
  if (state_.is<Ready>()) state_.go<Ready, Completing>();
  if (state_.is<Running>()) state_.go<Running, Completing>();
  if (state_.is<Exited>()) state_.go<Exited, Completing>();
  lease_.stop();
}

void Shepherd::on_stop(const wire::StepStop& request) {
  if (state_.is<Clean>()) return;
  const int64_t now = monotonic_us();
  const bool is_first = !state_.is<Completing>();
  begin_completing();
  reap();
  const bool is_told = is_first && announcements_.has_started();
  const std::string words = is_told ? words_of_end(spec_, request.cause()) : std::string();
  if (tasks_) tasks_->on_stop(words);
  on_step_news();
  // Before the signal comes: what the script writes of it stands behind.
  if (batch_.is_alive() && !words.empty()) say_in_output(spec_, words, processes_);
  if (!is_first && !request.kill_now()) return;
  const bool at_once = request.kill_now() || request.grace_us() <= 0 || !announcements_.has_started();
  state_.in<Completing>()->next_pass_at = at_once ? now : now + request.grace_us();
  if (at_once || processes_.is_empty()) return;
  // A preempted one finds out why before the signal comes that begins its grace.
  processes_.signal(signal_of(tell_order(spec_, request.grace_us(), on_preempt_)).value_or(SIGTERM));
  static_cast<void>(processes_.thaw());
  processes_.signal(SIGCONT);  // a stopped process would not see it
}

/// What is killed from here on is killed for that.
void Shepherd::end_by_lease() {
  if (state_.is<Completing, Clean>()) return;
  if (!announcements_.has_exit()) {
    wire::StepExit exit;
    exit.set_reason(static_cast<uint32_t>(model::EndReason::kLeaseExpired));
    exit.set_detail("the node heard nothing from the controller for " + std::to_string(spec_.lease_us() / 1'000'000) +
                    " s, the lease of its partition");
    exit.set_signo(SIGKILL);
    exit.set_never_started(!announcements_.has_started());
    exit.set_peak_mem_mb(processes_.memory().peak_mb);
    record_exit_now(std::move(exit));
  }
  wire::StepStop kill;
  kill.set_kill_now(true);
  kill.set_cause(static_cast<uint32_t>(model::StopCause::kNodeFailure));
  on_stop(kill);
}

void Shepherd::kill_pass(int64_t now) {
  auto& completing = *state_.in<Completing>();
  if (completing.give_up_at == 0) completing.give_up_at = now + kSurvivalLimit;
  batch_.on_kill();
  if (tasks_) tasks_->on_kill();
  processes_.kill();
  reap();
  // A process that moved itself out of the group is still our descendant.
  if (completing.passes > 0 && processes_.has_children()) proc::kill_descendants(::getpid());
  completing.next_pass_at = now + std::min(kFirstPassWait << std::min(completing.passes, 7), kLongestPassWait);
  ++completing.passes;
  if (now >= completing.give_up_at && !announcements_.has_clean()) report_survivors();
}

void Shepherd::report_survivors() {
  std::vector<pid_t> pids;
  for (const proc::Process& p : proc::descendants(::getpid())) pids.push_back(p.pid);
  if (pids.empty()) pids = processes_.members();
  std::string problem = std::to_string(pids.size()) + " processes survive SIGKILL: ";
  for (size_t i = 0; i < std::min(pids.size(), kMaxNamedSurvivors); ++i)
    problem += (i ? "; " : "") + proc::describe(pids[i]);
  log_note(spec_, problem);
  wire::StepClean clean;
  clean.set_problem(problem);
  announcements_.say_clean(clean);
}

void Shepherd::check_clean() {
  if (!state_.is<Completing>()) return;
  reap();
  on_step_news();
  if (!processes_.is_empty()) return;
  const MemoryUse use = processes_.memory();
  wire::StepClean clean;
  clean.set_peak_mem_mb(use.peak_mb);
  clean.set_oom(use.oom);
  if (tasks_)
    for (const TaskAt& task : tasks_->all()) processes_.used().name(task.pid, task.rank);
  *clean.mutable_use() = wire::to_wire(processes_.used().total());
  state_.leave<Completing>([](const Completing& before) { return Clean{before.is_forgotten}; });
  static_cast<void>(processes_.remove());  // if the group is still busy, again when leaving
  if (const base::Status recorded = record_clean(spec_.dir(), clean); !recorded)
    log_note(spec_, "record: " + recorded.error().text());
  announcements_.say_clean(clean);
}

}  // namespace gw::noded::step
