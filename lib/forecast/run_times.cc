// See run_times.h.
#include "forecast/run_times.h"

#include <algorithm>
#include <cmath>

namespace gw::forecast {
namespace {

constexpr size_t kNearest = 40;           // Runs that a length is drawn from,
constexpr size_t kMost = 200;             // more of them if all had its limit,
constexpr size_t kOfOneUser = 20;         // his own alone, if so many are known.
constexpr int64_t kShortest = 1'000'000;  // A length is told in whole seconds: what runs, runs a second more at least.

double seconds_of(Duration d) { return static_cast<double>(d.us) / 1e6; }
Duration duration_of(double seconds) { return Duration{static_cast<int64_t>(std::llround(seconds * 1e6))}; }

}  // namespace

uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15U;
  uint64_t z = state_;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

void RunTimes::add(const Run& run) {
  if (run.ran.us <= 0 || run.limit.us <= 0) return;
  latest_.push_back(run);
  if (++of_users_[run.uid] > kMostOfUser)
    forget(std::find_if(latest_.begin(), latest_.end(), [&run](const Run& r) { return r.uid == run.uid; }));
  if (latest_.size() > kMost) forget(latest_.begin());
}

void RunTimes::forget(const std::deque<Run>::const_iterator& run) {
  const auto of_user = of_users_.find(run->uid);
  if (--of_user->second == 0) of_users_.erase(of_user);
  latest_.erase(run);
}

RunTimeDraws::RunTimeDraws(const RunTimes& known, const std::vector<sched::RunningJob>& running, Time now) {
  for (const RunTimes::Run& run : known.latest()) add(run.uid, run.limit, run.ran, run.is_over);
  for (const sched::RunningJob& r : running) {
    const bool is_part = !r.job || r.job->whole || r.job->gang || r.job->suspended;
    if (is_part || r.is_leaving || r.started >= now) continue;
    const Duration limit = r.expected_end == Time::never() ? base::kUnlimited : r.expected_end - r.started;
    if (limit > now - r.started) add(r.job->uid, limit, now - r.started, false);
  }
  const auto sort = [](std::vector<Known>& list) {
    std::stable_sort(list.begin(), list.end(), [](const Known& a, const Known& b) { return a.limit < b.limit; });
  };
  sort(all_.limited);
  for (auto& [uid, sample] : by_user_) sort(sample.limited);
}

void RunTimeDraws::add(uint32_t uid, Duration limit, Duration ran, bool is_over) {
  const bool is_limited = limit != base::kUnlimited;
  const Known known{is_limited ? seconds_of(limit) : 0,
                    is_limited ? std::min(seconds_of(ran) / seconds_of(limit), 1.0) : seconds_of(ran), is_over};
  for (Sample* sample : {&all_, &by_user_[uid]}) (is_limited ? sample->limited : sample->unlimited).push_back(known);
}

/// The runs that a length is drawn from.
std::vector<RunTimeDraws::Known> RunTimeDraws::nearest(uint32_t uid, Duration limit) const {
  const bool is_limited = limit != base::kUnlimited;
  const auto list_of = [is_limited](const Sample& sample) -> const std::vector<Known>& {
    return is_limited ? sample.limited : sample.unlimited;
  };
  const auto own = by_user_.find(uid);
  const bool has_own = own != by_user_.end() && list_of(own->second).size() >= kOfOneUser;
  const std::vector<Known>& from = list_of(has_own ? own->second : all_);
  // Those with just this limit, as many as there are, and then those nearest to it on both sides.
  const auto below = [](const Known& k, double value) { return k.limit < value; };
  const auto above = [](double value, const Known& k) { return value < k.limit; };
  auto first = from.begin(), last = from.end();
  if (is_limited) {
    first = std::lower_bound(from.begin(), from.end(), seconds_of(limit), below);
    last = std::upper_bound(first, from.end(), seconds_of(limit), above);
  }
  while (static_cast<size_t>(last - first) < std::min(kNearest, from.size())) {
    if (first != from.begin()) --first;
    if (last != from.end()) ++last;
  }
  std::vector<Known> out;
  const auto step = std::max<ptrdiff_t>((last - first) / static_cast<ptrdiff_t>(kMost), 1);
  for (auto at = first; at < last; at += std::min(step, last - at)) out.push_back(*at);
  return out;
}

Duration RunTimeDraws::draw(uint32_t uid, Duration limit, Duration ran, Random& random) const {
  const bool is_limited = limit != base::kUnlimited;
  const double whole = is_limited ? seconds_of(limit) : 1, so_far = seconds_of(ran) / whole;
  std::vector<Known> longer = nearest(uid, limit);
  std::erase_if(longer, [so_far](const Known& k) { return k.used <= so_far; });
  std::stable_sort(longer.begin(), longer.end(), [](const Known& a, const Known& b) { return a.used < b.used; });
  const auto within = [&](double used) {
    const Duration least{std::min(limit.us, ran.us + kShortest)};
    return is_limited ? std::clamp(duration_of(used * whole), least, limit) : std::max(duration_of(used), least);
  };
  const double drawn = random.part();
  double left = 1;  // the part that runs longer than all those looked at
  for (size_t i = 0; i < longer.size(); ++i) {
    if (!longer[i].is_over) continue;
    left *= 1 - 1.0 / static_cast<double>(longer.size() - i);
    if (left <= drawn) return within(longer[i].used);
  }
  if (!is_limited) return base::kUnlimited;
  const double known = longer.empty() ? so_far : longer.back().used;
  return within(known + random.part() * (1 - known));
}

}  // namespace gw::forecast
