// See last_line.h.
#include "noded/step/shepherd/last_line.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "model/stop_cause.h"
#include "noded/step/proc/files.h"
#include "noded/step/proc/owned_fd.h"
#include "noded/step/proc/step_clock.h"
#include "noded/step/start/identity.h"

namespace gw::noded::step {

namespace {

/// The node's name as its users know it.
std::string node_of(const wire::StepSpec& spec) {
  if (!spec.shown_node().empty()) return spec.shown_node();
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "this node";
}

[[noreturn]] void write_as_user(const wire::StepSpec& spec, const std::string& path, const std::string& line) {
  if (!become_user(spec)) ::_exit(1);
  // A FIFO without a reader, or a terminal, is nothing to wait for.
  const proc::OwnedFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file) static_cast<void>(proc::write_all(file.get(), line, path));
  ::_exit(0);
}

}  // namespace

std::string words_of_end(const wire::StepSpec& spec, uint32_t cause) {
  if (cause == 0 || cause > static_cast<uint32_t>(model::kLastStopCause)) return {};
  const std::string job = std::to_string(spec.job());
  return model::stop_words(spec.has_access() ? "STEP " + job + "." + spec.step() : "JOB " + job, node_of(spec),
                           base::Time{wall_us()}, static_cast<model::StopCause>(cause));
}

pid_t say_in_output(const wire::StepSpec& spec, const std::string& words, StepProcesses& processes) {
  const std::string& path = spec.std_err().empty() ? spec.std_out() : spec.std_err();
  if (path.empty() || path == "/dev/null") return 0;
  const std::string line = model::stop_line(spec.slurm_names() ? "slurmstepd" : "gstepd", words);
  const pid_t pid = ::fork();
  if (pid == 0) write_as_user(spec, path, line);
  if (pid <= 0) return 0;
  processes.on_fork();
  return pid;
}

}  // namespace gw::noded::step
