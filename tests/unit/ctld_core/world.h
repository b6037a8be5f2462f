// A controller core with nodes that obey it, a store that keeps what it writes, and a clock that the test turns.
#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "ctld/core/api/open_question.h"
#include "ctld/core/controller.h"
#include "sched/cycle/plan.h"
#include "wire/convert.h"
#include "wire/receive.h"

namespace gw::ctld::testing {

constexpr uint32_t kAlice = 1001;

/// What the store would hold after the writes so far.
class MemoryStore {
 public:
  void apply(const store::Batch& batch) {
    for (const store::Op& op : batch) std::visit([this](const auto& o) { put(o); }, op);
  }
  store::Snapshot snapshot(base::Time ended_since) const {
    store::Snapshot s;
    for (const auto& [id, row] : jobs) s.jobs.push_back(row);
    for (const auto& [id, row] : ended)
      if (row.ended > ended_since || arrays.contains(row.id)) s.recently_ended.push_back(row);
    for (const auto& [name, bytes] : nodes) s.nodes.push_back({name, bytes});
    for (const auto& [name, bytes] : partitions) s.partitions.push_back({name, bytes});
    for (const auto& [name, bytes] : meta) s.meta.push_back({name, bytes});
    s.replies = replies;
    for (const auto& [name, bytes] : reservations) s.reservations.push_back({name, bytes});
    for (const auto& [name, bytes] : tokens) s.tokens.push_back({name, bytes});
    for (const auto& [name, bytes] : qos) s.qos.push_back({name, bytes});
    for (const auto& [name, bytes] : quota_users) s.quota_users.push_back({name, bytes});
    for (const auto& [key, row] : usage) s.usage.push_back(row);
    for (const auto& [key, row] : steps) s.steps.push_back(row);
    for (const auto& [key, row] : run_nodes) s.run_nodes.push_back(row);
    for (const auto& [hash, row] : blobs) s.blobs.push_back(row);
    for (const auto& [id, row] : arrays) s.arrays.push_back(row);
    for (const auto& [key, row] : held) s.held.push_back(row);
    for (const auto* all : {&jobs, &ended})
      if (!all->empty()) s.last_job = std::max(s.last_job, all->rbegin()->first);
    return s;
  }
  std::map<base::JobId, store::JobRow> jobs, ended;
  std::map<std::string, std::string> nodes, partitions, meta, reservations, tokens, qos, quota_users;
  std::map<std::pair<std::string, std::string>, store::PutUsage> usage;
  std::map<std::pair<base::JobId, uint32_t>, store::PutStep> steps;
  std::map<std::tuple<base::JobId, uint32_t, std::string>, store::PutRunNode> run_nodes;
  std::map<std::tuple<base::JobId, uint32_t, uint32_t>, store::PutPastRun> past_runs;
  std::map<std::string, store::BlobRow> blobs;
  std::map<base::JobId, store::PutArray> arrays;
  std::vector<store::PutReply> replies;
  std::vector<store::Event> events;
  std::vector<store::Audit> audit;
  std::map<std::pair<std::string, std::string>, store::HeldRow> held;

 private:
  void put(const store::PutJob& o) { jobs[o.row.id] = o.row; }
  void put(const store::PutJobStatus& o) {
    const std::string spec = jobs.at(o.row.id).spec;
    jobs[o.row.id] = o.row;
    jobs[o.row.id].spec = spec;
  }
  void put(const store::EndJob& o) {
    ended[o.row.id] = o.row;
    ended[o.row.id].spec = jobs.at(o.row.id).spec;
    jobs.erase(o.row.id);
  }
  void put(const store::AmendEnded& o) {
    const auto row = ended.find(o.job);
    if (row == ended.end()) return;
    row->second.spec = o.spec;
    row->second.status = o.status;
  }
  void put(const store::DropEnded& o) { ended.erase(o.job); }
  void put(const store::PutBlob& o) { blobs[o.hash] = {o.hash, o.bytes.size(), o.is_environment, {}}; }
  void put(const store::ReleaseBlob& o) { blobs.at(o.hash).released = o.at; }
  void put(const store::DropBlob& o) { blobs.erase(o.hash); }
  void put(const store::PutNode& o) { nodes[o.name] = o.bytes; }
  void put(const store::PutPartition& o) { partitions[o.name] = o.bytes; }
  void put(const store::PutReservation& o) { reservations[o.name] = o.bytes; }
  void put(const store::DropReservation& o) { reservations.erase(o.name); }
  void put(const store::PutToken& o) { tokens[o.name] = o.bytes; }
  void put(const store::DropToken& o) { tokens.erase(o.name); }
  void put(const store::PutQos& o) { qos[o.name] = o.bytes; }
  void put(const store::DropQos& o) { qos.erase(o.name); }
  void put(const store::PutQuotaUser& o) { quota_users[o.name] = o.bytes; }
  void put(const store::DropQuotaUser& o) { quota_users.erase(o.name); }
  void put(const store::PutReply& o) { replies.push_back(o); }
  void put(const store::DropReply& o) {
    std::erase_if(replies, [&](const auto& r) { return r.uid == o.uid && r.client_id == o.client_id; });
  }
  void put(const store::DropReplies&) {}
  void put(const store::PutUsage& o) { usage[{o.kind, o.name}] = o; }
  void put(const store::DropUsage& o) { usage.erase({o.kind, o.name}); }
  void put(const store::PutStep& o) { steps[{o.job, o.step}] = o; }
  void put(const store::DropStep& o) { steps.erase({o.job, o.step}); }
  void put(const store::PutRunNode& o) { run_nodes[{o.job, o.step, o.node}] = o; }
  void put(const store::DropRunNode& o) { run_nodes.erase({o.job, o.step, o.node}); }
  void put(const store::DropRun& o) {
    std::erase_if(run_nodes, [&](const auto& e) { return e.second.job == o.job && e.second.step == o.step; });
  }
  void put(const store::PutPastRun& o) { past_runs[{o.job, o.attempt, o.step}] = o; }
  void put(const store::PutArray& o) {
    store::PutArray& row = arrays[o.job];
    row.job = o.job;
    row.bytes = o.bytes;
    if (o.ranges) row.ranges = o.ranges;
  }
  void put(const store::DropArray& o) { arrays.erase(o.job); }
  void put(const store::PutMeta& o) { meta[o.key] = o.value; }
  void put(const store::HoldAside& o) {
    const auto number = [&](size_t i) { return static_cast<uint32_t>(std::get<int64_t>(o.key.at(i))); };
    const auto text = [&](size_t i) { return std::get<std::string>(o.key.at(i)); };
    const std::map<store::RowKind, std::map<std::string, std::string>*> named = {
        {store::RowKind::kNode, &nodes},   {store::RowKind::kPartition, &partitions},
        {store::RowKind::kQos, &qos},      {store::RowKind::kReservation, &reservations},
        {store::RowKind::kSetting, &meta}, {store::RowKind::kUser, &quota_users},
        {store::RowKind::kToken, &tokens}};
    size_t moved = 0;
    if (const auto it = named.find(o.from); it != named.end()) moved = it->second->erase(text(0));
    if (o.from == store::RowKind::kJob) moved = jobs.erase(base::JobId(number(0)));
    if (o.from == store::RowKind::kEndedJob) moved = ended.erase(base::JobId(number(0)));
    if (o.from == store::RowKind::kRun) moved = run_nodes.erase({base::JobId(number(0)), number(1), text(2)});
    if (o.from == store::RowKind::kStep) moved = steps.erase({base::JobId(number(0)), number(1)});
    if (o.from == store::RowKind::kArray) moved = arrays.erase(base::JobId(number(0)));
    if (o.from == store::RowKind::kUsage) moved = usage.erase({text(0), text(1)});
    if (o.from == store::RowKind::kReply)
      moved = std::erase_if(replies, [&](const auto& r) { return r.uid == number(0) && r.client_id == text(1); });
    if (moved > 0) held[{o.row.kind, o.row.name}] = o.row;
  }
  void put(const store::PutHeld& o) { held.at({o.row.kind, o.row.name}) = o.row; }
  void put(const store::DropHeld& o) { held.erase({o.kind, o.name}); }
  void put(const store::Event& o) { events.push_back(o); }
  void put(const store::Audit& o) { audit.push_back(o); }
};

inline model::NodeTopology eight_gpus() {
  model::NodeTopology t = model::flat_topology(32, 64'000, 8, "h100");
  return t;
}

/// A partition "main" whose jobs have such a lease.
inline Settings with_lease(base::Duration lease) {
  Settings s;
  model::Partition p;
  p.name = "main";
  p.is_default = p.unlimited = true;
  p.lease = lease;
  s.partitions = {p};
  return s;
}

class World {
 public:
  explicit World(uint32_t node_count, Settings base_settings = {}) : settings(std::move(base_settings)) {
    settings.cluster = "test";
    settings.admin_uids = settings.node_uids = {0};
    model::Partition p;
    p.name = "main";
    p.is_default = p.unlimited = true;
    if (!settings.partitions.empty()) p = settings.partitions.front();
    for (uint32_t i = 0; i < node_count; ++i) {
      model::NodeConfig n;
      n.name = "n" + std::to_string(i);
      settings.nodes.push_back(n);
      p.nodes.push_back(n.name);
    }
    settings.partitions = {p};
    settings.qos.emplace_back().name = "normal";
    settings.default_qos_implied = true;
    settings.incarnation = "start1";
    core = std::make_unique<Controller>(settings, now);
    core->set_lease_clock(boot_now());
    restored = core->restore({}, now);
    pump();
  }

  /// Starts the core anew from what the store holds; all links and clients are gone.
  void restart() {
    settings.incarnation = "start" + std::to_string(++starts);
    core = std::make_unique<Controller>(settings, now);
    core->set_lease_clock(boot_now());
    view = sched::ClusterView();
    to_node.clear();
    links.clear();
    restored = core->restore(store.snapshot(now - settings.min_job_age), now);
    pump();
  }
  /// As its client gets it.
  static wire::ApiReply whole_of(const Reply& reply) {
    if (reply.bytes.empty() && !reply.shared) return reply.reply;
    wire::ApiReply whole;
    GW_CHECK(whole.ParseFromString(serialised(reply)));
    return whole;
  }
  void pump() {
    expect_agreement();
    Effects e = core->take_effects();
    if (on_effects) on_effects(e);
    store.apply(e.writes);
    for (const sched::Delta& d : e.deltas) view.apply(d);
    for (Outgoing& out : e.out) {
      if (auto* r = std::get_if<Reply>(&out)) replies[r->conn].push_back(whole_of(*r));
      if (auto* t = std::get_if<SignTicket>(&out)) {
        t->reply.mutable_step()->set_ticket(t->watch ? "watch" : "full");
        replies[t->conn].push_back(t->reply);
      }
      if (auto* a = std::get_if<ActFor>(&out)) replies[a->conn].push_back(a->reply);
      if (auto* m = std::get_if<ToNode>(&out)) to_node[m->link].push_back(m->message);
      if (auto* c = std::get_if<CloseLink>(&out)) closed.push_back(c->link);
      if (auto* f = std::get_if<Fence>(&out)) fenced.push_back(f->node);
      if (auto* p = std::get_if<RunJobProgram>(&out)) programs.push_back(*p);
      if (auto* r = std::get_if<ReadStored>(&out)) reads.push_back(*r);
      if (auto* f = std::get_if<FetchEnded>(&out)) fetched.push_back(*f);
      if (auto* n = std::get_if<Note>(&out)) notes.emplace_back(n->is_warning, n->text);
      if (auto* ask = std::get_if<AskOutlooks>(&out)) {
        OpenQuestion question(std::move(*ask));
        while (const sched::PendingJob* job = question.next()) {
          if (question.wants_quotas()) question.take(sched::quota_path_of(view, *job, now));
          question.take(sched::look_ahead(view, *job, now));
        }
        replies[question.conn()].push_back(question.answer());
      }
    }
  }
  /// The tables agree with each other after every transaction; in large worlds that would be all that is done.
  void expect_agreement() const {
    constexpr size_t kLarge = 100;
    if (settings.nodes.size() > kLarge) return;
    if (const base::Status audit = core->audit(); !audit) throw std::logic_error(audit.error().text());
  }
  /// Lets the scheduler plan until it decides nothing more.
  void schedule() {
    for (int i = 0; i < 100; ++i) {
      const sched::Plan p = sched::plan(view, now, {});
      if (p.groups.empty()) return;
      core->on_plan(now, p);
      pump();
    }
  }
  LinkId connect(const std::string& node, const std::vector<wire::RunState>& runs = {}, const std::string& boot = "b1",
                 const std::string& from = "127.0.0.1", const std::string& own_address = "") {
    const LinkId link = ++last_link;
    wire::NodeToController m;
    wire::Register& r = *m.mutable_register_node();
    r.set_name(node);
    r.set_boot_id(boot);
    *r.mutable_topology() = wire::to_wire(eight_gpus());
    for (const auto& run : runs) *r.add_runs() = run;
    r.set_address(own_address);
    r.set_version(daemon_version);
    const auto received = wire::receive_node_message(m.SerializeAsString(), core->topologies());
    core->on_node_message(now, link, NodePeer{0, from, received->topology}, received->message);
    links[node] = link;
    pump();
    return link;
  }
  void connect_all() {
    for (const auto& n : settings.nodes) connect(n.name);
  }
  void cut(const std::string& node) {
    core->set_lease_clock(boot_now());
    core->on_node_gone(now, links.at(node), "connection lost");
    links.erase(node);
    pump();
  }
  /// Time passes in which the connected nodes are heard.
  void tick_with_beats(base::Duration by) {
    const Time end = now + by;
    while (now < end) {
      wire::NodeToController beat;
      beat.mutable_heartbeat();
      for (const auto& [node, link] : std::map<std::string, LinkId>(links)) say(node, beat);
      tick(std::min(settings.heartbeat, end - now));
    }
  }
  void tick(base::Duration by) {
    now = now + by;
    core->set_lease_clock(boot_now());
    core->on_tick(now);
    pump();
    schedule();
  }

  /// What leases count by: not the time of day.
  base::BootTime boot_now() const { return {now.us - 999'000'000'000}; }

  static Caller user(uint32_t uid) { return {uid, uid, uid == 0 ? "root" : "user" + std::to_string(uid), "g", {"g"}}; }
  wire::ApiReply ask(uint32_t uid, wire::ApiRequest request) {
    const ConnId conn = ++last_conn;
    request.set_id(7);
    const auto received = wire::receive_request(request.SerializeAsString());
    if (!received) {
      wire::ApiReply refused;
      *refused.mutable_error() = wire::to_wire(received.error());
      return refused;
    }
    core->on_request(now, conn, user(uid), *received);
    pump();
    if (replies[conn].empty() && core->clients().listings.has(conn)) {  // its turn comes
      core->on_piece_taken(now, conn, request.id());
      pump();
    }
    if (replies[conn].empty()) return {};
    core->privacy().keep(user(uid), replies[conn].back());  // as the shell does
    wire::ApiReply whole = replies[conn].back();            // of a list: all of its pieces
    while (replies[conn].back().more()) {
      core->on_piece_taken(now, conn, request.id());
      pump();
      core->privacy().keep(user(uid), replies[conn].back());
      whole.MergeFrom(replies[conn].back());
    }
    return whole;
  }
  static wire::ApiRequest submission(const model::Request& r) {
    wire::ApiRequest out;
    wire::SubmitRequest& s = *out.mutable_submit();
    model::JobSpec spec;
    spec.name = "test";
    spec.request = r;
    spec.launch.work_dir = "/tmp";
    spec.time_limit = {};  // not said
    *s.mutable_spec() = wire::to_wire(spec);
    s.set_script("#!/bin/sh\n");
    return out;
  }
  JobId submit(uint32_t uid, const model::Request& r) {
    const wire::ApiReply reply = ask(uid, submission(r));
    last_error = reply.error().what();
    return JobId(reply.submit().job_id());
  }
  wire::ApiReply cancel(uint32_t uid, JobId id) {
    wire::ApiRequest r;
    r.mutable_cancel()->mutable_filter()->add_ids(id.value);
    return ask(uid, r);
  }
  const model::Job& job(JobId id) const { return core->jobs().at(id); }
  model::JobState state(JobId id) const { return job(id).state; }
  /// The last message of a kind that a node got.
  const wire::ControllerToNode* last(const std::string& node, wire::ControllerToNode::KindCase kind) {
    auto& all = to_node[links.at(node)];
    for (auto it = all.rbegin(); it != all.rend(); ++it)
      if (it->kind_case() == kind) return &*it;
    return nullptr;
  }
  /// As the shell does: a message that is refused cuts the link.
  void say(const std::string& node, const wire::NodeToController& m) {
    const auto received = wire::receive_node_message(m.SerializeAsString(), core->topologies());
    if (!received) return cut(node);
    core->on_node_message(now, links.at(node), NodePeer{0, "127.0.0.1", received->topology}, received->message);
    pump();
  }
  void prepared(const std::string& node, JobId id) {
    wire::NodeToController m;
    m.mutable_prepared()->set_job(id.value);
    m.mutable_prepared()->set_attempt(job(id).attempt);
    say(node, m);
  }
  void started(const std::string& node, JobId id) {
    wire::NodeToController m;
    m.mutable_started()->set_job(id.value);
    m.mutable_started()->set_attempt(job(id).attempt);
    say(node, m);
  }
  void exited(const std::string& node, JobId id, int code, uint32_t attempt = 0) {
    wire::NodeToController m;
    m.mutable_batch_exited()->set_job(id.value);
    m.mutable_batch_exited()->set_attempt(attempt == 0 ? job(id).attempt : attempt);
    m.mutable_batch_exited()->set_exit_code(code);
    say(node, m);
  }
  /// `generation`: of an earlier stay with an elastic gang; 0: of the present one.
  void done(const std::string& node, JobId id, uint32_t attempt = 0, uint32_t generation = 0) {
    wire::NodeToController m;
    const wire::ControllerToNode* stop = last(node, wire::ControllerToNode::kStop);
    if (generation == 0 && stop != nullptr && stop->stop().job() == id.value) generation = stop->stop().generation();
    m.mutable_done()->set_generation(generation);
    m.mutable_done()->set_job(id.value);
    m.mutable_done()->set_attempt(attempt == 0 ? job(id).attempt : attempt);
    say(node, m);
  }
  static wire::RunState run(JobId id, uint32_t attempt, wire::RunPhase phase) {
    wire::RunState r;
    r.set_job(id.value);
    r.set_attempt(attempt);
    r.set_phase(phase);
    return r;
  }

  Settings settings;
  Time now{1'000'000'000'000};
  std::unique_ptr<Controller> core;
  sched::ClusterView view;
  MemoryStore store;
  base::Status restored;
  std::map<ConnId, std::vector<wire::ApiReply>> replies;
  std::map<LinkId, std::vector<wire::ControllerToNode>> to_node;
  std::map<std::string, LinkId> links;
  std::vector<LinkId> closed;
  std::vector<std::string> fenced;
  std::vector<RunJobProgram> programs;
  std::vector<ReadStored> reads;
  std::vector<FetchEnded> fetched;
  std::vector<std::pair<bool, std::string>> notes;  // for the log: whether it is a warning
  std::string last_error;
  std::function<void(const Effects&)> on_effects;  ///< Sees them first.
  std::string daemon_version;                      ///< Of the node daemons that register.
  uint32_t starts = 1;                             // of the controller; each has a name of its own
  LinkId last_link = 0;
  ConnId last_conn = 0;
};

/// `nodes` nodes of eight GPUs each.
inline model::Request gang(uint32_t nodes, uint32_t gpus = 8) {
  model::Request r;
  r.nodes_given = true;
  r.min_nodes = r.max_nodes = nodes;
  r.gpu_counting = model::GpuCounting::kPerNode;
  r.gpus = gpus;
  return r;
}

}  // namespace gw::ctld::testing
