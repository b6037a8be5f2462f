// The task side of a step.
#include "noded/step/start/task.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "noded/step/proc/files.h"
#include "noded/step/start/child.h"
#include "noded/step/start/exec_script.h"
#include "noded/step/start/streams.h"
#include "noded/step/start/task_programs.h"
#include "noded/step/state/step_folder.h"

namespace gw::noded::step {
namespace {

constexpr size_t kMaxEventText = 2000;
constexpr size_t kEventHeader = 13;

void append_u32(std::string& bytes, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift & 0xff);
}

uint32_t read_u32(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// The child. Everything here runs between fork and execve of a process with one thread.
class TaskSide {
 public:
  TaskSide(const wire::StepSpec& spec, Containment& contain, const std::string& hosts, int events, int go)
      : spec_(spec), contain_(contain), hosts_(hosts), events_(events), go_(go) {}

  [[noreturn]] void run(bool cloned_into) {
    as_daemon(cloned_into);
    as_user();
    tell({TaskEventKind::kReady, {}, {}});
    if (go_ >= 0) wait_for_go(go_);
    ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    std::vector<std::string> words{script_path(spec_.dir())};
    words.insert(words.end(), spec_.args().begin(), spec_.args().end());
    fail(model::EndReason::kLaunchFailed,
         exec_script(behind_prologs(programs_of(spec_), TaskForm::kScript, std::move(words)),
                     {spec_.env().begin(), spec_.env().end()}, spec_.script()));
  }

 private:
  const wire::StepSpec& spec_;
  Containment& contain_;
  const std::string& hosts_;
  const int events_;
  const int go_;

  void as_daemon(bool cloned_into) {
    const NoteFn note_it = [this](const std::string& text) { note(text); };
    const auto entered = enter_step(spec_, contain_, {hosts_, spec_.umask()}, cloned_into, note_it);
    if (!entered) fail(model::EndReason::kLaunchFailed, entered.error().text());
    apply_limits(spec_.limits(), note_it);
  }

  void as_user() {
    if (const base::Status entered = enter_work_dir(spec_.work_dir()); !entered)
      fail(model::EndReason::kWorkDir, entered.error().text());
    if (const base::Status opened = open_streams(spec_); !opened)
      fail(model::EndReason::kOutputPath, opened.error().text());
  }

  void tell(const TaskEvent& event) {
    const std::string bytes = encode(event);
    static_cast<void>(proc::write_all(events_, bytes, "task events"));
  }
  void note(const std::string& text) {
    if (!text.empty()) tell({TaskEventKind::kNote, {}, text});
  }
  [[noreturn]] void fail(model::EndReason reason, const std::string& text) {
    tell({TaskEventKind::kFailed, reason, text});
    ::_exit(1);
  }
};

}  // namespace

std::string encode(const TaskEvent& event) {
  const std::string text = event.text.substr(0, kMaxEventText);
  std::string bytes(1, static_cast<char>(event.kind));
  bytes += static_cast<char>(event.reason);
  bytes += static_cast<char>(event.code);
  bytes += static_cast<char>(text.size() & 0xff);
  bytes += static_cast<char>(text.size() >> 8);
  append_u32(bytes, event.place);
  append_u32(bytes, event.pid);
  return bytes + text;
}

bool take_event(std::string& buffer, TaskEvent& event) {
  if (buffer.size() < kEventHeader) return false;
  const size_t size = static_cast<unsigned char>(buffer[3]) + 256u * static_cast<unsigned char>(buffer[4]);
  if (buffer.size() < kEventHeader + size) return false;
  event.kind = static_cast<TaskEventKind>(buffer[0]);
  event.reason = static_cast<model::EndReason>(buffer[1]);
  event.code = static_cast<uint8_t>(buffer[2]);
  event.place = read_u32(std::string_view(buffer).substr(5));
  event.pid = read_u32(std::string_view(buffer).substr(9));
  event.text = buffer.substr(kEventHeader, size);
  buffer.erase(0, kEventHeader + size);
  return true;
}

base::Result<Task> spawn_task(const wire::StepSpec& spec, Containment& contain, const std::string& hosts) {
  GW_TRY(events, make_pipe());
  GW_TRY(go, make_pipe());
  const Forked forked = fork_into(contain.clone_into_fd());
  if (forked.pid < 0) return base::fail_errno("forking the task", errno);
  if (forked.pid == 0) {
    // The shepherd's end of the pipe must close when the shepherd goes: not held open by the task itself.
    go.write_end.reset();
    const int go_fd = spec.wait_for_go() ? go.read_end.get() : -1;
    TaskSide(spec, contain, hosts, events.write_end.get(), go_fd).run(forked.cloned_into);
  }
  ::fcntl(events.read_end.get(), F_SETFL, O_NONBLOCK);
  Task task{forked.pid, std::move(events.read_end), {}};
  if (spec.wait_for_go()) task.go = std::move(go.write_end);
  return task;
}

}  // namespace gw::noded::step
