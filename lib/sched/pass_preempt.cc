// Taking running jobs off for a blocked one: by the rules of the quotas (victims.h), and inside a QOS by the order's
// own right where it is preemptive (srtf). Victims are found by trial: they go one after the other until the job fits,
// then every one that is not needed is given back, the last taken first, so that the set is irreducible. Both searches
// go in growing strides: taking more never makes a job fit less, and the victims that may be taken do not depend on
// what fits.
#include <algorithm>
#include <utility>

#include "sched/node_index.h"
#include "sched/pass.h"

namespace gw::sched {
namespace {

/// A running job as its order would rank it now.
PendingJob at_present(const PendingJob& job, Time started, Time now) {
  PendingJob out = job;
  const auto less = [&](Duration d) { return d == base::kUnlimited ? d : std::max(d - (now - started), Duration{}); };
  out.remaining = less(job.remaining);
  out.time_limit = less(job.time_limit);
  return out;
}

}  // namespace

// ---- Who may be taken

/// Could anybody take it, the rules aside?
bool Pass::can_be_taken(JobId id, const PendingJob& job) const {
  const QuotaLedger::Holder* holder = view_.quota().holder(id);
  return job.preemptible && !job.whole && holder != nullptr && !holder->is_leaving && !taken_.contains(id) &&
         !sent_off_.contains(id) && view_.capacity().holdings().contains(id);
}

const Candidates& Pass::candidates() {
  if (candidates_) return *candidates_;
  candidates_.emplace(quotas_.tree().sides().size());
  for (const auto& [id, running] : view_.running()) {
    if (!can_be_taken(id, *running)) continue;
    const QuotaLedger::Holder& holder = *view_.quota().holder(id);
    Candidate c{id, running->priority, 0, view_.capacity().holdings().at(id).started, holder.amounts};
    for (const Component& part : running->components)
      if (const auto* more = view_.quota().holder(part.id)) add_to(c.amounts, more->amounts);
    const Time since = std::max(c.started, running->saved);
    uint64_t gpus = c.amounts[0];
    for (JobId piece : view_.pieces_of(id)) gpus += view_.quota().holder(piece)->amounts[0];
    c.gang = running->gang;  // what a piece has done its gang keeps
    if (!c.gang) c.lost = gpus * static_cast<uint64_t>(std::max(now_ - since, Duration{}).seconds());
    (*candidates_)[holder.leaf].push_back(std::move(c));
  }
  for (std::vector<Candidate>& list : *candidates_)
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.rank() < b.rank(); });
  return *candidates_;
}

/// A decision took them: they, and what goes with them, are nobody's candidates for the rest of the pass.
void Pass::strike(const std::vector<JobId>& gone) {
  if (!candidates_) return;
  for (JobId id : gone)
    for (JobId part : parts_of(id))
      if (const QuotaLedger::Holder* holder = view_.quota().holder(part))
        std::erase_if((*candidates_)[holder->leaf], [part](const Candidate& c) { return c.job == part; });
}

/// A quick look, before anybody is listed.
bool Pass::may_take_any(const PendingJob& job) const {
  const Policy& policy = view_.policy();
  if (policy.preempts && view_.lowest_running_priority() < job.priority) return true;
  return quotas_.may_take_from_any(served_.leaf, *served_.amounts, policy.reclaim);
}

bool Pass::is_of_use(const Candidate& candidate, const PendingJob& job, const PartitionFacts& partition,
                     const std::optional<Binding>& limited) {
  const PendingJob& running = *view_.running().at(candidate.job);
  if (!can_be_taken(candidate.job, running)) return false;
  const uint32_t leaf = quotas_.tree().leaf_of(running.qos);
  const Time started = candidate.gang ? capacity().holdings().at(candidate.gang).started : candidate.started;
  if (const Time free_from = started + quotas_.tree().side(leaf).min_runtime; now_ < free_from) {
    change_at(free_from);
    return false;
  }
  const bool is_limited = limited && (!limited->is_of_user || running.uid == job.uid);
  if (is_limited && quotas_.tree().common(leaf, limited->side) == limited->side) return true;
  const NodeIndex& index = *capacity().index(partition.name);
  const Need need(job.request, partition);
  const auto& exactly = job.request.exactly;
  const auto is_elsewhere = [&](NodeId id) {
    return std::none_of(exactly.begin(), exactly.end(), [&](const auto& share) { return share.node == id; });
  };
  for (JobId part : parts_left(candidate.job)) {
    for (NodeId id : capacity().holdings().at(part).nodes) {
      const NodeAccount* node = capacity().node(id);
      if (!exactly.empty() && is_elsewhere(id)) continue;
      if (node != nullptr && index.position(id) != UINT32_MAX && !need.ask_static(node->facts, *node->make))
        return true;
    }
  }
  return false;
}

/// If they make room, but rule 7 does not allow it, nobody goes by rule 7.
std::vector<JobId> Pass::victims_among(const PendingJob& job, const PartitionFacts& partition, const Taker& taker,
                                       const Candidates& listed, Victims& rules) {
  for (const bool by_priority : {true, false}) {
    Victims victims = rules.among(listed, by_priority);
    Guest guest{job, partition, &taker};
    if (by_priority && taker.preempts) guest.lines.emplace(quotas_, taker);
    std::vector<JobId> found = make_room(guest, [&victims] { return victims.next(); });
    rules.add_what_was_seen(victims);
    if (!found.empty() || !guest.is_beyond) return found;
  }
  return {};
}

std::vector<JobId> Pass::victims_for(const PendingJob& job, const PartitionFacts& partition, const Taker& taker) {
  const auto limited = quotas_.limit_in_way(taker.leaf, taker.amounts, job.uid);
  const auto useful = [&](const Candidate& c) { return is_of_use(c, job, partition, limited); };
  for (const bool keeps_guarantees : {true, false}) {
    Victims rules(quotas_, taker, candidates(), keeps_guarantees, useful);
    std::vector<JobId> found = victims_among(job, partition, taker, candidates(), rules);
    if (found.empty() && rules.has_found()) found = victims_by_node(job, partition, taker, useful, rules);
    if (!found.empty() || !rules.has_spared()) return found;
  }
  return {};
}

/// What a job is given may be more than it asks for (whole cores, an exclusive node): the rules go by what it is given.
std::vector<JobId> Pass::victims_by_quota(const PendingJob& job, const PartitionFacts& partition) {
  const Policy& policy = view_.policy();
  Taker taker{served_.leaf, *served_.amounts, job.priority, policy.reclaim, policy.preempts};
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    std::vector<JobId> victims = victims_for(job, partition, taker);
    if (victims.empty()) return {};
    const auto amounts = given(job, partition);
    bool is_more = !amounts;
    for (size_t r = 0; amounts && r < amounts->size(); ++r) {
      is_more |= (*amounts)[r] > taker.amounts[r];
      taker.amounts[r] = std::max(taker.amounts[r], (*amounts)[r]);
    }
    if (!is_more) return victims;
    for (auto it = victims.rbegin(); it != victims.rend(); ++it) give_back(*it);
    if (!amounts) return {};
  }
  return {};
}

/// Jobs of the same QOS that the order ranks behind the job, the last first.
std::vector<JobId> Pass::outranked(const PendingJob& job, const PartitionFacts& partition) const {
  const double mine = order_.score(job, facts_.context());
  const int32_t tier = best_tier(view_.capacity(), job);
  std::vector<std::pair<std::tuple<int64_t, double, uint32_t>, JobId>> ranked;
  for (const auto& [id, running] : view_.running()) {
    if (!can_be_taken(id, *running) || running->gang || running->suspended ||
        quotas_.tree().leaf_of(running->qos) != served_.leaf)
      continue;
    const Holding& holding = view_.capacity().holdings().at(id);
    if (holding.partition != partition.name || running->priority > job.priority) continue;
    if (now_ < holding.started + quotas_.tree().side(served_.leaf).min_runtime) continue;
    // Who would have its turn before the job again takes the place back as soon as it has left it.
    if (best_tier(view_.capacity(), *running) > tier) continue;
    const double score = order_.score(at_present(*running, holding.started, now_), facts_.context());
    if (running->priority == job.priority && score >= mine) continue;
    ranked.push_back({{running->priority, score, ~id.value}, id});
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<JobId> out;
  for (const auto& [rank, id] : ranked) out.push_back(id);
  return out;
}

std::vector<JobId> Pass::victims_by_order(const PendingJob& job, const PartitionFacts& partition) {
  if (!order_.is_preemptive()) return {};
  const std::vector<JobId> list = outranked(job, partition);
  const auto next = [&list, at = size_t{0}]() mutable {
    return at < list.size() ? std::optional(list[at++]) : std::nullopt;
  };
  Guest guest{job, partition};
  return make_room(guest, next);
}

// ---- Trial

/// The ids under which a job holds something: its own, and those of its components.
std::vector<JobId> Pass::parts_of(JobId job) const {
  std::vector<JobId> parts = {job};
  for (const Component& c : view_.running().at(job)->components)
    if (view_.capacity().holdings().contains(c.id) || taken_.contains(c.id)) parts.push_back(c.id);
  for (JobId piece : view_.pieces_of(job)) parts.push_back(piece);
  return parts;
}

/// Without those that this pass has taken: they hold nothing in the ledger.
std::vector<JobId> Pass::parts_left(JobId job) const {
  std::vector<JobId> parts = parts_of(job);
  std::erase_if(parts, [this](JobId part) { return taken_.contains(part); });
  return parts;
}

/// A piece goes with its gang: it is not given back alone.
bool Pass::can_stand(JobId piece) const {
  const JobId gang = view_.running().at(piece)->gang;
  return !gang || !taken_.contains(gang);
}

void Pass::take_part(JobId part) {
  taken_[part] = capacity().allocation_of(part);
  taken_holdings_[part] = capacity().holdings().at(part);
  capacity().release_all(part);
}

void Pass::give_back_part(JobId part) {
  const Holding& h = taken_holdings_.at(part);
  (void)capacity().allocate(part, h.partition, taken_.at(part), h.started, h.expected_end, true);
  taken_.erase(part);
  taken_holdings_.erase(part);
}

void Pass::take(JobId job) {
  std::vector<JobId>& with = taken_with_[job];
  with.clear();
  for (JobId part : parts_left(job)) {  // pieces may have been taken before their gang
    take_part(part);
    quotas_.stop(*view_.quota().holder(part));
    with.push_back(part);
  }
}

void Pass::give_back(JobId job) {
  leave_nothing(job);
  for (JobId part : taken_with_.at(job)) {
    give_back_part(part);
    quotas_.start(*view_.quota().holder(part));
  }
  taken_with_.erase(job);
}

const std::vector<JobId>& Pass::leaving() {
  if (leaving_) return *leaving_;
  leaving_.emplace();
  for (const auto& [id, holder] : view_.quota().holders())
    if (holder.is_leaving && view_.capacity().holdings().contains(id)) leaving_->push_back(id);
  std::sort(leaving_->begin(), leaving_->end());
  return *leaving_;
}

/// Those that were told to go, or that are being cleaned up after, make room enough: nobody has to be taken for the
/// job.
bool Pass::fits_soon(const PendingJob& job, const PartitionFacts& partition) {
  std::vector<JobId> parts;
  for (JobId id : leaving())
    if (!taken_.contains(id)) parts.push_back(id);
  if (parts.empty()) return false;
  const Quotas before = quotas_;
  for (JobId part : parts) {
    take_part(part);
    const QuotaLedger::Holder& holder = *view_.quota().holder(part);
    quotas_.claim(holder.leaf, holder.amounts, holder.preemptible);  // it was no longer counted: stop() takes both
    quotas_.stop(holder);
  }
  const bool is_enough = fits(job, partition);
  for (auto it = parts.rbegin(); it != parts.rend(); ++it) give_back_part(*it);
  quotas_ = before;
  return is_enough;
}

std::optional<Binding> Pass::in_way(const PendingJob& job, const Quantities& amounts) const {
  if (auto limit = quotas_.limit_in_way(served_.leaf, amounts, job.uid)) return limit;
  return job.preemptible ? std::nullopt : quotas_.guarantee_in_way(served_.leaf, amounts);
}

/// What the job would be given now; nullopt: there is no room.
std::optional<Quantities> Pass::given(const PendingJob& job, const PartitionFacts& partition) {
  const auto look = look_for(job, partition, job.time_limit);
  if (!look) return std::nullopt;
  ++placements_;
  const Placement placement = place(capacity(), partition, job.request, *look);
  if (!placement.allocation) return std::nullopt;
  return quotas_.tree().count(*placement.allocation, capacity());
}

bool Pass::fits(const PendingJob& job, const PartitionFacts& partition) {
  if (quotas_.limit_in_way(served_.leaf, *served_.amounts, job.uid)) return false;
  const auto amounts = given(job, partition);
  return amounts && !in_way(job, *amounts);
}

/// Would the victim go by rule 7?
bool Pass::is_rival(const Guest& guest, JobId victim) const {
  return guest.lines && view_.quota().holder(victim)->leaf == guest.taker->leaf;
}

bool Pass::has_rival(const Guest& guest, const std::vector<JobId>& victims) const {
  return std::any_of(victims.begin(), victims.end(), [&](JobId id) { return is_rival(guest, id); });
}

bool Pass::has_room(const Guest& guest, bool has_rivals) {
  return fits(guest.job, guest.partition) && (!has_rivals || guest.lines->are_kept(quotas_));
}

/// Those that were taken so that the job fits; nobody if it does not. It is asked before the first goes by rule 7: up
/// to there, and again from there on, taking more never makes it fit less.
std::vector<JobId> Pass::make_room(Guest& guest, const NextVictim& next) {
  std::vector<JobId> victims;
  std::optional<JobId> first_rival;
  bool enough = false, has_rivals = false;
  for (size_t stride = 1; !enough; stride *= 2) {
    const size_t before = victims.size();
    for (size_t i = 0; i < stride; ++i) {
      const auto victim = first_rival ? std::exchange(first_rival, std::nullopt) : next();
      if (!victim) break;
      if (!has_rivals && is_rival(guest, *victim)) {
        has_rivals = true;
        first_rival = victim;
        break;
      }
      take(*victim);
      victims.push_back(*victim);
    }
    if (victims.size() == before && !first_rival) break;
    enough = victims.size() > before && has_room(guest, has_rivals && !first_rival);
  }
  if (enough) {
    spare_the_unneeded(guest, victims);
    return victims;
  }
  guest.is_beyond = has_rivals && fits(guest.job, guest.partition);
  for (auto it = victims.rbegin(); it != victims.rend(); ++it) give_back(*it);
  return {};
}

/// Would `kept` be allowed, one after the other, if `spared` stayed?
bool Pass::are_still_allowed(const Taker& taker, const std::vector<JobId>& kept, const std::vector<JobId>& spared) {
  const QuotaTree& tree = quotas_.tree();
  const auto level = [&](JobId id) { return tree.common(view_.quota().holder(id)->leaf, taker.leaf); };
  // Who is beside the taker at one level loses nothing by what others at that level, or above it, keep.
  const auto matters = [&](JobId id) {
    return std::any_of(kept.begin(), kept.end(),
                       [&](JobId other) { return tree.side(level(other)).depth < tree.side(level(id)).depth; });
  };
  if (std::none_of(spared.begin(), spared.end(), matters)) return true;
  std::vector<Taken> victims;
  Quotas trial = quotas_;
  for (JobId id : kept) {
    Taken& victim = victims.emplace_back(Taken{view_.quota().holder(id)->leaf, tree.none()});
    for (JobId part : taken_with_.at(id)) {
      const QuotaLedger::Holder& holder = *view_.quota().holder(part);
      add_to(victim.amounts, holder.amounts);
      trial.start(holder.leaf, holder.amounts, holder.preemptible);
    }
  }
  return are_allowed(std::move(trial), taker, victims);
}

/// From the last on each is given back if the job still fits without it. Where a whole stride can be spared, so can
/// each of it in turn; only the last that goes by rule 7 is tried by itself, since without it the others need not keep
/// the lines. Then they are tried once more.
void Pass::spare_the_unneeded(const Guest& guest, std::vector<JobId>& victims) {
  const bool had_rivals = has_rival(guest, victims);
  std::vector<JobId> needed;
  for (size_t stride = 1; !victims.empty();) {
    stride = std::min(stride, victims.size());
    const std::vector<JobId> tried(victims.end() - static_cast<ptrdiff_t>(stride), victims.end());
    for (JobId id : tried) give_back(id);
    std::vector<JobId> kept(victims.begin(), victims.end() - static_cast<ptrdiff_t>(stride));
    kept.insert(kept.end(), needed.rbegin(), needed.rend());
    const bool can_stay = std::all_of(tried.begin(), tried.end(), [this](JobId id) { return can_stand(id); });
    const bool has_rivals = has_rival(guest, kept) || (stride > 1 && has_rival(guest, tried));
    if (can_stay && has_room(guest, has_rivals) &&
        (guest.taker == nullptr || are_still_allowed(*guest.taker, kept, tried))) {
      victims.resize(victims.size() - stride);
      stride *= 2;
      continue;
    }
    for (JobId id : tried) take(id);
    if (stride == 1) {
      needed.push_back(victims.back());
      victims.pop_back();
    }
    stride = std::max<size_t>(stride / 2, 1);
  }
  victims.assign(needed.rbegin(), needed.rend());
  if (had_rivals && !has_rival(guest, victims)) spare_the_unneeded(guest, victims);
}

// ---- The decision

Duration Pass::grace_of(JobId victim) const {
  const uint32_t leaf = quotas_.tree().leaf_of(view_.running().at(victim)->qos);
  if (const auto& grace = quotas_.tree().side(leaf).grace) return *grace;
  const auto taken = taken_holdings_.find(victim);
  const Holding& holding = taken == taken_holdings_.end() ? view_.capacity().holdings().at(victim) : taken->second;
  const PartitionFacts* partition = view_.capacity().partition(holding.partition);
  return partition != nullptr && partition->grace ? *partition->grace : view_.policy().grace;
}

/// By which rule the job takes from that one; 0: by the order's own right.
int Pass::rule_of(JobId victim, const PendingJob& job) const {
  const QuotaTree& tree = quotas_.tree();
  const PendingJob& running = *view_.running().at(victim);
  const uint32_t leaf = tree.leaf_of(running.qos);
  if (leaf == served_.leaf) return view_.policy().preempts && running.priority < job.priority ? 7 : 0;
  const uint32_t parting = tree.common(leaf, served_.leaf);
  return tree.side(parting).preempt_children && tree.side(tree.towards(parting, served_.leaf)).is_own ? 6 : 5;
}

/// Where the job will be once all that were taken for it have left, and stay until its end.
std::optional<Claim> Pass::claim(const PendingJob& job, const PartitionFacts& partition, Duration grace) {
  const Duration length = job.time_limit == base::kUnlimited ? base::kUnlimited : grace + job.time_limit;
  if (job.deadline && now_ + length > job.deadline) return std::nullopt;
  const auto look = look_for(job, partition, length);
  if (!look) return std::nullopt;
  ++placements_;
  auto placement = place(capacity(), partition, job.request, *look);
  if (!placement.allocation || in_way(job, quotas_.tree().count(*placement.allocation, capacity())))
    return std::nullopt;
  return Claim{job.id, partition.name, std::move(*placement.allocation), now_ + grace};
}

bool Pass::start_after_grace(const PendingJob& job, const PartitionFacts& partition, const std::vector<JobId>& victims,
                             Duration grace, Group group) {
  auto kept = claim(job, partition, grace);
  for (auto it = victims.rbegin(); it != victims.rend(); ++it) give_back(*it);
  if (!kept) return false;
  for (JobId id : victims) {
    for (JobId part : parts_left(id)) {
      const QuotaLedger::Holder& holder = *view_.quota().holder(part);
      if (holder.is_leaving || !sent_off_.insert(part).second) continue;  // a piece that was taken before its gang
      quotas_.send_off(holder.leaf, holder.amounts, holder.preemptible);
    }
  }
  quotas_.start(served_.leaf, quotas_.tree().count(kept->allocation, capacity()), job.preemptible, job.uid);
  served_.is_guaranteed = true;  // nobody takes what others have to leave for
  promise(job, FutureStart{now_, kept->allocation});
  plan_.reservations.push_back(Reserve{job.id, partition.name, kept->when, kept->allocation.node_names()});
  group.decisions.emplace_back(std::move(*kept));
  plan_.groups.push_back(std::move(group));
  return true;
}

bool Pass::start_in_place_of(const PendingJob& job, const std::string& partition, const std::vector<JobId>& victims) {
  Group group;
  Duration grace = {};
  for (JobId id : victims) {
    const bool is_suspended = leaves_enough_suspended(id, job, *capacity().partition(partition));
    const Duration own = is_suspended ? grace_before_suspension(id) : grace_of(id);
    grace = std::max(grace, own);
    if (can_stand(id)) group.decisions.emplace_back(Preempt{id, job.id, own, rule_of(id, job), false, is_suspended});
  }
  bool is_done = false;
  if (grace.us > 0) {
    is_done = start_after_grace(job, *capacity().partition(partition), victims, grace, std::move(group));
  } else if (start_parts(job, partition, job.time_limit, group)) {
    plan_.groups.push_back(std::move(group));
    ++starts_;
    is_done = true;
  } else {
    undo(group);
    for (auto it = victims.rbegin(); it != victims.rend(); ++it) give_back(*it);
  }
  if (is_done) strike(victims);
  for (JobId id : victims) turns_.refresh(view_.quota().holder(id)->leaf);
  turns_.refresh(served_.leaf);
  return is_done;
}

bool Pass::start_by_taking(const PendingJob& job) {
  if (!job.components.empty() || view_.running().empty()) return false;
  if (!job.preemptible && quotas_.guarantee_in_way(served_.leaf, *served_.amounts)) return false;
  const bool by_rules = may_take_any(job);
  if (!by_rules && !order_.is_preemptive()) return false;
  for (const std::string& name : job.partitions) {
    if (!is_open(job, name)) continue;
    const PartitionFacts& partition = *capacity().partition(name);
    if (fits_soon(job, partition)) return false;
    std::vector<JobId> victims;
    if (by_rules) victims = victims_by_quota(job, partition);
    if (victims.empty()) victims = victims_by_order(job, partition);
    if (!victims.empty() && start_in_place_of(job, name, victims)) return true;
  }
  return false;
}

}  // namespace gw::sched
