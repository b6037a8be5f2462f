// See company.h.
#include "sched/cycle/company.h"

#include <algorithm>
#include <vector>

#include "sched/cycle/preempt.h"
#include "sched/cycle/victim_pool.h"
#include "sched/cycle/victim_search.h"

namespace gw::sched {
namespace {

/// Those that compute on a GPU of which the job has a part, itself included; who is told to go is not among them.
std::vector<JobId> together(const Session& session, JobId job) {
  std::vector<JobId> out;
  const auto holding = session.capacity().holdings().find(job);
  if (holding == session.capacity().holdings().end()) return out;
  const auto is_there = [&](JobId id) {
    const auto running = session.view.running().find(id);
    return running != session.view.running().end() && !running->second->suspended &&
           is_there_to_take(session, id, *running->second);
  };
  for (const NodeId node : holding->second.nodes) {
    const std::vector<Occupant>& occupants = session.capacity().node(node)->occupants;
    const auto own = std::find_if(occupants.begin(), occupants.end(), [&](const auto& o) { return o.job == job; });
    if (own == occupants.end() || own->gpu_milli == model::kWholeGpu) continue;
    for (const Occupant& o : occupants)
      if (o.gpus.intersects(own->gpus) && is_there(o.job)) out.push_back(o.job);
  }
  return out;
}

/// Its partition parts jobs that slow each other down.
bool is_asked_for(const Session& session, JobId job) {
  const auto holding = session.capacity().holdings().find(job);
  if (holding == session.capacity().holdings().end()) return false;
  const PartitionFacts* partition = session.capacity().partition(holding->second.partition);
  return partition != nullptr && partition->min_shared_rate > 0;
}

/// Is its min_runtime over? If not, the pass comes again then.
bool is_over_its_least(Session& session, JobId id) {
  const uint32_t leaf = session.view.quota().holder(id)->leaf;
  const Time from = session.capacity().holdings().at(id).started + session.quotas().tree().qos(leaf).min_runtime;
  if (session.now < from) session.change_at(from);
  return session.now >= from;
}

void part(Session& session, JobId job) {
  std::vector<JobId> all = together(session, job);
  if (all.size() < 2 || std::find(all.begin(), all.end(), job) == all.end()) return;
  const auto& holdings = session.capacity().holdings();
  std::sort(all.begin(), all.end(), [&](JobId a, JobId b) {
    return std::pair(holdings.at(a).started, a) > std::pair(holdings.at(b).started, b);
  });
  for (const JobId id : all) {
    if (!is_asked_for(session, id) || !is_preemptible(session, id, *session.view.running().at(id))) continue;
    if (!is_over_its_least(session, id)) return;
    const JobId stays = id == job ? all.back() == id ? all.front() : all.back() : job;
    session.plan.groups.push_back({{Preempt{id, stays, grace_of(session, id), kCompanyRule}}});
    Evicted gone;
    gone.victims = {id};
    send_off(session, gone);
    return;
  }
}

}  // namespace

void part_company(Session& session) {
  for (const JobId job : session.view.gpu_owners())
    if (is_asked_for(session, job)) part(session, job);
}

}  // namespace gw::sched
