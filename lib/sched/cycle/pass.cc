// The pass as lists of what is done; see pass.h.
#include "sched/cycle/pass.h"

#include <algorithm>
#include <unordered_set>

#include "sched/cycle/attempts.h"
#include "sched/cycle/company.h"
#include "sched/cycle/grow.h"
#include "sched/cycle/patience.h"
#include "sched/cycle/reasons.h"
#include "sched/cycle/start.h"

namespace gw::sched {

namespace {

/// However many users there are, each has so much that something of it is looked at.
constexpr uint64_t kLeastAllowance = 8;

/// All of the budget if nobody else waits.
uint64_t allowance_of_each(const Budget& budget, size_t users) {
  if (users <= 1 || budget.per_user == 0) return UINT64_MAX;
  return std::min(budget.per_user, std::max(budget.placements / users, kLeastAllowance));
}

}  // namespace

Pass::Pass(ClusterView& view, Time now, const Budget& budget)
    : view_(view), session_(view, now, budget), queue_order_(session_.quotas(), view.orders().has_several_lines()) {}

Plan Pass::run() {
  open();
  part_company(session_);
  start_nominated(session_);
  keep_places_for_growth(session_);
  serve_queue();
  if (!session_.plan.exhausted) grow_gangs(session_);
  end();
  end_round(session_);
  return std::move(session_.plan);
}

/// Reservations of administrators come before everything, and their borders may change answers.
void Pass::open() {
  session_.change_at(view_.queue().next_change());
  session_.backfill.open(view_.reservations(), view_.capacity(), session_.now, !session_.quotas().tree().is_flat());
  for (const auto& [name, r] : view_.reservations()) {
    const model::Occurrence o = r.at(session_.now);
    if (o.to <= session_.now) continue;
    session_.change_at(o.from);
    session_.change_at(o.to);
  }
}

void Pass::serve_queue() {
  std::vector<ClassHead> turns;
  std::unordered_set<uint32_t> users;
  progress_.reserve(view_.queue().classes().size());
  const QuotaTree& tree = session_.quotas().tree();
  for (auto& [key, c] : view_.queue().classes()) {
    progress_.push_back(
        Progress{&key, &c, c.members.begin(), tree.leaf_of(c.shape().qos), tree.count(c.shape()), false});
    if (const auto uid = c.only_user()) users.insert(*uid);
    if (const auto turn = next_turn(progress_.back())) turns.push_back(*turn);
  }
  const std::vector<ClassHead> impatient = take_impatient(session_, turns, [this](const ClassHead& turn) {
    const Progress& progress = progress_[turn.number];
    return Served{progress.next->second, progress.leaf, &progress.amounts};
  });
  queue_order_.fill(std::move(turns));
  allowance_ = allowance_of_each(session_.budget, users.size());
  view_.cursor().begin_pass();
  session_.change_at(view_.cursor().next_change());
  (void)session_.trial.take_changed_leaves();  // all have just been ranked
  for (bool are_served = impatient.empty(); !session_.plan.exhausted;) {
    const auto turn = take_turn();
    if (!are_served && (!turn || !is_guaranteed(*turn))) {
      are_served = true;
      for (const ClassHead& first : impatient) serve(first);
    } else if (!turn) {
      break;
    }
    if (turn) serve(*turn);
  }
}

/// Whoever has got more in this pass may stand behind others by now.
std::optional<ClassHead> Pass::take_turn() {
  constexpr uint64_t kMostPutBack = 20'000;  // a user may have many classes, and each start sinks them all
  for (;;) {
    const auto turn = queue_order_.pop();
    if (!turn || !session_.orders().needs().holdings || put_back_ >= kMostPutBack) return turn;
    const auto present = next_turn(progress_[turn->number]);
    if (!present || present->rank == turn->rank) return turn;
    queue_order_.put(*present);
    ++put_back_;
  }
}

/// As the root sees it, which compares these first.
bool Pass::is_guaranteed(const ClassHead& turn) const {
  const Progress& progress = progress_[turn.number];
  const QuotaTree& tree = session_.quotas().tree();
  return session_.quotas().standing(tree.towards(0, progress.leaf), progress.amounts) == Standing::kGuaranteed;
}

namespace {

bool is_strict_for(const Session& session, JobId id) {
  const PendingJob* job = session.view.queue().find(id);
  return job != nullptr && session.orders().is_strict_for(*job);
}

std::set<JobId> jobs_in_way(const Session& session) {
  std::set<JobId> out = session.backfill.counted();
  for (const PlannedStart& planned : session.plan.planned_starts) out.insert(planned.job);
  for (const auto& [node, bookings] : session.backfill.all().all())
    for (const Booking& b : bookings)
      if (b.job) out.insert(b.job);
  session.limits.add_jobs(out);
  // The first in line of a QOS decides also whose turn is next; a strict order waits for it.
  constexpr size_t kMostFirst = 64;
  size_t first = 0;
  for (const auto& [where, job] : session.in_line.first_blocked)
    if (first++ < kMostFirst || is_strict_for(session, job)) out.insert(job);
  return out;
}

}  // namespace

void Pass::end() {
  view_.cursor().set_in_way(jobs_in_way(session_));
  view_.cursor().set_room_at(session_.limits.foreseen());
  session_.trial.rollback(0);
  Plan& plan = session_.plan;
  const bool is_out_of_starts = session_.starts >= session_.budget.starts;
  const auto stopped = is_out_of_starts ? Cursor::End::kOutOfStarts : Cursor::End::kOutOfSteps;
  const auto end = plan.exhausted ? stopped : Cursor::End::kWhole;
  plan.put_off = view_.cursor().end_pass(plan.epoch, end, plan.next_change_at);
}

/// The class's next job in line; nullopt: it has no more.
std::optional<ClassHead> Pass::next_turn(Progress& progress) {
  const JobClass& c = *progress.job_class;
  while (progress.next != c.members.end() && session_.honoured.contains(progress.next->second.id)) ++progress.next;
  if (progress.next == c.members.end()) return std::nullopt;
  const PendingJob& job = progress.next->second;
  ClassHead turn{best_tier(view_.capacity(), job),
                 progress.next->first,
                 static_cast<uint32_t>(&progress - progress_.data()),
                 progress.leaf,
                 &progress.amounts,
                 session_.orders().number_of(job)};
  const JobFacts facts = session_.standings.of(job, progress.leaf);
  turn.rank.key = -comparable(session_.orders().of(job).score(facts, session_.standings.context()));
  return turn;
}

void Pass::serve(const ClassHead& turn) {
  if (session_.starts >= session_.budget.starts || spent_ >= session_.budget.placements) {
    session_.plan.exhausted = true;
    return;
  }
  Progress& progress = progress_[turn.number];
  Served served{progress.next->second, progress.leaf, &progress.amounts,
                session_.quotas().is_guaranteed(progress.leaf, progress.amounts)};
  const bool is_passed = view_.cursor().is_passed(*progress.job_class);
  const auto uid = progress.job_class->only_user();
  if (!is_passed && !progress.is_blocked && uid && spent_by_[*uid] >= allowance_) return put_off(served, *uid);
  const uint64_t before = session_.plan.placements;
  const bool is_nominated = session_.nominated.contains(served.job.id);
  look_at(progress, served, is_passed);
  if (is_passed || is_nominated) return;  // they are few, and have paid: starts are planned anew in each pass
  spent_ += session_.plan.placements - before;
  if (uid) spent_by_[*uid] += session_.plan.placements - before;
}

void Pass::look_at(Progress& progress, Served& served, bool is_passed) {
  JobClass& job_class = *progress.job_class;
  const bool is_blocked = progress.is_blocked || is_passed;
  const bool is_known = !is_blocked && is_still_blocked(session_, served.job, job_class);
  const bool was_limited = is_passed && job_class.was_limited && !missed_deadline(session_, served.job);
  if (was_limited) session_.limits.keep(session_, served);  // before those behind it, as when it was passed
  const Outcome outcome = was_limited ? Outcome::kLimited : decide(progress, served, is_blocked, is_known);
  for (uint32_t leaf : session_.trial.take_changed_leaves()) queue_order_.refresh(leaf);
  const bool is_waiting = outcome == Outcome::kLimited || outcome == Outcome::kBlocked;
  if (is_waiting && !is_passed) view_.cursor().pass_by(job_class, outcome == Outcome::kLimited);
  if (outcome == Outcome::kLimited) {  // and so the rest of the class
    if (session_.orders().is_strict_for(served.job)) session_.block(served);
    return;
  }
  if (outcome == Outcome::kBlocked) {
    progress.is_blocked = true;
    if (!may_plan(session_, served)) return;  // the rest of the class waits like this one
  }
  ++progress.next;
  if (const auto next = next_turn(progress)) queue_order_.put(*next);
}

/// Until a later pass: for those behind it that is as if it were blocked.
void Pass::put_off(const Served& served, uint32_t uid) {
  view_.cursor().put_off(uid);
  session_.block(served);
}

Pass::Outcome Pass::decide(Progress& progress, Served& served, bool is_blocked, bool is_known) {
  if (const auto why = missed_deadline(session_, served.job)) {
    session_.plan.groups.push_back({{Reject{served.job.id, model::WaitReason::kDeadline, *why}}});
    return Outcome::kRejected;
  }
  if (session_.nominated.contains(served.job.id)) {  // it need not wait if there is a place elsewhere by now
    return !is_blocked && start_now(session_, served) ? Outcome::kStarted : Outcome::kNominated;
  }
  const auto binding = binding_of(session_, served, *served.amounts);
  const Time until = session_.now + served.job.time_limit;
  if (const LimitPlan* plan = session_.limits.in_way(session_, served, *served.amounts, until)) {
    if (!is_blocked) tell_kept_limit(session_, *plan, served, *progress.key, *progress.job_class);
    return Outcome::kLimited;
  }
  if (!is_blocked && starts(session_, served, is_known, binding.has_value())) {
    session_.limits.take(session_, served, *served.amounts, until);
    return Outcome::kStarted;
  }
  if (binding) session_.limits.keep(session_, served);
  if (binding || (!is_blocked && served.refused && served.failed.empty())) {
    if (!is_blocked)
      tell_bound(session_, served, *progress.key, *progress.job_class, binding ? *binding : *served.refused);
    return Outcome::kLimited;
  }
  return wait(progress, served, is_blocked, is_known);
}

/// For a place, and with a planned start where one can be foreseen.
Pass::Outcome Pass::wait(Progress& progress, Served& served, bool is_blocked, bool is_known) {
  session_.block(served);
  if (!is_blocked) tell_blocked(session_, served, *progress.key, *progress.job_class, is_known);
  if (may_plan(session_, served)) plan_start(session_, served);
  return Outcome::kBlocked;
}

}  // namespace gw::sched
