// Users and an administrator. See owners.h.
#include "tests/prop/ctld_nodes/owners.h"

#include <rapidcheck.h>

#include <algorithm>
#include <array>

namespace gw::ctld::testing {

namespace {

constexpr std::array<uint32_t, 3> kUsers = {1000, 1001, 1002};
constexpr uint64_t kGpu = 1000;

/// Successive digits of a random number.
class Dice {
 public:
  explicit Dice(uint32_t value) : value_(value * 2654435761U + 12345U) {}
  uint32_t operator()(uint32_t sides) {
    value_ ^= value_ << 13;
    value_ ^= value_ >> 17;
    value_ ^= value_ << 5;
    return value_ % sides;
  }

 private:
  uint32_t value_;
};

void set_gpus(wire::AmountsPatch& patch, uint64_t gpus) {
  wire::QosAmount& amount = *patch.add_set();
  amount.set_resource("gpu");
  amount.set_amount(gpus * kGpu);
}

}  // namespace

std::vector<model::Qos> first_quotas() {
  std::vector<model::Qos> tree(4);
  tree[0].name = "normal";
  tree[1].name = "a";
  tree[1].guaranteed["gpu"] = 8 * kGpu;
  tree[1].max_jobs = 6;
  tree[2].name = "a.1";
  tree[2].parent = "a";
  tree[2].guaranteed["gpu"] = 4 * kGpu;
  tree[2].limit_per_user["gpu"] = 12 * kGpu;
  tree[3].name = "b";
  tree[3].guaranteed["gpu"] = 8 * kGpu;
  tree[3].limit["gpu"] = 16 * kGpu;
  tree[3].max_submit_per_user = 20;
  return tree;
}

wire::ApiRequest Owners::submission(uint32_t pick, Time now) {
  Dice dice(pick);
  const bool is_elastic = dice(6) == 0;
  model::Request request = gang(is_elastic ? 1 : 1 + dice(3) % 3, 1 + dice(8));
  if (is_elastic) {
    request.max_nodes = 3;
    request.elastic = true;
  }
  request.mem_per_node_mb = dice(6) == 0 ? 40'000 : 1000;
  wire::ApiRequest r = World::submission(request);
  wire::JobSpec& spec = *r.mutable_submit()->mutable_spec();
  spec.set_name("t" + std::to_string(asked_.size()));
  spec.set_qos(std::array{"normal", "normal", "a", "a.1", "b"}[dice(5)]);
  spec.add_partitions(dice(3) == 0 ? "leased" : "main");
  if (dice(2) == 0) spec.set_time_limit_us(base::seconds(60 + 60 * dice(20)).us);
  if (spec.time_limit_us() > 0 && dice(3) == 0) spec.set_time_min_us(base::seconds(60).us);
  if (dice(8) == 0) spec.set_begin_us((now + base::seconds(dice(120))).us);
  if (dice(8) == 0) spec.set_hold_user(true);
  if (dice(5) == 0 && !owner_of_.empty()) {
    const std::string other = std::prev(owner_of_.end())->first.text();
    spec.set_dependency(std::array{"afterok:", "afternotok:", "afterany:", "after:", "aftercorr:"}[dice(5)] + other);
    spec.set_kill_on_invalid_dependency(dice(2) == 0);
  }
  spec.set_requeue(dice(4) != 0);
  spec.set_on_preempt(static_cast<uint32_t>(model::kOnPreempt[dice(model::kOnPreempt.size())]));
  if (dice(5) == 0) spec.set_preempt_signo(10);
  if (dice(6) == 0) spec.set_not_preemptible(true);
  if (dice(6) == 0) {
    spec.set_warn_signo(10);
    spec.set_warn_seconds_before(30);
  }
  if (dice(10) == 0) spec.set_reservation("course");
  const uint32_t kind = is_elastic ? 0 : dice(10);
  if (kind == 1) spec.set_kind(static_cast<uint32_t>(model::JobKind::kAllocation));
  if (kind == 2) {
    spec.set_kind(static_cast<uint32_t>(model::JobKind::kStep));
    r.mutable_submit()->mutable_first_step()->set_client_key(std::string(32, 'f'));
  }
  if (kind == 3) {
    wire::JobSpec& component = *r.mutable_submit()->add_components();
    component = spec;
    *component.mutable_request() = wire::to_wire(gang(1, 1 + dice(8)));
  }
  if (kind == 4 || kind == 5) {
    wire::TaskRange& tasks = *r.mutable_submit()->mutable_array()->add_left();
    tasks.set_first(dice(3));
    tasks.set_step(1 + dice(3));
    tasks.set_last(tasks.first() + tasks.step() * (1 + dice(4)));
    r.mutable_submit()->mutable_array()->set_throttle(dice(3));
  }
  if (spec.kind() != 0) r.mutable_submit()->clear_script();
  return r;
}

/// Of the job that was meant, which may be an array, some tasks alone.
void name_tasks(wire::ApiRequest& r, uint32_t id, Dice& dice) {
  wire::TasksOfArray* to = nullptr;
  if (r.has_cancel()) to = r.mutable_cancel()->mutable_filter()->add_tasks();
  if (r.has_job_action()) to = r.mutable_job_action()->add_tasks();
  if (r.has_update_job()) to = r.mutable_update_job()->add_tasks();
  if (r.has_update_job() && dice(2) == 0) r.mutable_update_job()->set_array_throttle(dice(4));
  if (r.has_cancel()) r.mutable_cancel()->mutable_filter()->clear_ids();
  if (r.has_job_action()) r.mutable_job_action()->clear_ids();
  if (r.has_update_job()) r.mutable_update_job()->clear_ids();
  to->set_array(id);
  wire::TaskRange& tasks = *to->add_tasks();
  tasks.set_first(dice(6));
  tasks.set_step(1 + dice(2));
  tasks.set_last(tasks.first() + tasks.step() * (1 + dice(4)));
}

/// Something about a job that is there; often one's own.
std::optional<wire::ApiRequest> Owners::order(uint32_t pick, Time now) const {
  if (owner_of_.empty()) return std::nullopt;
  Dice dice(pick);
  auto it = owner_of_.end();
  std::advance(it, -1 - static_cast<int>(dice(static_cast<uint32_t>(std::min<size_t>(owner_of_.size(), 12)))));
  const uint32_t id = it->first.value;
  wire::ApiRequest r;
  const uint32_t what = dice(12);
  if (what < 3) {
    r.mutable_cancel()->mutable_filter()->add_ids(id);
    if (what == 1) r.mutable_cancel()->set_signo(9);
  } else if (what < 9) {
    r.mutable_job_action()->add_ids(id);
    r.mutable_job_action()->set_action(std::array{wire::kHold, wire::kRelease, wire::kRequeue, wire::kRequeueHold,
                                                  wire::kSuspend, wire::kResume}[dice(6)]);
  } else if (what < 11) {
    wire::UpdateJobRequest& update = *r.mutable_update_job();
    update.add_ids(id);
    const uint32_t field = dice(5);
    if (field == 0) update.set_time_limit_us(base::seconds(60 + 60 * dice(30)).us);
    if (field == 1) update.set_nice(static_cast<int32_t>(dice(100)));
    if (field == 2) update.set_qos(std::array{"normal", "a", "a.1", "b"}[dice(4)]);
    if (field == 3) update.set_comment("c" + std::to_string(dice(9)));
    if (field == 4) update.set_begin_us((now + base::seconds(dice(90))).us);
  } else {
    wire::CreateStepRequest& create = *r.mutable_create_step();
    create.set_job_id(id);
    create.set_client_key(std::string(32, static_cast<char>('a' + dice(5))));
    create.mutable_step()->set_tasks(1 + dice(6));
    create.mutable_step()->set_overlap(dice(3) == 0);
  }
  if (what < 11 && dice(3) == 0) name_tasks(r, id, dice);
  return r;
}

wire::ApiRequest Owners::change_of_quotas(uint32_t pick) {
  Dice dice(pick);
  wire::ApiRequest r;
  wire::QuotaChange& change = *r.mutable_change_quotas()->add_changes();
  change.set_what(wire::QuotaChange::kModify);
  change.set_name(std::array{"a", "a.1", "b"}[dice(3)]);
  wire::QosPatch& qos = *change.mutable_qos();
  if (dice(2) == 0) set_gpus(*qos.mutable_limit(), 8 + dice(17));
  if (dice(2) == 0) qos.set_max_jobs(1 + dice(8));
  if (dice(3) == 0) qos.set_priority(static_cast<int64_t>(dice(5)));
  return r;
}

wire::ApiRequest Owners::reservation(uint32_t pick, Time now) {
  Dice dice(pick);
  wire::ApiRequest r;
  if (dice(2) == 0) {
    r.mutable_delete_reservation()->set_name("course");
    return r;
  }
  wire::Reservation& course = *r.mutable_create_reservation()->mutable_reservation();
  course.set_name("course");
  course.add_nodes("n" + std::to_string(dice(3)));
  course.set_start_us((now + base::seconds(dice(120))).us);
  course.set_duration_us(base::seconds(60 + dice(600)).us);
  course.add_users("user1000");
  course.set_ignore_jobs(dice(2) == 0);
  return r;
}

size_t Owners::ask(uint32_t uid, wire::ApiRequest request, Time now) {
  request.set_id(7);
  request.set_client_id("ask" + std::to_string(asked_.size()));
  const auto action = request.job_action().action();
  if (request.has_job_action() && (action == wire::kRequeue || action == wire::kRequeueHold))
    for (const uint32_t id : request.job_action().ids()) requeued_.insert(JobId(id));
  asked_.push_back({uid, std::move(request), {}, now});
  return asked_.size() - 1;
}

std::optional<size_t> Owners::think_of(uint32_t pick, Time now) {
  Dice dice(pick);
  const uint32_t uid = kUsers[dice(kUsers.size())];
  const uint32_t what = dice(20);
  if (what < 8) return ask(uid, submission(pick, now), now);
  if (what == 18) return ask(0, change_of_quotas(pick), now);
  if (what == 19) return ask(0, reservation(pick, now), now);
  auto request = order(pick, now);
  if (!request) return std::nullopt;
  return ask(dice(4) == 0 ? 0 : uid, std::move(*request), now);
}

std::optional<size_t> Owners::recall(uint32_t pick, Time now) const {
  // An answer is kept for a while only.
  constexpr base::Duration kSoon = base::minutes(20);
  for (size_t i = 0; i < asked_.size(); ++i) {
    const size_t which = (pick + i) % asked_.size();
    const bool is_open = !asked_[which].answer;
    if (is_open || (pick % 4 == 0 && now - asked_[which].first < kSoon)) return which;
  }
  return std::nullopt;
}

bool Owners::awaits_answers() const {
  return std::any_of(asked_.begin(), asked_.end(), [](const Asked& asked) { return !asked.answer; });
}

void Owners::accepted(const Asked& asked, const wire::SubmitReply& reply) {
  const std::string& name = asked.request.submit().spec().name();
  const JobId id(reply.job_id());
  const auto [known, is_new] = by_name_.try_emplace(name, id);
  RC_ASSERT(known->second == id);  // a submission is one job, however often it was sent
  if (!is_new) return;
  const auto size = static_cast<uint32_t>(asked.request.submit().components_size());
  for (uint32_t k = 0; k <= size; ++k) RC_ASSERT(owner_of_.emplace(JobId(id.value + k), asked.uid).second);
}

/// `fault` is null where the order to the job was said to be done.
void Owners::judge(const Asked& asked, uint32_t id, const wire::Error* fault, const Controller& core) {
  const auto known = owner_of_.find(JobId(id));
  const uint32_t owner = known == owner_of_.end() ? core.jobs().at(JobId(id)).spec.uid : known->second;
  const bool is_allowed = asked.uid == 0 || asked.uid == owner;
  const auto denied = static_cast<uint32_t>(base::ErrorCode::kDenied);
  if (!is_allowed) {
    RC_ASSERT(fault != nullptr);
    const auto not_found = static_cast<uint32_t>(base::ErrorCode::kNotFound);
    RC_ASSERT(fault->code() == denied || fault->code() == not_found);
    return;
  }
  const bool is_of_tasks = !asked.request.cancel().filter().tasks().empty();
  if (is_of_tasks && fault != nullptr) RC_ASSERT(fault->code() != denied);
  if (!asked.request.has_cancel() || is_of_tasks) return;
  const auto job = core.jobs().find(JobId(id));
  if (fault == nullptr) {
    if (job != core.jobs().end()) cancelled_.try_emplace(JobId(id), job->second.attempt);
    return;
  }
  // One's own job that has not ended can be cancelled.
  RC_ASSERT(fault->code() != denied);
  RC_ASSERT(job == core.jobs().end() || model::is_end(job->second.state));
}

void Owners::hear(const Reply& reply, const Controller& core) {
  const auto it = by_conn_.find(reply.conn);
  if (it == by_conn_.end()) return;
  Asked& asked = asked_[it->second];
  by_conn_.erase(it);
  wire::ApiReply answer;
  RC_ASSERT(answer.ParseFromString(serialised(reply)));
  const bool is_change = !asked.request.has_create_step();
  if (asked.answer && !asked.answer->has_error() && is_change) {
    RC_ASSERT(answer.SerializeAsString() == asked.answer->SerializeAsString());  // the first answer, again
    return;
  }
  asked.answer = answer;
  if (answer.has_submit()) accepted(asked, answer.submit());
  for (const uint32_t id : answer.cancel().done()) judge(asked, id, nullptr, core);
  for (const wire::JobFault& fault : answer.cancel().faults()) judge(asked, fault.id(), &fault.error(), core);
  for (const uint32_t id : answer.jobs().done()) judge(asked, id, nullptr, core);
  for (const wire::JobFault& fault : answer.jobs().faults()) judge(asked, fault.id(), &fault.error(), core);
}

}  // namespace gw::ctld::testing
