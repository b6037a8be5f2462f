// The controller's core, asked anything by users, told anything by nodes, and restored from damaged rows: it never
// falls over, what it holds stays consistent, and after each request that it accepts a core restored from its rows says
// the same as the live one.
#include "base/text.h"
#include "tests/fuzz/meddler.h"
#include "tests/fuzz/records.h"
#include "tests/fuzz/state_text.h"
#include "tests/unit/ctld_core/world.h"

namespace gw::fuzz {
namespace {

using ctld::testing::World;

constexpr uint32_t kNodes = 3;
constexpr uint32_t kUids[] = {0, 1000, 1001};
constexpr size_t kMaxRecords = 40;

enum Kind : uint8_t { kRequest, kNodeMessage, kRegister, kCut, kTick, kSchedule, kRestart, kDamage, kGrow, kKinds };

/// More entries than any list may have, or as many bytes; and some more.
constexpr size_t kGrown[] = {100'001, 400'001};

std::string node_name(uint8_t choice) { return "n" + std::to_string(choice % kNodes); }

class Play {
 public:
  bool run(Input in) {
    bool is_understood = true;
    for (size_t n = 0; n < kMaxRecords && !in.empty(); ++n) is_understood = step(take_record(in)) && is_understood;
    return is_understood;
  }

 private:
  World world_{kNodes};

  bool step(const Record& r) {
    const bool is_understood = happen(r);
    FUZZ_CHECK(world_.core->ledger().audit().has_value());
    for (const auto& [id, job] : world_.core->jobs()) FUZZ_CHECK(job.is_consistent());
    return is_understood;
  }

  bool happen(const Record& r) {
    switch (r.kind % kKinds) {
      case kRequest:
        return ask(r);
      case kNodeMessage:
        return tell(r);
      case kRegister:
        return enrol(r);
      case kCut:
        if (world_.links.contains(node_name(r.choice))) world_.cut(node_name(r.choice));
        return true;
      case kTick:
        world_.tick(base::seconds(r.choice));
        return true;
      case kSchedule:
        world_.schedule();
        return true;
      case kRestart:
        world_.restart();
        FUZZ_CHECK(world_.restored.has_value());
        return true;
      case kDamage:
        damage(r);
        return true;
      default:
        return ask_grown(r);
    }
  }

  bool ask(const Record& r) {
    wire::ApiRequest request;
    if (!parse_message(request, r.payload)) return false;
    return ask(r.choice, request);
  }

  bool ask(uint8_t user, const wire::ApiRequest& request) {
    const wire::ApiReply reply = world_.ask(kUids[user % std::size(kUids)], request);
    if (!reply.has_error()) {
      check_restored();
      return true;
    }
    FUZZ_CHECK(!reply.error().what().empty());
    FUZZ_CHECK(is_showable(reply.error().what()));
    return false;
  }

  // A request of which one list or text is far too long. It is refused, or taken like any other.
  bool ask_grown(const Record& r) {
    Input in(r.payload);
    Input choices(in.take(4));
    const std::string bytes = grown(wire::kApiRequestBounds, std::string(in.rest()), choices, kGrown[r.choice / 128]);
    wire::ApiRequest request;
    if (!parse_message(request, bytes)) return false;
    ask(r.choice, request);
    return true;
  }

  std::string ask_all(ctld::Controller& core) {
    return answers_of(world_.settings, [&](wire::ApiRequest question) {
      const ctld::ConnId conn = ++world_.last_conn;
      question.set_id(1);
      core.on_request(world_.now, conn, World::user(0), question);
      wire::ApiReply whole;
      for (bool has_more = true; has_more; core.on_piece_taken(world_.now, conn, 1)) {
        has_more = false;
        for (ctld::Outgoing& out : core.take_effects().out)
          if (const auto* reply = std::get_if<ctld::Reply>(&out); reply != nullptr && reply->conn == conn) {
            whole.MergeFrom(World::whole_of(*reply));
            has_more |= reply->reply.more();
          }
        has_more |= core.clients().listings.has(conn);
      }
      if (whole.has_list_nodes())  // when a node was busy last, and how busy it is, is not stored
        for (wire::Node& node : *whole.mutable_list_nodes()->mutable_nodes()) {
          node.clear_last_busy_us();
          node.clear_load_centi();
          node.clear_free_mem_mb();
        }
      return whole;
    });
  }

  // What the store holds is all there is to know.
  void check_restored() {
    ctld::Settings settings = world_.settings;
    settings.incarnation = "second";
    ctld::Controller second(settings, world_.now);
    second.set_lease_clock(world_.boot_now());
    FUZZ_CHECK(second.restore(world_.store.snapshot(world_.now - settings.min_job_age), world_.now).has_value());
    FUZZ_CHECK(world_.core->fingerprint() == second.fingerprint());
    FUZZ_CHECK(second.metrics(world_.now).held_aside_rows == world_.core->metrics(world_.now).held_aside_rows);
    sched::ClusterView view;
    for (const sched::Delta& d : second.take_effects().deltas) view.apply(d);
    check_same(text_of(world_.core->ledger(), *world_.core), text_of(second.ledger(), second));
    check_same(text_of(world_.view, *world_.core), text_of(view, second));
    check_same(text_of(world_.core->timers(), *world_.core), text_of(second.timers(), second));
    const std::string live = ask_all(*world_.core);
    check_same(live, ask_all(second));
  }

  static void check_same(const std::string& live, const std::string& restored) {
    if (live == restored) return;
    const auto apart = std::mismatch(live.begin(), live.end(), restored.begin(), restored.end());
    const auto shown = [](const std::string& text, size_t at) {
      constexpr size_t kBefore = 200, kAll = 500;
      return base::printable(text.substr(at - std::min(at, kBefore), kAll), 4 * kAll);
    };
    const auto at = static_cast<size_t>(apart.first - live.begin());
    std::fprintf(stderr, "live:     %s\nrestored: %s\n", shown(live, at).c_str(), shown(restored, at).c_str());
    FUZZ_CHECK(live == restored);
  }

  bool tell(const Record& r) {
    wire::NodeToController message;
    const std::string node = node_name(r.choice);
    if (!world_.links.contains(node) || !parse_message(message, r.payload)) return false;
    world_.say(node, message);
    return true;
  }

  bool enrol(const Record& r) {
    if (r.payload.empty()) {
      world_.connect(node_name(r.choice));
      return true;
    }
    wire::NodeToController message;
    if (!parse_message(*message.mutable_register_node(), r.payload)) return false;
    message.mutable_register_node()->set_name(node_name(r.choice));
    const ctld::LinkId link = ++world_.last_link;
    world_.core->on_node_message(world_.now, link, {0, "127.0.0.1"}, message);
    world_.links[node_name(r.choice)] = link;
    world_.pump();
    return true;
  }

  // A stored row is replaced: the controller starts all the same, and no row is held aside that another start reads.
  void damage(const Record& r) {
    ctld::testing::MemoryStore& s = world_.store;
    const std::string bytes(r.payload);
    const auto first = [&](auto& rows, const auto& change) {
      if (!rows.empty()) change(rows.begin()->second);
    };
    const auto set = [&](std::string& to) { to = bytes; };
    const auto set_bytes = [&](auto& row) { row.bytes = bytes; };
    const std::function<void()> kDamages[] = {
        [&] { first(s.jobs, [&](auto& row) { row.spec = bytes; }); },
        [&] { first(s.jobs, [&](auto& row) { row.status = bytes; }); },
        [&] { first(s.jobs, [&](auto& row) { row.nodes = bytes; }); },
        [&] { first(s.ended, [&](auto& row) { row.spec = bytes; }); },
        [&] { first(s.ended, [&](auto& row) { row.status = bytes; }); },
        [&] { first(s.nodes, set); },
        [&] { first(s.run_nodes, set_bytes); },
        [&] { first(s.steps, set_bytes); },
        [&] { first(s.partitions, set); },
        [&] { first(s.reservations, set); },
        [&] { first(s.tokens, set); },
        [&] { first(s.qos, set); },
        [&] { first(s.quota_users, set); },
        [&] { first(s.meta, set); },
        [&] { s.meta["next_job"] = bytes; },
        [&] { s.meta["next_piece"] = bytes; },
    };
    kDamages[r.choice % std::size(kDamages)]();
    world_.restart();
    FUZZ_CHECK(world_.restored.has_value());
    check_restored();
  }
};

bool run(std::string_view input) { return Play().run(Input(input)); }

std::string request(uint8_t user, const wire::ApiRequest& message) {
  return make_record(kRequest, user, message.SerializeAsString());
}
std::string message(uint8_t node, const wire::NodeToController& m) {
  return make_record(kNodeMessage, node, m.SerializeAsString());
}

/// Three nodes, a job on two of them.
std::string two_node_job() {
  std::string bytes;
  for (uint8_t node = 0; node < kNodes; ++node) bytes += make_record(kRegister, node);
  bytes += request(1, World::submission(ctld::testing::gang(2)));
  bytes += make_record(kSchedule, 0);
  for (uint8_t node = 0; node < 2; ++node) {
    wire::NodeToController m;
    m.mutable_prepared()->set_job(1);
    m.mutable_prepared()->set_attempt(1);
    bytes += message(node, m);
  }
  return bytes;
}

std::string end_of_job() {
  wire::NodeToController exited;
  exited.mutable_batch_exited()->set_job(1);
  exited.mutable_batch_exited()->set_attempt(1);
  std::string bytes = message(0, exited);
  for (uint8_t node = 0; node < 2; ++node) {
    wire::NodeToController m;
    m.mutable_done()->set_job(1);
    m.mutable_done()->set_attempt(1);
    bytes += message(node, m);
  }
  return bytes;
}

std::string one_of_each_request() {
  std::vector<wire::ApiRequest> all(10);
  all[0].mutable_list_jobs();
  all[1].mutable_list_nodes()->set_topology(true);
  all[2].mutable_list_partitions();
  all[3].mutable_show_job()->set_id(1);
  all[4].mutable_job_action()->add_ids(1);
  all[4].mutable_job_action()->set_action(wire::kHold);
  all[5].mutable_update_job()->add_ids(1);
  all[5].mutable_update_job()->set_time_limit_us(60'000'000);
  all[6].mutable_update_node()->add_names("n2");
  all[6].mutable_update_node()->set_action(wire::kNodeDrain);
  all[6].mutable_update_node()->set_reason("disk");
  all[7].mutable_update_partition()->set_name("main");
  all[7].mutable_update_partition()->set_tier(2);
  all[8].mutable_ping();
  all[9].mutable_cancel()->mutable_filter()->add_ids(1);
  std::string bytes = request(1, World::submission(ctld::testing::gang(1)));
  for (const wire::ApiRequest& r : all) bytes += request(0, r);
  return bytes;
}

wire::ApiRequest action(uint32_t id, wire::JobAction what) {
  wire::ApiRequest r;
  r.mutable_job_action()->add_ids(id);
  r.mutable_job_action()->set_action(what);
  return r;
}

std::string prepared(uint8_t node, uint32_t job, uint32_t attempt = 1, uint32_t step = 0) {
  wire::NodeToController m;
  m.mutable_prepared()->set_job(job);
  m.mutable_prepared()->set_attempt(attempt);
  m.mutable_prepared()->set_step(step);
  return message(node, m);
}

/// What administrators make: quotas, a reservation, a partition.
std::string tables() {
  std::vector<wire::ApiRequest> all(4);
  for (const auto& [name, parent] : {std::pair("above", ""), std::pair("below", "above")}) {
    wire::QuotaChange& change = *all[0].mutable_change_quotas()->add_changes();
    change.set_what(wire::QuotaChange::kAdd);
    change.set_name(name);
    change.mutable_qos()->set_parent(parent);
    change.mutable_qos()->set_priority(5);
  }
  wire::Reservation& course = *all[1].mutable_create_reservation()->mutable_reservation();
  course.set_name("course");
  course.set_start_us(1'500'000'000'000);
  course.set_duration_us(base::hours(1).us);
  course.add_nodes("n2");
  course.add_users("user1000");
  all[2].mutable_create_partition()->mutable_partition()->set_name("made");
  all[2].mutable_create_partition()->mutable_partition()->add_nodes("n1");
  all[2].mutable_create_partition()->mutable_partition()->add_origins()->set_key("nodes");
  all[3].mutable_update_node()->add_names("n2");
  all[3].mutable_update_node()->set_action(wire::kGpuOffline);
  all[3].mutable_update_node()->add_gpus(3);
  all[3].mutable_update_node()->set_reason("ECC");
  std::string bytes;
  for (const wire::ApiRequest& r : all) bytes += request(0, r);
  return bytes;
}

/// Jobs that are held, changed, queued again, suspended and resumed, with a restart between.
std::string lives_of_jobs() {
  std::string bytes;
  for (uint8_t node = 0; node < kNodes; ++node) bytes += make_record(kRegister, node);
  wire::ApiRequest job = World::submission(ctld::testing::gang(1));
  job.mutable_submit()->mutable_spec()->set_qos("below");
  job.mutable_submit()->mutable_spec()->set_time_limit_us(base::hours(2).us);
  bytes += tables() + request(1, job) + make_record(kSchedule, 0) + prepared(0, 1);
  wire::ApiRequest more;
  more.mutable_update_job()->add_ids(1);
  more.mutable_update_job()->set_time_limit_us(base::hours(3).us);
  bytes += request(0, more) + make_record(kTick, 30) + request(0, action(1, wire::kSuspend)) + make_record(kRestart, 0);
  for (uint8_t node = 0; node < kNodes; ++node) bytes += make_record(kRegister, node);
  bytes += request(0, action(1, wire::kResume)) + request(1, job) + request(1, action(2, wire::kHold));
  more.mutable_update_job()->set_ids(0, 2);
  more.mutable_update_job()->set_nice(7);
  more.mutable_update_job()->set_qos("above");
  bytes += request(0, more) + request(1, action(2, wire::kRelease)) + request(1, action(1, wire::kRequeue));
  wire::ApiRequest away;
  wire::QuotaChange& change = *away.mutable_change_quotas()->add_changes();
  change.set_what(wire::QuotaChange::kDelete);
  change.set_name("below");
  change.set_move_to("above");
  return bytes + request(0, away) + make_record(kSchedule, 0) + request(0, action(2, wire::kRequeueHold));
}

/// An allocation with steps, a job of two components and an elastic gang.
std::string kinds_of_jobs() {
  std::string bytes;
  for (uint8_t node = 0; node < kNodes; ++node) bytes += make_record(kRegister, node);
  wire::ApiRequest allocation = World::submission(ctld::testing::gang(1, 2));
  allocation.mutable_submit()->clear_script();
  allocation.mutable_submit()->mutable_spec()->set_kind(static_cast<uint32_t>(model::JobKind::kAllocation));
  bytes += request(1, allocation) + make_record(kSchedule, 0) + prepared(0, 1);
  wire::ApiRequest step;
  step.mutable_create_step()->set_job_id(1);
  step.mutable_create_step()->set_client_key(std::string(32, 'k'));
  step.mutable_create_step()->mutable_step()->set_tasks(1);
  bytes += request(1, step) + prepared(0, 1, 1, 1);
  wire::ApiRequest two = World::submission(ctld::testing::gang(1));
  *two.mutable_submit()->add_components() = two.submit().spec();
  bytes += request(1, two) + make_record(kSchedule, 0) + prepared(1, 2) + prepared(2, 3);
  wire::ApiRequest elastic = World::submission(ctld::testing::gang(1, 4));
  elastic.mutable_submit()->mutable_spec()->mutable_request()->set_elastic(true);
  elastic.mutable_submit()->mutable_spec()->mutable_request()->set_max_nodes(3);
  bytes += request(2, elastic) + make_record(kSchedule, 0) + prepared(0, 4) + make_record(kSchedule, 0);
  wire::ApiRequest cancel;
  cancel.mutable_cancel()->mutable_filter()->add_ids(2);
  wire::ApiRequest end;
  end.mutable_end_allocation()->set_job_id(1);
  return bytes + request(1, cancel) + make_record(kSchedule, 0) + request(1, end) + request(2, action(4, wire::kHold));
}

/// Of one kind of request, by the place of its row in the table of bounds: one list or text after the other far too
/// long.
std::string grown_requests(const wire::ApiRequest& of, uint8_t row, uint8_t inside) {
  std::string bytes = make_record(kRegister, 0);
  for (int field = 0; field < 3; ++field) {
    const std::string choices = {static_cast<char>(row), static_cast<char>(inside), static_cast<char>(inside + field),
                                 '\0'};
    bytes += make_record(kGrow, field > 0 ? 1 : 129, choices + of.SerializeAsString());
  }
  return bytes;
}

std::vector<std::string> made_inputs() {
  World world(kNodes);
  world.connect_all();
  world.submit(1000, ctld::testing::gang(2));
  world.schedule();
  const store::JobRow& row = world.store.jobs.begin()->second;
  std::vector<std::string> all = {
      two_node_job() + end_of_job(), two_node_job() + make_record(kRestart, 0) + make_record(kTick, 200),
      two_node_job() + make_record(kCut, 1) + make_record(kTick, 90) + make_record(kRegister, 1)};
  const std::string run_node = world.store.run_nodes.begin()->second.bytes;
  for (const auto& [choice, bytes] : {std::pair(0, row.spec), std::pair(1, row.status), std::pair(2, row.nodes),
                                      std::pair(5, world.store.nodes.begin()->second), std::pair(6, run_node)})
    all.push_back(two_node_job() + make_record(kDamage, static_cast<uint8_t>(choice), bytes));
  for (uint8_t choice = 7; choice < 15; ++choice) all.push_back(two_node_job() + make_record(kDamage, choice, "x"));
  all.push_back(two_node_job() + end_of_job() + make_record(kDamage, 4, row.status));
  for (std::string input : {one_of_each_request(), lives_of_jobs(), kinds_of_jobs()}) all.push_back(std::move(input));
  const wire::ApiRequest submission = World::submission(ctld::testing::gang(1));
  for (uint8_t inside = 0; inside < 4; ++inside) all.push_back(grown_requests(submission, 2, inside));
  for (const uint8_t kind : {3, 6, 7, 29}) all.push_back(grown_requests({}, kind, 0));
  return all;
}

GW_FUZZ_TARGET("controller", run, made_inputs);

}  // namespace
}  // namespace gw::fuzz
