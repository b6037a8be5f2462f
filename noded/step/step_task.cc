// The task's side of a launch: between its fork and the execve of its program.
#include "noded/step/step_task.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <unistd.h>

#include <cerrno>

#include "noded/step/binding.h"
#include "noded/step/exec_program.h"
#include "noded/step/proc/files.h"
#include "noded/step/streams.h"
#include "noded/step/terminal.h"

namespace gw::noded::step {
namespace {

constexpr const char* kNothing = "/dev/null";

class StepTaskSide {
 public:
  StepTaskSide(const StepPlan& plan, size_t place, const TaskEnds& ends, int events)
      : plan_(plan),
        place_(place),
        order_(plan.launch.tasks(static_cast<int>(place))),
        at_(plan.spec.access().places(static_cast<int>(place))),
        ends_(ends),
        events_(events) {}

  [[noreturn]] void run(bool cloned_into) {
    // The shepherd's end must close when the shepherd goes: not held open by the task itself.
    ::close(plan_.go.write_end.get());
    if (plan_.files) ::setrlimit(RLIMIT_NOFILE, &*plan_.files);
    need(enter_step(plan_.spec, plan_.contain, {plan_.hosts, plan_.launch.limits(), plan_.launch.umask()}, cloned_into,
                    [this](const std::string& text) { note(text); }),
         model::EndReason::kLaunchFailed);
    need(enter_work_dir(plan_.launch.work_dir()), model::EndReason::kWorkDir);
    need(ends_.terminal ? take_terminal(ends_.terminal.get()) : open_streams(), model::EndReason::kOutputPath);
    bind();
    tell({TaskEventKind::kReady, {}, {}});
    wait_for_go(plan_.go.read_end.get());
    ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    const wire::Program& program = plan_.launch.programs(static_cast<int>(order_.program()));
    Environment environment = plan_.environment;
    add_task_variables(environment, plan_.launch, plan_.spec.access(), place_);
    const ExecFailure failure =
        exec_program(words_of(program), std::string(environment.get("PATH")), environment.lines());
    fail(model::EndReason::kLaunchFailed, failure.text, failure.exit_code);
  }

 private:
  const StepPlan& plan_;
  const size_t place_;
  const wire::TaskOrder& order_;
  const wire::TaskPlace& at_;
  const TaskEnds& ends_;
  const int events_;

  base::Status open_one(const wire::TaskStream& stream, const proc::Fd& clients, int target) {
    if (stream.kind() == wire::TaskStream::kClient && clients) return place_stream(clients.get(), target);
    const std::string path = stream.kind() == wire::TaskStream::kFile ? stream.path() : kNothing;
    GW_TRY(fd, target == STDIN_FILENO ? open_input(path) : open_output(path, plan_.launch.append()));
    return place_stream(fd.get(), target);
  }
  base::Status open_streams() {
    GW_TRY_STATUS(open_one(order_.input(), ends_.input, STDIN_FILENO));
    GW_TRY_STATUS(open_one(order_.output(), ends_.output, STDOUT_FILENO));
    const wire::TaskStream& out = order_.output();
    const wire::TaskStream& err = order_.error();
    // One description for one file: two would overwrite each other.
    const bool is_same = err.kind() == wire::TaskStream::kFile && out.kind() == err.kind() && out.path() == err.path();
    return is_same ? place_stream(STDOUT_FILENO, STDERR_FILENO) : open_one(err, ends_.error, STDERR_FILENO);
  }

  /// An own program is this one, by whatever name it lies on the node.
  std::vector<std::string> words_of(const wire::Program& program) const {
    std::vector<std::string> words{program.argv().begin(), program.argv().end()};
    if (!program.own()) return words;
    words.front() = "--" + words.front();
    words.insert(words.begin(), "/proc/self/exe");
    words.push_back(plan_.spec.access().listen());
    return words;
  }

  void bind() {
    if (!at_.problem().empty()) fail(model::EndReason::kLaunchFailed, at_.problem(), EXIT_FAILURE);
    const wire::BindingManner& manner = plan_.spec.access().binding();
    if (!manner.only_records()) {
      note(bind_to_cpus(at_.cpus()));
      note(bind_to_memory(at_.mems(), manner.prefers_memory()));
    }
    if (!manner.says_cpus() && !manner.says_gpus() && !manner.says_memory()) return;
    char host[256] = "";
    if (plan_.spec.node().empty()) static_cast<void>(::gethostname(host, sizeof host - 1));
    const std::string text = describe_binding(
        {plan_.spec.node().empty() ? host : plan_.spec.node(), order_.rank(), static_cast<unsigned>(place_),
         at_.gpus().empty() ? "" : plan_.spec.access().gpu_variable() + "=" + at_.gpus()},
        at_, manner);
    static_cast<void>(proc::write_all(STDERR_FILENO, text, "binding"));
  }

  void tell(const TaskEvent& event) { static_cast<void>(proc::write_all(events_, encode(event), "task events")); }
  void note(const std::string& text) {
    if (!text.empty()) tell({TaskEventKind::kNote, {}, text});
  }
  void need(const base::Status& done, model::EndReason reason) {
    if (!done) fail(reason, done.error().text(), EXIT_FAILURE);
  }
  [[noreturn]] void fail(model::EndReason reason, const std::string& text, int code) {
    tell({TaskEventKind::kFailed, reason, text, static_cast<uint8_t>(code)});
    ::_exit(code);
  }
};

}  // namespace

base::Result<StepTask> spawn_step_task(const StepPlan& plan, size_t place, const TaskEnds& ends) {
  GW_TRY(events, make_pipe());
  const Forked forked = fork_into(plan.contain.clone_into_fd());
  if (forked.pid < 0) return base::fail_errno("forking a task", errno);
  if (forked.pid == 0) StepTaskSide(plan, place, ends, events.write_end.get()).run(forked.cloned_into);
  ::fcntl(events.read_end.get(), F_SETFL, O_NONBLOCK);
  StepTask task;
  task.rank = plan.launch.tasks(static_cast<int>(place)).rank();
  task.pid = forked.pid;
  task.events = std::move(events.read_end);
  return task;
}

}  // namespace gw::noded::step
