// Telling running steps where their tasks may run.
#include "noded/core/step_places.h"

#include <algorithm>

#include "bind/places.h"
#include "bind/step_cores.h"
#include "noded/core/node_allocation.h"

namespace gw::noded {
namespace {

std::vector<std::string> cpus_of(const bind::Binding& binding) {
  std::vector<std::string> cpus;
  for (const bind::Place& place : binding.places) cpus.push_back(binding.binds_cpus ? place.pus.text() : "");
  return cpus;
}

/// Can be told, and may be elsewhere than before. The claim may be of a time when the machine had more cores.
bool moves(const NodeFacts& node, const Run& run) {
  const bool is_there = run.is_live() && !run.is_winding_up() && run.is_connected && !run.stop.is_asked;
  if (!is_there || !run.record.has_claim() || run.record.claim().request().cpus_per_task() > 0) return false;
  return static_cast<bool>(check_share(node, run.record.claim().share()));
}

}  // namespace

base::IndexSet unclaimed_by_others(const NodeFacts& node, const std::map<RunKey, Run>& runs, RunKey step) {
  const auto own = runs.find(step);
  if (own == runs.end() || !own->second.record.has_claim()) return {};
  const auto claim = [](const Run& run) {
    return bind::step_cores_of(run.record.claim().share(), run.record.claim().request());
  };
  std::vector<bind::StepCores> others;
  for (auto it = runs.upper_bound(step.own()); it != runs.end() && it->first.is_step_of(step.own()); ++it) {
    if (it->first == step || !it->second.is_live()) continue;
    if (!it->second.record.has_claim()) return {};
    others.push_back(claim(it->second));
  }
  auto job = base::IndexSet::parse(own->second.record.claim().job_cores());
  if (!job) return {};
  *job &= base::IndexSet::first(static_cast<uint32_t>(node.topology.cores_size()));
  return bind::unclaimed_cores(*job, claim(own->second), others);
}

void StepPlaces::changed(base::Time now, RunKey job) {
  Pace& pace = paces_[job];
  pace.due = std::min(pace.due, std::max(now, pace.last + kPause));
}

void StepPlaces::knows(RunKey step, const wire::StepAccess& access) {
  std::vector<std::string>& known = known_[step];
  known.clear();
  for (const wire::TaskPlace& place : access.places()) known.push_back(place.cpus());
}

void StepPlaces::forget(RunKey run) {
  known_.erase(run);
  if (!run.is_step()) paces_.erase(run);
}

std::vector<std::pair<RunKey, wire::StepPlaces>> StepPlaces::take_due(base::Time now, const NodeFacts& node,
                                                                      const std::map<RunKey, Run>& runs) {
  std::vector<std::pair<RunKey, wire::StepPlaces>> out;
  std::erase_if(paces_, [&](const auto& entry) { return !runs.contains(entry.first); });
  for (auto& [job, pace] : paces_) {
    if (pace.due > now) continue;
    pace = {base::Time::never(), now};
    for (auto it = runs.upper_bound(job); it != runs.end() && it->first.is_step_of(job); ++it) {
      if (!moves(node, it->second)) continue;
      const wire::StepClaim& claim = it->second.record.claim();
      std::vector<std::string> cpus = cpus_of(bind::bind_tasks(node.topology, claim.share(), claim.request(),
                                                               unclaimed_by_others(node, runs, it->first), true));
      std::vector<std::string>& known = known_[it->first];
      if (known == cpus) continue;
      wire::StepPlaces places;
      for (const std::string& one : cpus) places.add_cpus(one);
      known = std::move(cpus);
      out.emplace_back(it->first, std::move(places));
    }
  }
  return out;
}

base::Time StepPlaces::next_due() const {
  base::Time next = base::Time::never();
  for (const auto& [job, pace] : paces_) next = std::min(next, pace.due);
  return next;
}

}  // namespace gw::noded
