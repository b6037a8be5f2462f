// Inside of `gangway simulate`: files in and out, and the things that it does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmds/gangway/shared/verbs.h"
#include "plugin/orders.h"
#include "sim/cluster.h"
#include "sim/replay.h"
#include "sim/sweep.h"
#include "sim/trace.h"
#include "snapshot/snapshot.h"

namespace gw::cmds {

/// Exit codes of `gangway simulate` beside 0.
constexpr int kExitUnexpected = 1;
constexpr int kExitWrongInput = 2;

struct SimulateOptions {
  std::vector<std::string> scenarios;
  std::string cluster, trace, out;
  bool from_live = false;  ///< Replay the controller's pass; without `live_file` it is asked for a snapshot.
  bool forward = false;    ///< And look ahead from it.
  std::string live_file;
  std::string compare;  ///< Run once more with this file's keys laid over; say who gains and who loses.
  std::string plugins;  ///< Folder of further plug-ins.
  sim::TraceOptions trace_options;
  sim::ReplayOptions replay;
  std::optional<sim::Sweep> sweep;  ///< Over sizes of the cluster.
  bool json = false;
};

/// The whole of a file. Errors: it cannot be read.
base::Result<std::string> read_input(const std::string& path);
base::Result<std::string> read_standard_input();
/// Finds topologies by generated name, or as hwloc XML files; relative paths start at the folder of `file`.
sim::LoadTopology topology_loader(const std::string& file);
/// Writes jobs.csv, summary.json and the charts into a folder, which is made if need be.
base::Status write_outputs(const sim::Replay& replay, const std::string& folder);

plugin::Folders folders_of(const SimulateOptions& options);
/// Orders are loaded as the controller does: from `options.plugins`, then from the folder beside this program.
plugin::Orders orders_of(const SimulateOptions& options);
/// Likewise everything that a cluster names.
sim::Makers makers_of(const SimulateOptions& options);

int run_scenarios(const client::Program& program, const SimulateOptions& options);
/// The snapshot of `options.live_file`, or a new one from the controller; its order is loaded.
base::Result<snapshot::Snapshot> load_snapshot(const client::Program& program, const SimulateOptions& options);

int run_compare(const client::Program& program, const SimulateOptions& options);
int run_live(const client::Program& program, const SimulateOptions& options);
int run_replay(const client::Program& program, const SimulateOptions& options);
int run_sweep(const client::Program& program, const SimulateOptions& options);

}  // namespace gw::cmds
