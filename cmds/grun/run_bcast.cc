// See run_bcast.h.
#include "cmds/grun/run_bcast.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/text.h"

namespace gw::cmds {
namespace {

/// Percent signs of a path stand for themselves.
std::string as_pattern(const std::string& path) {
  std::string out;
  for (const char c : path) out += c == '%' ? std::string("%%") : std::string(1, c);
  return out;
}

}  // namespace

std::string bcast_destination(const std::string& asked, const std::string& folder, const wire::Step& step) {
  std::string path = as_pattern(asked.starts_with('/') ? asked : folder + "/" + asked);
  // As Slurm names it.
  if (path.ends_with('/')) path += fmt::format("slurm_bcast_{}.{}_%N", step.job(), step.step());
  return path;
}

base::Result<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  for (const std::string& folder : base::split(path == nullptr ? "" : path, ':')) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return base::fail(base::ErrorCode::kNotFound, "--bcast: " + base::printable(name) + " is not found in PATH",
                    "give its path");
}

void run_copies(std::vector<attach::NodePlan>& plans, const std::string& destination) {
  for (attach::NodePlan& plan : plans) {
    std::string path;
    for (size_t i = 0; i < destination.size(); ++i) {
      const bool is_mark = destination[i] == '%' && i + 1 < destination.size();
      path += is_mark && destination[i + 1] == 'N' ? plan.node : std::string(1, destination[i]);
      if (is_mark) ++i;
    }
    for (wire::Program& program : *plan.launch.mutable_programs()) program.set_argv(0, path);
  }
}

}  // namespace gw::cmds
