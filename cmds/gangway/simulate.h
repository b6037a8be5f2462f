// Inside of `gangway simulate`: files in and out, and the two things that it does.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cmds/gangway/verbs.h"
#include "sim/cluster.h"
#include "sim/replay.h"
#include "sim/trace.h"

namespace gw::cmds {

/// Exit codes of `gangway simulate` beside 0.
constexpr int kExitUnexpected = 1;
constexpr int kExitWrongInput = 2;

struct SimulateOptions {
  std::vector<std::string> scenarios;
  std::string cluster, trace, out;
  sim::TraceOptions trace_options;
  sim::ReplayOptions replay;
  bool json = false;
};

/// The whole of a file. Errors: it cannot be read.
base::Result<std::string> read_input(const std::string& path);
/// Finds topologies by generated name, or as hwloc XML files; relative paths start at the folder of `file`.
sim::LoadTopology topology_loader(const std::string& file);
/// Writes jobs.csv, summary.json and the charts into a folder, which is made if need be.
base::Status write_outputs(const sim::Replay& replay, const std::string& folder);

int run_scenarios(const client::Program& program, const SimulateOptions& options);
int run_replay(const client::Program& program, const SimulateOptions& options);

}  // namespace gw::cmds
