// See measure.h.
#include "tests/cost/measure.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <variant>

#include "tests/cost/work.h"

namespace gw::cost {
namespace {

/// Figures as they come through a pipe.
struct Report {
  uint64_t work = 0, pass = 0, told = 0;
  int64_t held = 0, rows = 0;
  bool is_taken = true;
  char refusal[120] = {};
};

size_t bytes_of(const store::JobRow& r) {
  return r.user.size() + r.name.size() + r.partition.size() + r.account.size() + r.qos.size() + r.nodes.size() +
         r.spec.size() + r.status.size();
}

/// What a row adds to the store, less what it replaces there.
class Added {
 public:
  explicit Added(const ctld::testing::MemoryStore& store) : store_(store) {}
  int64_t operator()(const store::PutJob& o) const { return less(bytes_of(o.row), job(o.row.id)); }
  int64_t operator()(const store::PutJobStatus& o) const { return status(o.row); }
  int64_t operator()(const store::EndJob& o) const { return status(o.row); }
  int64_t operator()(const store::PutBlob& o) const { return less(o.hash.size() + o.bytes.size(), 0); }
  int64_t operator()(const store::PutNode& o) const { return named(store_.nodes, o); }
  int64_t operator()(const store::PutPartition& o) const { return named(store_.partitions, o); }
  int64_t operator()(const store::PutReservation& o) const { return named(store_.reservations, o); }
  int64_t operator()(const store::PutToken& o) const { return named(store_.tokens, o); }
  int64_t operator()(const store::PutQos& o) const { return named(store_.qos, o); }
  int64_t operator()(const store::PutQuotaUser& o) const { return named(store_.quota_users, o); }
  int64_t operator()(const store::PutReply& o) const { return less(o.client_id.size() + o.reply.size(), 0); }
  int64_t operator()(const store::PutUsage& o) const { return less(o.kind.size() + o.name.size(), 0); }
  int64_t operator()(const store::PutStep& o) const { return less(o.bytes.size(), 0); }
  int64_t operator()(const store::PutRunNode& o) const { return less(o.node.size() + o.bytes.size(), 0); }
  int64_t operator()(const store::Audit& o) const { return less(o.kind.size() + o.object.size() + o.text.size(), 0); }
  int64_t operator()(const store::Event& o) const { return less(o.node.size() + o.kind.size() + o.text.size(), 0); }
  /// Others take something away, or are of a fixed size.
  template <typename Other>
  int64_t operator()(const Other&) const {
    return 0;
  }

 private:
  const ctld::testing::MemoryStore& store_;

  static int64_t less(size_t now, size_t before) { return static_cast<int64_t>(now) - static_cast<int64_t>(before); }
  size_t job(base::JobId id) const {
    const auto it = store_.jobs.find(id);
    return it == store_.jobs.end() ? 0 : bytes_of(it->second);
  }
  /// The row comes without its spec, which stays.
  int64_t status(const store::JobRow& row) const {
    const auto it = store_.jobs.find(row.id);
    return less(bytes_of(row) + (it == store_.jobs.end() ? 0 : it->second.spec.size()) - row.spec.size(), job(row.id));
  }
  template <typename Row>
  static int64_t named(const std::map<std::string, std::string>& rows, const Row& o) {
    const auto it = rows.find(o.name);
    return less(o.bytes.size(), it == rows.end() ? 0 : it->second.size());
  }
};

/// One message, on the way that the shell takes it.
class Arrival {
 public:
  Arrival(CostWorld& world, Report& report) : w_(world), report_(report) {}

  void request(uint32_t uid, const std::string& bytes) {
    const auto received = wire::receive_request(bytes);
    if (!received) return refuse_unread(received.error());
    conn_ = ++w_.last_conn;
    w_.core->on_request(w_.now, conn_, CostWorld::user(uid), *received);
    absorb();
    while (w_.core->clients().listings.has(conn_)) {
      w_.core->on_piece_taken(w_.now, conn_, received->id());
      absorb();
    }
  }
  void node_message(const std::string& node, const std::string& bytes) {
    const auto received = wire::receive_node_message(bytes, w_.core->topologies());
    if (!received) return refuse_unread(received.error());
    const auto link = w_.links.find(node);
    const ctld::LinkId id = link == w_.links.end() ? ++w_.last_link : link->second;
    w_.core->on_node_message(w_.now, id, {0, "127.0.0.1", received->topology}, received->message);
    absorb();
  }

 private:
  CostWorld& w_;
  Report& report_;
  ctld::ConnId conn_ = 0;
  const ctld::testing::MemoryStore nothing_;

  template <typename Message>
  void tell(const Message& message) {
    report_.told += message.SerializeAsString().size();
  }
  void refuse(const std::string& why) {
    report_.is_taken = false;
    name_refusal(why);
  }
  /// Of a whole message, or the last of its parts.
  void name_refusal(const std::string& why) {
    std::fill(std::begin(report_.refusal), std::end(report_.refusal), '\0');
    size_t at = 0;
    for (const char c : why)
      if ((c < '0' || c > '9') && at + 1 < sizeof report_.refusal) report_.refusal[at++] = c;
  }
  void refuse_unread(const base::Error& error) {
    wire::ApiReply reply;
    *reply.mutable_error() = wire::to_wire(error);
    refuse(reply.error().what());
    tell(reply);
  }
  void absorb() {
    const ctld::Effects effects = w_.core->take_effects();
    for (const sched::Delta& d : effects.deltas) w_.view.apply(d);
    for (const ctld::Outgoing& out : effects.out) {
      if (const auto* r = std::get_if<ctld::Reply>(&out)) {
        report_.told += r->bytes.size() + (r->shared ? r->shared->size() : 0);
        if (r->bytes.empty()) tell(r->reply);
        if (r->reply.has_error()) refuse(r->reply.error().what());
        for (const wire::JobFault& f : r->reply.jobs().faults()) name_refusal(f.error().what());
        for (const wire::JobFault& f : r->reply.cancel().faults()) name_refusal(f.error().what());
      }
      if (const auto* m = std::get_if<ctld::ToNode>(&out)) tell(m->message);
      if (const auto* c = std::get_if<ctld::CloseLink>(&out)) refuse(c->reason);
    }
    for (const store::Op& op : effects.writes) {
      report_.rows += std::visit(Added(w_.store), op);
      report_.told += static_cast<uint64_t>(std::visit(Added(nothing_), op));
    }
  }
};

void run(CostWorld& world, const Example& example, const std::string& bytes, Report& report) {
  if (example.before) example.before(world);
  world.core->set_lease_clock(world.boot_now());
  const size_t before = held_bytes();
  report.work = count([&] {
    Arrival arrival(world, report);
    if (example.node.empty())
      arrival.request(example.uid, bytes);
    else
      arrival.node_message(example.node, bytes);
  });
  report.held = static_cast<int64_t>(held_bytes()) - static_cast<int64_t>(before);
  if (example.has_pass && report.is_taken) report.pass = count([&] { (void)sched::plan(world.view, world.now, {}); });
}

std::string how_it_ended(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == kTooMuch)
    return "it takes more than " + std::to_string(kMostUnits) + " units";
  if (WIFSIGNALED(status)) return "ended by signal " + std::to_string(WTERMSIG(status));
  return "ended with code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Figures measure(CostWorld& world, const Example& example, const std::string& bytes) {
  Figures out;
  out.bytes = bytes.size();
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    Report report;
    run(world, example, bytes, report);
    _exit(write(ends[1], &report, sizeof report) == sizeof report ? 0 : 1);
  }
  close(ends[1]);
  Report report;
  const bool is_whole = child > 0 && read(ends[0], &report, sizeof report) == sizeof report;
  close(ends[0]);
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  if (!is_whole) out.fault = child > 0 ? how_it_ended(status) : "no process";
  out.work = report.work;
  out.pass = report.pass;
  out.held = report.held;
  out.rows = report.rows;
  out.told = report.told;
  out.is_taken = report.is_taken;
  out.refusal = report.refusal;
  return out;
}

}  // namespace gw::cost
