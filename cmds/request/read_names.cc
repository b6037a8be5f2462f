// See read_names.h.
#include "cmds/request/read_names.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/hostlist.h"
#include "base/text.h"
#include "io/fd.h"

namespace gw::cmds {
namespace {

constexpr size_t kMostBytes = 4 << 20;

}  // namespace

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
  const io::Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return base::fail_errno(shown, errno);
  return read_descriptor(fd.get(), shown);
}

base::Result<std::vector<std::string>> read_names(const std::string& file, std::string_view option) {
  const std::string shown = std::string(option) + ": " + base::printable(file, 200);
  GW_TRY(bytes, read_small_file(file, shown));
  std::vector<std::string> all;
  for (const std::string& line : base::split(bytes, '\n')) {
    std::string list = line.substr(0, line.find('#'));
    for (char& c : list)
      if (c == ' ' || c == '\t' || c == '\r') c = ',';
    while (list.starts_with(',')) list.erase(0, 1);
    while (list.ends_with(',')) list.pop_back();
    if (list.empty()) continue;
    std::string compact;  // of several commas in a row one is left
    for (char c : list)
      if (c != ',' || !compact.ends_with(',')) compact += c;
    auto names = base::expand_hostlist(compact);
    if (!names) return base::fail(names.error().code, shown + ": " + names.error().what, names.error().hint);
    all.insert(all.end(), names->begin(), names->end());
  }
  if (all.empty()) return base::invalid(shown + " names no node");
  base::drop_duplicates(all);
  base::sort_hostlist(all);
  return all;
}

}  // namespace gw::cmds
