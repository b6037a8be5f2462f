// See record_sum.h.
#include "ctld/shell/record_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/bitset.h"
#include "model/job_state.h"
#include "model/request.h"

namespace gw::ctld {
namespace {

using base::Duration;
using base::Time;

constexpr size_t kMostSums = 100'000;
constexpr int64_t kSecond = 1'000'000;

tm local_time(Time at) {
  const time_t seconds = at.seconds();
  tm local{};
  ::localtime_r(&seconds, &local);
  return local;
}

/// `from`: a share, or what a job asks for.
template <typename Message>
uint64_t gpu_milli_of(uint32_t gpus, const Message& from) {
  return uint64_t{gpus} * (from.has_gpu_milli() ? from.gpu_milli() : model::kWholeGpu);
}

constexpr uint64_t kMs = 1000;  // in microseconds

uint64_t used_of(const wire::RunUse& use) { return use.user_us() / kMs + use.system_us() / kMs; }

/// `amount` for so long, in amount times milliseconds.
uint64_t times(uint64_t amount, Duration length) { return amount * (static_cast<uint64_t>(length.us) / kMs); }

wire::RecordFilter without_partitions(wire::RecordFilter filter) {
  filter.clear_partitions();
  return filter;
}

/// How long a job that has not ended was suspended until now.
Duration suspended(const wire::Placed& placed, Time now) {
  const Time since{placed.suspension().since_us()};
  return Duration{placed.stood_still_us()} + (since ? std::max(now - since, Duration{}) : Duration{});
}

}  // namespace

RecordSum::RecordSum(SumRecords asked)
    : asked_(std::move(asked)),
      match_(without_partitions(asked_.query.filter()), asked_.now),
      partitions_(asked_.query.filter().partitions().begin(), asked_.query.filter().partitions().end()) {
  if (asked_.query.lending())
    lending_.emplace(asked_.quotas, match_.query().since, std::min(match_.query().until, asked_.now));
}

base::Status RecordSum::add_page(store::RecordReader& reader) {
  store::RecordQuery query = match_.query();
  query.with_spec = false;
  const bool was_live = !place_.is_live_over;
  const auto wants = [this](const store::JobRow& row) {
    if (!match_.wants(row)) return false;
    if (asked_.seen.has(row.uid, row.qos)) return true;
    hidden_ += match_.may_count() && ran_then(row) && (row.ended || hidden_live_.insert(row.id.value).second) ? 1 : 0;
    return false;
  };
  GW_TRY(page, reader.read(query, place_, wants));
  for (const store::JobParts& parts : page.jobs) {
    if (seen_.contains(parts.job.id.value)) continue;  // it ended between two pages, and was added before
    if (was_live) seen_[parts.job.id.value] = true;
    add_job(parts);
  }
  GW_TRY_STATUS(fault_);
  if (sums_.size() > kMostSums)
    return base::invalid(fmt::format("more than {} sums", kMostSums), "name fewer keys, or a shorter time");
  place_ = page.next;
  is_done_ = page.is_last;
  return {};
}

bool RecordSum::ran_then(const store::JobRow& job) const {
  const bool is_before = job.ended && job.ended < match_.query().since;
  return job.started && job.started <= match_.query().until && !is_before &&
         (partitions_.empty() || partitions_.contains(job.partition));
}

void RecordSum::add_job(const store::JobParts& parts) {
  const store::JobRow& job = parts.job;
  std::map<Keys, bool> counted;
  std::vector<wire::PastRun> earlier;
  std::map<uint32_t, uint64_t> used_by_steps;  // by attempt
  for (const store::PutPastRun& past : parts.past) {
    wire::PastRun run;
    if (!run.ParseFromString(past.bytes)) continue;
    if (run.step() != 0)
      used_by_steps[run.attempt()] += used_of(run.of_step().use());
    else
      earlier.push_back(std::move(run));
  }
  for (const wire::PastRun& run : earlier) {
    const auto steps = used_by_steps.extract(run.attempt());
    add_run(job,
            {{run.eligible_us()},
             {run.started_us()},
             {run.ended_us()},
             {run.stood_still_us()},
             run.cpus(),
             gpu_milli_of(run.gpus(), run.first()),
             run.mem_mb(),
             used_of(run.outcome().use()) + (steps ? steps.mapped() : 0),
             run.outcome().use().gpu().idle_us() / kMs,
             run.partition(),
             run.gpu_types()},
            counted);
  }
  if (job.started) add_run(job, last_run(job, used_by_steps), counted);
}

RecordSum::Run RecordSum::last_run(const store::JobRow& job, const std::map<uint32_t, uint64_t>& used_by_steps) const {
  wire::JobStatus status;
  if (!status.ParseFromString(job.status)) status.Clear();
  uint64_t used = used_of(status.ended().outcome().use());
  for (const auto& [attempt, of_steps] : used_by_steps) used += of_steps;
  const bool is_over = static_cast<bool>(job.ended);
  uint64_t gpu_milli = 0;
  if (!is_over) {
    wire::JobSpec spec;
    if (!spec.ParseFromString(job.spec)) spec.Clear();
    gpu_milli = gpu_milli_of(job.gpus, spec.request());
  } else {
    const wire::NodeShare none;
    gpu_milli = gpu_milli_of(job.gpus, status.ended().shares_size() > 0 ? status.ended().shares(0) : none);
  }
  // Of a damaged row nothing is known of its wait.
  return {status.eligible_us() != 0 ? Time{status.eligible_us()} : job.started,
          job.started,
          is_over ? job.ended : asked_.now,
          is_over ? Duration{status.ended().stood_still_us()} : suspended(status.placed(), asked_.now),
          job.cpus,
          gpu_milli,
          job.mem_mb,
          used,
          status.ended().outcome().use().gpu().idle_us() / kMs,
          job.partition,
          is_over ? status.ended().gpu_types() : status.placed().gpu_types()};
}

void RecordSum::add_run(const store::JobRow& job, const Run& run, std::map<Keys, bool>& counted) {
  const Time since = match_.query().since, until = std::min(match_.query().until, asked_.now);
  const Time from = std::max(run.started, since), to = std::min(run.ended, until);
  if (!run.started || from >= to) return;
  if (!partitions_.empty() && !partitions_.contains(run.partition)) return;
  const Duration whole = run.ended - run.started;
  // How much of the time it ran; when in it it was suspended is not known.
  const double ran = 1 - std::min(1.0, static_cast<double>(run.stood_still.us) / static_cast<double>(whole.us));
  if (lending_) return add_lending(job, run, from, to, ran);
  bool is_first = run.started >= since;
  for (Time at = from; at < to && sums_.size() <= kMostSums;) {
    const Time end = std::min(to, period_end(at));
    const Duration length{static_cast<int64_t>(static_cast<double>((end - at).us) * ran)};
    const Keys keys = keys_of(job, run, at);
    wire::UseSum& sum = sums_[keys];
    if (!std::exchange(counted[keys], true)) sum.set_jobs(sum.jobs() + 1);
    sum.set_cpu_ms(sum.cpu_ms() + times(run.cpus, length));
    sum.set_gpu_ms(sum.gpu_ms() + times(run.gpu_milli / model::kWholeGpu, length) +
                   times(run.gpu_milli % model::kWholeGpu, length) / model::kWholeGpu);
    sum.set_mem_mb_s(sum.mem_mb_s() + run.mem_mb * static_cast<uint64_t>(length.us / kSecond));
    if (std::exchange(is_first, false)) {
      sum.set_started(sum.started() + 1);
      sum.set_used_cpu_ms(sum.used_cpu_ms() + run.used_cpu_ms);
      sum.set_idle_gpu_ms(sum.idle_gpu_ms() + run.idle_gpu_ms);
      sum.set_waited_ms(sum.waited_ms() +
                        static_cast<uint64_t>(std::max((run.started - run.eligible).us, int64_t{0})) / kMs);
    }
    at = end;
  }
}

void RecordSum::add_lending(const store::JobRow& job, const Run& run, Time from, Time to, double ran) {
  const auto gpu_milli = static_cast<uint64_t>(static_cast<double>(run.gpu_milli) * ran);
  if (fault_) fault_ = lending_->add(job.qos, from, to, gpu_milli);
  if (run.started >= match_.query().since) lending_->add_idle(job.qos, run.idle_gpu_ms);
}

RecordSum::Keys RecordSum::keys_of(const store::JobRow& job, const Run& run, Time at) const {
  Keys keys;
  for (const int by : asked_.query.by()) {
    switch (by) {
      case wire::kByUser:
        keys.push_back(job.user);
        break;
      case wire::kByAccount:
        keys.push_back(job.account);
        break;
      case wire::kByQos:
        keys.push_back(job.qos);
        break;
      case wire::kByPartition:
        keys.push_back(run.partition);
        break;
      case wire::kByGpuType:
        keys.push_back(run.gpu_types);
        break;
      case wire::kByState: {
        const bool is_known = job.state < static_cast<uint32_t>(model::kJobStateCount);
        keys.emplace_back(is_known ? model::long_name(static_cast<model::JobState>(job.state)) : "");
        break;
      }
      default: {
        const tm local = local_time(at);
        keys.push_back(by == wire::kByMonth
                           ? fmt::format("{:04}-{:02}", local.tm_year + 1900, local.tm_mon + 1)
                           : fmt::format("{:04}-{:02}-{:02}", local.tm_year + 1900, local.tm_mon + 1, local.tm_mday));
      }
    }
  }
  return keys;
}

/// When the day or month of a moment is over; never, if nothing is asked by them.
Time RecordSum::period_end(Time at) const {
  const auto& by = asked_.query.by();
  const bool is_by_day = std::find(by.begin(), by.end(), wire::kByDay) != by.end();
  const bool is_by_month = std::find(by.begin(), by.end(), wire::kByMonth) != by.end();
  if (!is_by_day && !is_by_month) return Time::never();
  tm local = local_time(at);
  local.tm_hour = local.tm_min = local.tm_sec = 0;
  local.tm_isdst = -1;
  if (is_by_day) {
    ++local.tm_mday;
  } else {
    local.tm_mday = 1;
    ++local.tm_mon;
  }
  return std::max(Time{::mktime(&local) * kSecond}, at + base::seconds(1));
}

std::string RecordSum::reply() {
  wire::ApiReply out;
  out.set_id(asked_.request_id);
  wire::SumRecordsReply& list = *out.mutable_sum_records();
  list.set_now_us(asked_.now.us);
  list.set_cluster(asked_.cluster);
  list.set_hidden(hidden_);
  for (const sched::LendingSum& sum : lending_ ? lending_->sums() : std::vector<sched::LendingSum>()) {
    wire::LendingSum& one = *list.add_lending();
    one.set_qos(sum.qos);
    one.set_parent(sum.parent);
    one.set_guaranteed_ms(sum.guaranteed / model::kWholeGpu);
    one.set_held_ms(sum.held / model::kWholeGpu);
    one.set_borrowed_ms(sum.borrowed / model::kWholeGpu);
    one.set_lent_ms(sum.lent / model::kWholeGpu);
    one.set_idle_ms(sum.idle_ms);
  }
  for (const auto& [keys, sum] : sums_) {
    wire::UseSum& one = *list.add_sums() = sum;
    for (const std::string& key : keys) one.add_keys(key);
  }
  return out.SerializeAsString();
}

}  // namespace gw::ctld
