// The decisions of a pass as a message, and back.
#include "snapshot/convert.h"
#include "wire/blockers.h"
#include "wire/convert.h"

namespace gw::snapshot {
namespace {

using base::Result;

constexpr int64_t kFar = int64_t{1} << 60;  // microseconds; 36,000 years

void set_stood(wire::SnapshotQosStood& to, const sched::QosStood& qos) {
  const auto& [name, held, guaranteed, fair] = qos;
  to.set_name(name);
  to.set_held(held);
  to.set_guaranteed(guaranteed);
  to.set_fair(fair);
}

sched::QosStood stood_from(const wire::SnapshotQosStood& w) { return {w.name(), w.held(), w.guaranteed(), w.fair()}; }

void set_ground(wire::SnapshotGround& to, const sched::Ground& ground) {
  const auto& [asked, own, from, by, priority, victim_priority, is_extension] = ground;
  to.set_asked(asked);
  set_stood(*to.mutable_own(), own);
  set_stood(*to.mutable_from(), from);
  to.set_by(static_cast<uint32_t>(by));
  to.set_priority(priority);
  to.set_victim_priority(victim_priority);
  to.set_is_extension(is_extension);
}

Result<sched::Ground> ground_from(const wire::SnapshotGround& w) {
  if (w.by() > static_cast<uint32_t>(model::Reclaim::kFairShare))
    return base::invalid("the snapshot is damaged: an unknown comparison of quotas");
  return sched::Ground{w.asked(),    stood_from(w.own()), stood_from(w.from()), static_cast<model::Reclaim>(w.by()),
                       w.priority(), w.victim_priority(), w.is_extension()};
}

struct DecisionWriter {
  wire::SnapshotDecision* to;
  bool with_words;

  void operator()(const sched::Start& d) const {
    const auto& [job, partition, allocation, time_limit, borrows] = d;
    wire::SnapshotStart* w = to->mutable_start();
    w->set_job(job.value);
    w->set_partition(partition);
    for (const model::NodeShare& share : allocation.shares) set_share(w->add_shares(), share);
    w->set_time_limit_us(time_limit.us);
    if (with_words && borrows) {
      w->mutable_borrows()->set_from_beyond(borrows->from_beyond);
      w->mutable_borrows()->set_gpu_milli(borrows->gpu_milli);
    }
  }
  void operator()(const sched::Grow& d) const {
    const auto& [gang, extension, allocation] = d;
    to->mutable_grow()->set_gang(gang.value);
    to->mutable_grow()->set_extension(extension.value);
    for (const model::NodeShare& share : allocation.shares) set_share(to->mutable_grow()->add_shares(), share);
  }
  void operator()(const sched::Preempt& d) const {
    const auto& [job, beneficiary, grace, rule, is_move, is_suspended, ground] = d;
    to->mutable_preempt()->set_job(job.value);
    to->mutable_preempt()->set_beneficiary(beneficiary.value);
    to->mutable_preempt()->set_grace_us(grace.us);
    to->mutable_preempt()->set_rule(static_cast<uint32_t>(rule));
    to->mutable_preempt()->set_is_move(is_move);
    to->mutable_preempt()->set_is_suspended(is_suspended);
    if (with_words && ground) set_ground(*to->mutable_preempt()->mutable_ground(), *ground);
  }
  void operator()(const sched::Nomination& d) const { set_nomination(to->mutable_nomination(), d); }
  void operator()(const sched::Wait& d) const {
    const auto& [job_class, reason, blockers, cause] = d;
    to->mutable_wait()->set_job_class(job_class);
    to->mutable_wait()->set_reason(static_cast<uint32_t>(reason));
    to->mutable_wait()->set_cause(static_cast<uint32_t>(cause));
    if (with_words) wire::set_blockers(*to->mutable_wait()->mutable_blockers(), blockers);
  }
  void operator()(const sched::Reject& d) const {
    const auto& [job, reason, detail] = d;
    to->mutable_reject()->set_job(job.value);
    to->mutable_reject()->set_reason(static_cast<uint32_t>(reason));
    if (with_words) to->mutable_reject()->set_detail(detail);
  }
};

Result<model::WaitReason> reason_from(uint32_t reason) {
  if (reason > static_cast<uint32_t>(model::kLastWaitReason))
    return base::invalid("the snapshot is damaged: an unknown reason for waiting");
  return static_cast<model::WaitReason>(reason);
}

Result<sched::Decision> start_from(const wire::SnapshotStart& w) {
  sched::Start start;
  start.job = base::JobId(w.job());
  start.partition = w.partition();
  for (const wire::SnapshotShare& s : w.shares()) {
    GW_TRY(share, share_from(s));
    start.allocation.shares.push_back(std::move(share));
  }
  GW_TRY(time_limit, duration_from(w.time_limit_us()));
  start.time_limit = time_limit;
  if (w.has_borrows()) start.borrows = sched::Borrowing{w.borrows().from_beyond(), w.borrows().gpu_milli()};
  return sched::Decision{std::move(start)};
}

Result<sched::Decision> grow_from(const wire::SnapshotGrow& w) {
  sched::Grow grow{base::JobId(w.gang()), base::JobId(w.extension()), {}};
  for (const wire::SnapshotShare& s : w.shares()) {
    GW_TRY(share, share_from(s));
    grow.allocation.shares.push_back(std::move(share));
  }
  return sched::Decision{std::move(grow)};
}

Result<sched::Decision> preempt_from(const wire::SnapshotPreempt& w) {
  GW_TRY(grace, duration_from(w.grace_us()));
  sched::Preempt out{base::JobId(w.job()), base::JobId(w.beneficiary()), grace, static_cast<int>(w.rule()), w.is_move(),
                     w.is_suspended()};
  if (w.has_ground()) {
    GW_TRY(ground, ground_from(w.ground()));
    out.ground = std::move(ground);
  }
  return sched::Decision{std::move(out)};
}

Result<sched::Decision> decision_from(const wire::SnapshotDecision& w) {
  switch (w.kind_case()) {
    case wire::SnapshotDecision::kStart:
      return start_from(w.start());
    case wire::SnapshotDecision::kGrow:
      return grow_from(w.grow());
    case wire::SnapshotDecision::kPreempt:
      return preempt_from(w.preempt());
    case wire::SnapshotDecision::kNomination: {
      GW_TRY(nomination, nomination_from(w.nomination()));
      return sched::Decision{std::move(nomination)};
    }
    case wire::SnapshotDecision::kWait: {
      GW_TRY(reason, reason_from(w.wait().reason()));
      if (w.wait().cause() > static_cast<uint32_t>(model::kLastWaitCause))
        return base::invalid("the snapshot is damaged: an unknown cause of waiting");
      return sched::Decision{sched::Wait{w.wait().job_class(), reason, wire::blockers_from(w.wait().blockers()),
                                         static_cast<model::WaitCause>(w.wait().cause())}};
    }
    case wire::SnapshotDecision::kReject: {
      GW_TRY(reason, reason_from(w.reject().reason()));
      return sched::Decision{sched::Reject{base::JobId(w.reject().job()), reason, w.reject().detail()}};
    }
    case wire::SnapshotDecision::KIND_NOT_SET:
      break;
  }
  return base::invalid("the snapshot is damaged: an unknown decision");
}

}  // namespace

Result<base::Time> time_from(int64_t us) {
  if (us != base::Time::never().us && (us > kFar || us < -kFar))
    return base::invalid("the snapshot is damaged: a time is out of range");
  return base::Time{us};
}

Result<base::Duration> duration_from(int64_t us) {
  if (us != base::kUnlimited.us && (us > kFar || us < 0))
    return base::invalid("the snapshot is damaged: a length of time is out of range");
  return base::Duration{us};
}

void set_share(wire::SnapshotShare* to, const model::NodeShare& share) {
  to->set_node(share.node.value);
  *to->mutable_share() = wire::to_wire(share);
}

Result<model::NodeShare> share_from(const wire::SnapshotShare& from) {
  GW_TRY(share, wire::from_wire(from.share()));
  share.node = base::NodeId(from.node());
  return std::move(share);
}

void set_nomination(wire::SnapshotNomination* to, const sched::Nomination& nomination) {
  const auto& [job, partition, allocation, when, components] = nomination;
  to->set_job(job.value);
  to->set_partition(partition);
  for (const model::NodeShare& share : allocation.shares) set_share(to->add_shares(), share);
  to->set_when_us(when.us);
  for (const model::KeptPlace& part : components) {
    wire::SnapshotKeptPlace* kept = to->add_components();
    kept->set_partition(part.partition);
    for (const model::NodeShare& share : part.allocation.shares) set_share(kept->add_shares(), share);
  }
}

namespace {

template <typename Shares>
Result<model::Allocation> allocation_from(const Shares& shares) {
  model::Allocation out;
  for (const wire::SnapshotShare& s : shares) {
    GW_TRY(share, share_from(s));
    out.shares.push_back(std::move(share));
  }
  return out;
}

}  // namespace

Result<sched::Nomination> nomination_from(const wire::SnapshotNomination& from) {
  sched::Nomination nomination;
  nomination.job = base::JobId(from.job());
  nomination.partition = from.partition();
  GW_TRY(allocation, allocation_from(from.shares()));
  nomination.allocation = std::move(allocation);
  for (const wire::SnapshotKeptPlace& part : from.components()) {
    GW_TRY(kept, allocation_from(part.shares()));
    nomination.components.push_back({part.partition(), std::move(kept)});
  }
  GW_TRY(when, time_from(from.when_us()));
  nomination.when = when;
  return nomination;
}

wire::SnapshotPlan to_wire(const sched::Plan& plan, bool with_words) {
  // How many steps it took is no part of what was decided, nor is what was left out or only tried.
  // Nor whether others are to be looked at after it.
  const auto& [epoch, at, groups, reservations, gathered, placements, cut_searches, backfilled, exhausted, put_off,
               next_change_at, would_move] = plan;
  wire::SnapshotPlan w;
  for (const sched::Group& group : groups) {
    wire::SnapshotGroup* to = w.add_groups();
    for (const sched::Decision& d : group.decisions) std::visit(DecisionWriter{to->add_decisions(), with_words}, d);
  }
  for (const sched::PlannedStart& r : reservations) {
    const auto& [job, partition, start, nodes] = r;
    wire::SnapshotPlannedStart* to = w.add_planned_starts();
    to->set_job(job.value);
    to->set_partition(partition);
    to->set_start_us(start.us);
    to->mutable_nodes()->Assign(nodes.begin(), nodes.end());
  }
  w.set_exhausted(exhausted);
  w.set_next_change_us(next_change_at.us);
  return w;
}

Result<sched::Plan> from_wire(const wire::SnapshotPlan& w) {
  sched::Plan plan;
  for (const wire::SnapshotGroup& from : w.groups()) {
    sched::Group& group = plan.groups.emplace_back();
    for (const wire::SnapshotDecision& d : from.decisions()) {
      GW_TRY(decision, decision_from(d));
      group.decisions.push_back(std::move(decision));
    }
  }
  for (const wire::SnapshotPlannedStart& p : w.planned_starts()) {
    GW_TRY(start, time_from(p.start_us()));
    plan.planned_starts.push_back({base::JobId(p.job()), p.partition(), start, {p.nodes().begin(), p.nodes().end()}});
  }
  plan.exhausted = w.exhausted();
  GW_TRY(next, time_from(w.next_change_us()));
  plan.next_change_at = next;
  return plan;
}

}  // namespace gw::snapshot
