// Files of Slurm (slurm.conf, gres.conf, topology.conf, cgroup.conf) as lines of KEY=VALUE, with what they include.
// Invariant: every line knows its file and number; reading ends, whatever the files say.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace gw::cmds::import {

/// A line, with those that a backslash at its end joins to it. Keys are as they were written.
struct Line {
  std::string file;
  size_t number = 0;  ///< From 1, of its first part.
  std::vector<std::pair<std::string, std::string>> settings;

  std::string place() const { return file + ":" + std::to_string(number); }
  /// The value of a key, in any case; null: it is not there.
  const std::string* find(std::string_view key) const;
};

constexpr size_t kMostBytes = 16 << 20;  ///< Of one file.
constexpr size_t kMostFiles = 1000;

/// The lines of the file and of all that it includes, in their order. Errors, each with its place: a file that cannot
/// be read, is too large or includes itself; a word that is no KEY=VALUE; a quote that is not closed.
base::Result<std::vector<Line>> read_slurm_file(const std::string& path);
/// The settings of one line: a value may stand in quotes, and a comment ends it.
base::Result<std::vector<std::pair<std::string, std::string>>> read_settings(std::string_view line);

}  // namespace gw::cmds::import
