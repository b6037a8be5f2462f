// See victim_pool.h.
#include "sched/cycle/victim_pool.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "sched/cycle/loss.h"
#include "sched/cycle/session.h"
#include "sched/queue/orders.h"
#include "sched/view/protection.h"

namespace gw::sched {
namespace {

/// With all its components; a gang without its extensions.
Quantities amounts_of(const Session& session, const PendingJob& running, const QuotaLedger::Holder& holder) {
  Quantities amounts = holder.amounts;
  for (const Component& part : running.components)
    if (const auto* more = session.view.quota().holder(part.id)) add_to(amounts, more->amounts);
  return amounts;
}

Candidate candidate_of(const Session& session, const PendingJob& running, const QuotaLedger::Holder& holder) {
  const QuotaLedger& ledger = session.view.quota();
  const Holding& holding = session.capacity().holdings().at(running.id);
  Candidate c{running.id, holder.leaf, running.priority, 0, holding.started, amounts_of(session, running, holder)};
  const Time since = std::max(c.started, running.saved);
  uint64_t gpus = c.amounts[kGpu];
  for (JobId more : session.view.extensions_of(running.id)) gpus += ledger.holder(more)->amounts[kGpu];
  c.gang = running.gang;  // what an extension has done its gang keeps
  const bool keeps_work = c.gang || running.saves_work || running.suspends != Suspends::kNo;
  if (!keeps_work) c.lost = gpus * static_cast<uint64_t>(std::max(session.now - since, Duration{}).seconds());
  c.loss = c.lost + (c.gang ? 0 : c.amounts[kGpu] * kRestartSeconds) + 1;
  c.beyond = session.quotas().dominant(holder.leaf);
  // An extension is lent, whatever its gang has been through; and what a suspended job keeps runs no more.
  if (c.gang || running.suspended) return c;
  c.protected_until = protected_until(session.view, holder.leaf, running, c.started);
  c.settled_until = settled_until(session.view, holder.leaf, running, c.started);
  c.is_settled = session.now < c.settled_until;
  return c;
}

void add_running(const Session& session, const PendingJob& running, Cover& cover) {
  const QuotaLedger::Holder* holder = session.view.quota().holder(running.id);
  const auto holding = session.capacity().holdings().find(running.gang ? running.gang : running.id);
  const bool is_gone = holder == nullptr || holder->is_leaving || session.trial.is_evicted(running.id);
  if (is_gone || holding == session.capacity().holdings().end()) return;
  cover.add(CoverEntry{running.id, holder->leaf, amounts_of(session, running, *holder), !running.preemptible,
                       running.priority, holding->second.started, running.gang});
}

/// Others leave for it, or it starts in this pass.
void add_coming(const Session& session, JobId id, const Quantities& amounts, Cover& cover) {
  const PendingJob* job = session.queue.find(id);
  const auto mover = session.view.running().find(id);  // it has not left its old place yet
  if (job == nullptr && mover != session.view.running().end()) job = mover->second.get();
  if (job == nullptr) return;
  const QuotaTree& tree = session.quotas().tree();
  cover.add(CoverEntry{id, tree.leaf_of(job->qos), amounts, !job->preemptible, job->priority, session.now, {}});
}

void add_coming(const Session& session, const Nomination& n, Cover& cover) {
  add_coming(session, n.job, n.amounts(session.quotas().tree(), session.capacity()), cover);
}

/// With all its components, whose starts are in the same group.
void add_coming(const Session& session, const Start& start, const Group& group, Cover& cover) {
  const QuotaTree& tree = session.quotas().tree();
  Quantities amounts = tree.count(start.allocation, session.capacity());
  if (const PendingJob* job = session.queue.find(start.job)) {
    for (const Component& c : job->components)
      for (const Decision& d : group.decisions)
        if (const auto* s = std::get_if<Start>(&d); s != nullptr && s->job == c.id)
          add_to(amounts, tree.count(s->allocation, session.capacity()));
  }
  add_coming(session, start.job, amounts, cover);
}

/// What each extension is worth to its gang, in the order in which they came.
std::unordered_map<JobId, double> gains_of_extensions(const Session& session) {
  std::unordered_map<JobId, double> out;
  for (const auto& [id, extensions] : session.view.gangs()) {
    const auto running = session.view.running().find(id);
    const auto holding = session.capacity().holdings().find(id);
    if (running == session.view.running().end() || holding == session.capacity().holdings().end()) continue;
    const PendingJob& gang = *running->second;
    const Order& order = session.orders().in(holding->second.partition, gang.qos);
    uint32_t before = gang.request.tasks;
    for (const JobId extension : extensions) {
      out[extension] = comparable(order.gain(gang, before));
      if (const auto part = session.view.running().find(extension); part != session.view.running().end())
        before += part->second->request.tasks;
    }
  }
  return out;
}

}  // namespace

bool is_there_to_take(const Session& session, JobId id, const PendingJob& running) {
  const QuotaLedger::Holder* holder = session.view.quota().holder(id);
  return !running.whole && holder != nullptr && !holder->is_leaving && !session.trial.is_evicted(id) &&
         !session.preempted.contains(id) && session.capacity().holdings().contains(id);
}

bool is_preemptible(const Session& session, JobId id, const PendingJob& running) {
  return running.preemptible && is_there_to_take(session, id, running);
}

void VictimPool::list(const Session& session) {
  if (candidates_) return;
  candidates_.emplace();
  const auto gains = gains_of_extensions(session);
  for (const auto& [id, running] : session.view.running())
    if (is_preemptible(session, id, *running))
      candidates_->push_back(candidate_of(session, *running, *session.view.quota().holder(id)));
  for (Candidate& c : *candidates_)
    if (const auto gain = gains.find(c.job); gain != gains.end()) c.gain = gain->second;
  std::sort(candidates_->begin(), candidates_->end(), goes_before);
  nodes_of_.resize(candidates_->size());
  for (size_t i = 0; i < candidates_->size(); ++i) {
    const Candidate& c = (*candidates_)[i];
    by_rate_.push_back(&c);
    std::set<NodeId> nodes;
    for (JobId part : session.trial.parts_left(c.job)) {
      if (part != c.job && session.view.extensions_of(c.job).contains(part)) continue;  // a candidate of its own
      const Holding& holding = session.capacity().holdings().at(part);
      nodes.insert(holding.nodes.begin(), holding.nodes.end());
    }
    for (NodeId node : nodes) on_[node].push_back(&c);
    nodes_of_[i].assign(nodes.begin(), nodes.end());
  }
  ranked_ = by_rate_;
  std::stable_sort(by_rate_.begin(), by_rate_.end(),
                   [](const Candidate* a, const Candidate* b) { return is_cheaper_by_gpu(*a, *b); });
}

const std::vector<Candidate>& VictimPool::candidates(const Session& session) {
  list(session);
  return *candidates_;
}

const std::vector<const Candidate*>& VictimPool::on(const Session& session, NodeId node) {
  list(session);
  static const std::vector<const Candidate*> kNobody;
  const auto it = on_.find(node);
  return it == on_.end() ? kNobody : it->second;
}

const std::vector<NodeId>& VictimPool::nodes_of(const Session& session, const Candidate& candidate) {
  list(session);
  return nodes_of_[static_cast<size_t>(&candidate - candidates_->data())];
}

const std::vector<const Candidate*>& VictimPool::ranked(const Session& session) {
  list(session);
  return ranked_;
}

const std::vector<const Candidate*>& VictimPool::by_rate(const Session& session) {
  list(session);
  return by_rate_;
}

Covers& VictimPool::covers(const Session& session) {
  if (!covers_) label(session);
  label_decisions(session);
  return *covers_;
}

void VictimPool::label(const Session& session) {
  const Shares& shares = session.quotas().shares();
  const QuotaTree& tree = session.quotas().tree();
  covers_.emplace(Covers{Cover(tree, shares.guaranteed), std::nullopt});
  if (session.view.policy().reclaim == Reclaim::kFairShare) covers_->fair.emplace(tree, shares.fair);
  const auto add = [&](Cover& cover) {
    for (const auto& [id, running] : session.view.running()) add_running(session, *running, cover);
    for (const auto& [made, n] : session.view.nominations()) add_coming(session, n, cover);
  };
  add(covers_->guaranteed);
  if (covers_->fair) add(*covers_->fair);
}

/// Those who go no longer count, those who come do.
void VictimPool::label_decisions(const Session& session) {
  const std::vector<Group>& groups = session.plan.groups;
  const auto follow = [&](const Group& group, Cover& cover) {
    for (const Decision& d : group.decisions) {
      if (const auto* p = std::get_if<Preempt>(&d); p != nullptr && !p->is_move)
        for (JobId part : session.trial.parts_of(p->job)) cover.remove(part);
      if (const auto* s = std::get_if<Start>(&d)) add_coming(session, *s, group, cover);
      if (const auto* c = std::get_if<Nomination>(&d)) add_coming(session, *c, cover);
    }
  };
  for (; labelled_groups_ < groups.size(); ++labelled_groups_) {
    follow(groups[labelled_groups_], covers_->guaranteed);
    if (covers_->fair) follow(groups[labelled_groups_], *covers_->fair);
    count_preemptions(session, groups[labelled_groups_]);
  }
}

/// What an elastic gang gives back does not count: nothing is lost by it.
void VictimPool::count_preemptions(const Session& session, const Group& group) {
  for (const Decision& d : group.decisions) {
    const auto* p = std::get_if<Preempt>(&d);
    if (p == nullptr || !p->is_counted()) continue;
    const auto running = session.view.running().find(p->job);
    if (running == session.view.running().end() || running->second->gang) continue;
    ++preempted_[running->second->qos];
    if (const auto* holder = session.view.quota().holder(p->job)) taken_ += holder->amounts[kGpu];
    for (const Component& part : running->second->components)
      if (const auto* holder = session.view.quota().holder(part.id)) taken_ += holder->amounts[kGpu];
  }
}

Time VictimPool::bounded_until(const Session& session, const std::string& qos) {
  (void)covers(session);
  const uint32_t most = session.view.policy().preemptions_per_hour;
  if (most == 0) return Time::never();  // and not in an hour, again and again
  const Duration hour = base::hours(1);
  const auto before = session.view.preemptions().find(qos);
  const auto now = preempted_.find(qos);
  const size_t in_pass = now == preempted_.end() ? 0 : now->second;
  if (in_pass >= most) return session.now + hour;
  if (before == session.view.preemptions().end()) return {};
  const std::deque<Preempted>& all = before->second;
  const size_t left = most - in_pass;
  return all.size() < left ? Time{} : all[all.size() - left].when + hour;
}

Time VictimPool::round_until(const Session& session) {
  const TakingRounds rounds = session.view.quota().share_policy().rounds();
  if (rounds.length <= Duration{}) return {};
  (void)covers(session);
  const Time began{session.now.us - session.now.us % rounds.length.us};
  if (!taken_before_) {
    taken_before_ = 0;
    for (const auto& [qos, all] : session.view.preemptions())
      for (auto what = all.rbegin(); what != all.rend() && what->when >= began; ++what)
        *taken_before_ += what->gpu_milli;
  }
  const double most = rounds.part * static_cast<double>(session.view.quota().capacity()[kGpu]);
  const uint64_t taken = *taken_before_ + taken_;  // where there are no GPUs nothing ever is, and nobody waits for that
  return taken == 0 || static_cast<double>(taken) < most ? Time{} : began + rounds.length;
}

Time VictimPool::latest_start(const Session& session) {
  if (latest_start_) return *latest_start_;
  latest_start_ = Time{};
  for (const auto& [id, holding] : session.capacity().holdings())
    latest_start_ = std::max(*latest_start_, holding.started);
  return *latest_start_;
}

bool VictimPool::has_extensions(const Session& session, uint32_t leaf) {
  if (!with_extensions_) {
    with_extensions_.emplace();
    for (const auto& [gang, extensions] : session.view.gangs()) {
      const QuotaLedger::Holder* holder = extensions.empty() ? nullptr : session.view.quota().holder(gang);
      if (holder != nullptr) with_extensions_->insert(holder->leaf);
    }
  }
  return with_extensions_->contains(leaf);
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
