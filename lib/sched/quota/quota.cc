// See quota.h.
#include "sched/quota/quota.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sched/queue/queue.h"

namespace gw::sched {

// ---- Ratio

Ratio Ratio::make(uint64_t of, uint64_t whole) { return of == 0 ? Ratio{0, 1} : Ratio{of, whole}; }

bool Ratio::operator<(const Ratio& o) const {
  __extension__ using Wide = unsigned __int128;
  if (whole == 0) return false;
  if (o.whole == 0) return true;
  return Wide{of} * o.whole < Wide{o.of} * whole;
}

double Ratio::value() const {
  return whole == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(of) / static_cast<double>(whole);
}

// ---- Ledger

const QuotaLedger::Holder* QuotaLedger::holder(JobId job) const {
  const auto it = holders_.find(job);
  return it == holders_.end() ? nullptr : &it->second;
}

void QuotaLedger::set_tree(QuotaTree tree) {
  tree_ = std::move(tree);
  capacity_ = tree_.none();
  waiting_.assign(tree_.nodes().size(), tree_.none());
  holders_.clear();
  without_gpus_ = 0;
  growth_.clear();
  tally_ = Tally(tree_);
  past_ = {};
}

namespace {

/// One that no limit lets in is no demand.
bool is_possible(const QuotaTree& tree, uint32_t leaf, const Quantities& amounts) {
  for (uint32_t s = leaf; s != kNoQos; s = tree.qos(s).parent)
    for (size_t r = 0; r < amounts.size(); ++r)
      if (amounts[r] > std::min(tree.qos(s).limit[r], tree.qos(s).user_limit[r])) return false;
  return true;
}

/// What it would hold at its largest.
Quantities demand_of(const QuotaTree& tree, const PendingJob& job) {
  Quantities amounts = tree.count(job);
  if (job.most_tasks > job.request.tasks)
    add_to(amounts, tree.count_growth(job.request, job.most_tasks - job.request.tasks));
  return amounts;
}

}  // namespace

void QuotaLedger::add_waiting(const PendingJob& job) {
  const uint32_t leaf = tree_.leaf_of(job.qos);
  if (is_possible(tree_, leaf, tree_.count(job))) add_to(waiting_[leaf], demand_of(tree_, job));
}

void QuotaLedger::remove_waiting(const PendingJob& job) {
  const uint32_t leaf = tree_.leaf_of(job.qos);
  if (is_possible(tree_, leaf, tree_.count(job))) take_from(waiting_[leaf], demand_of(tree_, job));
}

void QuotaLedger::set_growth(JobId gang, const std::string& qos, const Quantities& amounts) {
  if (const auto it = growth_.find(gang); it != growth_.end()) {
    take_from(waiting_[it->second.first], it->second.second);
    growth_.erase(it);
  }
  if (std::all_of(amounts.begin(), amounts.end(), [](uint64_t n) { return n == 0; })) return;
  const uint32_t leaf = tree_.leaf_of(qos);
  add_to(waiting_[leaf], amounts);
  growth_[gang] = {leaf, amounts};
}

void QuotaLedger::hold(JobId job, const std::string& qos, uint32_t uid, bool preemptible, const Quantities& amounts) {
  Holder& h = holders_[job];
  without_gpus_ -= h.is_without_gpus ? 1 : 0;
  h = Holder{tree_.leaf_of(qos), amounts, preemptible, false, uid, amounts[kGpu] == 0};
  without_gpus_ += h.is_without_gpus ? 1 : 0;
  tally_.start(tree_, h.leaf, amounts, preemptible, uid);
}

void QuotaLedger::set_leaving(JobId job) {
  const auto it = holders_.find(job);
  if (it == holders_.end() || std::exchange(it->second.is_leaving, true)) return;
  tally_.send_off(tree_, it->second.leaf, it->second.amounts, it->second.preemptible);
}

void QuotaLedger::release(JobId job, const Quantities& amounts) {
  const auto it = holders_.find(job);
  if (it == holders_.end()) return;
  Holder& h = it->second;
  Quantities gone = amounts;  // a node that came back with other GPUs counts them otherwise than when they were given
  for (size_t r = 0; r < gone.size(); ++r) gone[r] = std::min(gone[r], h.amounts[r]);
  take_from(h.amounts, gone);
  if (h.is_leaving)
    tally_.leave(tree_, h.leaf, gone, h.uid);
  else
    tally_.stop(tree_, h.leaf, gone, h.preemptible, h.uid);
}

void QuotaLedger::forget(JobId job) {
  const auto it = holders_.find(job);
  if (it == holders_.end()) return;
  release(job, Quantities(it->second.amounts));
  without_gpus_ -= it->second.is_without_gpus ? 1 : 0;
  holders_.erase(it);
}

void QuotaLedger::set_share_policy(const std::shared_ptr<const SharePolicy>& policy) {
  share_policy_ = policy ? policy : share_by_weight();
}

void QuotaLedger::set_past(double strength, const std::map<std::string, double>& use) {
  constexpr uint64_t kMost = uint64_t{1} << 62;  // a hundred million GPUs for a year
  past_ = {};
  if (strength <= 0 || use.empty()) return;
  past_.strength = static_cast<uint64_t>(std::llround(std::min(strength, kMaxFairnessOverTime) * 1e6));
  past_.used.assign(tree_.nodes().size(), 0);
  for (const auto& [qos, gpu_seconds] : use) {
    const double milli = std::clamp(gpu_seconds * 1e3, 0.0, static_cast<double>(kMost));
    for (uint32_t s = tree_.leaf_of(qos); s != kNoQos; s = tree_.qos(s).parent)
      past_.used[s] = std::min(kMost, past_.used[s] + static_cast<uint64_t>(std::llround(milli)));
  }
}

// ---- Sums

namespace {

void on_path(const QuotaTree& tree, std::vector<Quantities>& table, uint32_t leaf, const Quantities& amounts,
             bool is_added) {
  for (uint32_t s = leaf; s != kNoQos; s = tree.qos(s).parent)
    is_added ? add_to(table[s], amounts) : take_from(table[s], amounts);
}

}  // namespace

void Tally::start(const QuotaTree& tree, uint32_t leaf, const Quantities& amounts, bool preemptible, uint32_t uid) {
  on_path(tree, held, leaf, amounts, true);
  if (tree.has_user_limits())
    for (uint32_t s = leaf; s != kNoQos; s = tree.qos(s).parent)
      add_to(of_users.try_emplace({s, uid}, tree.none()).first->second, amounts);
  count(tree, leaf, amounts, preemptible);
}

void Tally::stop(const QuotaTree& tree, uint32_t leaf, const Quantities& amounts, bool preemptible, uint32_t uid) {
  leave(tree, leaf, amounts, uid);
  send_off(tree, leaf, amounts, preemptible);
}

void Tally::leave(const QuotaTree& tree, uint32_t leaf, const Quantities& amounts, uint32_t uid) {
  on_path(tree, held, leaf, amounts, false);
  if (!tree.has_user_limits()) return;
  for (uint32_t s = leaf; s != kNoQos; s = tree.qos(s).parent)
    if (const auto of_user = of_users.find({s, uid}); of_user != of_users.end()) take_from(of_user->second, amounts);
}

void Tally::send_off(const QuotaTree& tree, uint32_t leaf, const Quantities& amounts, bool preemptible) {
  on_path(tree, counted, leaf, amounts, false);
  if (!preemptible) on_path(tree, firm, leaf, amounts, false);
}

void Tally::count(const QuotaTree& tree, uint32_t leaf, const Quantities& amounts, bool preemptible) {
  on_path(tree, counted, leaf, amounts, true);
  if (!preemptible) on_path(tree, firm, leaf, amounts, true);
}

// ---- Trial

Quotas::Quotas(const QuotaLedger& ledger) : tree_(&ledger.tree()), tally_(ledger.tally()) {
  share_out(ledger, ledger.waiting());
}

void Quotas::want(const QuotaLedger& ledger, uint32_t leaf, const Quantities& wish) {
  std::vector<Quantities> demand = ledger.waiting();
  add_to(demand[leaf], wish);
  share_out(ledger, std::move(demand));
}

void Quotas::share_out(const QuotaLedger& ledger, std::vector<Quantities> demand) {
  for (uint32_t s = 0; s < demand.size(); ++s)
    if (tree_->qos(s).children.empty()) add_to(demand[s], tally_.held[s]);
  shares_ =
      std::make_shared<const Shares>(divide(*tree_, ledger.capacity(), demand, ledger.past(), ledger.share_policy()));
  is_over_.assign(demand.size(), false);
  over_below_.assign(demand.size(), 0);
  for (uint32_t s = 0; s < demand.size(); ++s) set_over(s, is_over(s));
}

void Quotas::set_over(uint32_t qos, bool is_over) {
  if (is_over_[qos] == is_over) return;
  is_over_[qos] = is_over;
  const uint32_t parent = tree_->qos(qos).parent;
  if (parent != kNoQos) is_over ? ++over_below_[parent] : --over_below_[parent];
}

// What is wanted bounds a share only where all of it is given, and whether whole GPUs are wanted matters, too.
bool Quotas::has_enough_waiting(uint32_t leaf, const Quantities& amounts) const {
  for (uint32_t s = leaf; s != 0 && s != kNoQos; s = tree_->qos(s).parent)
    for (size_t r = 0; r < amounts.size(); ++r) {
      const bool is_whole = !tree_->resources()[r].starts_with("gpu") || amounts[r] % model::kWholeGpu == 0;
      const bool wants_more = tree_->qos(s).has_line[r] && shares_->demand[s][r] > shares_->fair[s][r];
      if (amounts[r] > 0 && !(is_whole && wants_more)) return false;
    }
  return true;
}

Standing Quotas::standing(uint32_t qos, const Quantities& with) const {
  const QosNode& s = tree_->qos(qos);
  bool is_guaranteed = true, is_fair = true;
  for (size_t r = 0; r < with.size(); ++r) {
    if (!s.has_line[r]) continue;
    const uint64_t would = tally_.counted[qos][r] + with[r];
    is_guaranteed &= would <= shares_->guaranteed[qos][r];
    is_fair &= would <= shares_->fair[qos][r];
  }
  return is_guaranteed ? Standing::kGuaranteed : is_fair ? Standing::kFair : Standing::kBorrowing;
}

Ratio Quotas::dominant(uint32_t qos, const Quantities& with) const {
  const QosNode& s = tree_->qos(qos);
  Ratio most;
  for (size_t r = 0; r < with.size(); ++r) {
    if (!s.has_line[r]) continue;
    const Ratio here = Ratio::make(tally_.counted[qos][r] + with[r], shares_->fair[qos][r]);
    if (most < here) most = here;
  }
  return most;
}

bool Quotas::is_guaranteed(uint32_t leaf, const Quantities& amounts) const {
  for (uint32_t s = leaf; s != 0 && s != kNoQos; s = tree_->qos(s).parent)
    if (!stays_within(s, amounts, Reclaim::kGuaranteed)) return false;
  return true;
}

template <typename Visit>
void Quotas::each_limit(uint32_t leaf, const Quantities& amounts, uint32_t uid, const Visit& visit) const {
  for (uint32_t s = leaf; s != kNoQos; s = tree_->qos(s).parent) {
    const QosNode& node = tree_->qos(s);
    const auto mine = tree_->has_user_limits() ? tally_.of_users.find({s, uid}) : tally_.of_users.end();
    for (size_t r = 0; r < amounts.size(); ++r) {
      if (amounts[r] == 0) continue;
      const uint64_t held = tally_.held[s][r], own = mine == tally_.of_users.end() ? 0 : mine->second[r];
      if (node.limit[r] != kNoLimit && held + amounts[r] > node.limit[r] &&
          !visit(Binding{s, r, held, node.limit[r], amounts[r]}))
        return;
      if (node.user_limit[r] != kNoLimit && own + amounts[r] > node.user_limit[r] &&
          !visit(Binding{s, r, own, node.user_limit[r], amounts[r], true, true}))
        return;
    }
  }
}

std::optional<Binding> Quotas::limit_in_way(uint32_t leaf, const Quantities& amounts, uint32_t uid) const {
  std::optional<Binding> first;
  each_limit(leaf, amounts, uid, [&first](const Binding& b) { return first = b, false; });
  return first;
}

std::vector<Binding> Quotas::limits_in_way(uint32_t leaf, const Quantities& amounts, uint32_t uid) const {
  std::vector<Binding> all;
  each_limit(leaf, amounts, uid, [&all](const Binding& b) { return all.push_back(b), true; });
  return all;
}

std::optional<Binding> Quotas::guarantee_in_way(uint32_t leaf, const Quantities& amounts) const {
  for (uint32_t s = leaf; s != 0 && s != kNoQos; s = tree_->qos(s).parent) {
    const QosNode& node = tree_->qos(s);
    if (node.is_own && tree_->qos(node.parent).preempt_children) continue;
    for (size_t r = 0; r < amounts.size(); ++r)
      if (amounts[r] > 0 && node.has_line[r] && tally_.firm[s][r] + amounts[r] > shares_->guaranteed[s][r])
        return Binding{s, r, tally_.firm[s][r], shares_->guaranteed[s][r], amounts[r], false};
  }
  return std::nullopt;
}

bool Quotas::stays_within(uint32_t qos, const Quantities& amounts, Reclaim by) const {
  const QosNode& s = tree_->qos(qos);
  const Quantities& due = by == Reclaim::kGuaranteed ? shares_->guaranteed[qos] : shares_->fair[qos];
  for (size_t r = 0; r < amounts.size(); ++r)
    if (amounts[r] > 0 && s.has_line[r] && tally_.counted[qos][r] + amounts[r] > due[r]) return false;
  return true;
}

bool Quotas::is_beyond(const Sides& sides, const Quantities* victim, bool is_back, Reclaim by, bool has_zone) const {
  const Quantities& due = by == Reclaim::kGuaranteed ? shares_->guaranteed[sides.from] : shares_->fair[sides.from];
  const auto line = [&](size_t r) {
    if (!has_zone) return due[r];
    return shares_->line(sides.from, r, by, sides.own, sides.tally.counted[sides.own][r] + sides.amounts[r]);
  };
  const QosNode &s = tree_->qos(sides.from), &o = tree_->qos(sides.own);
  for (size_t r = 0; r < sides.amounts.size(); ++r) {
    const bool matters =
        sides.amounts[r] > 0 && s.has_line[r] && o.has_line[r] && (victim == nullptr || (*victim)[r] > 0);
    if (matters && sides.tally.counted[sides.from][r] + (is_back ? (*victim)[r] : 0) > line(r)) return true;
  }
  return false;
}

bool Quotas::is_above(uint32_t qos, uint32_t own, const Quantities& amounts, Reclaim by,
                      const Quantities* victim) const {
  return is_beyond({qos, own, amounts, tally_}, victim, false, by);
}

bool Quotas::would_be_above(uint32_t qos, uint32_t own, const Quantities& amounts, Reclaim by,
                            const Quantities& victim) const {
  return is_beyond({qos, own, amounts, tally_}, &victim, true, by);
}

bool Quotas::was_above(const Tally& before, uint32_t qos, uint32_t own, const Quantities& amounts, Reclaim by,
                       const Quantities& victim) const {
  return is_beyond({qos, own, amounts, before}, &victim, false, by);
}

bool Quotas::is_beyond_due(uint32_t qos, uint32_t own, const Quantities& amounts, Reclaim by, const Quantities& victim,
                           bool is_back) const {
  return is_beyond({qos, own, amounts, tally_}, &victim, is_back, by, false);
}

bool Quotas::could_stay_within(uint32_t qos, const Quantities& amounts, Reclaim by) const {
  const QosNode& s = tree_->qos(qos);
  const Quantities& due = by == Reclaim::kGuaranteed ? shares_->guaranteed[qos] : shares_->fair[qos];
  for (size_t r = 0; r < amounts.size(); ++r)
    if (amounts[r] > 0 && s.has_line[r] && amounts[r] > due[r]) return false;
  return true;
}

std::optional<Permit> Quotas::may_take(uint32_t preemptor, const Quantities& amounts, uint32_t from, Reclaim reclaim,
                                       const Quantities* victim) const {
  if (reclaim == Reclaim::kNone) return std::nullopt;
  const uint32_t parting = tree_->qos(from).parent;
  const uint32_t own = tree_->towards(parting, preemptor);
  const bool outranks = tree_->qos(parting).preempt_children;
  if (outranks && tree_->qos(own).is_own) return Permit{6, reclaim};
  if (outranks && tree_->qos(from).is_own) return std::nullopt;  // they outrank us
  if (stays_within(own, amounts, Reclaim::kGuaranteed) && is_above(from, own, amounts, Reclaim::kGuaranteed, victim))
    return Permit{5, Reclaim::kGuaranteed};
  if (reclaim == Reclaim::kFairShare && stays_within(own, amounts, Reclaim::kFairShare) &&
      is_above(from, own, amounts, Reclaim::kFairShare, victim) && dominant(own, amounts) < dominant(from))
    return Permit{5, Reclaim::kFairShare};
  return std::nullopt;
}

bool Quotas::is_over(uint32_t qos) const {
  for (size_t r = 0; r < tree_->width(); ++r)
    if (tally_.counted[qos][r] > std::min(shares_->guaranteed[qos][r], shares_->fair[qos][r])) return true;
  return false;
}

bool Quotas::may_take_from_any(uint32_t preemptor, const Quantities& amounts, Reclaim reclaim) const {
  for (uint32_t own = preemptor; own != 0; own = tree_->qos(own).parent) {
    const uint32_t parent = tree_->qos(own).parent;
    const QosNode& parting = tree_->qos(parent);
    if (over_below_[parent] == 0 && !parting.preempt_children) continue;
    for (uint32_t qos : parting.children)
      if (qos != own && (is_over_[qos] || parting.preempt_children) && may_take(preemptor, amounts, qos, reclaim))
        return true;
  }
  return false;
}

bool Quotas::leaves_guarantees(uint32_t leaf, uint32_t above, const Quantities& amounts) const {
  for (uint32_t s = leaf; s != above; s = tree_->qos(s).parent) {
    const QosNode& node = tree_->qos(s);
    for (size_t r = 0; r < amounts.size(); ++r) {
      if (amounts[r] == 0 || !node.has_line[r]) continue;
      const uint64_t has = tally_.counted[s][r], due = shares_->guaranteed[s][r];
      if (has >= due && has - std::min(has, amounts[r]) < due) return false;
    }
  }
  return true;
}

}  // namespace gw::sched
