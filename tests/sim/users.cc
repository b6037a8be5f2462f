// What users do. See users.h.
#include "tests/sim/users.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "tests/unit/ctld_core/world.h"

namespace gw::sim_cluster {
namespace {

constexpr std::array<uint32_t, 4> kUsers = {1000, 1001, 1002, 1003};

}  // namespace

void Users::begin() {
  box_.agenda.after(random_.between(base::milliseconds(100), base::seconds(10)), [this] {
    if (!is_there_) return;
    act();
    begin();
  });
}

void Users::act() {
  const uint32_t uid = random_.any(kUsers);
  if (jobs_.empty() || random_.chance(50)) return submit(uid);
  // About one that runs, or one of the newest.
  const std::vector<uint32_t> running = random_.chance(60) ? running_() : std::vector<uint32_t>();
  auto it = jobs_.end();
  if (!running.empty()) it = jobs_.find(random_.any(running));
  if (it == jobs_.end()) std::advance(it, -1 - static_cast<int>(random_(std::min<size_t>(jobs_.size(), 10))));
  const uint32_t who = random_.chance(60) ? it->second : random_.chance(70) ? 0 : uid;
  order(who, it->first);
}

void Users::submit(uint32_t uid) {
  ++submitted_;
  const wire::ApiRequest request = submission();
  const uint32_t size = static_cast<uint32_t>(request.submit().components_size()) + 1;
  clients_.ask(uid, request, [this, uid, size](const wire::ApiReply& reply) {
    for (uint32_t k = 0; reply.has_submit() && k < size; ++k) jobs_[reply.submit().job_id() + k] = uid;
  });
}

wire::Request Users::request_of(uint32_t nodes, uint32_t gpus) {
  return wire::to_wire(ctld::testing::gang(nodes, gpus));
}

/// What the cluster can give when nobody else has it.
wire::Request Users::draw_request(bool& is_elastic) {
  const uint32_t gpus = 1 + random_(random_.any(gpus_));
  const auto fit = static_cast<uint32_t>(std::count_if(gpus_.begin(), gpus_.end(), [&](auto g) { return g >= gpus; }));
  const uint32_t kind = random_(12);
  is_elastic = kind == 0 && fit > 1;
  wire::Request r = request_of(is_elastic || random_.chance(40) ? 1 : 1 + random_(std::min(fit, 12U)), gpus);
  if (is_elastic) {
    r.set_max_nodes(std::min(fit, 4U));
    r.set_elastic(true);
  }
  if (kind == 1) {
    r = request_of(1, 1);
    r.set_gpu_milli(random_.any({250U, 500U, 700U}));
  }
  if (kind == 2) {
    r = request_of(1, 0);
    r.set_gpu_counting(0);
    r.set_cpus_per_task(1 + random_(4));
  }
  r.set_mem_per_node_mb(random_.any({500U, 1'000U, 4'000U, 12'000U}));
  return r;
}

/// On one of the newest jobs, sometimes on somebody else's, which is refused.
void Users::draw_dependency(wire::JobSpec& spec) {
  if (jobs_.empty() || !random_.chance(15)) return;
  auto other = jobs_.end();
  std::advance(other, -1 - static_cast<int>(random_(std::min<size_t>(jobs_.size(), 6))));
  const std::string id = std::to_string(other->first);
  spec.set_dependency(random_.any({"after:" + id, "after:" + id + "+1", "afterany:" + id, "afterok:" + id,
                                   "afternotok:" + id, "afterok:" + id + "?afternotok:" + id, "aftercorr:" + id}));
  spec.set_kill_on_invalid_dependency(true);
}

void Users::draw_limits(wire::JobSpec& spec) {
  if (random_.chance(50)) spec.set_time_limit_us(base::seconds(60 + 60 * random_(15)).us);
  if (spec.time_limit_us() > 0 && random_.chance(30)) spec.set_time_min_us(base::seconds(60).us);
  if (spec.time_limit_us() > 0 && random_.chance(12))
    spec.set_deadline_us((box_.now() + base::seconds(400 + random_(2'000))).us);
  if (random_.chance(10)) spec.set_begin_us((box_.now() + base::seconds(random_(120))).us);
  if (random_.chance(10)) spec.set_hold_user(true);
  if (random_.chance(15)) {
    spec.set_warn_signo(10);
    spec.set_warn_seconds_before(30);
  }
  spec.set_requeue(random_.chance(75));
  // A half is suspended: not everything that could be is preempted.
  const bool suspends = random_.chance(55);
  spec.set_on_preempt(static_cast<uint32_t>(suspends ? model::OnPreempt::kSuspend : random_.any(model::kOnPreempt)));
  if (random_.chance(20)) spec.set_preempt_signo(10);
  if (random_.chance(15)) spec.set_not_preemptible(true);
  if (random_.chance(25)) spec.set_priority(1 + random_(100));
}

/// So that the components of a job find room beside each other.
bool Users::has_room_for_three() const { return std::accumulate(gpus_.begin(), gpus_.end(), 0U) >= 8; }

void Users::draw_kind(wire::ApiRequest& request, bool is_elastic) {
  wire::SubmitRequest& submit = *request.mutable_submit();
  wire::JobSpec& spec = *submit.mutable_spec();
  const uint32_t kind = is_elastic ? 0 : random_(has_room_for_three() ? 9 : 3);
  if (kind == 0 && !is_elastic && random_.chance(30)) {
    wire::TaskRange& tasks = *submit.mutable_array()->add_left();
    tasks.set_step(1 + random_(3));
    tasks.set_last(tasks.step() * (1 + random_(4)));
    submit.mutable_array()->set_throttle(random_(3));
  }
  if (kind == 1) spec.set_kind(static_cast<uint32_t>(model::JobKind::kAllocation));
  if (kind == 2) {
    spec.set_kind(static_cast<uint32_t>(model::JobKind::kStep));
    submit.mutable_first_step()->set_client_key(std::string(32, 'f'));
  }
  for (uint32_t k = kind == 3 ? 1 + random_(2) : 0; k > 0; --k) {
    wire::JobSpec& component = *submit.add_components();
    component = spec;
    *component.mutable_request() = request_of(1, 1 + random_(2));
  }
  if (random_.chance(20)) {
    const bool is_one = submit.components_size() == 0;
    spec.set_licenses("soft:" + std::to_string(is_one ? 1 + random_(3) : 1));
    for (wire::JobSpec& component : *submit.mutable_components()) component.set_licenses(spec.licenses());
  }
  if (submit.components_size() > 0) *spec.mutable_request() = request_of(1, 1 + random_(2));
  if (random_.chance(20)) {
    const std::string gres = random_.any({"disk:1", "disk:2", "disk:3", "fpga:1", "fpga:x:1", "disk:1,fpga:y:1"});
    wire::set_gres(spec.mutable_request()->mutable_gres(), model::parse_gres(gres).value());
  }
  if (spec.kind() != 0) submit.clear_script();
}

wire::ApiRequest Users::submission() {
  bool is_elastic = false;
  wire::ApiRequest request = ctld::testing::World::submission({});
  wire::JobSpec& spec = *request.mutable_submit()->mutable_spec();
  *spec.mutable_request() = draw_request(is_elastic);
  spec.set_name("t" + std::to_string(submitted_));
  spec.set_qos(random_.any({"normal", "normal", "a", "a1", "b"}));
  spec.add_partitions(random_.any({"main", "main", "main", "leased", "leased", "p0"}));
  if (spec.partitions(0) == "p0" && random_.chance(50)) spec.add_partitions("main");
  if (random_.chance(6)) spec.set_reservation(random_.any({"r0", "r1"}));
  draw_limits(spec);
  draw_dependency(spec);
  draw_kind(request, is_elastic);
  return request;
}

wire::ApiRequest Users::cancel(uint32_t job) {
  wire::ApiRequest r;
  r.mutable_cancel()->mutable_filter()->add_ids(job);
  if (random_.chance(30)) r.mutable_cancel()->set_signo(random_.any({9, 10, 15}));
  if (random_.chance(10)) r.mutable_cancel()->set_batch_only(true);
  return r;
}

wire::ApiRequest Users::action(uint32_t job) {
  wire::ApiRequest r;
  r.mutable_job_action()->add_ids(job);
  r.mutable_job_action()->set_action(
      random_.any({wire::kHold, wire::kUserHold, wire::kRelease, wire::kRelease, wire::kRequeue, wire::kRequeueHold,
                   wire::kSuspend, wire::kSuspend, wire::kResume, wire::kResume}));
  return r;
}

wire::ApiRequest Users::update(uint32_t job) {
  wire::ApiRequest r;
  wire::UpdateJobRequest& update = *r.mutable_update_job();
  update.add_ids(job);
  const uint32_t field = random_(7);
  if (field == 0) update.set_time_limit_us(base::seconds(60 + 60 * random_(20)).us);
  if (field == 1) update.set_nice(static_cast<int32_t>(random_(100)));
  if (field == 2) update.set_qos(random_.any({"normal", "a", "a1", "b"}));
  if (field == 3) update.set_comment("c" + std::to_string(random_(9)));
  if (field == 4) update.set_begin_us((box_.now() + base::seconds(random_(90))).us);
  if (field == 5) update.set_priority(random_(100));
  if (field == 6) update.set_partition(random_.any({"main", "leased"}));
  return r;
}

wire::ApiRequest Users::step(uint32_t job) {
  wire::ApiRequest r;
  wire::CreateStepRequest& create = *r.mutable_create_step();
  create.set_job_id(job);
  create.set_client_key(std::string(32, static_cast<char>('a' + random_(5))));
  create.mutable_step()->set_tasks(1 + random_(4));
  create.mutable_step()->set_overlap(random_.chance(30));
  if (random_.chance(30)) create.mutable_step()->set_gpus_per_task(1);
  create.set_immediate(random_.chance(50));
  return r;
}

void Users::order(uint32_t uid, uint32_t job) {
  const uint32_t what = random_(18);
  wire::ApiRequest r;
  if (what < 2) r = cancel(job);
  if (what >= 2 && what < 7) r = action(job);
  if (what >= 7 && what < 9) r = update(job);
  if (what == 9 || what == 10 || (what >= 13 && what < 16)) r = step(job);
  if (what == 11) r.mutable_checkpointed()->set_job_id(job);
  if (what == 17) {
    r.mutable_progress()->set_job_id(job);
    r.mutable_progress()->set_step(random_(200));
    if (random_.chance(50)) r.mutable_progress()->set_of(100);
    if (random_.chance(50)) r.mutable_progress()->set_rate_milli(random_(5'000));
  }
  if (what == 12 || what == 16) {
    r.mutable_signal_step()->set_job_id(job);
    r.mutable_signal_step()->set_step(random_(2));
    r.mutable_signal_step()->set_signo(random_.any({0, 10}));
  }
  clients_.ask(uid, r, {});
  if (r.job_action().action() != wire::kSuspend || random_.chance(15)) return;
  r.mutable_job_action()->set_action(wire::kResume);
  box_.agenda.after(random_.between(base::seconds(1), base::seconds(30)), [this, r] { clients_.ask(0, r, {}); });
}

}  // namespace gw::sim_cluster
