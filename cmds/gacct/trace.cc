// See trace.h. The columns are described in docs/scenario.md.
#include "cmds/gacct/trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/show/job_view.h"
#include "cmds/shared/value_table.h"

namespace gw::cmds {
namespace {

using client::RecordRow;

std::string seconds(base::Duration length) { return fmt::format("{:.3f}", static_cast<double>(length.us) / 1e6); }

std::string or_empty(uint64_t number) { return number == 0 ? "" : std::to_string(number); }

/// A replay knows nothing of what a job depended on: it arrives when it could have started.
std::vector<std::string> values_of(const RecordRow& row, base::Time first) {
  const wire::JobSpec& spec = row.job->spec();
  const wire::Request& request = spec.request();
  const base::Duration limit = client::time_limit(*row.job);
  return {std::to_string(row.job->id()),
          seconds(row.eligible - first),
          seconds(row.elapsed),
          std::to_string(row.size.gpus),
          or_empty(row.size.nodes),
          request.tasks() < row.size.nodes ? "" : or_empty(request.tasks()),
          or_empty(row.size.cpus),
          or_empty(row.size.mem_mb),
          request.gpu_type(),
          request.has_gpu_milli() ? std::to_string(request.gpu_milli()) : "",
          spec.qos(),
          spec.user(),
          row.partition,
          limit == base::kUnlimited ? "" : seconds(limit),
          spec.not_preemptible() ? "false" : "true"};
}

ValueTable trace_of(std::vector<RecordRow> rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const RecordRow& a, const RecordRow& b) { return a.eligible < b.eligible; });
  ValueTable table;
  for (const char* name : {"job_id", "submit_s", "duration_s", "gpus", "nodes", "tasks", "cpus", "mem_mb", "gpu_type",
                           "gpu_milli", "qos", "user", "partition", "time_limit_s", "preemptible"})
    table.columns.push_back({name});
  for (const RecordRow& row : rows) table.rows.push_back(values_of(row, rows.front().eligible));
  return table;
}

}  // namespace

int write_trace(const client::Program& program, Args words, const RecordOptions& o) {
  if (!words.empty()) return refuse_operand(program, words.front(), "trace takes options alone: gacct -a -S ... trace");
  auto request = records_request(o, base::SystemClock().now());
  if (!request) return failed(program, request.error());
  request->set_jobs_alone(true);
  wire::ApiRequest message;
  *message.mutable_list_records() = std::move(*request);
  auto reply = ask(program, std::move(message));
  if (!reply) return failed(program, reply.error());
  const client::Records records(std::move(*reply->mutable_list_records()));
  std::vector<RecordRow> rows = records.rows(true, false);
  std::erase_if(rows, [&](const RecordRow& row) { return !is_wanted(o, row); });
  const size_t all = rows.size();
  std::erase_if(rows, [](const RecordRow& row) { return !row.started || !row.ended; });
  if (rows.size() < all)
    client::print_note(program,
                       fmt::format("{} jobs that never ran or have not ended are left out", all - rows.size()));
  return printed(csv_text(trace_of(std::move(rows))));
}

}  // namespace gw::cmds
