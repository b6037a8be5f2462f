// What a client may order of a shepherd.
#include "noded/step/tasks/step_order.h"

#include <climits>
#include <csignal>
#include <set>
#include <string>

#include "base/text.h"
#include "noded/step/tasks/mpi.h"
#include "wire/bcast.h"

namespace gw::noded::step {
namespace {

constexpr int kMaxTasks = 511;  // each has two channels of the session

bool has_zero_byte(const std::string& text) { return text.find('\0') != std::string::npos; }

base::Status check_stream(const wire::TaskStream& stream, const char* name) {
  if (!wire::TaskStream::Kind_IsValid(stream.kind())) return base::invalid(std::string(name) + ": no such kind");
  if (stream.kind() != wire::TaskStream::kFile) return {};
  const std::string& path = stream.path();
  if (!path.empty() && path.size() < PATH_MAX && !has_zero_byte(path)) return {};
  return base::invalid(std::string(name) + ": a path of " + std::to_string(path.size()) + " bytes or with a zero byte");
}

base::Status check_task(const wire::TaskOrder& task, const wire::LaunchTasks& launch) {
  const int programs = launch.programs_size();
  if (task.program() >= static_cast<uint32_t>(programs))
    return base::invalid("program " + std::to_string(task.program()) + " of " + std::to_string(programs));
  GW_TRY_STATUS(check_stream(task.input(), "standard input"));
  GW_TRY_STATUS(check_stream(task.output(), "standard output"));
  return check_stream(task.error(), "standard error");
}

base::Status check_programs(const wire::LaunchTasks& launch) {
  for (const wire::Program& program : launch.programs()) {
    if (program.argv_size() == 0 || program.argv(0).empty()) return base::invalid("a program has no name");
    if (program.own() && program.argv(0) != wire::kReceiveFile)
      return base::invalid("there is no own program \"" + base::printable(program.argv(0), 40) + "\" here");
    for (const std::string& word : program.argv())
      if (has_zero_byte(word)) return base::invalid("an argument holds a zero byte");
  }
  return {};
}

}  // namespace

base::Status check_launch(const wire::LaunchTasks& launch, const wire::StepAccess& access) {
  const int tasks = launch.tasks_size();
  if (tasks == 0) return base::invalid("the launch has no tasks");
  if (tasks > access.places_size() || tasks > kMaxTasks)
    return base::invalid("the launch has " + std::to_string(tasks) + " tasks, but this node's part of the step has " +
                         "places for " + std::to_string(std::min(access.places_size(), kMaxTasks)));
  GW_TRY_STATUS(check_programs(launch));
  if (launch.has_pmix()) GW_TRY_STATUS(check_pmix(launch.pmix(), static_cast<uint32_t>(tasks)));
  std::set<uint32_t> ranks;
  for (const wire::TaskOrder& task : launch.tasks()) {
    if (!ranks.insert(task.rank()).second) return base::invalid("task " + std::to_string(task.rank()) + " comes twice");
    if (const base::Status fine = check_task(task, launch); !fine)
      return base::invalid("task " + std::to_string(task.rank()) + ": " + fine.error().text());
  }
  for (const std::string* program : {&launch.task_prolog(), &launch.task_epilog()})
    if (program->size() >= PATH_MAX || has_zero_byte(*program))
      return base::invalid("the program before or after each task is no path");
  const std::string& dir = launch.work_dir();
  if (dir.empty() || dir.front() != '/' || dir.size() >= PATH_MAX || has_zero_byte(dir))
    return base::invalid("the working directory is no absolute path");
  if (launch.rows() > UINT16_MAX || launch.columns() > UINT16_MAX)
    return base::invalid("the terminal has " + std::to_string(launch.rows()) + " rows and " +
                         std::to_string(launch.columns()) + " columns");
  if (launch.time_limit_us() < 0 || launch.warn_before_us() < 0 || launch.warn_signo() >= NSIG)
    return base::invalid("the time limit or its signal is none");
  return {};
}

}  // namespace gw::noded::step
