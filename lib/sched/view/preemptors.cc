// See preemptors.h.
#include "sched/view/preemptors.h"

#include <algorithm>
#include <tuple>

namespace gw::sched {
namespace {

constexpr uint32_t kNoUser = UINT32_MAX;
// In steps.
constexpr size_t kPerQos = 30, kPerComparison = 30, kPerStanding = 20, kPerEntry = 2;

/// The least that a job could ask for of what another holds: one GPU, of the first of its types, or a part of one if it
/// has no more; else a little of each resource.
Quantities least_of(const QuotaTree& tree, const Quantities& amounts) {
  Quantities out = tree.none();
  const bool has_gpus = amounts[kGpu] > 0;
  bool has_type = false;
  for (size_t r = 0; r < amounts.size(); ++r) {
    const bool is_type = tree.resources()[r].starts_with("gpu:");
    if (amounts[r] == 0 || (is_type || r == kGpu) != has_gpus || (is_type && has_type)) continue;
    has_type |= is_type;
    out[r] = std::min<uint64_t>(amounts[r], has_gpus ? model::kWholeGpu : 1);
  }
  return out;
}

}  // namespace

Quotas quotas_with_kept(const ClusterView& view) {
  Quotas out(view.quota());
  for (const auto& [made, n] : view.nominations())
    if (const PendingJob* job = view.queue().find(n.job))
      out.count(out.tree().leaf_of(job->qos), n.amounts(out.tree(), view.capacity(), *job), job->preemptible);
  return out;
}

Preemptors::Preemptors(const ClusterView& view, Covers& covers, size_t most_steps)
    : view_(view),
      tree_(view.quota().tree()),
      covers_(covers),
      quotas_(quotas_with_kept(view)),
      after_(quotas_),
      asking_{0, tree_.none(), 0, view.policy().reclaim, false},
      permission_(quotas_, asking_, covers),
      steps_(most_steps) {}

std::vector<Preemptors::Answer> Preemptors::of(const std::vector<Victim>& victims) {
  victims_ = &victims;
  answers_.assign(victims.size(), {});
  full_.assign(victims.size(), false);
  if (view_.policy().reclaim == Reclaim::kNone) return std::move(answers_);
  sort_out();
  std::map<Quantities, std::vector<Kind*>> by_asked;
  for (Kind& kind : kinds_) by_asked[kind.asked].push_back(&kind);
  for (auto& [asked, kinds] : by_asked) ask_all(std::move(kinds));
  return std::move(answers_);
}

/// On behalf of a job at each QOS: first as things are, then as they would be if the job waited.
void Preemptors::ask_all(std::vector<Kind*> kinds) {
  asking_.amounts = kinds.front()->asked;
  std::vector<uint32_t> others;  // of which more would be due if a job waited
  for (uint32_t q = 0; q < tree_.nodes().size() && !kinds.empty() && !steps_.are_used_up(); ++q) {
    if (!tree_.qos(q).children.empty()) continue;
    asking_.leaf = q;
    const bool is_known = !covers_.fair || quotas_.has_enough_waiting(q, asking_.amounts);
    ask(is_known ? By::kAll : By::kDue, kinds);
    if (!is_known) others.push_back(q);
  }
  const std::vector<Quantities>* due = covers_.fair ? &covers_.fair->due() : nullptr;
  for (uint32_t q : others) {
    if (kinds.empty() || !steps_.spend(kPerQos * tree_.nodes().size())) break;
    asking_.leaf = q;
    after_.want(view_.quota(), q, asking_.amounts);
    covers_.fair->set_due(after_.shares().fair);
    ask(By::kFair, kinds);
    covers_.fair->set_due(*due);
  }
  if (!others.empty()) after_ = quotas_;
  if (!steps_.are_used_up()) return;
  for (const Kind* kind : kinds)
    for (const auto& [standing, alike] : kind->alike)
      for (size_t victim : alike.victims) answers_[victim].is_cut = true;
}

/// By the depth of where the paths part: would the own side stay within what it is due with the job, or need it not?
/// Who goes is no part of that side.
std::vector<bool> Preemptors::within(By by) const {
  std::vector<bool> out(tree_.qos(asking_.leaf).depth);
  for (uint32_t own = asking_.leaf; own != 0; own = tree_.qos(own).parent) {
    const QosNode& node = tree_.qos(own);
    const bool outranks = node.is_own && tree_.qos(node.parent).preempt_children;
    out[node.depth - 1] =
        outranks || (by != By::kFair && after_.stays_within(own, asking_.amounts, Reclaim::kGuaranteed)) ||
        (by != By::kDue && covers_.fair && after_.stays_within(own, asking_.amounts, Reclaim::kFairShare));
  }
  return out;
}

void Preemptors::ask(By by, std::vector<Kind*>& kinds) {
  const std::vector<bool> is_within = within(by);
  if (std::find(is_within.begin(), is_within.end(), true) == is_within.end()) return;
  bool is_any_full = false;
  for (Kind* kind : kinds) {
    const bool is_beside = kind->leaf != asking_.leaf && steps_.spend(1);
    if (!is_beside || !is_within[tree_.qos(tree_.common(asking_.leaf, kind->leaf)).depth]) continue;
    ask(by, *kind);
    is_any_full |= kind->open == 0;
  }
  if (is_any_full) std::erase_if(kinds, [](const Kind* kind) { return kind->open == 0; });
}

std::vector<uint32_t> Preemptors::standing(Cover& cover, size_t victim, uint32_t top) const {
  const Victim& v = (*victims_)[victim];
  std::vector<uint32_t> out = cover.standing(v.candidate.job, top);
  if (v.parts.size() > 1) out.push_back(v.candidate.job.value);  // nobody stands as a gang with extensions does
  return out;
}

void Preemptors::sort_out() {
  kinds_.clear();
  std::map<std::tuple<uint32_t, bool, Quantities, Quantities>, size_t> index;
  for (size_t i = 0; i < victims_->size(); ++i) {
    const Victim& v = (*victims_)[i];
    const uint32_t leaf = v.candidate.leaf;
    const auto [it, is_new] =
        index.try_emplace({leaf, v.candidate.is_settled, v.candidate.amounts, v.all}, kinds_.size());
    if (is_new) kinds_.push_back({leaf, v.all, least_of(tree_, v.candidate.amounts), {}, 0});
    const uint32_t highest = leaf == 0 ? leaf : tree_.towards(0, leaf);
    Kind& kind = kinds_[it->second];
    kind.alike[standing(covers_.guaranteed, i, highest)].victims.push_back(i);
    ++kind.open;
  }
}

void Preemptors::ask(By by, Kind& kind) {
  if (!steps_.spend(kPerComparison)) return;
  const Candidate& one = (*victims_)[kind.alike.begin()->second.victims.front()].candidate;
  after_.stop(kind.leaf, kind.all, true);
  const bool is_let_in = !after_.limit_in_way(asking_.leaf, kind.asked, kNoUser);
  const Grounds grounds = is_let_in ? permission_.grounds(after_, {&one}) : Grounds{};
  after_.start(kind.leaf, kind.all, true);
  const bool is_due = grounds.by_children || grounds.by_guarantee;
  const bool is_asked = by == By::kFair ? !is_due && grounds.by_fair : is_due || (by == By::kAll && grounds.by_fair);
  if (!is_asked || !permission_.leaves_enough({&one})) return;
  const uint32_t top = tree_.towards(tree_.common(asking_.leaf, kind.leaf), kind.leaf);
  for (auto& [standing, alike] : kind.alike) {
    if (grounds.by_children)
      add(kind, alike);
    else
      ask_by_labels(kind, top, !grounds.by_guarantee, alike);
  }
}

void Preemptors::ask_by_labels(Kind& kind, uint32_t top, bool by_fair, Alike& alike) {
  if (!alike.keeps.contains(top)) {
    const auto kept = keeps(covers_.guaranteed, alike.victims.front(), top);
    if (!kept) return;
    alike.keeps[top] = *kept;
  }
  if (!alike.keeps[top]) return;
  if (by_fair) return ask_by_fair(kind, top, alike);
  add(kind, alike);
}

void Preemptors::ask_by_fair(Kind& kind, uint32_t top, const Alike& alike) {
  if (!steps_.spend(kPerStanding * alike.victims.size())) return;
  std::map<std::vector<uint32_t>, Alike> parts;
  for (size_t victim : alike.victims) parts[standing(*covers_.fair, victim, top)].victims.push_back(victim);
  for (const auto& [standing, part] : parts) {
    if (keeps(*covers_.fair, part.victims.front(), top).value_or(false)) add(kind, part);
  }
}

std::optional<bool> Preemptors::keeps(Cover& cover, size_t victim, uint32_t top) {
  const Victim& v = (*victims_)[victim];
  bool is_covered = false;
  size_t entries = 0;
  for (uint32_t q = v.candidate.leaf; q != tree_.qos(top).parent; q = tree_.qos(q).parent) {
    is_covered |= cover.is_covered(v.candidate.job, q);
    entries += cover.size(q);
  }
  if (is_covered && !steps_.spend(kPerEntry * entries)) return std::nullopt;
  return !is_covered || cover.keeps_amounts(top, v.parts);
}

void Preemptors::add(Kind& kind, const Alike& alike) {
  for (size_t victim : alike.victims) {
    Answer& answer = answers_[victim];
    if (answer.some.size() < kMostPreemptors) {
      answer.some.push_back(asking_.leaf);
    } else if (!full_[victim]) {
      full_[victim] = answer.is_cut = true;
      --kind.open;
    }
  }
}

}  // namespace gw::sched
