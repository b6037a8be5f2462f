// The environment of a task of a step: the client's, the job's variables over it, and the task's own.
// Invariant: each name occurs once; what is no NAME=value is dropped.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wire/launch.pb.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

class Environment {
 public:
  /// Takes "NAME=value" in the place of what the name had.
  void set(std::string_view line);
  void set(const std::string& name, std::string value);
  /// Only if the name is not there yet.
  void fill(std::string_view line);
  void remove(const std::string& name) { values_.erase(name); }
  /// Empty if it is not there.
  std::string_view get(const std::string& name) const;
  std::vector<std::string> lines() const;

 private:
  std::map<std::string, std::string> values_;
};

/// What all tasks of the node have. The node daemon's variables of the job win, but for the few that describe the user
/// where he works now.
Environment step_environment(const wire::LaunchTasks& launch, const wire::StepSpec& spec);
/// Adds what belongs to the task at `place` alone, but for its process id, which is not known yet.
void add_task_variables(Environment& environment, const wire::LaunchTasks& launch, const wire::StepAccess& access,
                        size_t place);

}  // namespace gw::noded::step
