// What happens to a job: it is admitted, starts, is taken off, ends. See engine.h.
#include <fmt/format.h>

#include <algorithm>

#include "sched/place/place.h"
#include "sim/engine.h"

namespace gw::sim {

// ---- Jobs that run at the start

base::Status Engine::start_running_jobs() {
  for (uint32_t i = 0; i < jobs_.size(); ++i)
    if (jobs_[i].running) GW_TRY_STATUS(place_running(i));
  return {};
}

base::Result<std::string> Engine::partition_of(const SimJob& job) const {
  for (const std::string& name : job.job.partitions) {
    const sched::PartitionFacts* p = view_.capacity().partition(name);
    const auto is_in = [p](const std::string& node) {
      return std::find(p->nodes.begin(), p->nodes.end(), node) != p->nodes.end();
    };
    if (p != nullptr && std::all_of(job.running->at.begin(), job.running->at.end(), is_in)) return name;
  }
  return base::invalid(fmt::format("job {}: no partition of its has all the nodes where it runs", job.name));
}

/// Each node's part as the inside-node chooser gives it.
base::Result<model::Allocation> Engine::allocation_at(const SimJob& job, const std::string& partition,
                                                      std::span<const std::string> at) const {
  model::Allocation all;
  std::map<std::string, uint32_t> tasks;
  for (const std::string& node : at) ++tasks[node];
  for (const std::string& node : at) {
    const uint32_t here = std::exchange(tasks[node], 0);
    if (here == 0) continue;
    const model::Request& whole = job.job.request;
    model::Request part = whole;
    part.nodes_given = part.tasks_given = true;
    part.min_nodes = part.max_nodes = 1;
    part.tasks = here;
    part.tasks_per_node = part.max_switches = part.segment = 0;
    part.nodelist = {node};
    part.exclude.clear();
    part.features.clear();
    part.locality.clear();
    if (part.gpu_counting == model::GpuCounting::kPerJob)
      part.gpus = whole.gpus * here / static_cast<uint32_t>(at.size());
    auto placed = sched::place(view_.capacity(), *view_.capacity().partition(partition), part);
    if (!placed.allocation)
      return base::invalid(fmt::format("job {} does not fit on {}, where it is said to run: {}", job.name, node,
                                       sched::explain(placed.diagnosis, partition)));
    all.shares.push_back(std::move(placed.allocation->shares.front()));
  }
  return all;
}

base::Status Engine::place_running(uint32_t job) {
  const SimJob& spec = jobs_[job];
  GW_TRY(partition, partition_of(spec));
  const std::span<const std::string> at(spec.running->at);
  const size_t least = spec.job.most_tasks > 0 ? spec.job.request.tasks : at.size();
  GW_TRY(allocation, allocation_at(spec, partition, at.first(least)));
  Record& record = records_[job];
  record.ran_at_start = true;
  record.submitted = spec.job.submitted;
  record.started = spec.running->started;
  record.partition = partition;
  record.allocation = record.first_allocation = allocation;
  record.phase = Phase::kRunning;
  ++current_.running;
  give(spec.job.id, allocation, partition, spec.job.time_limit);
  begin_run(job, spec.job.time_limit);
  for (size_t i = least; i < at.size(); ++i) {
    GW_TRY(piece, allocation_at(spec, partition, at.subspan(i, 1)));
    add_piece(job, view_.next_piece(), piece);
  }
  record.first_allocation = record.allocation;
  return {};
}

// ---- Waiting

std::string Engine::why_never(const sched::PendingJob& job) const {
  std::string why;
  const auto can_run = [this, &why](const model::Request& request, const std::vector<std::string>& partitions) {
    for (const std::string& name : partitions) {
      const auto status = sched::could_ever_run(view_.capacity(), *view_.capacity().partition(name), request);
      if (status) return true;
      if (why.empty()) why = status.error().what;
    }
    return false;
  };
  if (!can_run(job.request, job.partitions)) return why;
  for (const sched::Component& part : job.components)
    if (!can_run(part.request, part.partitions)) return why;
  return {};
}

void Engine::admit(uint32_t job) {
  Record& record = records_[job];
  record.phase = Phase::kPending;
  record.submitted = jobs_[job].job.submitted;
  states_[job].contention_at_submit = contention_;
  last_event_ = now_;
  ++changes_;
  const sched::ClassKey key = sched::class_key(jobs_[job].job);
  auto known = never_.find(key);
  if (known == never_.end()) known = never_.emplace(key, why_never(jobs_[job].job)).first;
  if (!known->second.empty()) {
    record.is_refused = true;
    record.why = "can never run: " + known->second;
    return;
  }
  ++current_.pending;
  states_[job].pending_since = jobs_[job].job.submitted;
  jobs_[job].job.eligible = jobs_[job].job.submitted;
  queue(job);
}

void Engine::queue(uint32_t job) {
  sched::PendingJob& pending = jobs_[job].job;
  if (jobs_[job].tells_work) pending.remaining = states_[job].left + states_[job].cost;
  apply(sched::JobQueued{pending});
}

// ---- Decisions

base::Result<bool> Engine::carry_out(const sched::Decision& decision) {
  if (const auto* s = std::get_if<sched::Start>(&decision)) {
    GW_TRY_STATUS(start(*s));
    return true;
  }
  if (const auto* g = std::get_if<sched::Grow>(&decision)) {
    grow(*g);
    return true;
  }
  if (const auto* p = std::get_if<sched::Preempt>(&decision)) {
    if (p->job.value >= sched::kFirstPiece) {
      shrink(p->job, p->grace);
      return true;
    }
    const uint32_t job = p->job.value - 1;
    if (states_[job].is_leaving) return false;
    if (p->is_move) apply(sched::JobMoved{p->job, now_});
    preempt(job, p->grace, p->is_move);
    return true;
  }
  if (const auto* c = std::get_if<sched::Claim>(&decision)) {
    apply(sched::ClaimSet{*c});
    return true;
  }
  if (const auto* r = std::get_if<sched::Reject>(&decision)) {
    const uint32_t job = r->job.value - 1;
    apply(sched::JobUnqueued{r->job});
    records_[job].waited = records_[job].waited + (now_ - states_[job].pending_since);
    --current_.pending;
    leave_system(job);
    records_[job].why = r->detail;
    return true;
  }
  const auto& wait = std::get<sched::Wait>(decision);
  told_[wait.job_class] = model::words(wait.blockers);
  return false;
}

void Engine::give(base::JobId id, const model::Allocation& allocation, const std::string& partition, Duration limit) {
  const bool is_component = id.value > jobs_.size();
  const uint32_t owner = is_component ? parts_[id.value - jobs_.size() - 1].first : id.value - 1;
  auto ranked = std::make_shared<sched::PendingJob>(jobs_[owner].job);
  if (is_component) *ranked = sched::component_of(*ranked, id);
  const Time since = is_component ? now_ : records_[owner].started;
  count(allocation, true);
  apply(sched::JobPlaced{id, partition, allocation, since, since + limit, std::move(ranked)});
}

base::Status Engine::start(const sched::Start& start) {
  if (start.job.value > jobs_.size()) {  // a component: its job's own start is in the same group
    const auto [owner, component] = parts_[start.job.value - jobs_.size() - 1];
    records_[owner].components[component] = start.allocation;
    give(start.job, start.allocation, start.partition, start.time_limit);
    return {};
  }
  const uint32_t job = start.job.value - 1;
  Record& record = records_[job];
  State& state = states_[job];
  if (record.phase != Phase::kPending)
    return base::fail(base::ErrorCode::kInternal,
                      "the scheduler starts job " + jobs_[job].name + ", which does not wait");
  if (const auto good = sched::check(view_.capacity(), jobs_[job].job, start); !good)
    return base::fail(base::ErrorCode::kInternal,
                      "a start of job " + jobs_[job].name + " that does not hold: " + good.error().what);
  record.phase = Phase::kRunning;
  record.waited = record.waited + (now_ - state.pending_since);
  record.started = now_;
  record.partition = start.partition;
  record.allocation = start.allocation;
  --current_.pending;
  ++current_.running;
  give(start.job, start.allocation, start.partition, start.time_limit);
  begin_run(job, start.time_limit);
  return {};
}

void Engine::begin_run(uint32_t job, Duration limit) {
  State& state = states_[job];
  ++state.run;
  ++changes_;
  state.is_leaving = false;
  const Time started = records_[job].started;
  state.size_since = started;
  state.least = records_[job].allocation;
  const Duration run = std::min(limit, state.left == base::kUnlimited ? state.left : state.left + state.cost);
  if (run != base::kUnlimited) endings_.push({std::max(started + run, kStart), job, state.run, false});
  change_rate(job, 1);
}

void Engine::preempt(uint32_t job, Duration grace, bool is_move) {
  State& state = states_[job];
  state.is_moving = is_move;
  if (grace <= Duration{}) return take_off(job);
  state.is_leaving = true;
  ++changes_;
  endings_.push({now_ + grace, job, state.run, true});
  for (const base::JobId id : ids_of(job)) apply(sched::EndExpected{id, now_ + grace, true});
}

std::vector<base::JobId> Engine::ids_of(uint32_t job) const {
  std::vector<base::JobId> ids = {jobs_[job].job.id};
  for (const sched::Component& part : jobs_[job].job.components) ids.push_back(part.id);
  for (const auto& [piece, allocation] : states_[job].pieces) ids.push_back(piece);
  return ids;
}

/// Gives everything back, and counts what is lost with it.
void Engine::take_off(uint32_t job) {
  Record& record = records_[job];
  State& state = states_[job];
  const Duration ran = now_ - record.started;
  const Duration overhead = std::min(ran, state.cost);
  const bool keeps_work = options_.keeps_work || state.is_moving;
  const Duration lost = keeps_work ? overhead : ran;
  if (keeps_work && state.left != base::kUnlimited) state.left = state.left - (ran - overhead);
  book(job, lost);
  leave_nodes(job);
  --current_.running;
  ++current_.pending;
  ++(std::exchange(state.is_moving, false) ? record.moves : record.taken_off);
  record.phase = Phase::kPending;
  state.cost = options_.restart_cost;
  state.pending_since = now_;
  jobs_[job].job.eligible = now_;
  queue(job);
}

void Engine::end(uint32_t job, std::string why) {
  const State& state = states_[job];
  const Duration ran = now_ - records_[job].started;
  const bool is_cut = state.left == base::kUnlimited || ran < state.left + state.cost;
  if (is_cut && why.empty()) why = "time limit";
  book(job, std::min(ran, state.cost));
  leave_nodes(job);
  --current_.running;
  leave_system(job);
  records_[job].why = std::move(why);
}

void Engine::leave_nodes(uint32_t job) {
  ++changes_;
  change_rate(job, -1);
  for (const auto& [piece, allocation] : states_[job].pieces) {
    release(piece, allocation);
    gang_of_.erase(piece);
  }
  states_[job].pieces.clear();
  release(jobs_[job].job.id, states_[job].least);
  const Record& record = records_[job];
  for (size_t c = 0; c < record.components.size(); ++c) release(jobs_[job].job.components[c].id, record.components[c]);
}

void Engine::release(base::JobId id, const model::Allocation& allocation) {
  count(allocation, false);
  for (const model::NodeShare& share : allocation.shares) apply(sched::ShareReleased{id, share.node});
}

void Engine::leave_system(uint32_t job) {
  Record& record = records_[job];
  record.phase = Phase::kEnded;
  record.ended = last_event_ = now_;
  ++changes_;
  const double stay = static_cast<double>((now_ - record.submitted).us) / 1e6;
  record.contention = stay > 0 ? (contention_ - states_[job].contention_at_submit) / stay : 1;
}

void Engine::book(uint32_t job, Duration lost) {
  uint64_t milli = 0, cpus = 0;
  const auto add = [&](const model::Allocation& allocation) {
    for (const model::NodeShare& share : allocation.shares) milli += uint64_t{share.gpus.size()} * share.gpu_milli;
    cpus += allocation.total_cpus();
  };
  Record& record = records_[job];
  add(record.allocation);
  for (const model::Allocation& part : record.components) add(part);
  const double gpus = static_cast<double>(milli) / model::kWholeGpu;
  const double held_s = static_cast<double>((now_ - states_[job].size_since).us) / 1e6;
  states_[job].size_since = now_;
  record.held_gpu_s += gpus * held_s;
  record.held_cpu_s += static_cast<double>(cpus) * held_s;
  record.lost_gpu_s += gpus * static_cast<double>(lost.us) / 1e6;
}

// ---- Elastic gangs

void Engine::grow(const sched::Grow& grow) { add_piece(grow.gang.value - 1, grow.piece, grow.allocation); }

void Engine::add_piece(uint32_t job, base::JobId piece, const model::Allocation& allocation) {
  const sched::PendingJob& gang = jobs_[job].job;
  const sched::Holding& holding = view_.capacity().holdings().at(gang.id);
  const uint32_t tasks = allocation.shares.front().tasks;
  auto part = std::make_shared<const sched::PendingJob>(sched::piece_of(gang, piece, tasks));
  apply(sched::JobPlaced{piece, holding.partition, allocation, now_, holding.expected_end, std::move(part)});
  count(allocation, true);
  gang_of_[piece] = job;
  states_[job].pieces[piece] = allocation;
  resize(job);
}

void Engine::shrink(base::JobId piece, Duration grace) {
  const uint32_t job = gang_of_.at(piece);
  for (const model::NodeShare& share : states_[job].pieces.at(piece).shares)
    records_[job].given_back_milli += uint64_t{share.gpus.size()} * share.gpu_milli;
  if (grace <= Duration{}) return drop_piece(job, piece);
  ++changes_;
  endings_.push({now_ + grace, job, states_[job].run, true, piece});
  apply(sched::EndExpected{piece, now_ + grace, true});
}

void Engine::drop_piece(uint32_t job, base::JobId piece) {
  release(piece, states_[job].pieces.at(piece));
  states_[job].pieces.erase(piece);
  gang_of_.erase(piece);
  resize(job);
}

/// It has other pieces now: what it held until now is booked, and it holds what its parts hold together.
void Engine::resize(uint32_t job) {
  ++changes_;
  change_rate(job, -1);
  book(job, {});
  std::map<base::NodeId, model::NodeShare> shares;
  const auto add = [&shares](const model::Allocation& allocation) {
    for (const model::NodeShare& share : allocation.shares) {
      const auto [it, is_new] = shares.try_emplace(share.node, share);
      if (is_new) continue;
      model::NodeShare& sum = it->second;
      sum.tasks += share.tasks;
      sum.cpus += share.cpus;
      sum.cores |= share.cores;
      sum.gpus |= share.gpus;
      sum.mem_mb += share.mem_mb;
    }
  };
  add(states_[job].least);
  for (const auto& [piece, allocation] : states_[job].pieces) add(allocation);
  model::Allocation& all = records_[job].allocation;
  all.shares.clear();
  for (auto& [node, share] : shares) all.shares.push_back(std::move(share));
  change_rate(job, 1);
}

}  // namespace gw::sim
