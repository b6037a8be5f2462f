// One group: a folder of one cgroup hierarchy, with its parents.
// Invariants: only folders below `base` are made or removed; a group is never taken over while processes live in it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gw::contain {

/// A group that may or may not exist.
class Group {
 public:
  /// Called with each folder that was just made or is passed through, from the top down, before a child is made in it.
  using OnFolder = std::function<base::Status(const std::string& folder)>;

  Group() = default;
  /// `name`: relative path, "gangway/CLUSTER/NODE/job_7.1". Errors: empty, absolute, or with "..".
  static base::Result<Group> at(const std::string& base, const std::string& name);

  const std::string& dir() const { return dir_; }
  explicit operator bool() const { return !dir_.empty(); }

  /// Makes it and what is missing above it. One left behind by an earlier run is made anew. Errors: it holds processes.
  base::Status create(const OnFolder& on_parent);
  base::Status write(const char* file, std::string_view value) const;
  base::Result<std::string> read(const char* file) const;
  bool has(const char* file) const;
  /// Pids of cgroup.procs, of it and of all groups below it. Empty if it does not exist.
  std::vector<pid_t> processes() const;
  /// Without those of the groups below it.
  std::vector<pid_t> own_processes() const;
  /// Removes it with the groups below it. No error if it does not exist.
  base::Status remove();
  /// Removes empty folders above it, up to but not including the base.
  void remove_parents() const;

 private:
  std::string base_;
  std::string dir_;
  base::Status create_parents(const OnFolder& on_parent) const;
};

/// The number after `key` in a file of "key value" lines (memory.events, memory.oom_control); 0 if it is not there.
uint64_t keyed_value(std::string_view text, std::string_view key);
/// A file holding one number; 0 if it cannot be read.
uint64_t number_of(const Group& group, const char* file);

}  // namespace gw::contain
