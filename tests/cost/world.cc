// See world.h.
#include "tests/cost/world.h"

#include <fmt/format.h>
#include <malloc.h>

#include <cstdio>
#include <cstdlib>

namespace gw::cost {
namespace {

using ctld::testing::gang;

std::string numbered(const char* what, uint32_t i) { return what + std::to_string(i); }

}  // namespace

CostWorld::CostWorld() : Fleet(kNodes) {
  absent_node = settings.nodes.back().name;
  settings.enforce_accounts = false;  // jobs have labels
  settings.web_uid = kWebUid;
  store.reservations[kDamaged] = "\xff";
  restart();
  join_all();
  make_partitions();
  make_quotas();
  make_allocation();
  make_jobs();
  make_reservations();
  make_tokens();
  cut(absent_node);
  make_pair();
  // The copies of the process are the cheaper the less it holds.
  to_node.clear();
  replies.clear();
  notes.clear();
  malloc_trim(0);
}

wire::ApiReply CostWorld::must(uint32_t uid, const wire::ApiRequest& request) {
  wire::ApiReply reply = ask(uid, request);
  if (!reply.has_error()) return reply;
  std::fprintf(stderr, "the world cannot be made: %s\n", reply.error().what().c_str());
  std::abort();
}

wire::ApiReply CostWorld::must_on(ctld::ConnId conn, uint32_t uid, wire::ApiRequest request) {
  request.set_id(7);
  const size_t before = replies[conn].size();
  core->on_request(now, conn, user(uid), request);
  pump();
  if (replies[conn].size() == before) return {};
  if (!replies[conn].back().has_error()) return replies[conn].back();
  std::fprintf(stderr, "the world cannot be made: %s\n", replies[conn].back().error().what().c_str());
  std::abort();
}

void CostWorld::make_partitions() {
  constexpr uint32_t kSpan = kNodes / kGroups;
  for (uint32_t i = 0; i < kGroups; ++i) {
    wire::ApiRequest r;
    wire::Partition& p = *r.mutable_create_partition()->mutable_partition();
    p.set_name(numbered("p", i));
    p.set_unlimited(true);
    p.set_max_time_us(base::kUnlimited.us);
    p.set_default_time_us(base::hours(24).us);
    for (uint32_t n = 0; n < kSpan; ++n) p.add_nodes(numbered("n", i * kSpan + n));
    must(0, r);
  }
}

void CostWorld::make_quotas() {
  wire::ApiRequest r;
  for (uint32_t i = 0; i < kGroups; ++i) {
    wire::QuotaChange& change = *r.mutable_change_quotas()->add_changes();
    change.set_what(wire::QuotaChange::kAdd);
    change.set_name(numbered("q", i));
    for (uint32_t u = 0; u < kUsers; ++u)
      change.mutable_qos()->mutable_users()->add_add(numbered("user", kFirstUid + u));
  }
  wire::QuotaChange& usual = *r.mutable_change_quotas()->add_changes();
  usual.set_what(wire::QuotaChange::kAdd);
  usual.set_name("normal");
  wire::QosAmount& gpus = *usual.mutable_qos()->mutable_guaranteed()->add_set();
  gpus.set_resource("gpu");
  gpus.set_amount(uint64_t{kNodes} * model::kWholeGpu);  // one of each node
  must(0, r);
}

/// Each user has some; the last of the first user has a hash of the letter b alone.
void CostWorld::make_tokens() {
  for (uint32_t u = 0; u < kUsers; ++u)
    for (uint32_t i = 0; i < kGroups; ++i) {
      wire::ApiRequest r;
      r.mutable_make_token()->set_hash(fmt::format("{:04x}{:08x}{:052x}", u, i, 0));
      must(kFirstUid + u, r);
    }
  wire::ApiRequest r;
  r.mutable_make_token()->set_hash(std::string(64, 'b'));
  must(kFirstUid, r);
}

void CostWorld::make_reservations() {
  for (uint32_t i = 0; i < kGroups; ++i) {
    wire::ApiRequest r;
    wire::Reservation& one = *r.mutable_create_reservation()->mutable_reservation();
    one.set_name(numbered("r", i));
    one.set_start_us((now + base::hours(1'000 + 2 * i)).us);
    one.set_duration_us(base::hours(1).us);
    one.set_ignore_jobs(true);
    for (uint32_t n = 0; n < kGroups; ++n) one.add_nodes(numbered("n", n));
    for (uint32_t u = 0; u < kUsers; ++u) one.add_users(numbered("user", kFirstUid + u));
    must(0, r);
  }
}

/// Of 8 nodes, with a step that runs and one that waits for cores.
void CostWorld::make_allocation() {
  constexpr uint32_t kSpan = 8;
  client = ++last_conn;
  wire::ApiRequest r = submission(gang(kSpan, 4));
  r.mutable_submit()->clear_script();
  r.mutable_submit()->mutable_spec()->set_kind(static_cast<uint32_t>(model::JobKind::kAllocation));
  r.mutable_submit()->mutable_spec()->set_attended(true);
  r.mutable_submit()->mutable_spec()->set_not_preemptible(true);
  allocation = base::JobId(must_on(client, kFirstUid, r).submit().job_id());
  settle();
  wire::ApiRequest step;
  step.mutable_create_step()->set_job_id(allocation.value);
  step.mutable_create_step()->set_client_key(std::string(32, 'a'));
  step.mutable_create_step()->mutable_step()->set_tasks(kSpan);
  must_on(++last_conn, kFirstUid, step);
  for (const auto& share : job(allocation).placed()->allocation.shares) {
    wire::NodeToController m;
    m.mutable_prepared()->set_job(allocation.value);
    m.mutable_prepared()->set_attempt(job(allocation).attempt);
    m.mutable_prepared()->set_step(1);
    m.mutable_prepared()->set_address("[::]:4711");
    m.mutable_prepared()->set_key(std::string(32, 'k'));
    say(share.name, m);
  }
}

/// Of two components, which wait. The last of all: for such jobs the controller keeps a cluster without jobs in mind.
void CostWorld::make_pair() {
  wire::ApiRequest two = submission(gang(kNodes / 2));
  *two.mutable_submit()->add_components() = two.submit().spec();
  must(kFirstUid, two);
}

/// A fifth runs, on one or two nodes each; the others ask for more nodes than are free.
void CostWorld::make_jobs() {
  constexpr uint32_t kRunning = 200;
  for (uint32_t i = 1; i < kJobs; ++i) {
    const bool runs = i <= kRunning;
    wire::ApiRequest r = submission(runs ? gang(1 + i % 2) : gang(kNodes - 50 + i % 40));
    wire::JobSpec& spec = *r.mutable_submit()->mutable_spec();
    spec.set_name(numbered("job", i % 50));
    spec.set_qos(i % 3 == 0 ? "normal" : numbered("q", i % kGroups));
    spec.set_account(numbered("account", i % 10));
    if (!runs && i % 2 == 0) spec.set_time_limit_us(base::minutes(i).us);
    const base::JobId id(must(kFirstUid + i % kUsers, r).submit().job_id());
    if (i == kRunning) settle();
    if (i == kUsers) running = id;
    if (i == kRunning + kUsers) waiting = id;
  }
  settle();
  wire::ApiRequest last = submission(gang(2, 1));
  preparing = base::JobId(must(kFirstUid, last).submit().job_id());
  schedule();  // its nodes have not said yet that they are ready
  const auto* placed = job(preparing).placed();
  if (placed == nullptr || job(running).placed() == nullptr || job(waiting).waiting() == nullptr) {
    std::fprintf(stderr, "the world cannot be made: jobs are not as they should be\n");
    std::abort();
  }
  node_of_preparing = placed->allocation.shares.front().name;
  node_of_run = job(running).placed()->allocation.shares.front().name;
}

void CostWorld::start_gang(uint32_t nodes) {
  const base::JobId id(must(kFirstUid, submission(gang(nodes))).submit().job_id());
  schedule();
  if (job(id).placed() != nullptr) return;
  std::fprintf(stderr, "a gang of %u nodes finds no room\n", nodes);
  std::abort();
}

Pools CostWorld::pools() const {
  Pools out;
  for (const auto& node : settings.nodes) out["node"].push_back(node.name);
  for (uint32_t i = 0; i < kGroups; ++i) {
    out["partition"].push_back(numbered("p", i));
    out["QOS"].push_back(numbered("q", i));
    out["reservation"].push_back(numbered("r", i));
  }
  for (uint32_t u = 0; u < kUsers; ++u) out["user"].push_back(numbered("user", kFirstUid + u));
  return out;
}

}  // namespace gw::cost
