// See array_view.h.
#include "client/show/array_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/text.h"
#include "model/array.h"
#include "wire/convert.h"

namespace gw::client {
namespace {

bool is_task(const wire::Job& job) { return job.spec().has_array() && job.spec().array().has_task(); }
bool is_array(const wire::Job& job) { return job.spec().has_array() && !job.spec().array().has_task(); }

model::TaskSet left_of(const wire::Job& job) {
  const wire::JobStatus& status = job.status();
  auto tasks = wire::from_wire(status.has_ended() ? status.ended().never_made() : status.tasks().left());
  return tasks ? std::move(*tasks) : model::TaskSet();
}

std::string with_throttle(std::string tasks, const wire::Job& job) {
  if (job.status().tasks().more() > 0) tasks += ",...";
  const uint32_t throttle = job.status().tasks().throttle();
  return throttle == 0 ? tasks : fmt::format("{}%{}", tasks, throttle);
}

/// As Slurm cuts it.
std::string cut(std::string text) {
  constexpr int64_t kUsual = 64, kMost = 64 << 10;
  const char* said = std::getenv("SLURM_BITSTR_LEN");
  const auto length = base::parse_int(said == nullptr ? "" : said, 0, kMost, "SLURM_BITSTR_LEN");
  const auto most = static_cast<size_t>(length ? (*length == 0 ? kMost : *length) : kUsual);
  if (text.size() > most) text = text.substr(0, most) + "...";
  return text;
}

std::string tasks_of(const JobRow& row) {
  if (!row.tasks.empty()) return row.tasks;
  if (is_task(*row.job)) return std::to_string(row.job->spec().array().task());
  return is_array(*row.job) ? with_throttle(left_of(*row.job).text(), *row.job) : std::string();
}

/// What those that are shown as one have in common.
std::string likeness(const wire::Job& job) {
  wire::JobSpec spec = job.spec();
  spec.mutable_array()->clear_task();
  spec.clear_dependency();  // the array's, which its tasks no more wait for
  return fmt::format("{} {}", job.status().unmet_size(), spec.SerializeAsString());
}

/// Several jobs as one row: that of the task that comes first.
JobRow merged(const std::vector<JobRow>& alike) {
  JobRow row = alike.front();
  std::string all;
  for (const JobRow& one : alike) {
    if (is_task(*one.job) && order_of_id(one) < order_of_id(row)) row = one;
    const std::string tasks =
        is_task(*one.job) ? std::to_string(one.job->spec().array().task()) : left_of(*one.job).text();
    if (!tasks.empty()) all += (all.empty() ? "" : ",") + tasks;
  }
  // What it is without nothing has its neighbours in one range.
  if (const auto set = model::TaskSet::parse(all)) all = set->without({}).text();
  row.tasks = "[" + with_throttle(std::move(all), *row.job) + "]";
  return row;
}

/// Rows come by the ids of their jobs, which is their order already where no array is among them.
void sort_by_id(std::vector<JobRow>& rows) {
  const auto is_before = [](const JobRow& a, const JobRow& b) { return order_of_id(a) < order_of_id(b); };
  if (!std::is_sorted(rows.begin(), rows.end(), is_before)) std::stable_sort(rows.begin(), rows.end(), is_before);
}

}  // namespace

uint32_t array_of(const wire::Job& job) {
  return job.spec().has_array() && job.spec().array().job() != 0 ? job.spec().array().job() : job.id();
}

std::string array_tasks(const JobRow& row) {
  const std::string tasks = tasks_of(row);
  return cut(tasks.starts_with('[') ? tasks.substr(1, tasks.size() - 2) : tasks);
}

std::string shown_id(const JobRow& row) {
  const wire::JobSpec& spec = row.job->spec();
  if (spec.het_job() != 0) return fmt::format("{}+{}", spec.het_job(), spec.het_offset());
  if (!spec.has_array()) return std::to_string(row.job->id());
  const bool is_one = row.tasks.empty() ? is_task(*row.job) : !row.tasks.starts_with('[');
  const std::string tasks = array_tasks(row);
  return fmt::format("{}_{}", array_of(*row.job), is_one ? tasks : "[" + tasks + "]");
}

std::string shown_id(const wire::Job& job) { return shown_id(JobRow{&job, {}, nullptr, {}}); }

double order_of_id(const JobRow& row) {
  if (!row.job->spec().has_array()) return row.job->id();
  uint32_t first = row.job->spec().array().task();
  if (is_array(*row.job)) first = left_of(*row.job).next(0).value_or(0);
  return array_of(*row.job) + double(first + 1) / (2.0 * model::kMaxArrayIndex);
}

std::vector<JobRow> merge_tasks(const std::vector<JobRow>& rows) {
  std::map<std::pair<uint32_t, std::string>, std::vector<JobRow>> waiting;
  std::vector<JobRow> out;
  for (const JobRow& row : rows) {
    if (row.job->spec().has_array() && state_of(*row.job) == model::JobState::kPending)
      waiting[{array_of(*row.job), likeness(*row.job)}].push_back(row);
    else
      out.push_back(row);
  }
  for (const auto& [key, alike] : waiting)
    out.push_back(alike.size() == 1 && is_array(*alike.front().job) ? alike.front() : merged(alike));
  sort_by_id(out);
  return out;
}

std::vector<JobRow> split_tasks(const std::vector<JobRow>& rows, const std::map<uint32_t, model::TaskSet>& only) {
  std::vector<JobRow> out;
  for (const JobRow& row : rows) {
    model::TaskSet left = is_array(*row.job) ? left_of(*row.job) : model::TaskSet();
    if (const auto wanted = only.find(array_of(*row.job)); wanted != only.end() && !left.empty())
      left = left.common(wanted->second);
    if (left.empty()) {
      out.push_back(row);
      continue;
    }
    for (auto task = std::optional(left.front()); task; task = left.next(*task + 1)) {
      out.push_back(row);
      out.back().tasks = std::to_string(*task);
    }
  }
  sort_by_id(out);
  return out;
}

}  // namespace gw::client
