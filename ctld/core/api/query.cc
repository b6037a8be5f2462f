// See query.h.
#include "ctld/core/api/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "ctld/core/api/job_cursor.h"
#include "ctld/core/api/notify.h"
#include "ctld/core/api/priorities.h"
#include "ctld/core/cluster/partitions.h"
#include "ctld/core/cluster/reservation_rules.h"
#include "ctld/core/jobs/allocation_end.h"
#include "ctld/core/jobs/arrays.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/targets.h"
#include "ctld/core/jobs/wait_reasons.h"
#include "ctld/core/names.h"
#include "ctld/core/shared/listing.h"
#include "ctld/core/shared/permissions.h"
#include "ctld/core/shared/sight.h"
#include "model/named_counts.h"
#include "sched/queue/order_facts.h"
#include "wire/bounds.h"
#include "wire/convert.h"
#include "wire/row_bytes.h"

namespace gw::ctld {

namespace {

/// Nobody reads thousands of ranges in a list of all jobs, and everybody would be sent them.
void leave_out_ranges(wire::JobStatus& status) {
  constexpr int kMostShown = 100;
  auto* ranges = status.has_ended() ? status.mutable_ended()->mutable_never_made() : nullptr;
  if (status.has_tasks() && ranges == nullptr) ranges = status.mutable_tasks()->mutable_left();
  if (ranges == nullptr || ranges->size() <= kMostShown) return;
  status.mutable_tasks()->set_more(static_cast<uint32_t>(ranges->size() - kMostShown));
  ranges->DeleteSubrange(kMostShown, ranges->size() - kMostShown);
  if (status.has_ended()) status.mutable_tasks()->clear_left();
}

void show_fragmentation(const sched::PartitionFragmentation& line, wire::Fragmentation& shown) {
  shown.set_gpu_type(line.gpu_type);
  shown.set_gpus(line.figures.gpus);
  shown.set_free_gpus(line.figures.free_gpus);
  shown.set_unusable_gpus(line.figures.fragmented_gpus);
  shown.set_largest_gang(line.figures.largest_gang);
  shown.set_workload(line.workload);
}

wire::Node describe(const Core& core, const model::Node& node, bool with_topology) {
  wire::Node out = wire::to_wire(node, with_topology);
  out.set_state(node_state(core, node));
  for (const ForeignRun& run : core.watch.foreign.on(node.id)) out.add_foreign_runs(run.text());
  if (out.reason().empty() && !core.watch.foreign.on(node.id).empty()) {
    out.set_reason(fmt::format("runs that the state does not know: {}", core.watch.foreign.text_on(node.id)));
    out.set_reason_user("gctld");
  }
  if (const std::string jobs = core.stored.held.text_on(node.config.name); !jobs.empty() && node.reason.empty()) {
    out.set_reason(fmt::format("may run {}, whose stored row is held aside", jobs));
    out.set_reason_user("gctld");
  }
  const sched::NodeAccount& account = *core.ledger.capacity().node(node.id);
  out.set_schedulable_mem_mb(account.facts.mem_mb);
  out.set_schedulable_cpus(account.facts.cores.size() * account.threads());
  base::IndexSet cores, gpus;
  model::Gres gres;
  uint32_t cpus = 0;
  for (JobId id : core.placements.on(node.id)) {
    out.add_jobs(id.value);
    const model::NodeShare* share = share_on(core.jobs.at(id), node.id);
    if (share == nullptr) continue;
    cores |= share->cores;
    gpus |= share->gpus;
    cpus += share->cpus;
    gres.add(share->gres);
    for (uint32_t g = share->gpus.next(0); g != UINT32_MAX; g = share->gpus.next(g + 1))
      (*out.mutable_gpu_jobs())[g] = id.value;
  }
  if (const auto load = core.watch.loads.find(node.id); node.connected && load != core.watch.loads.end()) {
    if (load->second.centi) out.set_load_centi(*load->second.centi);
    if (load->second.free_mem_mb) out.set_free_mem_mb(*load->second.free_mem_mb);
  }
  out.set_last_busy_us(core.placements.last_busy(node.id, core.now).us);
  out.set_alloc_gres(model::format_gres(gres));
  out.set_alloc_cpus(cpus);
  out.set_alloc_mem_mb(account.held_mem_mb);
  out.set_alloc_cores(cores.text());
  out.set_alloc_gpus(gpus.text());
  return out;
}

/// The partitions of each node by its name, in order.
std::unordered_map<std::string, std::vector<std::string>> partitions_of_nodes(const Core& core) {
  std::unordered_map<std::string, std::vector<std::string>> out;
  for (const auto& [name, p] : core.partitions.all)
    for (const std::string& node : p.nodes) out[node].push_back(name);
  return out;
}

/// Those of the configuration in its order, then what commands made, by name. `names`: only these; empty: all.
std::vector<std::string> partitions_in_order(const Core& core, const std::set<std::string>& names) {
  std::vector<std::string> order;
  std::set<std::string> configured;
  const auto add = [&](const std::string& name) {
    if (core.partitions.all.contains(name) && (names.empty() || names.contains(name))) order.push_back(name);
  };
  for (const model::Partition& p : core.settings.partitions)
    if (configured.insert(p.name).second) add(p.name);
  for (const auto& [name, p] : core.partitions.all)
    if (!configured.contains(name)) add(name);
  return order;
}

wire::Partition show_partition(const Core& core, const model::Partition& p, bool is_effective) {
  wire::Partition shown = is_effective ? describe_effective(core, p) : describe_partition(core, p);
  for (NodeId id : core.ledger.capacity().partition_nodes(p.name)) {
    const sched::NodeAccount& account = *core.ledger.capacity().node(id);
    shown.set_total_nodes(shown.total_nodes() + 1);
    shown.set_total_cpus(shown.total_cpus() + account.facts.cores.size() * account.threads());
    shown.set_total_gpus(shown.total_gpus() + account.facts.gpus.size());
  }
  for (const sched::PartitionFragmentation& line : core.planning.fragmentation)
    if (line.partition == p.name) show_fragmentation(line, *shown.add_fragmentation());
  return shown;
}

}  // namespace

void list_jobs(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const SeenJobs seen = Sight(core, caller).jobs();
  auto filter = with_all_meant(core, seen, request.list_jobs().filter());
  if (!filter) return core.out.refuse(conn, request.id(), filter.error());
  const bool is_whole = !filter->ids().empty() || request.list_jobs().whole_ranges();
  // What somebody may not see is not shown to him because others asked for the same.
  const std::string question = seen.all ? fmt::format("jobs {} {}", is_whole, wire::row_bytes(*filter)) : "";
  begin_list(
      core, conn, request.id(),
      [&core, is_whole, cursor = JobCursor(std::move(*filter), seen)](Time at, ListPiece& piece) mutable {
        const sched::OrderFacts facts(at, core.ledger.capacity(), core.usage.last_sent_users());
        wire::ListJobsReply& list = *piece.reply.mutable_list_jobs();
        list.set_now_us(at.us);
        while (const model::Job* job = cursor.next(core.jobs.all(), piece)) {
          wire::Job& out = *list.add_jobs();
          out = job_to_wire(core, *job);
          show_priority(core, facts, *job, out);
          if (!is_whole) leave_out_ranges(*out.mutable_status());
          piece.added(out.ByteSizeLong());
        }
        for (uint32_t id : cursor.take_unknown()) list.add_unknown_ids(id);
        if (const uint32_t hidden = cursor.take_hidden(); hidden > 0) list.add_hidden(hidden);
        return cursor.is_done();
      },
      question);
}

void show_job(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::ShowJobRequest& q = request.show_job();
  ReadStored read;
  read.conn = conn;
  read.job = JobId(q.id());
  if (q.history()) read.events = {.job = read.job, .most = wire::kMostEvents};
  read.script = q.script();
  read.environment = q.environment();
  read.reader_uid = caller.uid;
  read.reader_is_admin = is_admin(core.settings, caller);
  read.reply.set_id(request.id());
  read.reply.mutable_show_job()->set_now_us(core.now.us);
  read.seen = Sight(core, caller).jobs();
  if (const model::Job* job = core.jobs.find(JobId(q.id()))) {
    if (!read.seen.has(job->spec.uid, job->spec.qos))
      return core.out.refuse(conn, request.id(), no_such_job(JobId(q.id())));
    if ((q.script() || q.environment()) && !is_allowed(Grant::kOwnJobs, role_for(core, caller, *job)))
      return core.out.refuse(conn, request.id(), denied_job(core, caller, *job));
    *read.reply.mutable_show_job()->mutable_job() = job_to_wire(core, *job);
    show_priority(core, {core.now, core.ledger.capacity(), core.usage.last_sent_users()}, *job,
                  *read.reply.mutable_show_job()->mutable_job());
    if (!q.history() && !q.script() && !q.environment())
      return core.out.reply(conn, request.id(), std::move(read.reply));
  }
  core.out.send(std::move(read));
}

void wait_job(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const JobId id(request.wait_job().id());
  const auto seen = seen_job(core, caller, id.value);
  if (!seen) return core.out.refuse(conn, request.id(), seen.error());
  const model::Job* job = *seen;
  const bool until_started = request.wait_job().until_started();
  const ArrayTable::Array* array = core.jobs.arrays().find(id);  // who waits for it waits for all of it
  if (array != nullptr && array->is_over()) job = &worst_task(core, *job);
  const bool has_ended = array == nullptr ? model::is_end(job->state) : array->is_over();
  if (request.wait_job().attend() && caller.uid == job->spec.uid && !has_ended) tie_to_client(core, conn, *job);
  const bool has_started = job->placed() != nullptr && job->placed()->started;
  if (!has_ended && request.wait_job().notices() && answer_with_notice(core, conn, *job, request.id())) return;
  if (!has_ended && !(until_started && has_started)) {
    constexpr int64_t kMostWaits = 100;
    const auto waits = std::count_if(core.clients.waiters.begin(), core.clients.waiters.end(),
                                     [&](const auto& w) { return w.second.conn == conn; });
    const auto unheard = std::count_if(core.clients.unheard.begin(), core.clients.unheard.end(),
                                       [&](const auto& u) { return u.first.second == conn; });
    if (waits + unheard >= kMostWaits)
      return core.out.refuse(conn, request.id(),
                             {base::ErrorCode::kInvalid, "this connection waits for 100 jobs already", ""});
    core.clients.waiters.emplace(id, Waiter{conn, request.id(), until_started, request.wait_job().notices()});
    return;
  }
  core.clients.unheard.erase({id, conn});  // this is the last answer
  wire::ApiReply out;
  *out.mutable_wait_job()->mutable_job() = job_to_wire(core, *job);
  out.mutable_wait_job()->set_cluster(core.settings.cluster);
  core.out.reply(conn, request.id(), std::move(out));
}

std::string node_state(const Core& core, const model::Node& node) {
  const bool is_lost = !node.connected && node.since + core.settings.node_timeout <= core.now;
  const std::set<JobId>& jobs = core.placements.on(node.id);
  const bool has_jobs = !jobs.empty();
  const bool has_foreign =
      !core.watch.foreign.on(node.id).empty() || !core.stored.held.jobs_on(node.config.name).empty();
  const sched::NodeAccount* account = core.ledger.capacity().node(node.id);
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
        jobs.begin(), jobs.end(), [&](JobId id) { return core.jobs.at(id).state == model::JobState::kCompleting; });
    if (all_completing) state = "COMPLETING";
  }
  if (node.admin == model::NodeAdmin::kDrain || has_foreign) state += "+DRAIN";
  if (const std::string reserved = reserved_as(core, node.config.name); !reserved.empty()) state += "+" + reserved;
  if (!node.connected) state += "*";
  return state;
}

void list_nodes(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const std::set<std::string> names(request.list_nodes().names().begin(), request.list_nodes().names().end());
  const Sight sight(core, caller);
  for (const std::string& name : names) {
    if (core.nodes.find(name) != nullptr && sight.sees_node(name)) continue;
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kNotFound, "node " + base::printable(name) + " not found",
                            sight.hidden().nodes ? "" : name_hint(name, core.nodes.names()),
                            "Invalid node name " + base::printable(name)});
  }
  const bool topology = request.list_nodes().topology();
  auto fill = [&core, names, topology, last = NodeId(), partitions = partitions_of_nodes(core)](
                  Time at, ListPiece& piece) mutable {
    wire::ListNodesReply& list = *piece.reply.mutable_list_nodes();
    list.set_now_us(at.us);
    for (auto it = core.nodes.all().upper_bound(last); it != core.nodes.all().end(); ++it) {
      if (piece.is_full()) return false;
      last = it->first;
      piece.looked_at();
      const model::Node& node = it->second;
      if (!names.empty() && !names.contains(node.config.name)) continue;
      wire::Node& shown = *list.add_nodes() = describe(core, node, topology);
      if (const auto in = partitions.find(node.config.name); in != partitions.end())
        for (const std::string& partition : in->second) shown.add_partitions(partition);
      piece.added(shown.ByteSizeLong());
      piece.looked_at(shown.jobs_size());
    }
    return true;
  };
  begin_list(core, conn, request.id(), std::move(fill));
}

void list_partitions(Core& core, ConnId conn, const wire::ApiRequest& request) {
  const std::set<std::string> names(request.list_partitions().names().begin(), request.list_partitions().names().end());
  for (const std::string& name : names) {
    if (core.partitions.all.contains(name)) continue;
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kNotFound, "partition " + base::printable(name) + " not found",
                            name_hint(name, keys_of(core.partitions.all))});
  }
  const bool is_effective = request.list_partitions().effective();
  auto fill = [&core, order = partitions_in_order(core, names), is_effective, next = size_t{0}](
                  Time at, ListPiece& piece) mutable {
    wire::ListPartitionsReply& list = *piece.reply.mutable_list_partitions();
    list.set_now_us(at.us);
    for (; next < order.size(); ++next) {
      if (piece.is_full()) return false;
      const auto it = core.partitions.all.find(order[next]);
      if (it == core.partitions.all.end()) continue;  // deleted meanwhile
      wire::Partition& shown = *list.add_partitions() = show_partition(core, it->second, is_effective);
      piece.added(shown.ByteSizeLong());
      piece.looked_at(shown.total_nodes());
    }
    return true;
  };
  begin_list(core, conn, request.id(), std::move(fill));
}

namespace {

void add_licenses(const Core& core, wire::ShowConfigReply& config) {
  const model::Licenses& there = core.settings.policy.licenses;
  if (there.empty()) return;
  model::Licenses used;
  for (const auto& [id, holding] : core.ledger.capacity().holdings()) {
    const model::Job* job = core.jobs.find(id);  // nothing of it: an extension, or kept in suspension
    if (job == nullptr || job->spec.licenses.empty() || is_suspended(*job)) continue;
    const auto taken = model::parse_licenses(job->spec.licenses);
    if (!taken) continue;
    for (const auto& [name, count] : *taken) used[name] += count;
  }
  for (const auto& [name, count] : there) {
    wire::LicenseUse& one = *config.add_licenses();
    one.set_name(name);
    one.set_total(count);
    one.set_used(used[name]);
  }
}

}  // namespace

void show_config(Core& core, ConnId conn, const wire::ApiRequest& request) {
  wire::ApiReply out;
  wire::ShowConfigReply& config = *out.mutable_show_config();
  for (const auto& [key, value] : core.settings.entries) {
    wire::ConfigEntry* entry = config.add_entries();
    entry->set_key(key);
    entry->set_value(value);
  }
  config.set_version(core.settings.version);
  config.set_boot_us(core.watch.boot.us);
  config.set_now_us(core.now.us);
  for (const auto& [name, qos] : core.quotas.qos) *config.add_qos() = wire::to_wire(qos);
  // Jobs may name the default one although it is not in the tree.
  if (!core.quotas.qos.contains(core.settings.default_qos)) config.add_qos()->set_name(core.settings.default_qos);
  add_licenses(core, config);
  core.out.reply(conn, request.id(), std::move(out));
}

void ping(Core& core, ConnId conn, const wire::ApiRequest& request) {
  wire::ApiReply out;
  wire::PingReply& p = *out.mutable_ping();
  p.set_version(core.settings.version);
  p.set_cluster(core.settings.cluster);
  p.set_now_us(core.now.us);
  p.set_boot_us(core.watch.boot.us);
  p.set_epoch(core.feed.epoch());
  p.set_nodes(core.nodes.all().size());
  p.set_nodes_up(core.nodes.connected());
  p.set_held_aside(core.stored.held.rows().size());
  p.set_store_state(core.stored.fault.empty() ? "ok" : core.stored.fault);
  const uint64_t pending = core.jobs.counts()[static_cast<size_t>(model::JobState::kPending)];
  p.set_running(core.jobs.live() - pending);
  p.set_pending(pending);
  out.set_id(request.id());
  core.out.send(Reply{conn, std::move(out), /*at_once=*/true});
}

}  // namespace gw::ctld
