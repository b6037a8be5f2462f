// pbsnodes of PBS Pro and Torque: nodes with what they have and give, and taking them off.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "client/show/node_view.h"
#include "cmds/pbs/attributes.h"
#include "cmds/pbs/commands.h"
#include "cmds/pbs/job_record.h"
#include "cmds/pbs/words.h"

namespace gw::cmds::pbs {
namespace {

using queue::Caller;

constexpr std::string_view kNodesUsage =
    "pbsnodes [-a] [-l [STATE]] [-x|-F json] [-S] [NODE]... | -o|-r|-c [-N NOTE|-C COMMENT] NODE...";

enum class Act : uint8_t { kShow, kOffline, kClear };

struct NodesOptions {
  Act act = Act::kShow;
  bool is_list = false, is_xml = false, is_json = false, is_table = false;
  std::string note;
};

base::Status take_nodes(NodesOptions& o, char letter, const std::string& value) {
  switch (letter) {
    case 'o':
      o.act = Act::kOffline;
      return {};
    case 'c':
    case 'r':
      o.act = Act::kClear;
      return {};
    case 'l':
      o.is_list = true;
      return {};
    case 'x':
      o.is_xml = true;
      return {};
    case 'S':
      o.is_table = true;
      return {};
    case 'N':
    case 'C':
      o.note = value;
      return {};
    case 'F':
      if (value != "json" && value != "dsv")
        return base::invalid("-F: \"" + base::printable(value, 20) + "\" is not json");
      o.is_json = value == "json";
      return {};
    default:
      return {};
  }
}

/// "free", "job-exclusive" (Torque) or "job-busy", "offline", "down", several with commas.
std::string state_of_node(const Caller& caller, const wire::Node& node) {
  const std::string flags = client::node_state_flags(node);
  const auto has = [&flags](std::string_view word) { return flags.find(word) != std::string::npos; };
  std::vector<std::string> words;
  if (has("DRAIN")) words.emplace_back("offline");
  if (has("DOWN") || has("NOT_RESPONDING") || has("UNKNOWN")) words.emplace_back("down");
  if (words.empty() && has("ALLOCATED")) words.emplace_back(caller.is_torque() ? "job-exclusive" : "job-busy");
  return words.empty() ? "free" : base::join(words, ",");
}

std::string kb_text(uint64_t mb) { return std::to_string(mb * 1024) + "kb"; }

std::string jobs_on(const Caller& caller, const wire::Node& node, const std::string& cluster) {
  std::vector<std::string> jobs;
  for (int i = 0; i < node.jobs_size(); ++i)
    jobs.push_back(caller.is_torque() ? fmt::format("{}/{}.{}", i, node.jobs(i), cluster)
                                      : fmt::format("{}.{}/{}", node.jobs(i), cluster, 0));
  return base::join(jobs, ", ");
}

Record torque_record(const Caller& caller, const wire::Node& node, const std::string& cluster, base::Time now) {
  Record r{node.name(), {}};
  r.put("state", state_of_node(caller, node));
  r.put("power_state", "Running");
  r.put("np", std::to_string(client::cpu_counts(node).total));
  r.put_if(node.features_size() > 0, "properties",
           base::join(std::vector<std::string>(node.features().begin(), node.features().end()), ","));
  r.put("ntype", "cluster");
  r.put_if(node.jobs_size() > 0, "jobs", jobs_on(caller, node, cluster));
  r.put("status",
        fmt::format("opsys=linux,ncpus={},physmem={},totmem={},availmem={},state={},rectime={}",
                    client::cpu_counts(node).total, kb_text(node.total_mem_mb()), kb_text(node.total_mem_mb()),
                    kb_text(node.total_mem_mb() - std::min(node.total_mem_mb(), node.alloc_mem_mb())),
                    state_of_node(caller, node), now.seconds()));
  r.put_if(!node.reason().empty(), "note", node.reason());
  r.put_if(client::total_gpus(node) > 0, "gpus", std::to_string(client::total_gpus(node)));
  return r;
}

Record pro_record(const Caller& caller, const wire::Node& node, const std::string& cluster) {
  const client::GpuCounts gpus = client::gpu_counts(node);
  Record r{node.name(), {}};
  r.put("Mom", node.name());
  r.put("ntype", "PBS");
  r.put("state", state_of_node(caller, node));
  r.put("pcpus", std::to_string(client::cpu_counts(node).total));
  r.put_if(node.jobs_size() > 0, "jobs", jobs_on(caller, node, cluster));
  r.put("resources_available.arch", "linux");
  r.put("resources_available.host", node.name());
  r.put("resources_available.mem", kb_text(node.total_mem_mb()));
  r.put("resources_available.ncpus", std::to_string(client::cpu_counts(node).total));
  r.put_if(client::total_gpus(node) > 0, "resources_available.ngpus",
           std::to_string(client::total_gpus(node) - gpus.offline));
  r.put("resources_available.vnode", node.name());
  r.put("resources_assigned.mem", kb_text(node.alloc_mem_mb()));
  r.put("resources_assigned.ncpus", std::to_string(client::cpu_counts(node).allocated));
  r.put_if(client::total_gpus(node) > 0, "resources_assigned.ngpus", std::to_string(gpus.used));
  r.put_if(!node.reason().empty(), "comment", node.reason());
  r.put_if(node.partitions_size() == 1, "queue", node.partitions_size() == 1 ? node.partitions(0) : "");
  r.put("resv_enable", "True");
  r.put("sharing", "default_shared");
  return r;
}

std::string node_table(const Caller& caller, const wire::ListNodesReply& list) {
  std::string out =
      "                                                        mem       ncpus   nmics   ngpus\n"
      "vnode           state           njobs   run   susp      f/t        f/t     f/t     f/t   jobs\n"
      "--------------- --------------- ------ ----- ------ ------------ ------- ------- ------- -------\n";
  for (const wire::Node& node : list.nodes()) {
    const client::CpuCounts cpus = client::cpu_counts(node);
    const client::GpuCounts gpus = client::gpu_counts(node);
    const uint64_t free_mb = node.total_mem_mb() - std::min(node.total_mem_mb(), node.alloc_mem_mb());
    std::vector<std::string> jobs;
    for (const uint32_t job : node.jobs()) jobs.push_back(std::to_string(job));
    out += fmt::format("{:<15} {:<15} {:>6} {:>5} {:>6} {:>12} {:>7} {:>7} {:>7} {}\n", node.name(),
                       state_of_node(caller, node), node.jobs_size(), node.jobs_size(), 0,
                       base::format_memory_mb(free_mb) + "b/" + base::format_memory_mb(node.total_mem_mb()) + "b",
                       fmt::format("{}/{}", cpus.idle, cpus.total), "0/0",
                       fmt::format("{}/{}", gpus.free, client::total_gpus(node)),
                       jobs.empty() ? "--" : base::join(jobs, ","));
  }
  return out;
}

/// -l: those that take_nodes no jobs, or those in a state that is named.
std::string list_text(const Caller& caller, const wire::ListNodesReply& list, const std::string& wanted) {
  std::string out;
  for (const wire::Node& node : list.nodes()) {
    const std::string state = state_of_node(caller, node);
    const bool is_off = state.find("offline") != std::string::npos || state.find("down") != std::string::npos;
    const bool is_meant = wanted.empty()     ? is_off
                          : wanted == "all"  ? true
                          : wanted == "up"   ? !is_off
                          : wanted == "busy" ? state.starts_with("job-")
                                             : state.find(wanted) != std::string::npos;
    if (is_meant) out += fmt::format("{:<20} {:<20} {}\n", node.name(), state, base::printable(node.reason(), 200));
  }
  return out;
}

std::string node_listing(const Caller& caller, const NodesOptions& o, const wire::ListNodesReply& list,
                         const std::string& cluster) {
  std::vector<Record> records;
  for (const wire::Node& node : list.nodes())
    records.push_back(caller.is_torque() ? torque_record(caller, node, cluster, {list.now_us()})
                                         : pro_record(caller, node, cluster));
  if (o.is_xml) return as_xml(records, "Node", "name");
  if (o.is_json) return as_json(records, "nodes", cluster, base::Time{list.now_us()}.seconds());
  std::string out;
  for (const Record& record : records) out += as_lines(record, {"", 5, true});
  return out;
}

int act_on(const Caller& caller, const NodesOptions& o, const std::vector<std::string>& nodes) {
  if (nodes.empty()) return refuse_usage(caller, base::invalid("a node is missing").value(), kNodesUsage);
  wire::ApiRequest request;
  wire::UpdateNodeRequest& update = *request.mutable_update_node();
  for (const std::string& node : nodes) update.add_names(node);
  update.set_action(o.act == Act::kOffline ? wire::kNodeDrain : wire::kNodeResume);
  if (o.act == Act::kOffline) update.set_reason(o.note.empty() ? "pbsnodes -o" : o.note);
  auto reply = ask(caller.program, std::move(request));
  return reply ? client::kExitOk : refuse(caller, reply.error());
}

}  // namespace

int run_pbsnodes(const Caller& caller, Args args) {
  if (const auto code = answer_common(caller, args, kNodesUsage)) return *code;
  NodesOptions o;
  auto words = read_letters(args, caller.is_torque() ? "alxqnocrsdN:" : "alvLSjHnorF:D:C:q",
                            [&](char letter, const std::string& value) { return take_nodes(o, letter, value); });
  if (!words) return refuse_usage(caller, words.error(), kNodesUsage);
  if (o.act != Act::kShow) return act_on(caller, o, *words);
  std::string wanted;
  constexpr std::string_view kStates[] = {"all", "up", "free", "busy", "down", "offline", "job-exclusive"};
  if (o.is_list && !words->empty() &&
      std::find(std::begin(kStates), std::end(kStates), words->front()) != std::end(kStates)) {
    wanted = words->front();
    words->erase(words->begin());
  }
  auto config = client::load_config();
  if (!config) return refuse(caller, config.error());
  wire::ApiRequest request;
  for (const std::string& node : *words) request.mutable_list_nodes()->add_names(node);
  request.mutable_list_nodes();
  auto reply = ask(caller.program, std::move(request));
  if (!reply) return refuse(caller, reply.error());
  const wire::ListNodesReply& list = reply->list_nodes();
  if (o.is_list) return printed(list_text(caller, list, wanted));
  return printed(o.is_table ? node_table(caller, list) : node_listing(caller, o, list, config->cluster));
}

}  // namespace gw::cmds::pbs
