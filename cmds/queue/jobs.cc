// See jobs.h.
#include "cmds/queue/jobs.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "client/show/array_view.h"
#include "cmds/shared/job_filter.h"
#include "model/task_set.h"

namespace gw::cmds::queue {
namespace {

using client::JobRow;
using model::JobState;

constexpr base::Duration kHistory = base::seconds(int64_t{14} * 24 * 3600);  // as PBS Pro keeps it

Doing doing_of(const wire::Job& job, base::Time now) {
  const JobState state = client::state_of(job);
  if (model::is_end(state)) return Doing::kHasEnded;
  if (state == JobState::kSuspended) return Doing::kIsSuspended;
  if (state == JobState::kCompleting) return Doing::kLeaves;
  if (state == JobState::kConfiguring) return Doing::kStarts;
  if (state == JobState::kRunning) return Doing::kRuns;
  if (is_held(job)) return Doing::kIsHeld;
  return base::Time{job.spec().begin_us()} > now ? Doing::kWaitsForTime : Doing::kWaits;
}

/// What an array does whose tasks do this and that: what most concerns whoever looks.
Doing both(Doing a, Doing b) {
  constexpr Doing kOrder[] = {Doing::kRuns,  Doing::kStarts,       Doing::kLeaves, Doing::kIsSuspended,
                              Doing::kWaits, Doing::kWaitsForTime, Doing::kIsHeld, Doing::kHasEnded};
  for (const Doing each : kOrder)
    if (a == each || b == each) return each;
  return a;
}

/// The row of an array speaks for those that live, before all for those that wait.
void take_into(Row& array, const JobRow& row) {
  const auto rank = [](const wire::Job& job) {
    const bool waits = client::state_of(job) == JobState::kPending;
    return model::is_end(client::state_of(job)) ? 0 : waits ? 2 : 1;
  };
  if (rank(*row.job) > rank(*array.row.job)) array.row = row;
  if (rank(*row.job) == 2) {
    std::string tasks = client::array_tasks(row);
    tasks = tasks.substr(0, tasks.find('%'));
    array.left += (array.left.empty() ? "" : ",") + tasks;
  }
  if (row.job->status().has_ended())
    array.worst_exit = std::max(array.worst_exit, exit_status(row.job->status().ended().outcome()));
}

wire::JobFilter filter_of(const Asked& asked) {
  wire::JobFilter filter;
  asked.ids.put(*filter.mutable_ids(), *filter.mutable_tasks());
  for (const std::string& user : asked.users) filter.add_users(user);
  for (const std::string& queue : asked.queues) filter.add_partitions(queue);
  for (const std::string& name : asked.names) filter.add_names(name);
  for (const std::string& account : asked.accounts) filter.add_accounts(account);
  filter.set_all_states(!asked.only_living || !asked.ids.empty());
  return filter;
}

/// A job that the controller has forgotten, as it was.
wire::Job job_of(wire::JobRecord record) {
  wire::Job job;
  job.set_id(record.id());
  *job.mutable_spec() = std::move(*record.mutable_spec());
  *job.mutable_status() = std::move(*record.mutable_status());
  if (job.status().has_ended() && job.status().ended().shares().empty() && record.has_first())
    *job.mutable_status()->mutable_ended()->add_shares() = record.first();
  return job;
}

wire::ApiRequest records_request(const wire::JobFilter& filter, base::Time now) {
  wire::ApiRequest request;
  wire::ListRecordsRequest& list = *request.mutable_list_records();
  wire::RecordFilter& f = *list.mutable_filter();
  *f.mutable_ids() = filter.ids();
  *f.mutable_users() = filter.users();
  *f.mutable_partitions() = filter.partitions();
  *f.mutable_names() = filter.names();
  *f.mutable_accounts() = filter.accounts();
  *f.mutable_tasks() = filter.tasks();
  if (filter.ids().empty() && filter.tasks().empty()) f.set_since_us((now - kHistory).us);
  list.set_jobs_alone(true);
  return request;
}

}  // namespace

int exit_status(const wire::Outcome& outcome) {
  return outcome.exit_signo() != 0 ? 256 + outcome.exit_signo() : outcome.exit_code();
}

bool is_held(const wire::Job& job) {
  return job.spec().hold_user() || job.spec().hold_admin() || client::priority_of(job) == 0 ||
         !job.status().unmet().empty();
}

std::string holds_of(const wire::Job& job) {
  std::string holds;
  if (job.spec().hold_user()) holds += 'u';
  if (job.spec().hold_admin()) holds += 'o';
  if (!job.status().unmet().empty()) holds += 's';
  return holds.empty() ? "n" : holds;
}

std::string Jobs::id_of(const Row& row) const {
  if (row.is_array) return shown_task(client::array_of(*row.row.job), "", cluster_);
  return row.task.empty() ? shown_id(*row.row.job, cluster_)
                          : shown_task(client::array_of(*row.row.job), row.task, cluster_);
}

void Jobs::add(const JobRow& row, std::string task) {
  rows_.push_back({row, std::move(task), doing_of(*row.job, now_), false, false, {}, 0});
}

void Jobs::add_arrays(const std::vector<JobRow>& rows) {
  std::map<uint32_t, size_t> row_of_array;
  for (const JobRow& row : rows) {
    if (!row.job->spec().has_array()) {
      add(row, {});
      continue;
    }
    const auto [at, is_new] = row_of_array.emplace(client::array_of(*row.job), rows_.size());
    if (is_new) add(row, {});
    Row& mine = rows_[at->second];
    mine.is_array = true;
    take_into(mine, row);
    mine.doing = both(mine.doing, doing_of(*row.job, now_));
    mine.has_begun = mine.has_begun || row.job->spec().array().has_task();
  }
}

void Jobs::add_rows(ArrayRows arrays, const JobIds& ids) {
  std::map<uint32_t, model::TaskSet> only;
  for (const auto& [array, text] : ids.tasks)
    if (const auto set = model::TaskSet::parse(text)) only.emplace(array, *set);
  std::vector<JobRow> apart, whole;
  for (const wire::Job& job : jobs_) {
    const bool is_named = job.spec().has_array() && only.contains(client::array_of(job));
    const bool is_apart = job.spec().has_array() && arrays != ArrayRows::kOne;
    (is_apart || is_named ? apart : whole).push_back({&job, now_, nullptr, {}});
  }
  const bool is_merged = arrays == ArrayRows::kStartedApart && only.empty();
  for (const JobRow& row : is_merged ? client::merge_tasks(apart) : client::split_tasks(apart, only))
    add(row, row.tasks.empty() || !row.tasks.starts_with('[') ? client::array_tasks(row)
                                                              : row.tasks.substr(1, row.tasks.size() - 2));
  add_arrays(whole);
  std::stable_sort(rows_.begin(), rows_.end(),
                   [](const Row& a, const Row& b) { return client::order_of_id(a.row) < client::order_of_id(b.row); });
}

base::Result<Jobs> Jobs::find(const client::Program& program, const Asked& asked) {
  Jobs jobs;
  GW_TRY(config, client::load_config());
  jobs.cluster_ = config.cluster;
  GW_TRY(connection, client::open_connection(program, config));
  const wire::JobFilter filter = filter_of(asked);
  wire::ApiRequest request;
  *request.mutable_list_jobs()->mutable_filter() = filter;
  request.mutable_list_jobs()->set_whole_ranges(asked.arrays == ArrayRows::kEach);
  GW_TRY(reply, connection.call(std::move(request)));
  wire::ListJobsReply& list = *reply.mutable_list_jobs();
  jobs.now_ = {list.now_us()};
  std::set<uint32_t> seen;
  for (wire::Job& job : *list.mutable_jobs()) {
    seen.insert(job.id());
    jobs.jobs_.push_back(std::move(job));
  }
  for (const uint32_t id : list.unknown_ids())
    if (id != 0) jobs.unknown_.push_back(id);  // 0: a task, which has no number
  if (asked.with_ended || !jobs.unknown_.empty()) {
    GW_TRY(more, connection.call(records_request(filter, jobs.now_)));
    for (wire::JobRecord& record : *more.mutable_list_records()->mutable_records()) {
      std::erase(jobs.unknown_, record.id());
      if (!seen.insert(record.id()).second) continue;
      if (record.status().has_ended()) jobs.jobs_.push_back(job_of(std::move(record)));
    }
  }
  jobs.add_rows(asked.arrays, asked.ids);
  return jobs;
}

}  // namespace gw::cmds::queue
