// See read_names.h.
#include "cmds/request/read_names.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/hostlist.h"
#include "base/text.h"
#include "io/fd.h"

namespace gw::cmds {
namespace {

constexpr size_t kMostBytes = 4 << 20;
constexpr int64_t kMostTasksOfFile = 100'000;

std::atomic<bool> reads_files = true;

}  // namespace

void read_no_files() { reads_files = false; }

base::Result<std::string> read_descriptor(int fd, const std::string& shown) {
  std::string bytes;
  char buffer[64 * 1024];
  while (true) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::fail_errno(shown, errno);
    if (n == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(n));
    if (bytes.size() > kMostBytes) return base::invalid(shown + " is larger than 4 MiB");
  }
}

base::Result<std::string> read_small_file(const std::string& file, const std::string& shown) {
  if (!reads_files) return base::invalid(shown + ": files are not read here", "give what it says itself");
  const io::Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return base::fail_errno(shown, errno);
  return read_descriptor(fd.get(), shown);
}

namespace {

/// "n1 , n2 # both" -> "n1,n2"
std::string compact_list(std::string_view line) {
  std::string out;
  for (char c : line.substr(0, line.find('#'))) {
    if (c == ' ' || c == '\t' || c == '\r') c = ',';
    if (c != ',' || (!out.empty() && out.back() != ',')) out += c;
  }
  if (out.ends_with(',')) out.pop_back();
  return out;
}

/// How often "n1*4" stands for its host; takes the number off. Error: none.
base::Result<size_t> take_count(std::string& list) {
  const size_t star = list.find('*');
  if (star == std::string::npos) return 1;
  GW_TRY(count, base::parse_int(list.substr(star + 1), 1, kMostTasksOfFile, "number behind *"));
  list.erase(star);
  return static_cast<size_t>(count);
}

}  // namespace

base::Result<std::vector<std::string>> read_hosts_of_tasks(const std::string& file, std::string_view option) {
  const std::string shown = std::string(option) + ": " + base::printable(file, 200);
  const auto of_file = [&shown](const base::Error& e) { return base::Error{e.code, shown + ": " + e.what, e.hint}; };
  GW_TRY(bytes, read_small_file(file, shown));
  std::vector<std::string> all;
  for (const std::string& line : base::split(bytes, '\n')) {
    std::string list = compact_list(line);
    if (list.empty()) continue;
    GW_TRY(count, take_count(list).map_error(of_file));
    GW_TRY(names, base::expand_hostlist(list).map_error(of_file));
    if (names.size() * count + all.size() > static_cast<size_t>(kMostTasksOfFile))
      return base::invalid(shown + fmt::format(" names hosts for more than {} tasks", kMostTasksOfFile));
    for (size_t i = 0; i < count; ++i) all.insert(all.end(), names.begin(), names.end());
  }
  if (all.empty()) return base::invalid(shown + " names no node");
  return all;
}

base::Result<std::vector<std::string>> read_names(const std::string& file, std::string_view option) {
  const std::string shown = std::string(option) + ": " + base::printable(file, 200);
  GW_TRY(bytes, read_small_file(file, shown));
  std::vector<std::string> all;
  for (const std::string& line : base::split(bytes, '\n')) {
    const std::string list = compact_list(line);
    if (list.empty()) continue;
    auto names = base::expand_hostlist(list);
    if (!names) return base::fail(names.error().code, shown + ": " + names.error().what, names.error().hint);
    all.insert(all.end(), names->begin(), names->end());
  }
  if (all.empty()) return base::invalid(shown + " names no node");
  base::drop_duplicates(all);
  base::sort_hostlist(all);
  return all;
}

}  // namespace gw::cmds
