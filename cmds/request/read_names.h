// Files that options name: lists of nodes, environments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gw::cmds {

/// From now on read_small_file() reads none: for a server, to which others say what the options are.
void read_no_files();
/// All of a file. Errors: unreadable, over 4 MiB; they begin with `shown`.
base::Result<std::string> read_small_file(const std::string& file, const std::string& shown);
/// All that a descriptor of this process still holds; likewise.
base::Result<std::string> read_descriptor(int fd, const std::string& shown);
/// The nodes that a file names: host lists, separated by blanks, commas and line ends; `#` begins a comment. Sorted,
/// each once. Errors: as read_small_file(); no node; a malformed list.
base::Result<std::vector<std::string>> read_names(const std::string& file, std::string_view option);

/// The host of each task, in order: as above, but as they stand there, and `n1*4` is four tasks for n1. Errors:
/// likewise; more than 100000 tasks.
base::Result<std::vector<std::string>> read_hosts_of_tasks(const std::string& file, std::string_view option);

}  // namespace gw::cmds
