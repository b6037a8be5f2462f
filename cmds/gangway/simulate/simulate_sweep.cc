// gangway simulate --cluster FILE --trace FILE --sweep nodes=A..B: the same trace on clusters of several sizes.
#include <set>

#include "base/counted.h"
#include "cmds/gangway/simulate/simulate.h"
#include "cmds/gangway/simulate/simulate_progress.h"

namespace gw::cmds {
namespace {

using base::Result;

Result<std::vector<sim::SweepPoint>> sweep(const client::Program& program, const SimulateOptions& options) {
  GW_TRY(cluster_text, read_input(options.cluster));
  GW_TRY(file, config::parse_cluster(cluster_text, options.cluster));
  GW_TRY(trace_text, read_input(options.trace));
  GW_TRY(trace, sim::read_trace(trace_text, options.trace, options.trace_options));
  std::set<std::string> told;  // the same of each size
  const auto warn = [&](const std::vector<std::string>& warnings, const std::string& of) {
    for (const std::string& warning : warnings)
      if (told.insert(warning).second) client::print_note(program, "warning: " + of + warning);
  };
  warn(file.warnings, "");
  std::vector<sim::SweepPoint> points;
  for (const uint32_t nodes : options.sweep->sizes()) {
    GW_TRY(cluster, sim::with_nodes(file.cluster, nodes));
    const std::string size = base::counted(nodes, "node") + ": ";
    const ProgressLine progress(size);
    sim::ReplayOptions replay_options = options.replay;
    replay_options.tell = progress.teller();
    GW_TRY(replay, sim::replay(cluster, trace, options.trace, replay_options, topology_loader(options.cluster),
                               makers_of(options)));
    progress.clear();
    warn(replay.warnings, size);
    points.push_back(sim::point_of(replay));
  }
  return points;
}

}  // namespace

int run_sweep(const client::Program& program, const SimulateOptions& options) {
  const auto points = sweep(program, options);
  if (!points) {
    client::print_error(program, points.error());
    return kExitWrongInput;
  }
  const std::string text = options.json ? sim::sweep_json(*points) : sim::sweep_text(*points);
  return client::print_out(text) ? client::kExitOk : client::kExitFailed;
}

}  // namespace gw::cmds
