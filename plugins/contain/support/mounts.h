// Where the cgroup hierarchies of this machine are, and below which folder this process may make groups.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace gw::contain {

struct Mounts {
  std::map<std::string, std::string> v1;  ///< Controller ("memory") -> mount point.
  std::string v2;                         ///< Mount point; empty: none.
};

/// Reads the text of /proc/self/mountinfo; lines that make no sense are passed over.
Mounts parse_mounts(std::string_view mountinfo);
/// Path of the v2 group in the text of /proc/self/cgroup ("0::/user.slice"); empty if there is none.
std::string parse_own_v2_group(std::string_view cgroup);
/// This machine's, as they were when first asked for.
const Mounts& find_mounts();
/// Folder of the v2 hierarchy to make groups in: the mount point for root; for others the topmost folder on the way to
/// their own group that they may write (a delegated subtree). Empty: none.
std::string v2_base(const Mounts& mounts);

}  // namespace gw::contain
