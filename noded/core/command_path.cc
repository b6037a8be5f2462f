// Where a job finds the commands that it was submitted with: the implementation.
#include "noded/core/command_path.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace gw::noded {
namespace {

bool is_on_path(std::string_view path, std::string_view folder) {
  while (!path.empty()) {
    const std::string_view entry = path.substr(0, path.find(':'));
    if (entry == folder) return true;
    path.remove_prefix(std::min(path.size(), entry.size() + 1));
  }
  return false;
}

// In front, since Slurm's own commands may lie beside; the own names are nobody else's.
void add_in_front(std::string& path, const std::string& folder) {
  if (!folder.empty() && !is_on_path(path, folder)) path = path.empty() ? folder : folder + ":" + path;
}
void add_behind(std::string& path, const std::string& folder) {
  if (!folder.empty() && !is_on_path(path, folder)) path += (path.empty() ? "" : ":") + folder;
}

// The function mends PATH for everything that comes after it in the shell, then gets out of the way.
constexpr const char* kFunction =
    R"(() { case ":$PATH:" in *":$GANGWAY_COMMAND_PATH:"*) ;; )"
    R"(*) PATH="${GANGWAY_COMMAND_PATH:+$GANGWAY_COMMAND_PATH:}$PATH" ;; esac; command %s "$@"; })";

std::string function_for(const std::string& command) {
  std::string text = kFunction;
  return text.replace(text.find("%s"), 2, command);
}

}  // namespace

void put_commands(Env& env, const NodeFacts& node, bool has_slurm_names) {
  std::string& path = env["PATH"];
  add_behind(path, node.commands_dir);
  std::string again = node.commands_dir;
  if (has_slurm_names && !node.slurm_commands_dir.empty()) {
    add_in_front(path, node.slurm_commands_dir);
    add_in_front(again, node.slurm_commands_dir);
    if (!node.has_login_file)
      for (const std::string& command : node.slurm_commands) env["BASH_FUNC_" + command + "%%"] = function_for(command);
  }
  if (!again.empty()) env["GANGWAY_COMMAND_PATH"] = again;
}

}  // namespace gw::noded
