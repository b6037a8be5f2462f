// The controller's core, asked anything by users, told anything by nodes, and restored from damaged records: it never
// falls over, and what it holds stays consistent.
#include "tests/fuzz/records.h"
#include "tests/unit/ctld_core/world.h"

namespace gw::fuzz {
namespace {

using ctld::testing::World;

constexpr uint32_t kNodes = 3;
constexpr uint32_t kUids[] = {0, 1000, 1001};
constexpr size_t kMaxRecords = 40;

enum Kind : uint8_t { kRequest, kNodeMessage, kRegister, kCut, kTick, kSchedule, kRestart, kDamage, kKinds };

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
      default:
        damage(r);
        return true;
    }
  }

  bool ask(const Record& r) {
    wire::ApiRequest request;
    if (!parse_message(request, r.payload)) return false;
    const wire::ApiReply reply = world_.ask(kUids[r.choice % std::size(kUids)], request);
    if (!reply.has_error()) return true;
    FUZZ_CHECK(!reply.error().what().empty());
    return false;
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

  // One stored record is replaced: a controller starts from it or says what is wrong.
  void damage(const Record& r) {
    store::Snapshot s = world_.store.snapshot(world_.now - base::seconds(300));
    const std::string bytes(r.payload);
    for (store::JobRow& row : s.jobs) (r.choice % 4 == 0 ? row.spec : row.status) = bytes;
    for (store::JobRow& row : s.recently_ended) (r.choice % 4 == 1 ? row.spec : row.status) = bytes;
    if (r.choice % 4 == 2)
      for (store::NamedBytes& row : s.nodes) row.bytes = bytes;
    if (r.choice % 4 == 3) s.meta = {{"next_job", bytes}};
    ctld::Controller damaged(world_.settings, world_.now);
    const base::Status restored = damaged.restore(s, world_.now);
    if (!restored) check_error(restored.error());
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

std::vector<std::string> made_inputs() {
  World world(kNodes);
  world.connect_all();
  world.submit(1000, ctld::testing::gang(2));
  world.schedule();
  const store::JobRow& row = world.store.jobs.begin()->second;
  std::vector<std::string> all = {
      two_node_job() + end_of_job(), two_node_job() + make_record(kRestart, 0) + make_record(kTick, 200),
      two_node_job() + make_record(kCut, 1) + make_record(kTick, 90) + make_record(kRegister, 1)};
  for (const auto& [choice, bytes] : {std::pair(0, row.spec), std::pair(1, row.status)})
    all.push_back(two_node_job() + make_record(kDamage, static_cast<uint8_t>(choice), bytes));
  all.push_back(two_node_job() + end_of_job() + make_record(kDamage, 0, row.status));
  all.push_back(two_node_job() + make_record(kDamage, 2, world.store.nodes.begin()->second));
  all.push_back(one_of_each_request());
  return all;
}

GW_FUZZ_TARGET("controller", run, made_inputs);

}  // namespace
}  // namespace gw::fuzz
