// The pass over the classes: whose turn it is, starting now, and promises for what is blocked.
#include "sched/pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "sched/earliest.h"

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
    : view_(view),
      now_(now),
      budget_(budget),
      order_(view.order()),
      facts_(now, view.capacity(), view.usage()),
      quotas_(view.quota()),
      turns_(quotas_),
      next_piece_(view.next_piece()) {}

void Pass::change_at(Time when) {
  if (when > now_) plan_.next_change_at = std::min(plan_.next_change_at, when);
}

void Pass::book_advance_reservations() {
  book_reservations(view_.reservations(), capacity(), now_, timeline_);
  if (!quotas_.tree().is_flat()) firm_ = timeline_;
  for (const auto& [name, r] : view_.reservations()) {
    const model::Occurrence o = r.at(now_);
    if (o.to <= now_) continue;
    change_at(o.from);
    change_at(o.to);
  }
}

int32_t best_tier(const Capacity& capacity, const PendingJob& job) {
  int32_t best = INT32_MIN;
  for (const std::string& name : job.partitions)
    if (const PartitionFacts* p = capacity.partition(name)) best = std::max(best, p->tier);
  return best;
}

/// Can what was freed, and what is being freed, still become what the job was promised? If somebody who stays has got
/// hold of it, or a node, a GPU or the partition is gone, nothing is waited for: the job is planned anew.
bool Pass::still_holds(const Claim& claim, const PendingJob& job) const {
  const PartitionFacts* partition = view_.capacity().partition(claim.partition);
  if (now_ > claim.when + kClaimPatience || partition == nullptr || !partition->is_up) return false;
  const auto leaves = [this](JobId id) {
    const QuotaLedger::Holder* holder = view_.quota().holder(id);
    return holder != nullptr && holder->is_leaving;
  };
  // What a suspended job keeps of its node is in nobody's way but its own.
  const bool wholly = job.request.exactly.empty() && (partition->exclusive || job.request.exclusive);
  const auto is_there = [&](const model::NodeShare& share) {
    const NodeAccount* account = view_.capacity().node(share.node);
    return account != nullptr && account->facts.usable &&
           view_.capacity().check_free_without(share, leaves, wholly).has_value();
  };
  const std::vector<model::NodeShare>& shares = claim.allocation.shares;
  return std::all_of(shares.begin(), shares.end(), is_there);
}

/// Beside what is kept for those whose claims were made before? Of cores and whole GPUs no two claims have the same,
/// but memory and parts of GPUs are told by amount only: what is free of them now may be meant for another.
bool Pass::is_free_beside_claims(const model::NodeShare& share) const {
  const std::vector<Booking>* kept = timeline_.on(share.node);
  if (kept == nullptr) return true;
  model::NodeShare with = share;
  for (const Booking& b : *kept)
    if (!b.whole) with.mem_mb += b.mem_mb;
  if (!view_.capacity().check_free(with)) return false;
  if (share.gpu_milli == model::kWholeGpu) return true;
  for (uint32_t g = share.gpus.next(0); g != UINT32_MAX; g = share.gpus.next(g + 1)) {
    with.gpus = base::IndexSet();
    with.gpus.insert(g);
    with.gpu_milli = share.gpu_milli;
    for (const Booking& b : *kept)
      if (b.gpus.contains(g)) with.gpu_milli += b.gpu_milli;
    if (!view_.capacity().check_free(with)) return false;
  }
  return true;
}

/// Of one that moves and has not left its old place yet.
void Pass::keep_for_mover(const Claim& claim) {
  const auto running = view_.running().find(claim.job);
  if (running == view_.running().end() || !still_holds(claim, *running->second)) return;
  served_.is_guaranteed = true;  // nobody takes it
  promise(*running->second, FutureStart{now_, claim.allocation});
  change_at(claim.when + kClaimPatience + base::microseconds(1));
}

/// Those for whom others had to leave come first, in the place that was made for them. The claim made first goes first:
/// what becomes free, or what a limit lets in, as the victims of one leave is not for one whose own are still there.
void Pass::honour_claims() {
  for (const auto& [made, claim] : view_.claims()) {
    const JobId id = claim.job;
    const PendingJob* job = view_.queue().find(id);
    if (job == nullptr) keep_for_mover(claim);
    if (job == nullptr || !still_holds(claim, *job) || hopeless(*job)) continue;
    const uint32_t leaf = quotas_.tree().leaf_of(job->qos);
    const Quantities amounts = quotas_.tree().count(claim.allocation, capacity());
    Start start{id, claim.partition, claim.allocation, job->time_limit};
    const bool may_start = !quotas_.limit_in_way(leaf, amounts, job->uid) && check(capacity(), *job, start) &&
                           check_reservations(view_.reservations(), *job, start, now_) &&
                           std::all_of(claim.allocation.shares.begin(), claim.allocation.shares.end(),
                                       [this](const auto& share) { return is_free_beside_claims(share); });
    if (may_start && capacity().allocate(id, claim.partition, claim.allocation, now_, now_ + job->time_limit)) {
      tentative_.push_back(id);
      quotas_.start(leaf, amounts, job->preemptible, job->uid);
      plan_.groups.push_back(Group{{std::move(start)}});
      ++starts_;
      honoured_.insert(id);
    } else {
      quotas_.start(leaf, amounts, job->preemptible, job->uid);  // to limits and shares it is as if it ran
      served_.is_guaranteed = true;                              // nobody takes what others had to leave for
      promise(*job, FutureStart{now_, claim.allocation});
      plan_.reservations.push_back(Reserve{id, claim.partition, claim.when, claim.allocation.node_names()});
      change_at(claim.when + kClaimPatience + base::microseconds(1));
      claimed_.insert(id);
      for (const std::string& name : job->partitions) first_blocked_.try_emplace({leaf, name}, id);
    }
  }
}

void Pass::begin_class(const ClassKey& key, JobClass& job_class) {
  const PendingJob& shape = job_class.shape();
  progress_.push_back(Progress{&key, &job_class, job_class.members.begin(), quotas_.tree().leaf_of(shape.qos),
                               quotas_.tree().count(shape), false});
}

/// The class's next job in line; nullopt: it has no more.
std::optional<Turn> Pass::next_turn(Progress& progress) {
  const JobClass& c = *progress.job_class;
  while (progress.next != c.members.end() && honoured_.contains(progress.next->second.id)) ++progress.next;
  if (progress.next == c.members.end()) return std::nullopt;
  const PendingJob& job = progress.next->second;
  Turn turn{best_tier(view_.capacity(), job), progress.next->first, static_cast<uint32_t>(&progress - progress_.data()),
            progress.leaf, &progress.amounts};
  turn.rank.key = -order_.score(job, facts_.context());
  return turn;
}

Plan Pass::run() {
  plan_.epoch = view_.epoch();
  plan_.at = now_;
  change_at(view_.queue().next_change());
  book_advance_reservations();
  honour_claims();
  std::vector<Turn> turns;
  std::unordered_set<uint32_t> users;
  progress_.reserve(view_.queue().classes().size());
  for (auto& [key, c] : view_.queue().classes()) {
    begin_class(key, c);
    if (const auto uid = c.only_user()) users.insert(*uid);
    if (const auto turn = next_turn(progress_.back())) turns.push_back(*turn);
  }
  turns_.fill(std::move(turns));
  allowance_ = allowance_of_each(budget_, users.size());
  view_.cursor().begin_pass();
  change_at(view_.cursor().next_change());
  while (!plan_.exhausted) {
    const auto turn = turns_.pop();
    if (!turn) break;
    serve(*turn);
  }
  if (!plan_.exhausted) grow_gangs();
  for (JobId id : tentative_) capacity().release_all(id);
  while (!left_by_.empty()) leave_nothing(left_by_.begin()->first);
  while (!taken_.empty()) give_back_part(taken_.begin()->first);
  plan_.placements = placements_;
  const auto stopped = starts_ >= budget_.starts ? Cursor::End::kOutOfStarts : Cursor::End::kOutOfSteps;
  const auto end = plan_.exhausted ? stopped : Cursor::End::kWhole;
  plan_.put_off = view_.cursor().end_pass(plan_.epoch, end, plan_.next_change_at);
  return std::move(plan_);
}

void Pass::serve(const Turn& turn) {
  if (starts_ >= budget_.starts || spent_ >= budget_.placements) {
    plan_.exhausted = true;
    return;
  }
  Progress& progress = progress_[turn.number];
  served_ =
      Served{progress.leaf, &progress.amounts, progress.key, quotas_.is_guaranteed(progress.leaf, progress.amounts)};
  JobClass& job_class = *progress.job_class;
  const bool is_passed = view_.cursor().is_passed(job_class);
  const auto uid = job_class.only_user();
  if (!is_passed && !progress.is_blocked && uid && spent_by_[*uid] >= allowance_)
    return put_off(progress.next->second, *uid);
  const uint64_t before = placements_;
  const bool is_claimed = claimed_.contains(progress.next->second.id);
  look_at(progress, job_class, is_passed);
  if (is_passed || is_claimed) return;  // they are few, and have paid: promises are made anew in each pass
  spent_ += placements_ - before;
  if (uid) spent_by_[*uid] += placements_ - before;
}

void Pass::look_at(Progress& progress, JobClass& job_class, bool is_passed) {
  const PendingJob& job = progress.next->second;
  const bool is_blocked = progress.is_blocked || is_passed;
  const bool is_known = !is_blocked && is_still_blocked(job, job_class);
  const bool was_limited = is_passed && job_class.was_limited && !hopeless(job);
  const Outcome outcome = was_limited ? Outcome::kLimited : decide(job, job_class, is_blocked, is_known);
  const bool is_waiting = outcome == Outcome::kLimited || outcome == Outcome::kBlocked;
  if (is_waiting && !is_passed) view_.cursor().pass_by(job_class, outcome == Outcome::kLimited);
  if (outcome == Outcome::kLimited) return;  // and so the rest of the class
  if (outcome == Outcome::kBlocked) {
    progress.is_blocked = true;
    if (!may_reserve(job)) return;  // the rest of the class waits like this one
  }
  ++progress.next;
  if (const auto next = next_turn(progress)) turns_.put(*next);
}

/// Until a later pass: for those behind it that is as if it were blocked.
void Pass::put_off(const PendingJob& job, uint32_t uid) {
  view_.cursor().put_off(uid);
  for (const std::string& name : job.partitions) first_blocked_.try_emplace({served_.leaf, name}, job.id);
}

Pass::Outcome Pass::decide(const PendingJob& job, JobClass& job_class, bool is_blocked, bool is_known) {
  if (const auto why = hopeless(job)) {
    plan_.groups.push_back({{Reject{job.id, model::WaitReason::kDeadline, *why}}});
    return Outcome::kRejected;
  }
  failed_.clear();
  refused_.reset();
  if (claimed_.contains(job.id)) {  // it need not wait if there is room elsewhere by now
    return !is_blocked && start_now(job, job.time_limit) ? Outcome::kStarted : Outcome::kClaimed;
  }
  if (const auto binding = in_way(job, *served_.amounts)) {
    if (!is_blocked && start_by_taking(job)) return Outcome::kStarted;
    if (!is_blocked) tell_bound(job_class, *binding);
    return Outcome::kLimited;
  }
  if (!is_blocked && !is_known && (start_now(job, job.time_limit) || start_shortened(job))) return Outcome::kStarted;
  if (!is_blocked && (start_by_moving(job) || start_by_taking(job))) return Outcome::kStarted;
  if (!is_blocked && refused_ && failed_.empty()) {
    tell_bound(job_class, *refused_);
    return Outcome::kLimited;
  }
  for (const std::string& name : job.partitions) first_blocked_.try_emplace({served_.leaf, name}, job.id);
  if (!is_blocked) tell_blocked(job, job_class, is_known);
  if (may_reserve(job)) reserve(job);
  return Outcome::kBlocked;
}

std::optional<std::string> Pass::hopeless(const PendingJob& job) {
  if (!job.deadline) return std::nullopt;
  const Duration least = job.time_min.us > 0 ? job.time_min : job.time_limit;
  if (least == base::kUnlimited) {
    if (now_ < job.deadline) return change_at(job.deadline), std::nullopt;
    return "its deadline passed before it could start";
  }
  const Time latest = job.deadline - least;
  if (now_ <= latest) return change_at(latest + base::microseconds(1)), std::nullopt;
  return fmt::format("it can no longer end by its deadline {}: it would have had to start by {}",
                     base::format_time(job.deadline), base::format_time(latest));
}

Closeness Pass::closeness(const PendingJob& job) {
  const Closeness wanted = closeness_of(job.request, job.eligible, now_);
  if (wanted.until != Time::never()) change_at(wanted.until);
  return wanted;
}

bool Pass::is_open(const PendingJob& job, const std::string& partition) const {
  const PartitionFacts* p = view_.capacity().partition(partition);
  return p != nullptr && p->is_up && allows_time(view_.capacity(), job, *p) &&
         !(order_.is_strict() && first_blocked_.contains({served_.leaf, partition}));
}

/// nullopt: not now, whatever is free: outside its advance reservation's time.
std::optional<Look> Pass::look_for(const PendingJob& job, const PartitionFacts& partition, Duration length) {
  Look look;
  look.timeline = &promises();
  look.span = {now_, now_ + length};
  const Closeness close = closeness(job);
  look.level = close.level;
  look.switches = close.switches;
  const Policy& policy = view_.policy();
  look.fit = partition.fit == model::Fit::kDefault ? policy.fit : partition.fit;
  look.candidates = policy.candidates;
  look.workload = &view_.workload();
  if (job.reservation.empty()) return look;
  const auto r = view_.reservations().find(job.reservation);
  if (why_closed(view_.reservations(), job, now_, length)) return std::nullopt;
  look.reservation = job.reservation;
  look.inside = &r->second.nodes;
  return look;
}

bool Pass::place_part(JobId id, const model::Request& request, const PendingJob& job, const std::string& partition,
                      Duration length, Group& group) {
  const PartitionFacts& facts = *capacity().partition(partition);
  auto look = look_for(job, facts, length);
  if (!look) return false;
  length = cut_to_reservation(job, length);
  look->span.to = now_ + length;
  if (request.fit != model::Fit::kDefault) look->fit = request.fit;
  ++placements_;
  Placement placement = place(capacity(), facts, request, *look);
  if (!placement.allocation) {
    if (id == job.id) failed_[partition] = std::move(placement.census);
    return false;
  }
  if (!capacity().allocate(id, partition, *placement.allocation, now_, now_ + length)) return false;
  tentative_.push_back(id);
  group.decisions.emplace_back(Start{id, partition, std::move(*placement.allocation), length});
  return true;
}

void Pass::undo(const Group& group) {
  for (auto it = group.decisions.rbegin(); it != group.decisions.rend(); ++it) {
    const Start* start = std::get_if<Start>(&*it);
    if (start == nullptr) continue;
    capacity().release_all(start->job);
    std::erase(tentative_, start->job);
  }
}

bool Pass::start_parts(const PendingJob& job, const std::string& partition, Duration length, Group& group) {
  if (!place_part(job.id, job.request, job, partition, length, group)) return false;
  for (const Component& c : job.components) {
    const bool placed = std::any_of(c.partitions.begin(), c.partitions.end(), [&](const std::string& name) {
      return is_open(job, name) && place_part(c.id, c.request, job, name, length, group);
    });
    if (!placed) return false;
  }
  return keeps_quotas(job, group);
}

/// What a job really gets may be more than it asks for: whole cores, a node's memory.
bool Pass::keeps_quotas(const PendingJob& job, const Group& group) {
  Quantities amounts = quotas_.tree().none();
  for (const Decision& d : group.decisions)
    if (const auto* start = std::get_if<Start>(&d))
      add_to(amounts, quotas_.tree().count(start->allocation, view_.capacity()));
  refused_ = in_way(job, amounts);
  if (refused_) return false;
  quotas_.start(served_.leaf, amounts, job.preemptible, job.uid);
  turns_.refresh(served_.leaf);
  return true;
}

/// Of the length what its advance reservation leaves of it.
Duration Pass::cut_to_reservation(const PendingJob& job, Duration length) const {
  const auto r = view_.reservations().find(job.reservation);
  if (r == view_.reservations().end()) return length;
  const Time end = r->second.at(now_).to;
  return end == Time::never() || end <= now_ ? length : std::min(length, end - now_);
}

bool Pass::start_now(const PendingJob& job, Duration asked) {
  for (const std::string& name : job.partitions) {
    if (!is_open(job, name)) continue;
    Group group;
    if (start_parts(job, name, asked, group)) {
      plan_.groups.push_back(std::move(group));
      ++starts_;
      return true;
    }
    undo(group);
  }
  return false;
}

/// With --time-min a job may run shorter than asked, up to the next promise on its nodes.
bool Pass::start_shortened(const PendingJob& job) {
  if (job.time_min.us <= 0 || job.time_min >= job.time_limit || promises().empty()) return false;
  if (!start_now(job, job.time_min)) return false;
  Time until = now_ + job.time_limit;
  if (job.deadline) until = std::min(until, job.deadline);
  if (const auto r = view_.reservations().find(job.reservation); r != view_.reservations().end())
    until = std::min(until, r->second.at(now_).to);
  Group& group = plan_.groups.back();
  for (const Decision& d : group.decisions)
    for (const model::NodeShare& share : std::get<Start>(d).allocation.shares)
      until = std::min(until, promises().next_booking(share.node, {now_ + job.time_min, until}, job.reservation));
  for (Decision& d : group.decisions) {
    std::get<Start>(d).time_limit = until - now_;
    capacity().set_expected_end(std::get<Start>(d).job, until);
  }
  return true;
}

bool Pass::may_reserve(const PendingJob& job) const {
  // Where nothing has an end nothing can be foreseen.
  if (view_.capacity().jobs_with_end() == 0 && promises().empty()) return false;
  return std::any_of(job.partitions.begin(), job.partitions.end(), [&](const std::string& name) {
    const PartitionFacts* p = view_.capacity().partition(name);
    if (p == nullptr || !p->is_up) return false;
    const auto it = reserved_in_.find(name);
    return (it == reserved_in_.end() ? 0 : it->second) < view_.policy().reservations;
  });
}

/// First moment at which all components fit beside each other, as far as it is found: each is placed at the earliest
/// moment that suits those before it, and where it is later they move there. The timeline is as before.
std::optional<std::vector<Pass::Part>> Pass::earliest_together(const PendingJob& job) {
  std::vector<Component> all = {{job.id, job.request, job.partitions}};
  all.insert(all.end(), job.components.begin(), job.components.end());
  Time at = now_;
  constexpr int kMoves = 64;
  for (int move = 0; move < kMoves; ++move) {
    Timeline trial = promises();
    std::vector<Part> parts;
    for (const Component& c : all) {
      auto part = earliest_part(job, c, at, trial);
      if (!part) return std::nullopt;
      if (part->start.when > at) {
        at = part->start.when;
        break;
      }
      book(trial, job, part->start);
      parts.push_back(std::move(*part));
    }
    if (parts.size() == all.size()) return parts;
  }
  return std::nullopt;
}

std::optional<Pass::Part> Pass::earliest_part(const PendingJob& job, const Component& component, Time from,
                                              const Timeline& timeline) {
  std::optional<Part> best;
  for (const std::string& name : component.partitions) {
    const PartitionFacts* p = capacity().partition(name);
    if (p == nullptr || !p->is_up || !allows_time(capacity(), job, *p)) continue;
    auto look = look_for(job, *p, job.time_limit);
    if (!look) continue;
    look->timeline = &timeline;
    ++placements_;
    auto start = earliest(capacity(), *p, component.request, *look, from, job.time_limit);
    if (start && (!best || start->when < best->start.when)) best = Part{name, std::move(*start)};
  }
  return best;
}

void Pass::book(Timeline& timeline, const PendingJob& job, const FutureStart& start) {
  for (const model::NodeShare& share : start.allocation.shares)
    timeline.add(share.node, Booking{{start.when, start.when + job.time_limit},
                                     job.id,
                                     job.reservation,
                                     share.cores,
                                     share.gpus,
                                     share.gpu_milli,
                                     share.mem_mb,
                                     false});
}

/// A reservation held by a borrower yields to a job within its guarantee (rule 11).
const Timeline& Pass::promises() const {
  return served_.is_guaranteed && !quotas_.tree().is_flat() ? firm_ : timeline_;
}

void Pass::promise(const PendingJob& job, const FutureStart& start) {
  book(timeline_, job, start);
  if (served_.is_guaranteed && !quotas_.tree().is_flat()) book(firm_, job, start);
}

void Pass::reserve_parts(const PendingJob& job) {
  for (const std::string& name : job.partitions) ++reserved_in_[name];
  const auto parts = earliest_together(job);
  if (!parts) return;
  Reserve kept{job.id, parts->front().partition, parts->front().start.when, {}};
  for (const Part& part : *parts) {
    promise(job, part.start);
    for (const std::string& node : part.start.allocation.node_names()) kept.nodes.push_back(node);
  }
  change_at(kept.start);
  plan_.reservations.push_back(std::move(kept));
}

void Pass::reserve(const PendingJob& job) {
  if (!job.components.empty()) return reserve_parts(job);
  std::optional<FutureStart> best;
  std::string where;
  for (const std::string& name : job.partitions) {
    const PartitionFacts* p = capacity().partition(name);
    if (p == nullptr || !p->is_up || !allows_time(capacity(), job, *p)) continue;
    if (reserved_in_[name] >= view_.policy().reservations) continue;
    ++reserved_in_[name];
    auto look = look_for(job, *p, job.time_limit);
    if (!look) continue;
    ++placements_;
    // A wait for locality ends some time: what was found under it is not kept.
    const bool is_plain = look->level == model::Locality::kAny && look->reservation.empty();
    ReadyTimes* const known = is_plain ? &view_.queue().ready_times(job, name) : nullptr;
    auto start = earliest(capacity(), *p, job.request, *look, now_, job.time_limit, known);
    if (!start || (best && best->when <= start->when)) continue;
    best = std::move(start);
    where = name;
  }
  if (!best) return;
  promise(job, *best);
  change_at(best->when);
  plan_.reservations.push_back(Reserve{job.id, where, best->when, best->allocation.node_names()});
}

}  // namespace gw::sched
