// The loop behind look_ahead(): ends, passes, nothing else.
#include "forecast/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "forecast/rest.h"
#include "sched/view/standings.h"

namespace gw::forecast {
namespace {

using base::Duration;
using base::JobId;
using base::Time;

uint32_t gpus_of(const sched::PendingJob& job) {
  uint32_t sum = model::total_gpus(job.request, job.request.min_nodes);
  for (const sched::Component& c : job.components) sum += model::total_gpus(c.request, c.request.min_nodes);
  return sum;
}

JobForecast describe(const sched::PendingJob& job) {
  JobForecast out;
  out.id = job.id;
  out.uid = job.uid;
  out.qos = job.qos;
  out.gpus = gpus_of(job);
  out.submitted = job.submitted;
  return out;
}

class Forward {
 public:
  Forward(const sched::PassInput& input, sched::ClusterView& view, const Assumptions& assumed)
      : view_(view), input_(input), assumed_(assumed), awaited_(assumed.until_started), now_(input.now) {
    for (const sched::PendingJob& job : input.queue) {
      jobs_[job.id] = std::make_shared<const sched::PendingJob>(job);
      out_[job.id] = describe(job);
      for (const sched::Component& c : job.components) owner_[c.id] = job.id;
    }
    for (const sched::RunningJob& r : input.running) add_running(r);
    for (const sched::RunningJob& r : input.running)
      if (r.job)
        for (const sched::Component& c : r.job->components) join(r.id, c.id);
  }

  base::Status run() {
    Time changed = now_;
    for (uint32_t idle = 0;;) {
      const uint64_t before = changes_;
      GW_TRY_STATUS(plan_to_rest());
      if (is_enough()) return {};
      const Time next = std::min(ends_.empty() ? Time::never() : ends_.begin()->first, timer_);
      if (next == Time::never() || view_.queue().size() == 0) break;
      const Time rest = changes_ == before && ends_.empty() ? rest_from(view_, changed) : Time::never();
      if (now_ >= rest) break;
      now_ = std::max(next, now_);
      end_what_is_due();
      idle = changes_ == before ? idle + 1 : 0;
      if (idle == 0) changed = now_;
      constexpr uint32_t kMaxIdle = 100'000;
      if (idle <= kMaxIdle) continue;
      if (rest != Time::never()) break;  // recurring reservations in a pattern too long to wait for
      return restless("it asks to be called again and again, and changes nothing");
    }
    for (const auto& [when, id] : ends_) finish(id, when);
    return {};
  }

  std::vector<JobForecast> take() {
    for (const auto& [key, job_class] : view_.queue().classes())
      if (const auto told = wait_words_.find(key); told != wait_words_.end())
        for (const auto& [rank, job] : job_class.members) out_[job.id].why = told->second;
    std::vector<JobForecast> list;
    for (auto& [id, forecast] : out_) list.push_back(std::move(forecast));
    return list;
  }

 private:
  sched::ClusterView& view_;
  const sched::PassInput& input_;
  const Assumptions& assumed_;
  std::set<JobId> awaited_;  // of Assumptions::until_started, that have not started
  uint64_t passes_ = 0;
  Time now_;
  Time timer_ = Time::never();
  uint64_t changes_ = 0;
  std::map<JobId, std::shared_ptr<const sched::PendingJob>> jobs_;
  std::map<JobId, JobId> owner_;               // of components
  std::map<JobId, std::vector<JobId>> parts_;  // ids under which a running job holds resources
  std::set<std::pair<Time, JobId>> ends_;
  std::map<JobId, Time> end_of_;
  std::set<JobId> leaving_;  // preempted; they wait again when their grace is over
  std::map<JobId, JobForecast> out_;
  std::map<sched::ClassKey, std::string> wait_words_;
  std::map<JobId, JobId> kept_;        // of suspended jobs
  std::map<JobId, Duration> rest_of_;  // of those that are suspended from now on: what they have still to run

  void apply(sched::DeltaKind kind) { view_.apply(sched::Delta{view_.epoch() + 1, std::move(kind)}); }

  base::Status restless(const char* what) const {
    return base::fail(base::ErrorCode::kInternal,
                      fmt::format("at {} the scheduler does not come to rest: {}", base::format_time(now_), what));
  }

  void add_running(const sched::RunningJob& r) {
    if (r.job && r.job->gang) return add_extension(r.job->gang, r.id);
    if (r.job && r.job->suspended) return add_kept(r);
    parts_[r.id].push_back(r.id);
    const Time end = r.is_leaving ? r.expected_end : end_of_run(r.job ? r.job->uid : 0, r.started, r.expected_end);
    if (end != Time::never()) set_end(r.id, std::max(end, now_));
    if (!r.job || r.job->whole) return;
    jobs_[r.id] = r.job;
    JobForecast& forecast = out_[r.id] = describe(*r.job);
    forecast.ran_at_start = true;
    forecast.started = r.started;
    forecast.partition = r.partition;
    forecast.nodes = r.allocation.node_names();
  }

  /// What a suspended job keeps: it goes with the job, once that has gone on. Who is suspended from now on is forecast
  /// as if it were requeued, and could run the rest elsewhere.
  void add_kept(const sched::RunningJob& r) {
    parts_[r.id] = {r.id};
    kept_[r.job->suspended] = r.id;
  }

  /// A component comes and goes with its job.
  void join(JobId job, JobId component) {
    owner_[component] = job;
    if (parts_.erase(component) == 0) return;
    parts_[job].push_back(component);
    if (const auto end = end_of_.find(component); end != end_of_.end()) {
      ends_.erase({end->second, component});
      end_of_.erase(end);
    }
  }

  void set_end(JobId id, Time when) {
    if (const auto it = end_of_.find(id); it != end_of_.end()) ends_.erase({it->second, id});
    end_of_[id] = when;
    ends_.emplace(when, id);
  }

  bool is_given_up() const { return passes_ >= assumed_.most_passes || (assumed_.go_on && !assumed_.go_on()); }
  bool is_enough() const { return is_given_up() || (awaited_.empty() && !assumed_.until_started.empty()); }

  /// When the run is over that began then and may last until `limit`.
  Time end_of_run(uint32_t uid, Time started, Time limit) const {
    if (!assumed_.run_time) return limit;
    const Duration may = limit == Time::never() ? base::kUnlimited : limit - started;
    const Duration all = assumed_.run_time(uid, may, now_ - started);
    return all == base::kUnlimited ? Time::never() : std::min(started + all, limit);
  }

  base::Status plan_to_rest() {
    const auto carry_out_all = [this](const sched::Plan& plan) -> base::Result<bool> {
      if (is_given_up()) return false;
      ++passes_;
      timer_ = plan.next_change_at;
      const uint64_t before = changes_;
      for (const sched::Group& group : plan.groups) carry_out(group);
      return changes_ != before;
    };
    GW_TRY(is_done, sched::plan_to_rest(view_, now_, input_.budget, carry_out_all));
    return is_done ? base::Status() : restless("it keeps deciding");
  }

  void tell_preempted(const sched::Preempt& p) {
    const auto running = view_.running().find(p.job);
    if (!p.is_counted() || running == view_.running().end() || running->second->gang) return;
    uint64_t gpu_milli = 0;
    const auto add = [&](JobId part) {
      if (const auto* holder = view_.quota().holder(part)) gpu_milli += holder->amounts[sched::kGpu];
    };
    add(p.job);
    for (const sched::Component& part : running->second->components) add(part.id);
    apply(sched::JobPreempted{running->second->qos, {now_, gpu_milli}});
  }

  void carry_out(const sched::Group& group) {
    for (const sched::Decision& decision : group.decisions) {
      if (const auto* s = std::get_if<sched::Start>(&decision)) start(*s);
      if (const auto* g = std::get_if<sched::Grow>(&decision)) grow(*g);
      if (const auto* p = std::get_if<sched::Preempt>(&decision)) {
        tell_preempted(*p);
        if (p->is_suspended) stand_still(p->job, now_ + p->grace);
        preempt(p->job, p->grace);
      }
      if (const auto* n = std::get_if<sched::Nomination>(&decision)) {
        ++changes_;
        apply(sched::NominationSet{*n});
      }
      if (const auto* w = std::get_if<sched::Wait>(&decision)) wait_words_[w->job_class] = model::words(w->blockers);
      if (const auto* r = std::get_if<sched::Reject>(&decision)) {
        ++changes_;
        out_[r->job].why = r->detail;
        apply(sched::JobUnqueued{r->job});
      }
    }
  }

  void start(const sched::Start& s) {
    ++changes_;
    const auto component = owner_.find(s.job);
    const JobId job = component == owner_.end() ? s.job : component->second;
    const bool is_first = component == owner_.end();
    const Time limit = now_ + s.time_limit;
    auto placed = jobs_.at(job);
    if (!is_first) placed = std::make_shared<const sched::PendingJob>(sched::component_of(*placed, s.job));
    const auto rest = is_first ? rest_of_.extract(job) : decltype(rest_of_)::node_type();
    const Time end = rest       ? std::min(now_ + rest.mapped(), limit)
                     : is_first ? end_of_run(placed->uid, now_, limit)
                                : limit;
    apply(sched::JobPlaced{s.job, s.partition, s.allocation, now_, limit, std::move(placed)});
    parts_[job].push_back(s.job);
    if (const auto kept = kept_.extract(job)) parts_[job].push_back(kept.mapped());
    JobForecast& forecast = out_[job];
    const std::vector<std::string> nodes = s.allocation.node_names();
    forecast.nodes.insert(forecast.nodes.end(), nodes.begin(), nodes.end());
    if (!is_first) return;
    awaited_.erase(job);
    forecast.started = now_;
    if (!forecast.first_start) forecast.first_start = now_;
    forecast.partition = s.partition;
    forecast.why.clear();
    if (end != Time::never()) set_end(job, end);
  }

  void grow(const sched::Grow& g) {
    ++changes_;
    const sched::Holding& holding = view_.capacity().holdings().at(g.gang);
    const model::NodeShare& share = g.allocation.shares.front();
    auto extension = std::make_shared<const sched::PendingJob>(
        sched::extension_of(*jobs_.at(g.gang), g.extension, std::max(share.tasks, 1U)));
    apply(sched::JobPlaced{g.extension, holding.partition, g.allocation, now_, holding.expected_end,
                           std::move(extension)});
    add_extension(g.gang, g.extension);
    out_[g.gang].nodes.push_back(share.name);
  }

  /// It goes with its gang, or alone.
  void add_extension(JobId gang, JobId extension) {
    parts_[gang].push_back(extension);
    parts_[extension] = {extension};
  }

  /// What it has not run by then it runs when it continues.
  void stand_still(JobId job, Time from) {
    const auto end = end_of_.find(job);
    if (end != end_of_.end() && end->second > from && !leaving_.contains(job)) rest_of_[job] = end->second - from;
  }

  void preempt(JobId job, Duration grace) {
    const Time gone = now_ + grace;
    if (leaving_.contains(job)) return;
    if (const auto end = end_of_.find(job); end != end_of_.end() && end->second <= gone) {  // it goes by itself
      for (const JobId part : parts_[job]) apply(sched::EndExpected{part, end->second, true});
      return;
    }
    leaving_.insert(job);
    ++changes_;
    set_end(job, gone);
    if (grace.us <= 0) return leave(job, now_);
    for (const JobId part : parts_[job]) apply(sched::EndExpected{part, gone, true});
  }

  void end_what_is_due() {
    while (!ends_.empty() && ends_.begin()->first <= now_) leave(ends_.begin()->second, ends_.begin()->first);
  }

  /// Off the nodes: for good, or to wait again.
  void leave(JobId job, Time when) {
    ++changes_;
    auto again = as_it_waits_again(job, when);
    for (const JobId part : parts_[job]) {
      const auto holding = view_.capacity().holdings().find(part);
      if (holding == view_.capacity().holdings().end()) continue;
      const std::vector<base::NodeId> nodes = holding->second.nodes;
      for (const base::NodeId node : nodes) apply(sched::ShareReleased{part, node});
    }
    parts_.erase(job);
    ends_.erase({end_of_.at(job), job});
    end_of_.erase(job);
    if (leaving_.erase(job) == 0 || !jobs_.contains(job)) return finish(job, when);
    JobForecast& forecast = out_[job];
    ++forecast.preemptions;
    forecast.started = {};
    forecast.nodes.clear();
    if (again != nullptr) jobs_.at(job) = std::move(again);
    apply(sched::JobQueued{*jobs_.at(job)});
  }

  /// As it waits once it has left: with what it has had, or orders that go by that would have it take turns for ever.
  std::shared_ptr<const sched::PendingJob> as_it_waits_again(JobId job, Time when) const {
    const auto known = jobs_.find(job);
    const auto holding = view_.capacity().holdings().find(job);
    if (known == jobs_.end() || holding == view_.capacity().holdings().end()) return nullptr;
    auto again = std::make_shared<sched::PendingJob>(*known->second);
    const double gpus = sched::held_with_parts(view_, job).gpus();
    again->attained = sched::running_facts(*known->second, holding->second.started, gpus, when).attained;
    again->counted_at = {};
    again->eligible = when;
    if (rest_of_.contains(job) && again->time_limit != base::kUnlimited)
      again->time_limit = std::max(again->time_limit - (when - holding->second.started), base::seconds(1));
    return again;
  }

  void finish(JobId job, Time when) {
    if (const auto it = out_.find(job); it != out_.end()) it->second.ended = when;
  }
};

}  // namespace

base::Result<std::vector<JobForecast>> look_ahead(const sched::PassInput& input, sched::ClusterView& view,
                                                  const Assumptions& assumed) {
  Forward forward(input, view, assumed);
  GW_TRY_STATUS(forward.run());
  return forward.take();
}

}  // namespace gw::forecast
