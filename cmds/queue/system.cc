// See system.h.
#include "cmds/queue/system.h"

#include <limits.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>

namespace gw::cmds::queue {
namespace {

constexpr System kSystems[] = {System::kPbsPro, System::kTorque, System::kSge};
constexpr int kMostLinks = 40;  // as the kernel follows

/// The folder's real path, without the last name; empty: it is not there.
std::string folder_path(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  char real[PATH_MAX];
  return ::realpath(folder.c_str(), real) == nullptr ? std::string() : real;
}

}  // namespace

std::string_view folder_of(System system) {
  return system == System::kPbsPro ? "pbs" : system == System::kTorque ? "torque" : "sge";
}

std::optional<System> system_of(const std::string& path) {
  std::string at = path;
  for (int link = 0; link < kMostLinks; ++link) {
    const std::string folder = folder_path(at);
    for (const System system : kSystems)
      if (folder.ends_with("/" + std::string(folder_of(system)))) return system;
    char target[PATH_MAX];
    const ssize_t length = ::readlink(at.c_str(), target, sizeof target);
    if (length <= 0 || static_cast<size_t>(length) >= sizeof target) return std::nullopt;
    const std::string next(target, static_cast<size_t>(length));
    at = next.starts_with('/') ? next : folder + "/" + next;
  }
  return std::nullopt;
}

std::optional<System> system_of_program() {
  const auto* path = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return path == nullptr ? std::nullopt : system_of(path);
}

client::PbsKind pbs_kind(System system) {
  return system == System::kTorque ? client::PbsKind::kTorque : client::PbsKind::kPro;
}

int say(const Caller& caller, std::string_view text, int code) {
  client::print_note(caller.program, text);
  return code;
}

}  // namespace gw::cmds::queue
