// Conversions of steps.
#include "base/hostlist.h"
#include "base/text.h"
#include "wire/convert.h"

namespace gw::wire {
namespace {

constexpr int kMostNames = 100'000;
constexpr uint32_t kMostTasks = 10'000'000;
constexpr size_t kLongestBinding = 8192;  // as bind/words.h

}  // namespace

StepRequest to_wire(const model::StepRequest& r) {
  StepRequest w;
  w.set_name(r.name);
  w.set_tasks(r.tasks);
  w.set_min_nodes(r.min_nodes);
  w.set_max_nodes(r.max_nodes);
  w.set_tasks_per_node(r.tasks_per_node);
  w.set_cpus_per_task(r.cpus_per_task);
  w.set_gpus_per_task(r.gpus_per_task);
  w.mutable_nodelist()->Assign(r.nodelist.begin(), r.nodelist.end());
  w.mutable_exclude()->Assign(r.exclude.begin(), r.exclude.end());
  w.set_overlap(r.overlap);
  w.set_whole(r.whole);
  w.set_overcommit(r.overcommit);
  w.set_cpu_bind(r.cpu_bind);
  w.set_gpu_bind(r.gpu_bind);
  w.set_mem_bind(r.mem_bind);
  w.set_cyclic(r.plane == 1);  // for a client or a controller before this version
  w.set_plane(r.plane);
  w.set_tasks_per_socket(r.tasks_per_socket);
  w.set_whole_cores(r.whole_cores);
  w.mutable_hosts()->Assign(r.hosts.begin(), r.hosts.end());
  w.set_fills(r.fills);
  w.set_kept(r.kept);
  w.set_terminal(r.terminal);
  return w;
}

base::Result<model::StepRequest> from_wire(const StepRequest& w) {
  if (w.nodelist_size() > kMostNames || w.exclude_size() > kMostNames || w.hosts_size() > kMostNames)
    return base::invalid("a step names too many nodes", "name at most " + std::to_string(kMostNames));
  for (const uint32_t count : {w.tasks(), w.tasks_per_node(), w.cpus_per_task(), w.gpus_per_task()})
    if (count > kMostTasks)
      return base::invalid("a step asks for " + std::to_string(count) + " of something; at most " +
                           std::to_string(kMostTasks) + " are taken");
  for (const std::string* words : {&w.cpu_bind(), &w.gpu_bind(), &w.mem_bind()})
    if (words->size() > kLongestBinding)
      return base::invalid("the words of a binding have " + std::to_string(words->size()) + " bytes",
                           "at most " + std::to_string(kLongestBinding));
  model::StepRequest r;
  r.name = w.name();
  r.tasks = w.tasks();
  r.min_nodes = w.min_nodes();
  r.max_nodes = w.max_nodes();
  r.tasks_per_node = w.tasks_per_node();
  r.cpus_per_task = w.cpus_per_task();
  r.gpus_per_task = w.gpus_per_task();
  r.nodelist.assign(w.nodelist().begin(), w.nodelist().end());
  r.exclude.assign(w.exclude().begin(), w.exclude().end());
  r.overlap = w.overlap();
  r.whole = w.whole();
  r.overcommit = w.overcommit();
  r.cpu_bind = w.cpu_bind();
  r.gpu_bind = w.gpu_bind();
  r.mem_bind = w.mem_bind();
  r.tasks_per_socket = w.tasks_per_socket();
  r.whole_cores = w.whole_cores();
  r.plane = w.plane() == 0 && w.cyclic() ? 1 : w.plane();
  r.hosts.assign(w.hosts().begin(), w.hosts().end());
  r.fills = w.fills();
  r.kept = w.kept();
  r.terminal = w.terminal();
  return r;
}

RunNode run_node(const model::StepNode& node) {
  RunNode w;
  *w.mutable_share() = to_wire(node.share);
  w.set_is_gone(node.is_gone);
  return w;
}

base::Status add_run_nodes(const RunNodes& nodes, Step& step) {
  GW_TRY(names, base::expand_hostlist(step.node_list()));
  for (const std::string& name : names) {
    const auto row = nodes.find(name);
    if (row == nodes.end())
      return base::fail(base::ErrorCode::kNotFound, "nothing is stored of node " + base::printable(name));
    StepNode& node = *step.add_nodes();
    *node.mutable_share() = row->second.share();
    node.set_is_gone(row->second.is_gone());
  }
  return {};
}

namespace {

/// All but its nodes.
Step whole_of(const model::Step& s) {
  Step w;
  w.set_job(s.job.value);
  w.set_attempt(s.attempt);
  w.set_step(s.number);
  w.set_uid(s.uid);
  w.set_client_key(s.client_key);
  *w.mutable_request() = to_wire(s.request);
  w.set_created_us(s.created.us);
  w.set_started_us(s.started.us);
  w.set_is_ending(s.is_ending);
  w.set_exit_code(s.exit.code);
  w.set_exit_signo(s.exit.signo);
  w.set_is_out_of_memory(s.is_out_of_memory);
  w.set_is_lease_over(s.is_lease_over);
  w.set_detail(s.detail);
  if (!s.use.empty()) *w.mutable_use() = to_wire(s.use);
  return w;
}

}  // namespace

Step stored_step(const model::Step& s) {
  std::vector<std::string> names;
  for (const model::StepNode& n : s.nodes) names.push_back(n.share.name);
  Step w = whole_of(s);
  w.set_node_list(base::compress_hostlist(names));
  return w;
}

Step to_wire(const model::Step& s) {
  Step w = whole_of(s);
  for (const model::StepNode& n : s.nodes) {
    StepNode& node = *w.add_nodes();
    *node.mutable_share() = to_wire(n.share);
    node.set_address(n.address);
    node.set_key(n.key);
    node.set_is_gone(n.is_gone);
  }
  return w;
}

base::Result<model::Step> from_wire(const Step& w, const NodeLookup& lookup) {
  model::Step s;
  s.job = base::JobId(w.job());
  s.attempt = w.attempt();
  s.number = w.step();
  s.uid = w.uid();
  s.client_key = w.client_key();
  GW_TRY(request, from_wire(w.request()));
  s.request = std::move(request);
  if (w.nodes().empty()) return base::invalid("a step without nodes");
  for (const StepNode& n : w.nodes()) {
    GW_TRY(share, from_wire(n.share(), lookup));
    s.nodes.push_back({std::move(share), n.address(), n.key(), n.is_gone()});
  }
  s.created.us = w.created_us();
  s.started.us = w.started_us();
  s.is_ending = w.is_ending();
  s.exit = {w.exit_code(), w.exit_signo()};
  s.is_out_of_memory = w.is_out_of_memory();
  s.is_lease_over = w.is_lease_over();
  s.detail = w.detail();
  s.use = from_wire(w.use());
  return s;
}

}  // namespace gw::wire
