// The queue.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/counted.h"
#include "base/text.h"
#include "client/show/job_fields.h"
#include "client/show/job_view.h"
#include "client/show/use_text.h"
#include "cmds/gangway/top/row_view.h"
#include "model/job_state.h"

namespace gw::cmds::top {

namespace {

using client::JobRow;

constexpr std::string_view kNarrow =
    "JobID:.9 ,Partition:.9 ,UserName:.8 ,Name:.8 ,StateCompact:2 ,TimeUsed:.10 ,NumNodes:.4 ,GPUs:.4 ,ReasonList:";
constexpr std::string_view kWide =
    "JobID:.9 ,Partition:.10 ,QOS:.10 ,UserName:.10 ,Name:.20 ,StateCompact:2 ,TimeUsed:.11 ,NumNodes:.5 ,GPUs:.5 "
    ",ReasonList:";

/// What is looked through for the words of a filter.
std::string words_of(const wire::Job& job) {
  return fmt::format("{} {} {} {} {} {} {}", job.id(), job.spec().name(), job.spec().user(), job.spec().qos(),
                     client::partition_of(job), model::long_name(client::state_of(job)), client::reason_word(job));
}

class JobRows final : public RowView {
 public:
  JobRows(const Known& known, const Filter& filter, JobOrder order, Look look) : known_(known), look_(look) {
    for (const wire::Job& job : known.jobs.jobs())
      if (filter.words.empty() || filter.fits(words_of(job))) jobs_.push_back(&job);
    sort(order);
  }
  size_t size() const override { return jobs_.size(); }
  std::string name(size_t row) const override { return std::to_string(jobs_[row]->id()); }
  std::string label(size_t row) const override {
    const auto& fields = client::job_fields();
    const auto id = std::find_if(fields.begin(), fields.end(), [](const auto& f) { return f.id.name == "JobID"; });
    return base::printable(id->text({.job = jobs_[row], .now = {}}), 100);
  }
  Table table(size_t first, size_t last, size_t columns, base::Time now) const override;
  std::vector<std::string> about(size_t row, size_t columns, base::Time now) const override;

 private:
  const Known& known_;
  const Look look_;
  std::vector<const wire::Job*> jobs_;

  void sort(JobOrder order);
};

/// Those that run come first, then those that wait by their priority.
int rank_of(const wire::Job& job) {
  using model::JobState;
  const JobState state = client::state_of(job);
  return model::is_end(state) ? 2 : state == JobState::kPending ? 1 : 0;
}

void JobRows::sort(JobOrder order) {
  const base::Time now{known_.jobs.now_us()};
  const auto key = [order, now](const wire::Job& job) -> std::tuple<int, int64_t, int64_t> {
    switch (order) {
      case JobOrder::kAsGqueue:
        return {rank_of(job), rank_of(job) == 1 ? -client::priority_of(job) : 0, job.id()};
      case JobOrder::kNewest:
        return {0, 0, -int64_t{job.id()}};
      case JobOrder::kGpus:
        return {0, -int64_t{client::gpu_count(job)}, job.id()};
      case JobOrder::kTime:
        return {0, -client::run_time({.job = &job, .now = now}).us, job.id()};
    }
    return {};
  };
  std::vector<std::pair<std::tuple<int, int64_t, int64_t>, const wire::Job*>> keyed;
  for (const wire::Job* job : jobs_) keyed.emplace_back(key(*job), job);
  std::sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < keyed.size(); ++i) jobs_[i] = keyed[i].second;
}

RowView::Table JobRows::table(size_t first, size_t last, size_t columns, base::Time now) const {
  constexpr size_t kWideFrom = 110;
  const auto format =
      client::parse_long_format(columns >= kWideFrom ? kWide : kNarrow, client::field_names(client::job_fields()));
  if (!format) return {};  // the tests read both
  std::vector<JobRow> rows;
  for (size_t i = first; i < last; ++i) rows.push_back({.job = jobs_[i], .now = now, .says_more = true});
  const client::TableText text = client::render_table(*format, client::job_fields(), rows, {look_.colour, columns});
  Table out;
  out.header = text.header.substr(0, text.header.find('\n'));
  out.rows = base::split(text.lines, '\n');
  out.rows.resize(rows.size());
  return out;
}

std::string times_of(const JobRow& row) {
  const wire::Job& job = *row.job;
  const std::string limit = base::format_duration(client::time_limit(job));
  if (client::start_of(job).us == 0) return "for " + limit;
  return fmt::format("{} of {}", base::format_duration(client::run_time(row)), limit);
}

std::string waits_text(const wire::Job& job) {
  const std::string detail = client::reason_detail(job);
  std::string out = "It waits: " + (detail.empty() ? client::reason_word(job) : detail) + ".";
  if (const base::Time start = client::expected_start(job); start.us != 0)
    out += " Expected to start " + client::show_time(start, "") + ".";
  else if (const std::string range = client::start_range(job); range != "N/A")
    out += " Foreseen to start " + range + ".";
  return out;
}

/// What its steps use, if it is known.
std::vector<std::string> use_lines(const Known& known, const wire::Job& job) {
  constexpr std::string_view kFields = "JobID,NTasks,AveCPU,AveRSS,MaxRSS,GPUUtil,GPUMem";
  if (known.use_of != job.id() || known.use.steps().empty()) return {};
  const auto fields = client::parse_use_format(kFields);
  if (!fields) return {};
  std::vector<std::string> lines =
      base::split(client::use_text(client::use_rows(job.id(), known.use), *fields, {}), '\n');
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::vector<std::string> JobRows::about(size_t row, size_t columns, base::Time now) const {
  const wire::Job& job = *jobs_[row];
  const JobRow shown{.job = &job, .now = now};
  std::vector<std::string> out =
      wrap(fmt::format("{} of {}, QOS {}: {}, {}, {}, {}", base::printable(job.spec().name(), 60),
                       base::printable(job.spec().user(), 40), client::or_else(job.spec().qos(), "none"),
                       base::counted(client::node_count(job), "node"), base::counted(client::cpu_count(job), "CPU"),
                       base::counted(client::gpu_count(job), "GPU"), times_of(shown)),
           columns);
  const bool waits = client::state_of(job) == model::JobState::kPending;
  const std::string more = waits ? waits_text(job) : "On " + client::or_else(client::node_list(job), "no node") + ".";
  for (std::string& line : wrap(base::printable(more, 2000), columns)) out.push_back(std::move(line));
  for (std::string& line : use_lines(known_, job)) out.push_back(std::move(line));
  return out;
}

}  // namespace

std::string_view word(JobOrder order) {
  switch (order) {
    case JobOrder::kAsGqueue:
      return "state and priority";
    case JobOrder::kNewest:
      return "newest first";
    case JobOrder::kGpus:
      return "most GPUs first";
    case JobOrder::kTime:
      return "longest running first";
  }
  return "";
}

std::unique_ptr<RowView> job_rows(const Known& known, const Filter& filter, JobOrder order, Look look) {
  return std::make_unique<JobRows>(known, filter, order, look);
}

}  // namespace gw::cmds::top
