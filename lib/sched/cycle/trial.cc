// Each step of the log knows how it is undone; see trial.h.
#include "sched/cycle/trial.h"

#include <algorithm>

namespace gw::sched {

Trial::Trial(ClusterView& view) : view_(view), capacity_(&view.capacity()), quotas_(view.quota()) {}

Trial::Trial(const ClusterView& view)
    : view_(view),
      copy_(std::make_unique<Capacity>(view.capacity().copy())),
      capacity_(copy_.get()),
      quotas_(view.quota()) {}

Trial::~Trial() { rollback(0); }

void Trial::rollback(Mark mark) {
  latest_mark_ = std::min(latest_mark_, mark);
  while (log_.size() > mark) {
    Step step = std::move(log_.back());
    log_.pop_back();
    std::visit([this](auto& each) { undo(each); }, step);
  }
}

// ---- Placements and sums

bool Trial::place(JobId id, const std::string& partition, const model::Allocation& allocation, Time from, Time until) {
  if (!capacity_->allocate(id, partition, allocation, from, until)) return false;
  log_.emplace_back(Placed{id});
  return true;
}

void Trial::undo(const Placed& step) { capacity_->release_all(step.id); }

void Trial::set_end(JobId id, Time until) {
  log_.emplace_back(EndSet{id, capacity_->holdings().at(id).expected_end});
  capacity_->set_expected_end(id, until);
}

void Trial::undo(const EndSet& step) { capacity_->set_expected_end(step.id, step.before); }

void Trial::count(uint32_t leaf, const Quantities& amounts, bool preemptible, uint32_t uid) {
  quotas_.start(leaf, amounts, preemptible, uid);
  changed_leaves_.insert(leaf);
  log_.emplace_back(Counted{leaf, amounts, preemptible, uid});
}

void Trial::undo(const Counted& step) {
  quotas_.stop(step.leaf, step.amounts, step.preemptible, step.uid);
  changed_leaves_.insert(step.leaf);
}

void Trial::send_off(const QuotaLedger::Holder& holder) {
  quotas_.send_off(holder.leaf, holder.amounts, holder.preemptible);
  changed_leaves_.insert(holder.leaf);
  log_.emplace_back(SentOff{&holder});
}

void Trial::undo(const SentOff& step) {
  quotas_.count(step.holder->leaf, step.holder->amounts, step.holder->preemptible);
  changed_leaves_.insert(step.holder->leaf);
}

// ---- Evictions

void Trial::take_part(JobId part) {
  evicted_parts_[part] = Part{capacity_->allocation_of(part), capacity_->holdings().at(part)};
  capacity_->release_all(part);
}

void Trial::give_part_back(JobId part, const Part& was) {
  (void)capacity_->allocate(part, was.holding.partition, was.allocation, was.holding.started, was.holding.expected_end,
                            true);
  if (was.holding.own_gpu) capacity_->set_own_gpu(part);
}

void Trial::evict(JobId job) {
  std::vector<JobId> with = parts_left(job);  // extensions may have been evicted before their gang
  for (JobId part : with) {
    take_part(part);
    quotas_.stop(holder(part));
    changed_leaves_.insert(holder(part).leaf);
  }
  evicted_with_[job] = std::move(with);
  log_.emplace_back(Evicted{job});
}

void Trial::undo(const Evicted& step) {
  for (JobId part : evicted_with_.at(step.job)) {
    give_part_back(part, evicted_parts_.at(part));
    evicted_parts_.erase(part);
    quotas_.start(holder(part));
    changed_leaves_.insert(holder(part).leaf);
  }
  evicted_with_.erase(step.job);
}

void Trial::spare(JobId job) {
  // Most searches spare whoever was evicted last first: then there is nothing to remember, unless a mark lies between.
  const auto* last = log_.size() > latest_mark_ ? std::get_if<Evicted>(&log_.back()) : nullptr;
  if (last != nullptr && last->job == job) return rollback(log_.size() - 1);
  Parts parts;
  for (JobId part : evicted_with_.at(job)) {
    Part& was = evicted_parts_.at(part);
    give_part_back(part, was);
    quotas_.start(holder(part));
    changed_leaves_.insert(holder(part).leaf);
    parts.emplace_back(part, std::move(was));
    evicted_parts_.erase(part);
  }
  evicted_with_.erase(job);
  log_.emplace_back(Spared{job, std::move(parts)});
}

void Trial::undo(Spared& step) {
  std::vector<JobId>& with = evicted_with_[step.job];
  for (auto& [part, was] : step.parts) {
    capacity_->release_all(part);
    quotas_.stop(holder(part));
    changed_leaves_.insert(holder(part).leaf);
    evicted_parts_[part] = std::move(was);
    with.push_back(part);
  }
}

void Trial::let_leave(JobId part) {
  take_part(part);
  const QuotaLedger::Holder& gone = holder(part);
  quotas_.count(gone.leaf, gone.amounts, gone.preemptible);  // it was no longer counted: stop() takes both
  quotas_.stop(gone);
  changed_leaves_.insert(gone.leaf);
  log_.emplace_back(Left{part});
}

void Trial::undo(const Left& step) {
  give_part_back(step.part, evicted_parts_.at(step.part));
  evicted_parts_.erase(step.part);
  const QuotaLedger::Holder& back = holder(step.part);
  quotas_.start(back);
  quotas_.send_off(back.leaf, back.amounts, back.preemptible);
  changed_leaves_.insert(back.leaf);
}

bool Trial::suspend(JobId job, const model::Allocation& kept) {
  const Holding& was = evicted_parts_.at(job).holding;
  if (!capacity_->allocate(job, was.partition, kept, was.started, Time::never(), true)) return false;
  if (was.own_gpu) capacity_->set_own_gpu(job);
  log_.emplace_back(Placed{job});
  const QuotaLedger::Holder& who = holder(job);
  count(who.leaf, quotas_.tree().count_kept(kept, *capacity_), who.preemptible, who.uid);
  return true;
}

// ---- Parts of running jobs

const Holding& Trial::holding_of(JobId part) const {
  const auto evicted = evicted_parts_.find(part);
  return evicted != evicted_parts_.end() ? evicted->second.holding : capacity_->holdings().at(part);
}

std::vector<JobId> Trial::evicted_with(JobId job) const { return evicted_with_.at(job); }

std::vector<JobId> Trial::parts_of(JobId job) const {
  std::vector<JobId> parts = {job};
  for (const Component& c : view_.running().at(job)->components)
    if (capacity_->holdings().contains(c.id) || is_evicted(c.id)) parts.push_back(c.id);
  for (JobId extension : view_.extensions_of(job)) parts.push_back(extension);
  return parts;
}

std::vector<JobId> Trial::parts_left(JobId job) const {
  std::vector<JobId> parts = parts_of(job);
  std::erase_if(parts, [this](JobId part) { return is_evicted(part); });
  return parts;
}

bool Trial::may_stay(JobId extension) const {
  const JobId gang = view_.running().at(extension)->gang;
  return !gang || !is_evicted(gang);
}

}  // namespace gw::sched
