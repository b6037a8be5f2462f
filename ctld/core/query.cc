// Reading: lists and details. Answers come from memory; the shell holds them back until what they show is durable.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "ctld/core/controller.h"
#include "ctld/core/list_pieces.h"
#include "ctld/core/names.h"
#include "sched/order_facts.h"
#include "wire/convert.h"

namespace gw::ctld {
namespace {

template <typename List, typename Value>
bool passes(const List& list, const Value& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

const model::Allocation* allocation_of(const model::Job& job) {
  if (const model::Placed* p = job.placed()) return &p->allocation;
  if (const model::Ended* e = job.ended()) return &e->allocation;
  return nullptr;
}

bool touches(const model::Job& job, const google::protobuf::RepeatedPtrField<std::string>& nodes) {
  if (nodes.empty()) return true;
  const model::Allocation* allocation = allocation_of(job);
  if (allocation == nullptr) return false;
  return std::any_of(allocation->shares.begin(), allocation->shares.end(), [&](const model::NodeShare& s) {
    return std::find(nodes.begin(), nodes.end(), s.name) != nodes.end();
  });
}

bool in_partitions(const model::Job& job, const google::protobuf::RepeatedPtrField<std::string>& names) {
  if (names.empty()) return true;
  if (const model::Placed* p = job.placed()) return passes(names, p->partition);
  return std::any_of(job.spec.partitions.begin(), job.spec.partitions.end(),
                     [&](const std::string& p) { return passes(names, p); });
}

void show_fragmentation(const sched::PartitionFragmentation& line, wire::Fragmentation& shown) {
  shown.set_gpu_type(line.gpu_type);
  shown.set_gpus(line.figures.gpus);
  shown.set_free_gpus(line.figures.free_gpus);
  shown.set_unusable_gpus(line.figures.fragmented_gpus);
  shown.set_largest_gang(line.figures.largest_gang);
  shown.set_workload(line.workload);
}

}  // namespace

bool matches(const wire::JobFilter& f, const model::Job& job) {
  const auto state = static_cast<uint32_t>(job.state);
  if (f.states().empty() ? (!f.all_states() && f.ids().empty() && model::is_end(job.state))
                         : !passes(f.states(), state))
    return false;
  // Users by name or by number: either list may name the owner.
  if ((!f.uids().empty() || !f.users().empty()) && !((!f.uids().empty() && passes(f.uids(), job.spec.uid)) ||
                                                     (!f.users().empty() && passes(f.users(), job.spec.user))))
    return false;
  return passes(f.ids(), job.id.value) && in_partitions(job, f.partitions()) && passes(f.names(), job.spec.name) &&
         touches(job, f.nodes()) && passes(f.accounts(), job.spec.account) && passes(f.qos(), job.spec.qos) &&
         passes(f.reservations(), job.spec.reservation);
}

std::vector<JobId> Controller::select(const wire::JobFilter& filter, std::vector<uint32_t>* unknown) const {
  std::vector<JobId> out;
  if (filter.ids().empty()) {
    for (const auto& [id, job] : jobs_)
      if (matches(filter, job)) out.push_back(id);
    return out;
  }
  wire::JobFilter rest = filter;
  rest.clear_ids();
  if (rest.states().empty()) rest.set_all_states(true);  // a job named by id is shown in whatever state
  std::set<uint32_t> ids(filter.ids().begin(), filter.ids().end());
  for (uint32_t id : ids) {
    const auto it = jobs_.find(JobId(id));
    if (it == jobs_.end()) {
      if (unknown != nullptr) unknown->push_back(id);
    } else if (matches(rest, it->second)) {
      out.push_back(it->first);
    }
  }
  return out;
}

void Controller::list_jobs(Time now, ConnId conn, const wire::ApiRequest& request) {
  const sched::OrderFacts facts(now, ledger_, told_use_);
  ListPieces pieces(conn, request.id(), effects_);
  std::vector<uint32_t> unknown;
  wire::JobFilter filter = request.list_jobs().filter();
  add_components_of_leaders(filter);
  for (JobId id : select(filter, &unknown)) {
    const model::Job& job = jobs_.at(id);
    wire::Job& out = *pieces.piece().mutable_list_jobs()->add_jobs();
    out = job_to_wire(job);
    show_priority(facts, job, out);
    out.mutable_spec()->mutable_launch()->mutable_limits()->clear();  // nobody lists by them, and they are bulky
    pieces.added(out.ByteSizeLong());
  }
  wire::ListJobsReply& last = *pieces.piece().mutable_list_jobs();
  for (uint32_t id : unknown) last.add_unknown_ids(id);
  last.set_now_us(now.us);
  reply(conn, request.id(), std::move(pieces.piece()));
}

void Controller::show_job(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::ShowJobRequest& q = request.show_job();
  ReadJob read;
  read.conn = conn;
  read.job = JobId(q.id());
  read.history = q.history();
  read.script = q.script();
  read.environment = q.environment();
  read.reader_uid = caller.uid;
  read.reader_is_admin = is_admin(settings_, caller);
  read.reply.set_id(request.id());
  read.reply.mutable_show_job()->set_now_us(now.us);
  if (const model::Job* job = find_job(JobId(q.id()))) {
    if ((q.script() || q.environment()) && !is_allowed(Grant::kOwnJobs, role_for(caller, *job)))
      return reply_error(conn, request.id(), denied_job(*job));
    *read.reply.mutable_show_job()->mutable_job() = job_to_wire(*job);
    show_priority({now, ledger_, told_use_}, *job, *read.reply.mutable_show_job()->mutable_job());
    if (!q.history() && !q.script() && !q.environment()) return reply(conn, request.id(), std::move(read.reply));
  }
  effects_.out.push_back(std::move(read));
}

void Controller::wait_job(ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const JobId id(request.wait_job().id());
  const model::Job* job = find_job(id);
  if (job == nullptr) return reply_error(conn, request.id(), no_such_job(id));
  const bool until_started = request.wait_job().until_started();
  const bool has_ended = model::is_end(job->state);
  if (request.wait_job().attend() && caller.uid == job->spec.uid && !has_ended) attend(conn, *job);
  const bool has_started = job->placed() != nullptr && job->placed()->started;
  if (!has_ended && !(until_started && has_started)) {
    constexpr int64_t kMostWaits = 100;
    const auto waits =
        std::count_if(waiters_.begin(), waiters_.end(), [&](const auto& w) { return w.second.conn == conn; });
    if (waits >= kMostWaits)
      return reply_error(conn, request.id(),
                         {base::ErrorCode::kInvalid, "this connection waits for 100 jobs already", ""});
    waiters_.emplace(id, Waiter{conn, request.id(), until_started});
    return;
  }
  wire::ApiReply out;
  *out.mutable_wait_job()->mutable_job() = job_to_wire(*job);
  out.mutable_wait_job()->set_cluster(settings_.cluster);
  reply(conn, request.id(), std::move(out));
}

std::string Controller::node_state(Time now, const model::Node& node) const {
  const bool is_lost = !node.connected && node.since + settings_.node_timeout <= now;
  const auto busy = jobs_on_.find(node.id);
  const bool has_jobs = busy != jobs_on_.end() && !busy->second.empty();
  const sched::NodeAccount* account = ledger_.node(node.id);
  std::string state;
  if (!node.topology && !node.connected)
    state = "UNKNOWN";
  else if (node.admin == model::NodeAdmin::kDown || is_lost)
    state = "DOWN";
  else if (!has_jobs)
    state = "IDLE";
  else if (account->free.cores.empty() && !account->facts.cores.empty())
    state = "ALLOCATED";
  else
    state = "MIXED";
  if (has_jobs && state != "DOWN") {
    const bool all_completing = std::all_of(busy->second.begin(), busy->second.end(), [&](JobId id) {
      return jobs_.at(id).state == model::JobState::kCompleting;
    });
    if (all_completing) state = "COMPLETING";
  }
  if (node.admin == model::NodeAdmin::kDrain) state += "+DRAIN";
  if (const std::string reserved = reserved_as(node.config.name, now); !reserved.empty()) state += "+" + reserved;
  if (!node.connected) state += "*";
  return state;
}

wire::Node Controller::describe(Time now, const model::Node& node, bool with_topology) const {
  wire::Node out = wire::to_wire(node, with_topology);
  out.set_state(node_state(now, node));
  for (const auto& [name, p] : partitions_)
    if (std::find(p.nodes.begin(), p.nodes.end(), node.config.name) != p.nodes.end()) out.add_partitions(name);
  const sched::NodeAccount& account = *ledger_.node(node.id);
  out.set_schedulable_mem_mb(account.facts.mem_mb);
  out.set_schedulable_cpus(account.facts.cores.size() * account.threads());
  base::IndexSet cores, gpus;
  uint32_t cpus = 0;
  const auto busy = jobs_on_.find(node.id);
  if (busy != jobs_on_.end()) {
    for (JobId id : busy->second) {
      out.add_jobs(id.value);
      for (const model::NodeShare& share : jobs_.at(id).placed()->allocation.shares) {
        if (share.node != node.id) continue;
        cores |= share.cores;
        gpus |= share.gpus;
        cpus += share.cpus;
        for (uint32_t g = share.gpus.next(0); g != UINT32_MAX; g = share.gpus.next(g + 1))
          (*out.mutable_gpu_jobs())[g] = id.value;
      }
    }
  }
  out.set_alloc_cpus(cpus);
  out.set_alloc_mem_mb(account.held_mem_mb);
  out.set_alloc_cores(cores.text());
  out.set_alloc_gpus(gpus.text());
  return out;
}

void Controller::list_nodes(Time now, ConnId conn, const wire::ApiRequest& request) {
  wire::ApiReply out;
  wire::ListNodesReply& list = *out.mutable_list_nodes();
  list.set_now_us(now.us);
  const auto& names = request.list_nodes().names();
  for (const std::string& name : names) {
    if (find_node(name) != nullptr) continue;
    return reply_error(
        conn, request.id(),
        {base::ErrorCode::kNotFound, "node " + base::printable(name) + " not found", name_hint(name, node_names())});
  }
  for (const auto& [id, node] : nodes_)
    if (passes(names, node.config.name)) *list.add_nodes() = describe(now, node, request.list_nodes().topology());
  reply(conn, request.id(), std::move(out));
}

void Controller::list_partitions(Time now, ConnId conn, const wire::ApiRequest& request) {
  wire::ApiReply out;
  wire::ListPartitionsReply& list = *out.mutable_list_partitions();
  list.set_now_us(now.us);
  const auto& names = request.list_partitions().names();
  for (const std::string& name : names) {
    if (partitions_.contains(name)) continue;
    return reply_error(conn, request.id(),
                       {base::ErrorCode::kNotFound, "partition " + base::printable(name) + " not found",
                        name_hint(name, keys_of(partitions_))});
  }
  for (const auto& [name, p] : partitions_) {
    if (!passes(names, name)) continue;
    wire::Partition* shown = list.add_partitions();
    *shown = request.list_partitions().effective() ? describe_effective(p) : describe_partition(p);
    for (NodeId id : ledger_.partition_nodes(name)) {
      const sched::NodeAccount& account = *ledger_.node(id);
      shown->set_total_nodes(shown->total_nodes() + 1);
      shown->set_total_cpus(shown->total_cpus() + account.facts.cores.size() * account.threads());
      shown->set_total_gpus(shown->total_gpus() + account.facts.gpus.size());
    }
    for (const sched::PartitionFragmentation& line : fragmentation_)
      if (line.partition == name) show_fragmentation(line, *shown->add_fragmentation());
  }
  reply(conn, request.id(), std::move(out));
}

void Controller::show_config(Time now, ConnId conn, const wire::ApiRequest& request) {
  wire::ApiReply out;
  wire::ShowConfigReply& config = *out.mutable_show_config();
  for (const auto& [key, value] : settings_.entries) {
    wire::ConfigEntry* entry = config.add_entries();
    entry->set_key(key);
    entry->set_value(value);
  }
  config.set_version(settings_.version);
  config.set_boot_us(boot_.us);
  config.set_now_us(now.us);
  for (const auto& [name, qos] : book_.qos) *config.add_qos() = wire::to_wire(qos);
  // Jobs may name the default one although it is not in the tree.
  if (!book_.qos.contains(settings_.default_qos)) config.add_qos()->set_name(settings_.default_qos);
  reply(conn, request.id(), std::move(out));
}

void Controller::ping(Time now, ConnId conn, const wire::ApiRequest& request) {
  wire::ApiReply out;
  wire::PingReply& p = *out.mutable_ping();
  p.set_version(settings_.version);
  p.set_cluster(settings_.cluster);
  p.set_now_us(now.us);
  p.set_boot_us(boot_.us);
  p.set_epoch(epoch_);
  p.set_nodes(nodes_.size());
  p.set_nodes_up(link_of_.size());
  p.set_store_state(store_fault_.empty() ? "ok" : store_fault_);
  uint64_t running = 0, pending = 0;
  for (const auto& [id, job] : jobs_) {
    running += model::is_active(job.state);
    pending += job.state == model::JobState::kPending;
  }
  p.set_running(running);
  p.set_pending(pending);
  out.set_id(request.id());
  effects_.out.push_back(Reply{conn, std::move(out), /*at_once=*/true});
}

}  // namespace gw::ctld
