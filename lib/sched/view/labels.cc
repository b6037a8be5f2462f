// See labels.h.
#include "sched/view/labels.h"

#include <algorithm>
#include <utility>

#include "sched/view/protection.h"

namespace gw::sched {
namespace {

/// With all its components; a gang without its extensions.
Quantities whole_amounts(const ClusterView& view, const PendingJob& running, const QuotaLedger::Holder& holder) {
  Quantities amounts = holder.amounts;
  for (const Component& part : running.components)
    if (const auto* more = view.quota().holder(part.id)) add_to(amounts, more->amounts);
  return amounts;
}

/// One that counts by itself; null: it was told to go, or is a part of another.
const QuotaLedger::Holder* holder_of(const ClusterView& view, const PendingJob& running, JobId id) {
  const QuotaLedger::Holder* holder = view.quota().holder(id);
  const bool is_part = running.gang || running.whole;
  return is_part || holder == nullptr || holder->is_leaving || !view.capacity().holdings().contains(id) ? nullptr
                                                                                                        : holder;
}

}  // namespace

Labels::Labels(const ClusterView& view, uint32_t leaf, const Quantities& wish)
    : Labels(view, [&] {
        Quotas out = quotas_with_kept(view);
        out.want(view.quota(), leaf, wish);
        return out;
      }()) {}

Labels::Labels(const ClusterView& view, Quotas quotas)
    : view_(view),
      quotas_(std::move(quotas)),
      covers_{Cover(quotas_.tree(), quotas_.shares().guaranteed), std::nullopt} {
  if (view.policy().reclaim == Reclaim::kFairShare) covers_.fair.emplace(quotas_.tree(), quotas_.shares().fair);
  add_all();
}

void Labels::add(CoverEntry entry) {
  if (covers_.fair) covers_.fair->add(entry);
  covers_.guaranteed.add(std::move(entry));
}

void Labels::add_all() {
  const auto& holdings = view_.capacity().holdings();
  for (const auto& [id, running] : view_.running()) {
    const QuotaLedger::Holder* holder = view_.quota().holder(id);
    const auto holding = holdings.find(running->gang ? running->gang : id);
    if (running->whole || holder == nullptr || holder->is_leaving || holding == holdings.end()) continue;
    add(CoverEntry{id, holder->leaf, whole_amounts(view_, *running, *holder), !running->preemptible, running->priority,
                   holding->second.started, running->gang});
  }
  for (const auto& [made, n] : view_.nominations()) {
    const auto mover = view_.running().find(n.job);  // it has not left its old place yet
    const PendingJob* job = mover != view_.running().end() ? mover->second.get() : view_.queue().find(n.job);
    if (job == nullptr) continue;
    const QuotaTree& tree = quotas_.tree();
    add(CoverEntry{n.job,
                   tree.leaf_of(job->qos),
                   n.amounts(tree, view_.capacity()),
                   !job->preemptible,
                   job->priority,
                   n.when,
                   {}});
  }
}

uint32_t Labels::first_borrowed(Cover& cover, JobId job, uint32_t leaf) const {
  for (uint32_t q = leaf; q != kNoQos; q = quotas_.tree().qos(q).parent)
    if (!cover.is_covered(job, q)) return q;
  return kNoQos;
}

Time Labels::protected_until(JobId running, const QuotaLedger::Holder& holder) const {
  return view_.capacity().holdings().at(running).started + quotas_.tree().qos(holder.leaf).min_runtime;
}

JobLabel Labels::label_of(const PendingJob& running, const QuotaLedger::Holder& holder, Time now) {
  JobLabel out;
  out.job = running.suspended ? running.suspended : running.id;  // what it keeps shows as the job
  out.is_never_preempted = !running.preemptible;
  if (const Time until = protected_until(running.id, holder); now < until) out.protected_until = until;
  out.borrowed_at = first_borrowed(covers_.guaranteed, running.id, holder.leaf);
  out.has_fair = covers_.fair.has_value();
  if (out.has_fair) out.beyond_fair_at = first_borrowed(*covers_.fair, running.id, holder.leaf);
  for (JobId part : view_.extensions_of(running.id)) {
    const QuotaLedger::Holder* more = view_.quota().holder(part);
    if (more == nullptr || more->is_leaving) continue;
    ++out.extensions;
    if (first_borrowed(covers_.guaranteed, part, more->leaf) != kNoQos) ++out.borrowed_extensions;
  }
  return out;
}

std::vector<JobLabel> Labels::list(const std::set<JobId>& jobs, bool all, Time now) {
  std::vector<JobLabel> out;
  std::vector<Victim> victims;
  std::vector<size_t> labels;  // by victim
  for (const auto& [id, running] : view_.running()) {
    if (!all && !jobs.contains(running->suspended ? running->suspended : id)) continue;
    const QuotaLedger::Holder* holder = holder_of(view_, *running, id);
    if (holder == nullptr) continue;
    out.push_back(label_of(*running, *holder, now));
    if (!running->preemptible || out.back().protected_until != Time{}) continue;
    victims.push_back(victim_of(*running, *holder, now));
    labels.push_back(out.size() - 1);
  }
  std::vector<Preemptors::Answer> answers = Preemptors(view_, covers_).of(victims);
  for (size_t i = 0; i < answers.size(); ++i) out[labels[i]].preemptors = std::move(answers[i]);
  std::sort(out.begin(), out.end(), [](const JobLabel& a, const JobLabel& b) { return a.job < b.job; });
  return out;
}

Victim Labels::victim_of(const PendingJob& running, const QuotaLedger::Holder& holder, Time now) const {
  Victim out;
  Candidate& c = out.candidate;
  c.job = running.id;
  c.leaf = holder.leaf;
  c.priority = running.priority;
  c.started = view_.capacity().holdings().at(running.id).started;
  c.amounts = out.all = whole_amounts(view_, running, holder);
  c.beyond = quotas_.dominant(holder.leaf);
  c.is_settled = !running.gang && !running.suspended && now < settled_until(view_, holder.leaf, running, c.started);
  out.parts.insert(running.id);
  for (JobId part : view_.extensions_of(running.id)) {
    const QuotaLedger::Holder* more = view_.quota().holder(part);
    if (more == nullptr || more->is_leaving) continue;
    out.parts.insert(part);
    add_to(out.all, more->amounts);
  }
  return out;
}

std::vector<Victim> Labels::victims(uint32_t qos, Time now) const {
  std::vector<Victim> out;
  for (const auto& [id, running] : view_.running()) {
    const QuotaLedger::Holder* holder = holder_of(view_, *running, id);
    if (holder == nullptr || !running->preemptible || now < protected_until(id, *holder) ||
        quotas_.tree().common(holder->leaf, qos) != qos)
      continue;
    out.push_back(victim_of(*running, *holder, now));
  }
  std::sort(out.begin(), out.end(),
            [](const Victim& a, const Victim& b) { return goes_before(a.candidate, b.candidate); });
  return out;
}

}  // namespace gw::sched
