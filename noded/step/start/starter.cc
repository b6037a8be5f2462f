// The starter of a step's tasks on a node, and each task between its birth and the execve of its program.
#include "noded/step/start/starter.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "noded/step/proc/files.h"
#include "noded/step/start/binding.h"
#include "noded/step/start/exec_program.h"
#include "noded/step/start/streams.h"
#include "noded/step/start/task_programs.h"
#include "noded/step/start/task_terminal.h"
#include "noded/step/state/listen_place.h"

namespace gw::noded::step {
namespace {

constexpr const char* kNothing = "/dev/null";

class StarterSide {
 public:
  StarterSide(const StepPlan& plan, std::vector<TaskEnds> ends, int events)
      : plan_(plan), ends_(std::move(ends)), events_(events), go_(plan.go.read_end.get()) {}

  [[noreturn]] void run(bool cloned_into) {
    ::prctl(PR_SET_NAME, "gstepd-starter", 0, 0, 0);
    need(enter_step(plan_.spec, plan_.contain, {plan_.hosts, plan_.launch.umask()}, cloned_into,
                    [this](const std::string& text) { note(text); }),
         model::EndReason::kLaunchFailed);
    close_others();
    need(enter_work_dir(plan_.launch.work_dir()), model::EndReason::kWorkDir);
    for (place_ = 0; place_ < ends_.size(); ++place_) prepare();
    place_ = 0;
    tell({TaskEventKind::kReady, {}, {}});
    wait_for_go(go_);
    ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    for (place_ = 0; place_ < ends_.size() && !is_called_off(); ++place_) start();
    ::_exit(EXIT_SUCCESS);
  }

 private:
  const StepPlan& plan_;
  const TaskPrograms programs_ = programs_of(plan_.spec, plan_.launch);
  std::vector<TaskEnds> ends_;
  const int events_;
  const int go_;
  size_t place_ = 0;
  pid_t task_ = 0;                 // in a task: its own process
  std::set<uint32_t> looked_for_;  // programs

  const wire::TaskOrder& order() const { return plan_.launch.tasks(static_cast<int>(place_)); }
  const wire::TaskPlace& at() const { return plan_.spec.access().places(static_cast<int>(place_)); }

  /// The shepherd's own: its end of `go`, which must close when it goes, and what it shares with its clients. The fewer
  /// there are, the less each task has to close.
  void close_others() {
    std::vector<int> kept{STDERR_FILENO, events_, go_};
    for (const TaskEnds& ends : ends_)
      for (const proc::OwnedFd* fd : {&ends.input, &ends.output, &ends.error, &ends.terminal})
        if (*fd) kept.push_back(fd->get());
    std::sort(kept.begin(), kept.end());
    for (size_t i = 0; i + 1 < kept.size(); ++i)
      if (kept[i + 1] - kept[i] > 1)
        ::close_range(static_cast<unsigned>(kept[i] + 1), static_cast<unsigned>(kept[i + 1] - 1), 0);
    ::close_range(static_cast<unsigned>(kept.back() + 1), ~0U, 0);
  }

  /// Whatever can be known to fail before anybody runs.
  void prepare() {
    if (!at().problem().empty()) fail(model::EndReason::kLaunchFailed, at().problem());
    if (!ends_[place_].terminal) need(open_files(ends_[place_]), model::EndReason::kOutputPath);
    if (!looked_for_.insert(order().program()).second) return;
    const wire::Program& program = plan_.launch.programs(static_cast<int>(order().program()));
    if (program.own() || !programs_.prologs.empty()) return;  // a prolog may make it, or change PATH
    if (const auto failure = foresee_failure(program.argv(0), std::string(plan_.environment.get("PATH"))))
      fail(model::EndReason::kLaunchFailed, text_of(*failure), code_of(*failure));
  }

  base::Status open_files(TaskEnds& ends) const {
    GW_TRY_STATUS(open_file(order().input(), ends.input, false));
    GW_TRY_STATUS(open_file(order().output(), ends.output, true));
    const wire::TaskStream& out = order().output();
    const wire::TaskStream& err = order().error();
    // One description for one file: two would overwrite each other.
    const bool is_same = err.kind() == wire::TaskStream::kFile && out.kind() == err.kind() && out.path() == err.path();
    return is_same ? base::Status{} : open_file(err, ends.error, true);
  }
  base::Status open_file(const wire::TaskStream& stream, proc::OwnedFd& fd, bool writes) const {
    if (stream.kind() == wire::TaskStream::kClient && fd) return {};
    const std::string path = stream.kind() == wire::TaskStream::kFile ? stream.path() : kNothing;
    GW_TRY(opened, writes ? open_output(path, plan_.launch.append()) : open_input(path));
    fd = std::move(opened);
    return lift(fd);
  }

  /// The step is over before it has begun.
  bool is_called_off() const {
    pollfd hangup{go_, 0, 0};
    return ::poll(&hangup, 1, 0) > 0;
  }

  void start() {
    Environment environment = plan_.environment;
    add_task_variables(environment, plan_.launch, plan_.spec.access(), place_);
    const wire::Program& program = plan_.launch.programs(static_cast<int>(order().program()));
    ProgramCall call(words_of(program), std::string(environment.get("PATH")), environment.lines());
    auto failed = make_pipe();
    need(failed ? base::Status{} : base::Status(base::pass(failed)), model::EndReason::kLaunchFailed);
    const pid_t pid = spawn_sibling([&] { become_task(call, failed->write_end.get()); });
    const int error = errno;
    task_ = 0;  // a task may have said so here
    if (pid < 0) need(base::fail_errno("forking the task", error), model::EndReason::kLaunchFailed);
    failed->write_end.reset();
    char byte = 0;
    if (::read(failed->read_end.get(), &byte, 1) == 1) ::_exit(EXIT_FAILURE);  // it has said why
    TaskEvent started{TaskEventKind::kStarted, {}, {}};
    started.pid = static_cast<uint32_t>(pid);
    tell(started);
    ends_[place_] = {};
  }

  // --- in the task, whose memory may be the starter's ---

  [[noreturn]] void become_task(ProgramCall& call, int failed) {
    task_ = ::getpid();
    ::setsid();
    if (plan_.files) ::setrlimit(RLIMIT_NOFILE, &*plan_.files);
    if (const base::Status placed = place_streams(); !placed)
      give_up(failed, model::EndReason::kOutputPath, placed.error().text());
    bind();
    call.set_pid(task_);
    // Last of all: whatever takes memory before would be counted against what the others take.
    apply_limits(plan_.launch.limits(), [this](const std::string& text) { note(text); });
    const ProgramCall::Failed tried = call.run();
    lift_memory_limits();
    const ExecFailure failure = call.explain(tried);
    give_up(failed, model::EndReason::kLaunchFailed, text_of(failure), code_of(failure));
  }

  /// What is left to do is to say why.
  static void lift_memory_limits() {
    for (const auto which : {RLIMIT_AS, RLIMIT_DATA}) {
      rlimit limit{};
      if (::getrlimit(which, &limit) != 0) continue;
      limit.rlim_cur = limit.rlim_max;
      ::setrlimit(which, &limit);
    }
  }

  base::Status place_streams() const {
    const TaskEnds& ends = ends_[place_];
    if (ends.terminal) return take_terminal(ends.terminal.get());
    GW_TRY_STATUS(place_stream(ends.input.get(), STDIN_FILENO));
    GW_TRY_STATUS(place_stream(ends.output.get(), STDOUT_FILENO));
    return place_stream(ends.error ? ends.error.get() : STDOUT_FILENO, STDERR_FILENO);
  }

  /// An own program is this one, by whatever name it lies on the node.
  std::vector<std::string> words_of(const wire::Program& program) const {
    std::vector<std::string> words{program.argv().begin(), program.argv().end()};
    if (!program.own())
      return behind_prologs(programs_, plan_.launch.slurm_texts() ? TaskForm::kSlurmProgram : TaskForm::kProgram,
                            std::move(words));
    words.front() = "--" + words.front();
    words.insert(words.begin(), "/proc/self/exe");
    words.push_back(listen_place(plan_.spec.access()));
    return words;
  }

  void bind() {
    const wire::BindingManner& manner = plan_.spec.access().binding();
    if (!manner.only_records()) {
      note(bind_to_cpus(at().cpus()));
      note(bind_to_memory(at().mems(), manner.prefers_memory()));
    }
    if (!manner.says_cpus() && !manner.says_gpus() && !manner.says_memory()) return;
    char host[256] = "";
    if (plan_.spec.node().empty()) static_cast<void>(::gethostname(host, sizeof host - 1));
    const std::string text = describe_binding(
        {plan_.spec.node().empty() ? host : plan_.spec.node(), order().rank(), static_cast<unsigned>(place_),
         at().gpus().empty() ? "" : plan_.spec.access().gpu_variable() + "=" + at().gpus()},
        at(), manner);
    static_cast<void>(proc::write_all(STDERR_FILENO, text, "binding"));
  }

  [[noreturn]] void give_up(int failed, model::EndReason reason, const std::string& text, int code = EXIT_FAILURE) {
    tell_failure(reason, text, code);
    static_cast<void>(!::write(failed, "f", 1));
    ::_exit(code);
  }

  // --- in both ---

  std::string text_of(const ExecFailure& failure) const {
    return (plan_.launch.slurm_texts() ? "execve(): " : "") + failure.text;
  }
  int code_of(const ExecFailure& failure) const {
    return plan_.launch.slurm_texts() ? failure.error : failure.exit_code;
  }

  void tell(TaskEvent event) {
    event.place = static_cast<uint32_t>(place_);
    static_cast<void>(proc::write_all(events_, encode(event), "task events"));
  }
  void tell_failure(model::EndReason reason, const std::string& text, int code) {
    TaskEvent event{TaskEventKind::kFailed, reason, text, static_cast<uint8_t>(code)};
    event.pid = static_cast<uint32_t>(task_);
    tell(event);
  }
  void note(const std::string& text) {
    if (!text.empty()) tell({TaskEventKind::kNote, {}, text});
  }
  void need(const base::Status& done, model::EndReason reason) {
    if (!done) fail(reason, done.error().text());
  }
  [[noreturn]] void fail(model::EndReason reason, const std::string& text, int code = EXIT_FAILURE) {
    tell_failure(reason, text, code);
    ::_exit(code);
  }
};

}  // namespace

base::Result<Starter> fork_starter(const StepPlan& plan, std::vector<TaskEnds> ends) {
  GW_TRY(events, make_pipe());
  const Forked forked = fork_into(plan.contain.clone_into_fd());
  if (forked.pid < 0) return base::fail_errno("forking the starter of tasks", errno);
  if (forked.pid == 0) StarterSide(plan, std::move(ends), events.write_end.get()).run(forked.cloned_into);
  ::fcntl(events.read_end.get(), F_SETFL, O_NONBLOCK);
  return Starter{forked.pid, std::move(events.read_end)};
}

}  // namespace gw::noded::step
