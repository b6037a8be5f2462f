// The event loop: instants, arrivals, passes. What happens to a single job is in engine_jobs.cc. See engine.h.
#include "sim/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/rest.h"

namespace gw::sim {
namespace {

constexpr uint32_t kMaxIdleWakes = 100'000;  // Timers in a row that change nothing.

base::Status restless(Time now, const char* what) {
  return base::fail(
      base::ErrorCode::kInternal,
      fmt::format("{} s after the start the scheduler does not come to rest: {}", (now - kStart).seconds(), what));
}

Time next_tick(Time now) { return sched::usage_period_start(now) + sched::kUsagePeriod; }

uint64_t gpu_milli_of(const model::Allocation& allocation) {
  uint64_t sum = 0;
  for (const model::NodeShare& share : allocation.shares) sum += uint64_t{share.gpus.size()} * share.gpu_milli;
  return sum;
}

}  // namespace

Engine::Engine(const Cluster& cluster, std::vector<SimJob> jobs, const EngineOptions& options)
    : cluster_(cluster),
      jobs_(std::move(jobs)),
      options_(options),
      records_(jobs_.size()),
      states_(jobs_.size()),
      usage_(cluster.usage_half_life),
      qos_usage_(cluster.usage_half_life) {
  number_jobs();
  set_up_cluster();
}

void Engine::apply(sched::DeltaKind kind) { view_.apply(sched::Delta{++epoch_, std::move(kind)}); }

void Engine::number_jobs() {
  auto next = static_cast<uint32_t>(jobs_.size());
  std::map<sched::ClassKey, sched::Workload::Entry> shapes;  // equal requests have equal shapes
  for (uint32_t i = 0; i < jobs_.size(); ++i) {
    sched::PendingJob& job = jobs_[i].job;
    job.id = base::JobId(i + 1);
    records_[i].components.resize(job.components.size());
    for (uint32_t c = 0; c < job.components.size(); ++c) {
      job.components[c].id = base::JobId(++next);
      parts_.emplace_back(i, c);
    }
    states_[i].left = jobs_[i].work;
    records_[i].is_elastic = job.most_tasks > 0;
    sched::Workload::Entry& entry = shapes[sched::class_key(job)];
    entry.shape = sched::Workload::shape_of(job.request);
    ++entry.count;
  }
  std::vector<sched::Workload::Entry> entries;
  for (const auto& [key, entry] : shapes) entries.push_back(entry);
  workload_ = sched::Workload::exact(std::move(entries));
}

void Engine::set_up_cluster() {
  for (const sched::NodeFacts& node : cluster_.nodes) {
    apply(sched::NodeSet{node});
    gpu_milli_ += uint64_t{node.gpus.size()} * model::kWholeGpu;
    cpus_ += uint64_t{node.cores.size()} * node.topology->threads_per_core();
    touched_.push_back(node.id);
  }
  fragmented_.resize(cluster_.nodes.size() + 1);
  for (const sched::PartitionFacts& p : cluster_.partitions) apply(sched::PartitionSet{p});
  if (!cluster_.network.empty()) apply(sched::NetworkSet{cluster_.network});
  apply(sched::PolicySet{cluster_.policy});
  for (const sched::AdvanceReservation& r : cluster_.reservations) apply(sched::ReservationSet{r});
  if (!cluster_.qos.empty()) apply(sched::QosSet{cluster_.qos});
}

void Engine::sort_arrivals() {
  for (uint32_t i = 0; i < jobs_.size(); ++i)
    if (!jobs_[i].running) arrivals_.push_back(i);
  const auto when = [this](uint32_t i) { return std::max(jobs_[i].job.submitted, kStart); };
  std::stable_sort(arrivals_.begin(), arrivals_.end(), [&](uint32_t a, uint32_t b) { return when(a) < when(b); });
}

base::Status Engine::run() {
  GW_TRY_STATUS(start_running_jobs());
  sort_arrivals();
  GW_TRY_STATUS(settle());
  uint32_t idle = 0;
  for (Time changed = now_;;) {
    drop_stale_endings();
    const Time next = next_instant();
    if (next == Time::never() || (options_.until && next > *options_.until)) break;
    const bool is_tick = awaits_tick() && next == next_tick(now_) && next != timer_;
    go_to(next);
    const uint64_t before = changes_;
    GW_TRY_STATUS(settle());
    if (changes_ != before) {
      changed = now_;
      idle = 0;
      continue;
    }
    const Time rest = next_arrival_ == arrivals_.size() && endings_.empty() ? rest_from(view_, changed) : Time::never();
    if (now_ >= rest && !awaits_tick()) break;
    if (is_tick) continue;
    if (++idle < kMaxIdleWakes) continue;
    if (rest != Time::never()) break;  // recurring reservations in a pattern too long to wait for
    return restless(now_, "it asks to be called again and again, and changes nothing");
  }
  if (options_.until && *options_.until > now_) go_to(*options_.until);
  sample();
  explain_waits();
  return {};
}

Time Engine::next_instant() const {
  Time next = timer_ > now_ ? timer_ : Time::never();
  if (awaits_tick()) next = std::min(next, next_tick(now_));
  if (next_arrival_ < arrivals_.size()) next = std::min(next, jobs_[arrivals_[next_arrival_]].job.submitted);
  if (!endings_.empty()) next = std::min(next, endings_.top().at);
  return next;
}

void Engine::go_to(Time t) {
  contention_ += static_cast<double>(current_.pending + current_.running) * static_cast<double>((t - now_).us) / 1e6;
  if (const Time tick = sched::usage_period_start(t); tick > now_ && tick <= last_tick()) send_usage(tick);
  now_ = t;
}

base::Status Engine::settle() {
  do {
    end_what_is_due();
    admit_what_is_due();
    GW_TRY_STATUS(plan_to_rest());
    drop_stale_endings();
  } while (!endings_.empty() && endings_.top().at <= now_);
  sample();
  if (options_.watch) GW_TRY_STATUS(options_.watch(view_, now_));
  return {};
}

void Engine::drop_stale_endings() {
  while (!endings_.empty()) {
    const Ending& top = endings_.top();
    const bool is_there = !top.piece || gang_of_.contains(top.piece);
    if (is_there && records_[top.job].phase == Phase::kRunning && states_[top.job].run == top.run) return;
    endings_.pop();
  }
}

void Engine::end_what_is_due() {
  for (drop_stale_endings(); !endings_.empty() && endings_.top().at <= now_; drop_stale_endings()) {
    const Ending due = endings_.top();
    endings_.pop();
    if (due.piece)
      drop_piece(due.job, due.piece);
    else if (due.is_eviction)
      take_off(due.job);
    else
      end(due.job, {});
  }
}

void Engine::admit_what_is_due() {
  while (next_arrival_ < arrivals_.size() && jobs_[arrivals_[next_arrival_]].job.submitted <= now_)
    admit(arrivals_[next_arrival_++]);
}

base::Status Engine::plan_to_rest() {
  const auto carry_out_all = [this](const sched::Plan& plan) -> base::Result<bool> {
    ++passes_;
    timer_ = plan.next_change_at;
    planned_ = plan.at;
    bool acted = false;
    for (const sched::Group& group : plan.groups) {
      for (const sched::Decision& decision : group.decisions) {
        GW_TRY(changed, carry_out(decision));
        acted |= changed;
      }
    }
    return acted;
  };
  GW_TRY(is_done, sched::plan_to_rest(view_, now_, options_.budget, carry_out_all));
  return is_done ? base::Status() : restless(now_, "it goes on deciding");
}

// ---- Measures

void Engine::count(const model::Allocation& allocation, bool is_given) {
  const int64_t sign = is_given ? 1 : -1;
  current_.busy_gpu_milli += static_cast<uint64_t>(sign * static_cast<int64_t>(gpu_milli_of(allocation)));
  for (const model::NodeShare& share : allocation.shares) {
    current_.busy_cpus += static_cast<uint64_t>(sign * static_cast<int64_t>(share.cpus));
    touched_.push_back(share.node);
  }
}

void Engine::sample() {
  for (const base::NodeId id : touched_) {
    const sched::NodeAccount& account = *view_.capacity().node(id);
    double& cached = fragmented_[id.value];
    current_.fragmented_gpu_milli -= cached;
    cached = workload_.total() == 0 ? 0 : sched::fragmented_milli(workload_, account, account.free);
    current_.fragmented_gpu_milli += cached;
  }
  touched_.clear();
  current_.at = now_;
  if (!samples_.empty() && samples_.back().at == now_) samples_.pop_back();
  samples_.push_back(current_);
}

// ---- Use, where it counts

void Engine::change_rate(uint32_t job, int sign) {
  if (!view_.order().looks_at_users() && !counts_past()) return;
  const Record& record = records_[job];
  int64_t rate = sched::usage_rate(record.allocation);
  for (const model::Allocation& part : record.components) rate += sched::usage_rate(part);
  if (view_.order().looks_at_users()) usage_.change_rate(jobs_[job].job.uid, sign * rate, now_);
  if (counts_past()) qos_usage_.change_rate(jobs_[job].job.qos, sign * rate, now_);
}

/// Where shares follow past use, a job that waits may have its turn when use is told next.
bool Engine::awaits_tick() const { return counts_past() && view_.queue().size() > 0 && next_tick(now_) <= last_tick(); }

/// Ten half-lives after the last arrival or end all goes in circles: a whole GPU may change hands for ever.
Time Engine::last_tick() const {
  if (!counts_past()) return Time::never();
  return last_event_ + Duration{10 * std::min(cluster_.usage_half_life, base::hours(24 * 366)).us};
}

void Engine::send_usage(Time tick) {
  usage_.forget_small(tick);
  qos_usage_.forget_small(tick);
  sched::UsageSet all{usage_.at(tick), qos_usage_.at(tick)};
  if (all.usage != view_.usage() || all.qos != view_.qos_usage()) apply(std::move(all));
}

void Engine::explain_waits() {
  for (uint32_t i = 0; i < jobs_.size(); ++i) {
    Record& record = records_[i];
    if (record.phase != Phase::kPending || record.is_refused) continue;
    const auto told = told_.find(sched::class_key(jobs_[i].job, view_.splits_by_user(), planned_));
    if (told != told_.end()) record.why = told->second;
  }
}

}  // namespace gw::sim
