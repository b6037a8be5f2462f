// Command line of gnoded.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gw::noded {

struct DaemonOptions {
  std::string config;     ///< Default: config::default_path().
  std::string node;       ///< Default: this host's name up to the first dot.
  std::string topology;   ///< Overrides the configuration's.
  std::string state_dir;  ///< Default: <spool_dir>/<node>.
  std::string pid_file;
  std::string log_file;  ///< Empty: stderr.
  std::string log_level = "info";
  std::string bind;
  std::string controller;  ///< HOST:PORT, overrides the configuration's.
  std::string gstepd;
  std::string commands;
  bool check = false;
  bool version = false;
  bool help = false;
};

/// Errors: unknown option (with "did you mean"), missing value, surplus word.
base::Result<DaemonOptions> parse_options(const std::vector<std::string>& words);
/// The text of --help.
std::string usage();

}  // namespace gw::noded
