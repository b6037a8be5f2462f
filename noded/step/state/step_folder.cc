// The state folder of a step.
#include "noded/step/state/step_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <vector>

#include "noded/step/proc/files.h"
#include "noded/step/state/channel.h"

namespace gw::noded::step {
namespace {

constexpr mode_t kDirMode = 0711;
constexpr mode_t kScriptMode = 0500;
constexpr mode_t kToldMode = 0400;
constexpr int64_t kMicro = 1'000'000;

/// "2027-01-15T08:00:00Z"
std::string utc(int64_t seconds) {
  const time_t when = seconds;
  struct tm parts {};
  std::array<char, 32> text{};
  if (::gmtime_r(&when, &parts) == nullptr) return {};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

template <typename Message>
std::optional<Message> read_record(const std::string& path) {
  const auto bytes = proc::read_file(path);
  Message message;
  if (!bytes || !message.ParseFromString(*bytes)) return std::nullopt;
  return message;
}

/// A file that appears whole, for the job's user alone to read.
base::Status tell(const std::string& path, const std::string& text, uint32_t uid, uint32_t gid) {
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());
  const proc::OwnedFd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kToldMode));
  if (!fd) return base::fail_errno(fresh, errno);
  GW_TRY_STATUS(proc::write_all(fd.get(), text, fresh));
  if (::fchmod(fd.get(), kToldMode) != 0) return base::fail_errno(fresh, errno);
  if (::geteuid() == 0 && ::fchown(fd.get(), uid, gid) != 0) return base::fail_errno(fresh, errno);
  if (::rename(fresh.c_str(), path.c_str()) != 0) return base::fail_errno(path, errno);
  return {};
}

}  // namespace

base::Result<proc::OwnedFd> make_state_dir(const std::string& dir) {
  if (::mkdir(dir.c_str(), kDirMode) != 0)
    return base::fail_errno("state folder " + dir, errno,
                            errno == EEXIST ? "an earlier shepherd left it; the node daemon removes it" : "");
  if (::chmod(dir.c_str(), kDirMode) != 0) return base::fail_errno("state folder " + dir, errno);  // whatever the umask
  auto listener = listen_at(dir + "/sock");
  if (!listener) ::rmdir(dir.c_str());
  return listener;
}

std::string script_path(const std::string& dir) { return dir + "/script"; }

base::Status write_script(const wire::StepSpec& spec) {
  const std::string path = script_path(spec.dir());
  const proc::OwnedFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kScriptMode));
  if (!fd) return base::fail_errno("script file " + path, errno);
  GW_TRY_STATUS(proc::write_all(fd.get(), spec.script(), "script file " + path));
  if (::fchmod(fd.get(), kScriptMode) != 0) return base::fail_errno("script file " + path, errno);
  if (::geteuid() == 0 && ::fchown(fd.get(), spec.uid(), spec.gid()) != 0)
    return base::fail_errno("script file " + path, errno);
  return {};
}

base::Status write_slots(const wire::StepSpec& spec) {
  if (spec.slots().empty()) return {};
  return tell(spec.dir() + "/" + kSlotsFile, spec.slots(), spec.uid(), spec.gid());
}

base::Result<std::string> write_hosts(const wire::StepSpec& spec) {
  if (spec.hosts().empty()) return std::string();
  std::string text = proc::read_file("/etc/hosts").value_or("");
  if (!text.empty() && text.back() != '\n') text += '\n';
  for (const std::string& line : spec.hosts()) text += line + "\n";
  const std::string path = spec.dir() + "/hosts";
  const proc::OwnedFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd) return base::fail_errno(path, errno);
  GW_TRY_STATUS(proc::write_all(fd.get(), text, path));
  if (::fchmod(fd.get(), 0644) != 0) return base::fail_errno(path, errno);
  return path;
}

base::Status record_order(const std::string& dir, const wire::Stop& order) {
  // Not synced: a crash of the machine ends the step.
  return proc::replace_file(dir, "order", pack(order), false);
}

std::optional<wire::Stop> read_order(const std::string& dir) { return read_record<wire::Stop>(dir + "/order"); }

base::Status write_preempt_file(const wire::StepSpec& spec, const wire::Stop& order, std::string_view what) {
  const int64_t until = order.until_us() / kMicro;
  const std::string told = R"({"reason":"preempted","by_job":)" + std::to_string(order.preempted_for()) +
                           R"(,"rule":)" + std::to_string(order.preempt_rule()) + R"(,"until":")" + utc(until) +
                           R"(","until_unix":)" + std::to_string(until) + R"(,"grace_seconds":)" +
                           std::to_string(order.grace_us() / kMicro) + R"(,"what":")" + std::string(what) + "\"}\n";
  return tell(spec.dir() + "/" + kPreemptFile, told, spec.uid(), spec.gid());
}

void remove_preempt_file(const std::string& dir) { ::unlink((dir + "/" + kPreemptFile).c_str()); }

void remove_order(const std::string& dir) { ::unlink((dir + "/order").c_str()); }

base::Result<bool> write_hosts_file(const std::string& dir, const wire::Resize& order) {
  const std::string path = dir + "/" + kHostsFile;
  std::string text;
  for (const std::string& node : order.nodes()) text += node + "\n";
  if (const auto before = proc::read_file(path); before && *before == text) return false;
  GW_TRY_STATUS(tell(path, text, order.uid(), order.gid()));
  return true;
}

base::Status record_exit(const std::string& dir, const wire::StepExit& exit) {
  return proc::replace_file(dir, "exit", pack(exit), true);
}

base::Status record_clean(const std::string& dir, const wire::StepClean& clean) {
  // Not synced: after a crash of the machine every process is gone anyway.
  return proc::replace_file(dir, "clean", pack(clean), false);
}

std::optional<wire::StepExit> read_exit(const std::string& dir) { return read_record<wire::StepExit>(dir + "/exit"); }
std::optional<wire::StepClean> read_clean(const std::string& dir) {
  return read_record<wire::StepClean>(dir + "/clean");
}

base::Status remove_state_dir(const std::string& dir) {
  // Whatever it is called: the folder is the daemon's alone, and a file that a later version adds must not keep it.
  std::error_code error;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(dir, error)) files.push_back(entry.path().string());
  for (const std::string& file : files) ::unlink(file.c_str());
  if (::rmdir(dir.c_str()) == 0 || errno == ENOENT) return {};
  return base::fail_errno("removing " + dir, errno);
}

bool is_state_dir_gone(const std::string& dir) {
  struct stat folder {};
  return ::stat(dir.c_str(), &folder) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

}  // namespace gw::noded::step
