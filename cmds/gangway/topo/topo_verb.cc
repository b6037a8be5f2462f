// gangway topo [NODE|JOB] [--json] [--network] [--file FILE.xml|NAME] [--generate NAME].
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "client/show/display.h"
#include "cmds/gangway/shared/ask_controller.h"
#include "cmds/gangway/shared/verbs.h"
#include "cmds/gangway/topo/gpu_uses.h"
#include "cmds/gangway/topo/network_tree.h"
#include "cmds/gangway/topo/topo_share.h"
#include "cmds/gangway/topo/topo_steps.h"
#include "cmds/shared/step_ids.h"
#include "topo/generate.h"
#include "topo/load.h"
#include "topo/render.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

using base::Result;
using base::Status;
using client::Program;

const client::CommandDoc kDoc = {
    "draw a node: sockets, NUMA nodes, switches, GPUs, links, NICs, and who uses them",
    "[OPTIONS] [NODE|JOB|JOB.STEP]",
    "For a node: what it reported to the controller, and which jobs have its GPUs. For a job number: each of its "
    "nodes, with what the job has there as one unit: GPUs, the cores near them, the nearest NICs, the memory's NUMA "
    "nodes; then its steps, and which task has which GPUs, CPUs (numbers of the operating system), NUMA nodes and "
    "NICs. JOB.STEP shows one step alone. Without argument: this machine. --file needs no controller. --network: the "
    "switches above the nodes.",
    {{"0", "done"}, {"1", "no such node, job or file, or no answer"}},
    {{"GANGWAY_CONF", "path of the configuration"}, {"NO_COLOR", "no colours"}},
    {{"gangway topo n3", "who uses which GPU of n3"},
     {"gangway topo 7.0", "which task of the step has which GPUs, CPUs and NIC"},
     {"gangway topo --network", "switches, their nodes, and free GPUs below each"},
     {"gangway topo --file dgx-h100", "a made-up machine"},
     {"gangway topo --generate dgx-h100 > dgx.xml", "the same as an hwloc XML file"}},
    {},
};

constexpr int kDefaultWidth = 100;
constexpr int kMinWidth = 60;
constexpr int kMaxWidth = 160;

struct Options {
  bool json = false;
  bool network = false;
  std::string file;
  std::string generate;
};

// One node to show.
struct View {
  std::string title;
  model::NodeTopology topology;
  std::vector<topo::GpuUse> uses;
  std::optional<ShareView> share;  // of the job that was asked for
  wire::NodeTopology told;         // the topology as it came
  std::vector<StepView> steps;     // of that job
};

int terminal_width() {
  const auto columns = static_cast<int>(client::terminal_columns(STDOUT_FILENO, kDefaultWidth));
  return std::clamp(columns, kMinWidth, kMaxWidth);
}

Result<View> view_of(const wire::Node& node) {
  if (!node.has_topology()) {
    return base::fail(base::ErrorCode::kUnavailable, "node " + node.name() + " has not told its topology yet",
                      "is gnoded running there?");
  }
  GW_TRY(topology, wire::from_wire(node.topology()));
  View view{fmt::format("{}  {}", node.name(), node.state()), topology, gpu_uses(node), {}, node.topology(), {}};
  return view;
}

Result<std::vector<View>> views_of_nodes(const Program& program, const std::vector<std::string>& names) {
  wire::ApiRequest request;
  request.mutable_list_nodes()->set_topology(true);
  for (const std::string& name : names) request.mutable_list_nodes()->add_names(name);
  GW_TRY(reply, ask_controller(program, request));
  std::vector<View> views;
  for (const wire::Node& node : reply.list_nodes().nodes()) {
    GW_TRY(view, view_of(node));
    views.push_back(std::move(view));
  }
  if (views.empty()) return base::fail(base::ErrorCode::kNotFound, "no node \"" + base::printable(names[0]) + "\"");
  return views;
}

std::string name_of(const View& view) { return view.title.substr(0, view.title.find(' ')); }

/// The steps of a job that run. Errors: none has that number.
Result<std::vector<wire::Step>> ask_steps(const Program& program, uint32_t job, std::optional<uint32_t> number) {
  wire::ApiRequest request;
  request.mutable_list_steps()->add_job_ids(job);
  GW_TRY(reply, ask_controller(program, request));
  std::vector<wire::Step> steps;
  bool is_there = !number;
  for (const wire::Step& step : reply.list_steps().steps()) {
    is_there = is_there || step.step() == *number;
    steps.push_back(step);
  }
  if (!is_there)
    return base::fail(base::ErrorCode::kNotFound, fmt::format("step {}.{} does not run", job, *number),
                      "gqueue -s lists the steps that run");
  return steps;
}

bool has_part(const std::vector<wire::Step>& steps, uint32_t number, const std::string& node) {
  const auto is_there = [&](const wire::StepNode& n) { return n.share().node() == node; };
  return std::any_of(steps.begin(), steps.end(), [&](const wire::Step& step) {
    return step.step() == number && std::any_of(step.nodes().begin(), step.nodes().end(), is_there);
  });
}

Result<std::vector<View>> views_of_job(const Program& program, uint32_t id, std::optional<uint32_t> number) {
  wire::ApiRequest request;
  request.mutable_show_job()->set_id(id);
  GW_TRY(reply, ask_controller(program, request));
  const wire::JobStatus& status = reply.show_job().job().status();
  const auto& shares = status.has_placed() ? status.placed().shares() : status.ended().shares();
  if (shares.empty()) {
    return base::fail(base::ErrorCode::kConflict, fmt::format("job {} has no nodes", id), "it waits, or never started");
  }
  GW_TRY(steps, ask_steps(program, id, number));
  std::vector<std::string> names;
  for (const wire::NodeShare& s : shares)
    if (!number || has_part(steps, *number, s.node())) names.push_back(s.node());
  GW_TRY(views, views_of_nodes(program, names));
  for (View& view : views) {
    for (const wire::NodeShare& s : shares) {
      if (s.node() != name_of(view)) continue;
      GW_TRY(share, share_of(view.topology, id, s));
      view.share = std::move(share);
      GW_TRY(here, steps_on(s, view.told, steps, number));
      view.steps = std::move(here);
    }
  }
  return views;
}

/// "7", "7.0", "5_3", "5_3.0": before the step there are numbers alone.
bool looks_like_job(const std::string& word) {
  const std::string id = word.substr(0, word.find('.'));
  return !id.empty() && id.find_first_not_of("0123456789_") == std::string::npos && id.front() != '_';
}

Result<std::vector<View>> find_views(const Program& program, const Options& options,
                                     const std::vector<std::string>& operands) {
  if (operands.size() > 1) return base::invalid("one node or job at a time");
  if (!options.file.empty() && !operands.empty())
    return base::invalid("--file and \"" + base::printable(operands[0]) + "\" exclude each other",
                         "--file shows a machine that is in no cluster");
  if (!options.file.empty() || operands.empty()) {
    const std::string source = options.file.empty() ? "live" : options.file;
    GW_TRY(topology, topo::load(source));
    return std::vector<View>{{"", topology, {}, {}, {}, {}}};
  }
  if (!looks_like_job(operands[0])) return views_of_nodes(program, {operands[0]});
  StepChoice choice;
  GW_TRY_STATUS(parse_step_ids(operands[0], choice));
  GW_TRY_STATUS(resolve(program, choice));
  if (choice.jobs.size() == 1 && choice.steps.empty()) return views_of_job(program, choice.jobs.front(), {});
  if (choice.jobs.empty() && choice.steps.size() == 1 && choice.steps.front().number)
    return views_of_job(program, choice.steps.front().job, *choice.steps.front().number);
  return base::invalid("one job, or one of its steps that has a number, not \"" + base::printable(operands[0], 60) +
                       "\"");
}

std::string json_text(const std::vector<View>& views) {
  if (views.size() == 1 && !views[0].share) return topo::to_json(views[0].topology, views[0].uses);
  nlohmann::json all = {{"schema_version", 1}, {"nodes", nlohmann::json::array()}};
  for (const View& view : views) {
    auto one = nlohmann::json::parse(topo::to_json(view.topology, view.uses)).at("node");
    one["name"] = name_of(view);
    if (view.share) {
      one["share"] = share_json(view.topology, *view.share);
      one["steps"] = steps_json(view.told, view.steps);
    }
    all["nodes"].push_back(std::move(one));
  }
  return all.dump(2) + "\n";
}

std::string drawn(const std::vector<View>& views) {
  std::string out;
  for (const View& view : views) {
    if (!out.empty()) out += "\n";
    if (!view.title.empty()) out += view.title + "\n";
    if (view.share) out += share_text(view.topology, *view.share) + steps_text(view.told, view.steps);
    out += topo::draw(view.topology, view.uses, terminal_width(), client::use_colour(STDOUT_FILENO),
                      client::use_unicode());
  }
  return out;
}

Result<NetworkView> network_view(const Program& program) {
  wire::ApiRequest config, nodes;
  config.mutable_show_config();
  nodes.mutable_list_nodes();
  GW_TRY(shown, ask_controller(program, config));
  GW_TRY(listed, ask_controller(program, nodes));
  std::vector<std::pair<std::string, std::string>> entries;
  for (const wire::ConfigEntry& e : shown.show_config().entries()) entries.emplace_back(e.key(), e.value());
  GW_TRY(network, network_of(entries));
  NetworkView view{std::move(network), {}};
  for (const wire::Node& node : listed.list_nodes().nodes()) view.nodes.emplace(node.name(), client::gpu_counts(node));
  return view;
}

Result<std::string> network_text(const Program& program, const Options& options,
                                 const std::vector<std::string>& operands) {
  if (!operands.empty() || !options.file.empty() || !options.generate.empty())
    return base::invalid("--network stands alone", "it shows the whole cluster");
  GW_TRY(view, network_view(program));
  return options.json ? network_json(view) : draw_network(view, client::use_unicode());
}

std::vector<client::Option> option_table(Options& o) {
  return {flag("json", 0, "as JSON, with schema_version", o.json),
          flag("network", 0, "the switches of the cluster and the nodes below them", o.network),
          text_option("file", 'f', "FILE|NAME", "an hwloc XML file, or a generated machine", o.file),
          text_option("generate", 0, "NAME", "print the XML of a generated machine: dgx-h100, a100-pcie, l40s, cpu",
                      o.generate)};
}

}  // namespace

int topo_verb(const Invocation& call) {
  Options options;
  std::vector<std::string> operands;
  if (const auto code = parse_verb(call, kDoc, option_table(options), operands)) return *code;
  std::string text;
  if (options.network) {
    auto network = network_text(call.program, options, operands);
    if (!network) return failed(call.program, network.error());
    text = std::move(*network);
  } else if (!options.generate.empty()) {
    auto xml = topo::generate_xml(options.generate);
    if (!xml) return failed(call.program, xml.error());
    text = std::move(*xml);
  } else {
    const auto views = find_views(call.program, options, operands);
    if (!views) return failed(call.program, views.error());
    text = options.json ? json_text(*views) : drawn(*views);
  }
  return client::print_out(text) ? client::kExitOk : client::kExitFailed;
}

}  // namespace gw::cmds
