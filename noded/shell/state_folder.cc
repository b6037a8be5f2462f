// The state folder of a node daemon: the implementation.
// Invariants: see state_folder.h.
#include "noded/shell/state_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <set>

#include "base/check.h"
#include "base/text.h"
#include "noded/shell/step_name.h"
#include "noded/step/proc/files.h"
#include "noded/step/state/channel.h"
#include "noded/step/state/step_folder.h"

namespace gw::noded {

namespace fs = std::filesystem;
namespace proc = step::proc;

namespace {

// "/steps/4294967295.4294967295.s4294967294/sock"
constexpr size_t kLongestBelow = 45;
constexpr char kMarkFile[] = "controller_state.pb";
constexpr char kUnfitFile[] = "unfit.pb";
constexpr char kBootFile[] = "boot_of_runs";
constexpr size_t kMaxSocketPath = sizeof(sockaddr_un::sun_path) - 1;

/// Nothing of it if it is not there or damaged.
template <typename Message>
Message kept(const std::string& path) {
  Message message;
  const auto bytes = proc::read_file(path);
  if (!bytes || !message.ParseFromString(*bytes)) message.Clear();
  return message;
}

std::string read_line(const std::string& path) {
  const auto text = proc::read_file(path);
  return text ? std::string(base::trim(text->substr(0, text->find('\n')))) : std::string();
}

base::Result<io::Fd> take_lock(const std::string& dir) {
  const std::string path = dir + "/lock";
  io::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return base::fail_errno("opening " + path, errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return base::fail_errno("locking " + path, errno);
    return base::fail(base::ErrorCode::kConflict,
                      "the state folder " + dir + " is in use by the gnoded with pid " + read_line(path),
                      "stop that one first, or give this one a --state-dir of its own");
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(fd.get(), 0) != 0 || ::write(fd.get(), pid.data(), pid.size()) < 0)
    return base::fail_errno("writing " + path, errno);
  return fd;
}

// "7.1" or "7.1.s0", or either with ".pb"
std::optional<RunKey> parse_run(std::string_view name) {
  if (name.ends_with(".pb")) name.remove_suffix(3);
  RunKey key;
  const char* end = name.data() + name.size();
  const auto job = std::from_chars(name.data(), end, key.job);
  if (job.ec != std::errc{} || job.ptr == end || *job.ptr != '.') return std::nullopt;
  const auto attempt = std::from_chars(job.ptr + 1, end, key.attempt);
  if (attempt.ec != std::errc{}) return std::nullopt;
  if (attempt.ptr == end) return key;
  const std::string_view rest(attempt.ptr, static_cast<size_t>(end - attempt.ptr));
  const std::optional<uint32_t> step = rest.starts_with(".s") ? step_of(rest.substr(2)) : std::nullopt;
  if (!step || *step == 0) return std::nullopt;  // "7.1.sbatch"
  key.step = *step;
  return key;
}

std::string random_id() {
  std::array<unsigned char, 16> bytes{};
  GW_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == 16);  // never short up to 256 bytes
  std::string text;
  for (unsigned char byte : bytes) text += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  return text;
}

// Field 22 of /proc/1/stat: another first process is another container, whose processes are others, too.
std::string start_of_first_process() {
  const std::string stat = read_line("/proc/1/stat");
  const size_t paren = stat.rfind(')');
  if (paren == std::string::npos) return {};
  const auto fields = base::split(stat.substr(paren + 2), ' ');
  return fields.size() > 19 ? fields[19] : std::string();
}

}  // namespace

base::Result<StateFolder> StateFolder::open(const std::string& dir) {
  StateFolder folder;
  folder.dir_ = fs::path(dir).is_absolute() ? dir : fs::absolute(dir).lexically_normal().string();
  while (folder.dir_.size() > 1 && folder.dir_.back() == '/') folder.dir_.pop_back();
  if (folder.dir_.size() + kLongestBelow > kMaxSocketPath)
    return base::invalid(
        "state folder " + folder.dir_ + " is too long: sockets below it would pass " + std::to_string(kMaxSocketPath) +
            " bytes",
        "choose a --state-dir of at most " + std::to_string(kMaxSocketPath - kLongestBelow) + " bytes");
  // Jobs' users must reach their scripts below steps/, and list nothing.
  GW_TRY_STATUS(proc::make_dirs(folder.dir_, 0711));
  GW_TRY_STATUS(proc::make_dirs(folder.dir_ + "/runs", 0700));
  GW_TRY_STATUS(proc::make_dirs(folder.steps_dir(), 0711));
  GW_TRY(lock, take_lock(folder.dir_));
  folder.lock_ = std::move(lock);
  return folder;
}

std::string StateFolder::launcher_socket(const std::string& program) const {
  struct stat file {};
  static_cast<void>(::stat(program.c_str(), &file));
  std::array<char, 17> id{};
  const uint64_t mix =
      (static_cast<uint64_t>(file.st_mtim.tv_sec) * 1'000'000'007 + static_cast<uint64_t>(file.st_mtim.tv_nsec)) ^
      (static_cast<uint64_t>(file.st_size) << 40) ^ (static_cast<uint64_t>(file.st_ino) << 20);
  const auto end = std::to_chars(id.data(), id.data() + id.size(), mix & 0xffffffff, 16).ptr;
  return dir_ + "/launcher-" + std::string(id.data(), end) + ".sock";
}

std::vector<std::string> StateFolder::old_launchers(const std::string& program) const {
  const std::string current = launcher_socket(program);
  std::vector<std::string> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir_, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("launcher") && name.ends_with(".sock") && entry.path() != current)
      found.push_back(entry.path().string());
  }
  return found;
}

base::Status StateFolder::save(const wire::RunRecord& record, bool sync) const {
  const RunKey key = RunKey::of(record);
  // By a rename: a daemon that is killed in between leaves all or nothing.
  return proc::replace_file(dir_ + "/runs", key.text() + ".pb", record.SerializeAsString(), sync);
}

base::Status StateFolder::keep_mark(const wire::StateMark& mark) const {
  return proc::replace_file(dir_, kMarkFile, mark.SerializeAsString(), /*sync=*/true);
}

wire::StateMark StateFolder::kept_mark() const { return kept<wire::StateMark>(dir_ + "/" + kMarkFile); }

base::Status StateFolder::keep_unfit(const wire::UnfitList& unfit) const {
  return proc::replace_file(dir_, kUnfitFile, unfit.SerializeAsString(), /*sync=*/true);
}

wire::UnfitList StateFolder::kept_unfit() const { return kept<wire::UnfitList>(dir_ + "/" + kUnfitFile); }

void StateFolder::forget(RunKey run) const { ::unlink(record_path(run).c_str()); }

std::vector<RecoveredRun> StateFolder::scan(const std::string& boot_id) const {
  // What a power failure left unreadable was written before it.
  const std::string last = read_line(dir_ + "/" + kBootFile);
  const std::string& boot_of_damaged = last.empty() ? boot_id : last;
  std::set<RunKey> keys;
  for (const char* part : {"/runs", "/steps"}) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(dir_ + part, error))
      if (const auto key = parse_run(entry.path().filename().string())) keys.insert(*key);
  }
  std::vector<RecoveredRun> found;
  for (const RunKey& key : keys) found.push_back(inspect(key, boot_of_damaged));
  // Where it cannot be written nothing may be taken for older than it is: a run given up would live on.
  if (last != boot_id && !proc::replace_file(dir_, kBootFile, boot_id + "\n", /*sync=*/true))
    ::unlink((dir_ + "/" + kBootFile).c_str());
  return found;
}

RecoveredRun StateFolder::inspect(RunKey run, const std::string& boot_of_damaged) const {
  RecoveredRun found;
  const auto bytes = proc::read_file(record_path(run));
  const bool is_damaged = !bytes || !found.record.ParseFromString(*bytes) || found.record.boot_id().empty();
  if (is_damaged) {
    found.record.Clear();
    found.record.set_has_script(true);
    found.record.set_boot_id(boot_of_damaged);
  }
  found.record.set_job(run.job);
  found.record.set_attempt(run.attempt);
  found.record.set_step(run.step);
  if (is_damaged) static_cast<void>(save(found.record));  // the next scan takes what is damaged for of this boot
  found.has_step_dir = ::access(step_dir(run).c_str(), F_OK) == 0;
  if (!found.has_step_dir) return found;
  found.shepherd_answers = step::connect_to(step_socket(run)).has_value();
  found.exit = step::read_exit(step_dir(run));
  return found;
}

std::string StateFolder::boot_id(bool is_emulated) const {
  const std::string host = read_line("/proc/sys/kernel/random/boot_id") + "." + start_of_first_process();
  if (!is_emulated) return host;
  const std::string path = dir_ + "/boot_id";
  const std::string kept = read_line(path);
  if (kept.size() > host.size() && kept.starts_with(host + ".")) return kept;
  const std::string fresh = host + "." + random_id();
  static_cast<void>(proc::replace_file(dir_, "boot_id", fresh + "\n", /*sync=*/true));
  return fresh;
}

}  // namespace gw::noded
