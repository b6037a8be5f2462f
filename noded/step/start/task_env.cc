// The environment of a task of a step.
#include "noded/step/start/task_env.h"

#include <algorithm>
#include <utility>

namespace gw::noded::step {
namespace {

constexpr std::string_view kOfTheUser[] = {"HOME", "USER", "LOGNAME", "SHELL", "PATH"};

// Empty name: no variable.
std::pair<std::string, std::string> cut(std::string_view line) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos || line.find('\0') != std::string_view::npos) return {};
  return {std::string(line.substr(0, equals)), std::string(line.substr(equals + 1))};
}

}  // namespace

void Environment::set(std::string_view line) {
  auto [name, value] = cut(line);
  set(name, std::move(value));
}

void Environment::set(const std::string& name, std::string value) {
  if (!name.empty()) values_[name] = std::move(value);
}

void Environment::fill(std::string_view line) {
  auto [name, value] = cut(line);
  if (!name.empty()) values_.try_emplace(name, std::move(value));
}

std::string_view Environment::get(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string_view() : std::string_view(found->second);
}

std::vector<std::string> Environment::lines() const {
  std::vector<std::string> lines;
  lines.reserve(values_.size());
  for (const auto& [name, value] : values_) lines.push_back(name + "=" + value);
  return lines;
}

Environment step_environment(const wire::LaunchTasks& launch, const wire::StepSpec& spec) {
  Environment environment;
  // A launch inside a task of another step is no part of that one's MPI.
  for (const std::string& line : launch.env())
    if (!line.starts_with("PMIX_") || line.starts_with("PMIX_MCA_")) environment.set(line);
  for (const std::string& line : spec.env()) {
    const std::string_view name = std::string_view(line).substr(0, line.find('='));
    const bool is_of_user = std::find(std::begin(kOfTheUser), std::end(kOfTheUser), name) != std::end(kOfTheUser);
    is_of_user ? environment.fill(line) : environment.set(line);
  }
  for (const std::string& line : launch.shape_env()) environment.set(line);
  return environment;
}

void add_task_variables(Environment& environment, const wire::LaunchTasks& launch, const wire::StepAccess& access,
                        size_t place) {
  const wire::TaskOrder& task = launch.tasks(static_cast<int>(place));
  for (const std::string& line : task.env()) environment.set(line);
  for (const std::string prefix : {"SLURM_", "GANGWAY_"}) {
    environment.set(prefix + "PROCID", std::to_string(task.rank()));
    environment.set(prefix + "LOCALID", std::to_string(place));
    environment.remove(prefix + "TASK_PID");
  }
  if (launch.has_pmix()) environment.set("PMIX_RANK", std::to_string(task.rank()));
  const wire::TaskPlace& at = access.places(static_cast<int>(place));
  if (!at.gpus().empty()) environment.set(access.gpu_variable(), at.gpus());
  if (!at.nics().empty()) environment.set("GANGWAY_NIC", at.nics());
}

}  // namespace gw::noded::step
