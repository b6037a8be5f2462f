// See efficiency.h.
#include "cmds/gacct/efficiency.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "client/show/array_view.h"
#include "client/show/job_view.h"
#include "client/show/show_json.h"

namespace gw::cmds {
namespace {

using client::RecordKind;
using client::RecordRow;
using Json = nlohmann::ordered_json;

/// What a job had and used, from its lines.
struct Efficiency {
  const RecordRow* job = nullptr;
  uint64_t cpu_us = 0;
  uint64_t core_us = 0;   ///< Of processors for as long as it ran.
  uint64_t peak_mem = 0;  ///< The largest of its scripts and steps, in bytes.
  uint64_t held_mem = 0;
  bool is_known = false;  ///< Something was measured.
  double cpu() const { return core_us == 0 ? 0 : 100.0 * static_cast<double>(cpu_us) / static_cast<double>(core_us); }
  double memory() const {
    return held_mem == 0 ? 0 : 100.0 * static_cast<double>(peak_mem) / static_cast<double>(held_mem);
  }
};

/// Of one script or step: the most that all of its tasks had together, and what its group was seen to hold.
uint64_t memory_of(const RecordRow& row) {
  uint64_t peak = row.use == nullptr ? 0 : row.use->of(model::UseKind::kRss).sum;
  if (row.kind == RecordKind::kBatch && row.outcome != nullptr) peak = std::max(peak, row.outcome->peak_mem_mb() << 20);
  return peak;
}

std::vector<Efficiency> efficiencies(const std::vector<RecordRow>& rows) {
  std::vector<Efficiency> out;
  for (const RecordRow& row : rows) {
    if (row.kind == RecordKind::kJob) {
      Efficiency& job = out.emplace_back();
      job.job = &row;
      job.core_us = static_cast<uint64_t>(row.elapsed.us) * row.size.cpus;
      job.held_mem = row.size.mem_mb << 20;
      if (row.use != nullptr) job.cpu_us = row.use->user_us + row.use->system_us, job.is_known = true;
    } else {
      out.back().peak_mem = std::max(out.back().peak_mem, memory_of(row));
    }
  }
  return out;
}

/// A share above all comes of times that are rounded, and of memory that others had before.
std::string percent(double value) { return fmt::format("{:.2f}%", std::min(value, 100.0)); }

/// Of looks every few seconds: what a short job did may have fallen between two of them.
std::string gpu_text(const model::GpuUse& use) {
  const auto length = [](uint64_t us) { return base::format_duration({static_cast<int64_t>(us)}); };
  std::string out;
  if (use.seen_us != 0)
    out += fmt::format("GPU Efficiency: {} of {} GPU-walltime seen (peak {}%, idle {})\n",
                       percent(100.0 * static_cast<double>(use.busy_us) / static_cast<double>(use.seen_us)),
                       length(use.seen_us), use.most_busy, length(use.idle_us));
  return out + fmt::format("GPU Memory Utilized: {}B of {} GPUs (peak {}B on one)\n",
                           client::memory_text(use.sum_mem, 'M'), use.gpus, client::memory_text(use.most_mem, 'M'));
}

std::string text_of(const Efficiency& e, const std::string& cluster) {
  const RecordRow& job = *e.job;
  const wire::JobSpec& spec = job.job->spec();
  std::string out = fmt::format("Job ID: {}\nCluster: {}\nUser: {}\nState: {} (exit code {})\n", job.id, cluster,
                                base::printable(spec.user()), job.state, job.exit.code);
  if (job.size.nodes > 1) out += fmt::format("Nodes: {}\n", job.size.nodes);
  out += fmt::format("Cores: {}\n", job.size.cpus);
  if (job.size.gpus != 0) out += fmt::format("GPUs: {}\n", job.size.gpus);
  if (!job.started) return out + "It has not started: nothing was used.\n";
  out += fmt::format("Job Wall-clock time: {}\n", base::format_duration(job.elapsed));
  if (!e.is_known)
    return out + (job.ended ? "Nothing of it was measured: it was lost with its node, or did not run.\n"
                            : "What it uses is known when its script and steps are over; now: gstat.\n");
  out += fmt::format("CPU Utilized: {}\nCPU Efficiency: {} of {} core-walltime\n",
                     base::format_duration({static_cast<int64_t>(e.cpu_us)}), percent(e.cpu()),
                     base::format_duration({static_cast<int64_t>(e.core_us)}));
  out += fmt::format("Memory Utilized: {}B\n", client::memory_text(e.peak_mem, 'M'));
  if (e.held_mem != 0)
    out += fmt::format("Memory Efficiency: {} of {}B\n", percent(e.memory()), client::memory_text(e.held_mem, 'M'));
  if (job.use->gpu.gpus != 0) out += gpu_text(job.use->gpu);
  const base::Duration limit = client::time_limit(*job.job);
  if (limit != base::kUnlimited && job.ended)
    out += fmt::format("Time Efficiency: {} of {}\n",
                       percent(100.0 * static_cast<double>(job.elapsed.us) / static_cast<double>(limit.us)),
                       base::format_duration(limit));
  if (!job.ended) out += "WARNING: the job has not ended: these figures are of what is over.\n";
  return out;
}

Json json_of(const Efficiency& e) {
  const RecordRow& job = *e.job;
  const base::Duration limit = client::time_limit(*job.job);
  Json j{{"job_id", job.job->id()},  {"state", job.state},           {"cpus", job.size.cpus},
         {"gpus", job.size.gpus},    {"elapsed_us", job.elapsed.us}, {"cpu_us", e.cpu_us},
         {"core_us", e.core_us},     {"peak_memory", e.peak_mem},    {"allocated_memory", e.held_mem},
         {"is_measured", e.is_known}};
  const model::GpuUse none, &gpu = job.use == nullptr ? none : job.use->gpu;
  j["gpu"] = {{"gpus", gpu.gpus},
              {"seen_us", gpu.seen_us},
              {"busy_us", gpu.busy_us},
              {"idle_us", gpu.idle_us},
              {"max_busy_percent", gpu.most_busy},
              {"max_memory", gpu.most_mem},
              {"memory", gpu.sum_mem}};
  j["time_limit_us"] = limit == base::kUnlimited ? Json() : Json(limit.us);
  return j;
}

}  // namespace

int show_efficiency(const client::Program& program, Args ids, const RecordOptions& o) {
  RecordOptions asked = o;
  for (const std::string& id : ids)
    if (const base::Status read = parse_step_ids(id, asked.ids); !read) return failed(program, read.error());
  if (asked.ids.empty())
    return failed(program, {base::ErrorCode::kInvalid, "efficiency: no job is named", "gacct efficiency 7"});
  auto request = records_request(asked, base::SystemClock().now());
  if (!request) return failed(program, request.error());
  wire::ApiRequest message;
  *message.mutable_list_records() = std::move(*request);
  auto reply = ask(program, std::move(message));
  if (!reply) return failed(program, reply.error());
  const client::Records records(std::move(*reply->mutable_list_records()));
  const std::vector<RecordRow> rows = records.rows(false, false);
  const std::vector<Efficiency> all = efficiencies(rows);
  for (const uint32_t id : asked.ids.jobs)
    if (std::none_of(all.begin(), all.end(), [id](const Efficiency& e) {
          return e.job->job->id() == id || client::array_of(*e.job->job) == id;
        }))
      return failed(program, {base::ErrorCode::kNotFound, fmt::format("Invalid job id specified: {}", id),
                              "no record of it is kept: retention.ended_jobs says for how long they are"});
  if (asked.json) {
    Json j{{"schema_version", client::kSchemaVersion}, {"jobs", Json::array()}};
    for (const Efficiency& e : all) j["jobs"].push_back(json_of(e));
    return printed(j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  std::string text;
  for (const Efficiency& e : all) text += (text.empty() ? "" : "\n") + text_of(e, records.cluster());
  return printed(text);
}

}  // namespace gw::cmds
