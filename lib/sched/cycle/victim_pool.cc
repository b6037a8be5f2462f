// See victim_pool.h.
#include "sched/cycle/victim_pool.h"

#include <algorithm>

#include "sched/cycle/session.h"

namespace gw::sched {
namespace {

Candidate candidate_of(const Session& session, const PendingJob& running, const QuotaLedger::Holder& holder) {
  const QuotaLedger& ledger = session.view.quota();
  Candidate c{running.id, running.priority, 0, session.capacity().holdings().at(running.id).started, holder.amounts};
  for (const Component& part : running.components)
    if (const auto* more = ledger.holder(part.id)) add_to(c.amounts, more->amounts);
  const Time since = std::max(c.started, running.saved);
  uint64_t gpus = c.amounts[kGpu];
  for (JobId piece : session.view.extensions_of(running.id)) gpus += ledger.holder(piece)->amounts[kGpu];
  c.gang = running.gang;  // what a piece has done its gang keeps
  if (!c.gang) c.lost = gpus * static_cast<uint64_t>(std::max(session.now - since, Duration{}).seconds());
  return c;
}

}  // namespace

bool is_preemptible(const Session& session, JobId id, const PendingJob& running) {
  const QuotaLedger::Holder* holder = session.view.quota().holder(id);
  return running.preemptible && !running.whole && holder != nullptr && !holder->is_leaving &&
         !session.trial.is_evicted(id) && !session.told_to_go.contains(id) &&
         session.capacity().holdings().contains(id);
}

const Candidates& VictimPool::candidates(const Session& session) {
  if (candidates_) return *candidates_;
  candidates_.emplace(session.quotas().tree().nodes().size());
  for (const auto& [id, running] : session.view.running()) {
    if (!is_preemptible(session, id, *running)) continue;
    const QuotaLedger::Holder& holder = *session.view.quota().holder(id);
    (*candidates_)[holder.leaf].push_back(candidate_of(session, *running, holder));
  }
  for (std::vector<Candidate>& list : *candidates_)
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.rank() < b.rank(); });
  return *candidates_;
}

void VictimPool::strike(const Session& session, const std::vector<JobId>& gone) {
  if (!candidates_) return;
  for (JobId id : gone)
    for (JobId part : session.trial.parts_of(id))
      if (const QuotaLedger::Holder* holder = session.view.quota().holder(part))
        std::erase_if((*candidates_)[holder->leaf], [part](const Candidate& c) { return c.job == part; });
}

const std::vector<JobId>& VictimPool::leaving(const Session& session) {
  if (leaving_) return *leaving_;
  leaving_.emplace();
  for (const auto& [id, holder] : session.view.quota().holders())
    if (holder.is_leaving && session.capacity().holdings().contains(id)) leaving_->push_back(id);
  std::sort(leaving_->begin(), leaving_->end());
  return *leaving_;
}

}  // namespace gw::sched
