// Reading: lists and details. Answers come from memory; the shell holds them back until what they show is durable.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "ctld/core/controller.h"
#include "ctld/core/job_cursor.h"
#include "ctld/core/names.h"
#include "sched/order_facts.h"
#include "wire/convert.h"

namespace gw::ctld {
namespace {

void show_fragmentation(const sched::PartitionFragmentation& line, wire::Fragmentation& shown) {
  shown.set_gpu_type(line.gpu_type);
  shown.set_gpus(line.figures.gpus);
  shown.set_free_gpus(line.figures.free_gpus);
  shown.set_unusable_gpus(line.figures.fragmented_gpus);
  shown.set_largest_gang(line.figures.largest_gang);
  shown.set_workload(line.workload);
}

}  // namespace

std::vector<JobId> Controller::select(const wire::JobFilter& filter, std::vector<uint32_t>* unknown) const {
  std::vector<JobId> out;
  JobCursor cursor(filter);
  while (!cursor.is_done()) {
    ListPiece all;
    while (const model::Job* job = cursor.next(jobs_.all(), all)) out.push_back(job->id);
    for (uint32_t id : cursor.take_unknown())
      if (unknown != nullptr) unknown->push_back(id);
  }
  return out;
}

void Controller::begin_list(Time now, ConnId conn, uint64_t request_id, Listings::Fill fill) {
  const base::Status begun = listings_.begin(now, conn, request_id, std::move(fill), out_);
  if (!begun) out_.refuse(conn, request_id, begun.error());
}

void Controller::on_piece_taken(Time now, ConnId conn, uint64_t request_id) {
  if (store_fault_.empty()) return listings_.go_on(now, conn, request_id, out_);
  listings_.fail(conn, request_id, store_error(), out_);
}

void Controller::list_jobs(Time now, ConnId conn, const wire::ApiRequest& request) {
  wire::JobFilter filter = request.list_jobs().filter();
  add_components_of_leaders(filter);
  begin_list(now, conn, request.id(), [this, cursor = JobCursor(std::move(filter))](Time at, ListPiece& piece) mutable {
    const sched::OrderFacts facts(at, ledger_.capacity(), usage_.told_users());
    wire::ListJobsReply& list = *piece.reply.mutable_list_jobs();
    list.set_now_us(at.us);
    while (const model::Job* job = cursor.next(jobs_.all(), piece)) {
      wire::Job& out = *list.add_jobs();
      out = job_to_wire(*job);
      show_priority(facts, *job, out);
      out.mutable_spec()->mutable_launch()->mutable_limits()->clear();  // nobody lists by them, and they are bulky
      piece.added(out.ByteSizeLong());
    }
    for (uint32_t id : cursor.take_unknown()) list.add_unknown_ids(id);
    return cursor.is_done();
  });
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
  if (const model::Job* job = jobs_.find(JobId(q.id()))) {
    if ((q.script() || q.environment()) && !is_allowed(Grant::kOwnJobs, role_for(caller, *job)))
      return out_.refuse(conn, request.id(), denied_job(*job));
    *read.reply.mutable_show_job()->mutable_job() = job_to_wire(*job);
    show_priority({now, ledger_.capacity(), usage_.told_users()}, *job, *read.reply.mutable_show_job()->mutable_job());
    if (!q.history() && !q.script() && !q.environment()) return out_.reply(conn, request.id(), std::move(read.reply));
  }
  out_.send(std::move(read));
}

void Controller::wait_job(ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const JobId id(request.wait_job().id());
  const model::Job* job = jobs_.find(id);
  if (job == nullptr) return out_.refuse(conn, request.id(), no_such_job(id));
  const bool until_started = request.wait_job().until_started();
  const bool has_ended = model::is_end(job->state);
  if (request.wait_job().attend() && caller.uid == job->spec.uid && !has_ended) attend(conn, *job);
  const bool has_started = job->placed() != nullptr && job->placed()->started;
  if (!has_ended && !(until_started && has_started)) {
    constexpr int64_t kMostWaits = 100;
    const auto waits =
        std::count_if(waiters_.begin(), waiters_.end(), [&](const auto& w) { return w.second.conn == conn; });
    if (waits >= kMostWaits)
      return out_.refuse(conn, request.id(),
                         {base::ErrorCode::kInvalid, "this connection waits for 100 jobs already", ""});
    waiters_.emplace(id, Waiter{conn, request.id(), until_started});
    return;
  }
  wire::ApiReply out;
  *out.mutable_wait_job()->mutable_job() = job_to_wire(*job);
  out.mutable_wait_job()->set_cluster(settings_.cluster);
  out_.reply(conn, request.id(), std::move(out));
}

std::string Controller::node_state(Time now, const model::Node& node) const {
  const bool is_lost = !node.connected && node.since + settings_.node_timeout <= now;
  const std::set<JobId>& jobs = placements_.on(node.id);
  const bool has_jobs = !jobs.empty();
  const bool has_foreign = !foreign_.on(node.id).empty() || !held_.jobs_on(node.config.name).empty();
  const sched::NodeAccount* account = ledger_.capacity().node(node.id);
  std::string state;
  if (!node.topology && !node.connected)
    state = "UNKNOWN";
  else if (node.admin == model::NodeAdmin::kDown || is_lost)
    state = "DOWN";
  else if (!has_jobs && has_foreign)
    state = "MIXED";
  else if (!has_jobs)
    state = "IDLE";
  else if (account->free.cores.empty() && !account->facts.cores.empty())
    state = "ALLOCATED";
  else
    state = "MIXED";
  if (has_jobs && state != "DOWN") {
    const bool all_completing = std::all_of(
        jobs.begin(), jobs.end(), [&](JobId id) { return jobs_.at(id).state == model::JobState::kCompleting; });
    if (all_completing) state = "COMPLETING";
  }
  if (node.admin == model::NodeAdmin::kDrain || has_foreign) state += "+DRAIN";
  if (const std::string reserved = reserved_as(node.config.name, now); !reserved.empty()) state += "+" + reserved;
  if (!node.connected) state += "*";
  return state;
}

wire::Node Controller::describe(Time now, const model::Node& node, bool with_topology) const {
  wire::Node out = wire::to_wire(node, with_topology);
  out.set_state(node_state(now, node));
  for (const ForeignRun& run : foreign_.on(node.id)) out.add_foreign_runs(run.text());
  if (out.reason().empty() && !foreign_.on(node.id).empty()) {
    out.set_reason(fmt::format("runs that the state does not know: {}", foreign_.text_on(node.id)));
    out.set_reason_user("gctld");
  }
  if (const std::string jobs = held_.text_on(node.config.name); !jobs.empty() && node.reason.empty()) {
    out.set_reason(fmt::format("may run {}, whose stored row is held aside", jobs));
    out.set_reason_user("gctld");
  }
  const sched::NodeAccount& account = *ledger_.capacity().node(node.id);
  out.set_schedulable_mem_mb(account.facts.mem_mb);
  out.set_schedulable_cpus(account.facts.cores.size() * account.threads());
  base::IndexSet cores, gpus;
  uint32_t cpus = 0;
  for (JobId id : placements_.on(node.id)) {
    out.add_jobs(id.value);
    const model::NodeShare* share = share_on(jobs_.at(id), node.id);
    if (share == nullptr) continue;
    cores |= share->cores;
    gpus |= share->gpus;
    cpus += share->cpus;
    for (uint32_t g = share->gpus.next(0); g != UINT32_MAX; g = share->gpus.next(g + 1))
      (*out.mutable_gpu_jobs())[g] = id.value;
  }
  out.set_alloc_cpus(cpus);
  out.set_alloc_mem_mb(account.held_mem_mb);
  out.set_alloc_cores(cores.text());
  out.set_alloc_gpus(gpus.text());
  return out;
}

/// The partitions of each node by its name, in order.
std::unordered_map<std::string, std::vector<std::string>> Controller::partitions_of_nodes() const {
  std::unordered_map<std::string, std::vector<std::string>> out;
  for (const auto& [name, p] : partitions_)
    for (const std::string& node : p.nodes) out[node].push_back(name);
  return out;
}

void Controller::list_nodes(Time now, ConnId conn, const wire::ApiRequest& request) {
  const std::set<std::string> names(request.list_nodes().names().begin(), request.list_nodes().names().end());
  for (const std::string& name : names) {
    if (nodes_.find(name) != nullptr) continue;
    return out_.refuse(
        conn, request.id(),
        {base::ErrorCode::kNotFound, "node " + base::printable(name) + " not found", name_hint(name, nodes_.names())});
  }
  const bool topology = request.list_nodes().topology();
  auto fill = [this, names, topology, last = NodeId(), partitions = partitions_of_nodes()](Time at,
                                                                                           ListPiece& piece) mutable {
    wire::ListNodesReply& list = *piece.reply.mutable_list_nodes();
    list.set_now_us(at.us);
    for (auto it = nodes_.all().upper_bound(last); it != nodes_.all().end(); ++it) {
      if (piece.is_full()) return false;
      last = it->first;
      piece.looked_at();
      const model::Node& node = it->second;
      if (!names.empty() && !names.contains(node.config.name)) continue;
      wire::Node& shown = *list.add_nodes() = describe(at, node, topology);
      if (const auto in = partitions.find(node.config.name); in != partitions.end())
        for (const std::string& partition : in->second) shown.add_partitions(partition);
      piece.added(shown.ByteSizeLong());
      piece.looked_at(shown.jobs_size());
    }
    return true;
  };
  begin_list(now, conn, request.id(), std::move(fill));
}

wire::Partition Controller::show_partition(const model::Partition& p, bool is_effective) const {
  wire::Partition shown = is_effective ? describe_effective(p) : describe_partition(p);
  for (NodeId id : ledger_.capacity().partition_nodes(p.name)) {
    const sched::NodeAccount& account = *ledger_.capacity().node(id);
    shown.set_total_nodes(shown.total_nodes() + 1);
    shown.set_total_cpus(shown.total_cpus() + account.facts.cores.size() * account.threads());
    shown.set_total_gpus(shown.total_gpus() + account.facts.gpus.size());
  }
  for (const sched::PartitionFragmentation& line : fragmentation_)
    if (line.partition == p.name) show_fragmentation(line, *shown.add_fragmentation());
  return shown;
}

void Controller::list_partitions(Time now, ConnId conn, const wire::ApiRequest& request) {
  const std::set<std::string> names(request.list_partitions().names().begin(), request.list_partitions().names().end());
  for (const std::string& name : names) {
    if (partitions_.contains(name)) continue;
    return out_.refuse(conn, request.id(),
                       {base::ErrorCode::kNotFound, "partition " + base::printable(name) + " not found",
                        name_hint(name, keys_of(partitions_))});
  }
  const bool is_effective = request.list_partitions().effective();
  auto fill = [this, names, is_effective, last = std::string()](Time at, ListPiece& piece) mutable {
    wire::ListPartitionsReply& list = *piece.reply.mutable_list_partitions();
    list.set_now_us(at.us);
    for (auto it = partitions_.upper_bound(last); it != partitions_.end(); ++it) {
      if (piece.is_full()) return false;
      last = it->first;
      if (!names.empty() && !names.contains(last)) continue;
      wire::Partition& shown = *list.add_partitions() = show_partition(it->second, is_effective);
      piece.added(shown.ByteSizeLong());
      piece.looked_at(shown.total_nodes());
    }
    return true;
  };
  begin_list(now, conn, request.id(), std::move(fill));
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
  out_.reply(conn, request.id(), std::move(out));
}

void Controller::ping(Time now, ConnId conn, const wire::ApiRequest& request) {
  wire::ApiReply out;
  wire::PingReply& p = *out.mutable_ping();
  p.set_version(settings_.version);
  p.set_cluster(settings_.cluster);
  p.set_now_us(now.us);
  p.set_boot_us(boot_.us);
  p.set_epoch(feed_.epoch());
  p.set_nodes(nodes_.all().size());
  p.set_nodes_up(nodes_.connected());
  p.set_held_aside(held_.rows().size());
  p.set_store_state(store_fault_.empty() ? "ok" : store_fault_);
  uint64_t running = 0, pending = 0;
  for (const auto& [id, job] : jobs_.all()) {
    running += model::is_active(job.state);
    pending += job.state == model::JobState::kPending;
  }
  p.set_running(running);
  p.set_pending(pending);
  out.set_id(request.id());
  out_.send(Reply{conn, std::move(out), /*at_once=*/true});
}

}  // namespace gw::ctld
