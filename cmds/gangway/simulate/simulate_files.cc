// Files of `gangway simulate`.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include "cmds/gangway/simulate/simulate.h"
#include "plugin/policies.h"
#include "sim/plots.h"
#include "topo/load.h"

namespace gw::cmds {

namespace fs = std::filesystem;
using base::Result;

namespace {

std::vector<std::string> dirs_of(const SimulateOptions& options) {
  if (options.plugins.empty()) return {};
  return {options.plugins};
}

}  // namespace

plugin::Folders folders_of(const SimulateOptions& options) { return plugin::Folders(dirs_of(options)); }
plugin::Orders orders_of(const SimulateOptions& options) { return plugin::Orders(dirs_of(options)); }

sim::Makers makers_of(const SimulateOptions& options) {
  using Share = Result<std::shared_ptr<const sched::SharePolicy>>;
  sim::Makers out;
  out.order = [orders = orders_of(options)](std::string_view name, const sched::Weights& weights) {
    return orders.make(name, weights);
  };
  out.share = [folders = folders_of(options)](std::string_view name, const sched::Weights& weights) -> Share {
    GW_TRY(chosen, plugin::load_share(folders, name, weights));
    return std::move(chosen.policy);
  };
  out.rate = [folders = folders_of(options)](std::string_view name, const sched::Weights& weights) {
    return plugin::load_rate_model(folders, name, weights);
  };
  using Filter = Result<std::shared_ptr<const sched::FilterPolicy>>;
  out.filter = [folders = folders_of(options)](std::string_view name, const sched::Weights& weights) -> Filter {
    GW_TRY(chosen, plugin::load_filter(folders, name, weights));
    return std::move(chosen.policy);
  };
  return out;
}

Result<std::string> read_input(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return base::invalid(path + " is a folder", "name a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) return base::fail_errno("cannot read " + path, errno);
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) return base::fail(base::ErrorCode::kUnavailable, "cannot read " + path);
  return std::move(text).str();
}

Result<std::string> read_standard_input() {
  std::ostringstream text;
  text << std::cin.rdbuf();
  if (std::cin.bad()) return base::fail(base::ErrorCode::kUnavailable, "cannot read standard input");
  return std::move(text).str();
}

sim::LoadTopology topology_loader(const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  auto known = std::make_shared<std::map<std::string, model::NodeTopology>>();
  return [folder, known](const std::string& name) -> Result<model::NodeTopology> {
    if (const auto it = known->find(name); it != known->end()) return it->second;
    if (name == "live")
      return base::invalid("a simulation does not look at this machine",
                           "write its topology to a file: hwloc's lstopo NAME.xml");
    const bool is_path = name.find('/') != std::string::npos || name.ends_with(".xml");
    auto loaded = topo::load(is_path ? (folder / name).string() : name);
    if (loaded) known->emplace(name, *loaded);
    return loaded;
  };
}

namespace {

base::Status write_file(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) return base::fail_errno("cannot write " + path.string(), errno);
  return {};
}

}  // namespace

base::Status write_outputs(const sim::Replay& replay, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return base::fail_errno("cannot make the folder " + folder, error.value());
  const fs::path at(folder);
  GW_TRY_STATUS(write_file(at / "jobs.csv", sim::replay_csv(replay)));
  GW_TRY_STATUS(write_file(at / "summary.json", sim::replay_json(replay)));
  GW_TRY_STATUS(write_file(at / "utilisation.svg", sim::utilisation_plot(replay)));
  GW_TRY_STATUS(write_file(at / "completion.svg", sim::completion_plot(replay)));
  return write_file(at / "wait_by_size.svg", sim::wait_plot(replay));
}

}  // namespace gw::cmds
