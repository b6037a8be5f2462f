// See order_check.h.
#include "sched/queue/order_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "sched/queue/orders.h"

namespace gw::sched {
namespace {

constexpr int kRounds = 3'000;
/// Seven minutes past an hour: a moment at which something may have begun lately.
constexpr Time kNow{int64_t{1'000'000} * 3'600'000'000 + int64_t{7} * 60'000'000};

/// A made-up job with what is told of it. Times are whole minutes, sizes few, so that jobs often are alike in
/// something.
struct Sample {
  PendingJob job;
  Time since;  ///< It runs since then; zero: it waits.
  double held_by_user = 0;

  /// As the queue tells it, of the job alone.
  JobFacts bare(Time now) const {
    static const Services kServices = {60, 600, 600, 3'600, 7'200, 40'000, 900'000};
    return since ? running_facts(job, since, job.request.gpus, now, &kServices) : waiting_facts(job, now, &kServices);
  }
  JobFacts facts(Time now, const Survey* survey = nullptr) const {
    const double gpus = job.request.gpus;
    JobFacts out = bare(now);
    out.held_by_user = held_by_user;
    out.dominant_share = held_by_user / 800;
    out.demand = {gpus / 800, gpus / 1600, 0.001};
    out.free = {0.25, 0.125, 0.5};
    out.survey = survey;
    return out;
  }
};

class Checker {
 public:
  explicit Checker(const Order& order) : order_(order) {
    context_.now = kNow;
    context_.size = {6400, 800, 100};
    context_.usage = &usage_;
    context_.total_usage = 600;
    context_.partition_priority = &tiers_;
  }

  std::vector<std::string> run() {
    for (int i = 0; i < kRounds; ++i) {
      const Sample one = waits(), other = waits();
      look_at_numbers(one);
      look_at_class(one, alike(one));
      look_at_ranks(one, alike(one));
      if (!order_.is_preemptive()) continue;
      Sample runs = waits();
      runs.since = kNow - minutes(0, 600);
      if (pick(0, 3) == 0) runs.job.overruns = kNow + minutes(-60, 600);
      runs.job.counted_at = pick(0, 3) == 0 ? kNow - Duration{(kNow - runs.since).us / 2} : Time{};
      look_at_numbers(runs);
      look_at_yielding(runs, other);
    }
    std::vector<std::string> out;
    for (auto& [kind, text] : found_) out.push_back(std::move(text));
    return out;
  }

 private:
  const Order& order_;
  OrderContext context_;
  const std::map<uint32_t, double> usage_ = {{0, 100}, {1, 200}, {2, 300}};
  const std::map<std::string, double> tiers_ = {{"a", 1}, {"b", 2}};
  uint64_t random_ = 1;
  std::map<std::string, std::string> found_;  // by kind

  /// Knuth's linear congruential generator (MMIX); its upper half is even enough for examples.
  int64_t pick(int64_t least, int64_t most) {
    random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return least + static_cast<int64_t>((random_ >> 33) % static_cast<uint64_t>(most - least + 1));
  }
  Duration minutes(int64_t least, int64_t most) { return base::minutes(pick(least, most)); }

  Sample waits() {
    Sample s;
    s.job.id = JobId(static_cast<uint32_t>(pick(1, 1'000'000)));
    s.job.uid = static_cast<uint32_t>(pick(0, 2));
    s.job.priority = pick(0, 1);
    s.job.nice = pick(-2, 2);
    s.job.partitions = {pick(0, 1) == 0 ? "a" : "b"};
    s.job.request.tasks = 1;
    s.job.request.min_nodes = s.job.request.max_nodes = 1;
    s.job.request.nodes_given = true;
    s.job.request.gpu_counting = model::GpuCounting::kPerNode;
    s.job.request.gpus = static_cast<uint32_t>(int64_t{1} << pick(0, 6));
    s.job.submitted = kNow - minutes(600, 3'000);
    s.job.eligible = pick(0, 1) == 0 ? s.job.submitted : kNow - minutes(0, 600);  // it was requeued
    s.job.time_limit = minutes(1, 3'000);
    s.job.attained = pick(0, 1) == 0 ? Duration{} : minutes(0, 100'000);
    if (pick(0, 1) == 0) s.job.remaining = minutes(1, 3'000);
    s.held_by_user = static_cast<double>(pick(0, 200));
    return s;
  }
  /// Another of its class and user.
  Sample alike(const Sample& s) {
    Sample out = waits();
    out.job.uid = s.job.uid;
    out.job.priority = s.job.priority;
    out.job.partitions = s.job.partitions;
    out.job.request = s.job.request;
    out.job.time_limit = s.job.time_limit;
    out.held_by_user = s.held_by_user;
    return out;
  }

  void fault(const std::string& kind, const Sample& s, const std::string& text) {
    const std::string_view state = s.since ? "runs" : "waits";
    found_.try_emplace(
        kind,
        fmt::format("{}: {}; found with a job of {} GPUs that {}, submitted {} and able to start {} before, with a "
                    "limit of {} and {} GPU-hours so far",
                    kind, text, s.job.request.gpus, state, base::format_duration(kNow - s.job.submitted),
                    base::format_duration(kNow - s.job.eligible), base::format_duration(s.job.time_limit),
                    static_cast<double>(s.facts(kNow).attained.us) / 3.6e9));
  }

  double score(const Sample& s, Time now, const Survey* survey = nullptr) {
    OrderContext context = context_;
    context.now = now;
    return order_.score(s.facts(now, survey), context);
  }
  /// As the scheduler lets the order look at all there are: these two, and GPUs for the larger of them.
  std::shared_ptr<const Survey> survey(const Sample& one, const Sample& other, Time now) const {
    if (!order_.needs().survey) return nullptr;
    const auto milli = [](const Sample& s) { return uint64_t{s.job.request.gpus} * model::kWholeGpu; };
    return order_.survey({{one.facts(now), 1, milli(one)}, {other.facts(now), 1, milli(other)}},
                         std::max(milli(one), milli(other)));
  }
  double key(const Sample& s, Time now) const { return order_.key(s.bare(now)); }

  void look_at_numbers(const Sample& s) {
    const auto alone = survey(s, s, kNow);
    const double first = score(s, kNow, alone.get()), second = key(s, kNow);
    if (!std::isfinite(first)) fault("score() is no number", s, fmt::format("it is {}", first));
    if (!std::isfinite(second)) fault("key() is no number", s, fmt::format("it is {}", second));
    if (!std::isfinite(first) || !std::isfinite(second)) return;
    const double again = score(s, kNow, alone.get());
    if (again != first) fault("score() differs for the same job and time", s, fmt::format("{}, then {}", first, again));
    double sum = 0;
    for (const ScorePart& part : order_.parts(s.facts(kNow, alone.get()), context_)) sum += part.product();
    if (std::abs(sum - first) > 1e-6 * std::max(1.0, std::abs(first)))
      fault("parts() do not add up to the score", s, fmt::format("{} and {}", sum, first));
    if (const Time at = order_.next_change(s.facts(kNow, alone.get())); at <= kNow)
      fault("next_change() is not to come", s, fmt::format("it is {} ago", base::format_duration(kNow - at)));
  }

  /// Before its like, as the queue ranks it.
  bool is_ranked_before(const Sample& one, const Sample& other, Time now) const {
    const auto rank = [&](const Sample& s) {
      return Rank{s.job.priority, comparable(key(s, now)), s.job.nice, s.job.submitted, s.job.id};
    };
    return rank(one) < rank(other);
  }

  /// Of an hour at most: a factor that is full after some age ranks those past it otherwise than it scores them.
  void look_at_class(Sample one, Sample other) {
    for (Sample* s : {&one, &other}) {
      s->job.submitted = kNow - minutes(0, 60);
      s->job.eligible = pick(0, 1) == 0 ? s->job.submitted : kNow - minutes(0, 60);
    }
    if (score(one, kNow) > score(other, kNow) && !is_ranked_before(one, other, kNow))
      fault("key() and score() disagree about two jobs of a class", one,
            fmt::format("it scores {} and has the key {}, and its like {} and {}", score(one, kNow), key(one, kNow),
                        score(other, kNow), key(other, kNow)));
  }

  /// Some moments until that one, which may never come.
  std::vector<Time> moments(Time until) {
    const Time last = std::min(until, kNow + base::hours(48));
    std::vector<Time> out;
    for (int i = 1; i <= 4; ++i) {
      const Time at = kNow + Duration{(last - kNow).us / 4 * i};
      if (at < until && at > kNow) out.push_back(at);
    }
    return out;
  }

  /// Who is before whom in a class stays so until one of them says otherwise.
  void look_at_ranks(const Sample& one, const Sample& other) {
    const bool before = is_ranked_before(one, other, kNow);
    const Time until = std::min(order_.next_change(one.facts(kNow)), order_.next_change(other.facts(kNow)));
    for (const Time at : moments(until))
      if (is_ranked_before(one, other, at) != before)
        return fault("key() changes before next_change()", one,
                     fmt::format("two jobs of a class change places after {}", base::format_duration(at - kNow)));
  }

  void look_at_yielding(const Sample& runs, const Sample& waits) {
    if (runs.job.priority > waits.job.priority) return;  // it is not asked
    const auto both = survey(runs, waits, kNow);
    const JobFacts running = runs.facts(kNow, both.get()), waiting = waits.facts(kNow, both.get());
    const Yields how = order_.yields(running, waiting);
    if (how == Yields::kNo) {
      const Time until = std::min(change_of(order_, running), order_.next_change(waiting));
      for (const Time at : moments(until)) {
        const auto then = survey(runs, waits, at);
        if (order_.yields(runs.facts(at, then.get()), waits.facts(at, then.get())) != Yields::kNo)
          return fault("yields() changes before next_change()", runs,
                       fmt::format("it yields to another after {}", base::format_duration(at - kNow)));
      }
      return;
    }
    if (runs.job.priority != waits.job.priority) return;
    Sample gone = runs, came = waits;  // they have changed places
    gone.since = {};
    gone.job.attained = runs.facts(kNow).attained;
    gone.job.counted_at = {};
    gone.job.overruns = runs.job.overruns && runs.job.overruns <= kNow ? Time{1} : Time{};
    gone.job.eligible = came.since = kNow;
    gone.job.time_limit = gone.job.remaining = runs.facts(kNow).remaining;
    gone.held_by_user -= runs.job.request.gpus;
    const auto left = survey(gone, waits, kNow);
    const double his = score(gone, kNow, left.get()), theirs = score(waits, kNow, left.get());
    if (his > theirs)
      fault("who yields is served before whom it yields to", runs,
            fmt::format("it would score {}, and the other {}", his, theirs));
    came.held_by_user += waits.job.request.gpus;
    const auto changed = survey(came, gone, kNow);
    if (order_.yields(came.facts(kNow, changed.get()), gone.facts(kNow, changed.get())) == Yields::kNow)
      fault("who yields gets its place back at once", runs, "the two would take turns without an end");
  }
};

}  // namespace

std::vector<std::string> check_order(const Order& order) { return Checker(order).run(); }

}  // namespace gw::sched
