// What slurm.conf and its like become: a configuration of Gangway, and for each line what was done with it.
// Pure: it reads no file. Invariant: every setting of every line is told about, once.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cmds/gangway/import/slurm_file.h"

namespace gw::cmds::import {

enum class Verdict : uint8_t { kTaken, kChanged, kIgnored };

struct Note {
  std::string place;  ///< "slurm.conf:12"
  Verdict verdict = Verdict::kTaken;
  std::string text;  ///< "KillWait=30 -> jobs.kill_wait: 30s"

  /// "slurm.conf:12: taken: ..."
  std::string line() const;
};

struct Import {
  std::string yaml;
  std::vector<Note> notes;
};

/// Which file a line is of.
enum class FileKind : uint8_t { kSlurm, kGres, kTopology, kCgroup };
/// By the file's name ("gres.conf", "x-topology.conf"); of others by what the lines begin with.
FileKind kind_of(const std::string& path, const std::vector<Line>& lines);

struct Source {
  FileKind kind = FileKind::kSlurm;
  std::vector<Line> lines;
};
/// `user`: whom the controller runs as. Errors: unknown keys, each with file and line, and "did you mean"; host lists
/// that are none; no slurm.conf.
base::Result<Import> import_slurm(const std::vector<Source>& sources, const std::string& user);

}  // namespace gw::cmds::import
