// Where the cgroup hierarchies of this machine are.
#include "plugins/contain/support/mounts.h"

#include <unistd.h>

#include "base/text.h"
#include "noded/step/proc/files.h"

namespace gw::contain {
namespace {

namespace proc = noded::step::proc;

// "\040" stands for a space in mountinfo.
std::string unescape(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

void take_line(const std::string& line, Mounts& mounts) {
  // ID PARENT MAJ:MIN ROOT POINT OPTIONS [FIELDS] - TYPE SOURCE SUPER-OPTIONS
  const size_t dash = line.find(" - ");
  if (dash == std::string::npos) return;
  const auto front = base::split(line.substr(0, dash), ' ');
  const auto back = base::split(line.substr(dash + 3), ' ');
  if (front.size() < 6 || back.size() < 3) return;
  const std::string point = unescape(front[4]);
  if (back[0] == "cgroup2" && mounts.v2.empty()) mounts.v2 = point;
  if (back[0] != "cgroup") return;
  for (const std::string& option : base::split(back[2], ','))
    if (option != "rw" && option != "ro" && option.find('=') == std::string::npos) mounts.v1.emplace(option, point);
}

bool may_make_groups(const std::string& dir) {
  return ::access(dir.c_str(), W_OK) == 0 && ::access((dir + "/cgroup.procs").c_str(), W_OK) == 0;
}

}  // namespace

Mounts parse_mounts(std::string_view mountinfo) {
  Mounts mounts;
  for (const std::string& line : base::split(mountinfo, '\n')) take_line(line, mounts);
  return mounts;
}

std::string parse_own_v2_group(std::string_view cgroup) {
  for (const std::string& line : base::split(cgroup, '\n'))
    if (line.starts_with("0::/")) return line.substr(3);
  return {};
}

const Mounts& find_mounts() {
  // Read once: hierarchies do not move while a node is up, and every step asks.
  static const Mounts mounts = [] {
    const auto text = proc::read_file("/proc/self/mountinfo", 4 << 20);
    return text ? parse_mounts(*text) : Mounts{};
  }();
  return mounts;
}

std::string v2_base(const Mounts& mounts) {
  if (mounts.v2.empty()) return {};
  if (::geteuid() == 0) return mounts.v2;
  const auto text = proc::read_file("/proc/self/cgroup");
  if (!text) return {};
  std::string base;
  std::string dir = mounts.v2 + parse_own_v2_group(*text);
  while (dir.size() > mounts.v2.size() && may_make_groups(dir)) {
    base = dir;
    dir.resize(dir.rfind('/'));
  }
  return base;
}

}  // namespace gw::contain
