// See record_json.h.
#include "client/json/record_json.h"

#include "base/hostlist.h"
#include "base/text.h"
#include "client/json/record_parts.h"
#include "client/show/job_view.h"
#include "client/show/show_json.h"

namespace gw::client {
namespace {

using model::RunUse;
using model::UseKind;
using slurm::Json;
using slurm::number;

Json exit_json(const model::ExitStatus& exit) {
  const char* status = exit.signo != 0 ? "SIGNALED" : exit.code != 0 ? "ERROR" : "SUCCESS";
  return {
      {"status", Json::array({status})}, {"return_code", number(exit.code)}, {"signal", {{"id", number(exit.signo)}}}};
}

Json time_json(const RecordRow& r) {
  const RunUse none, &use = r.use == nullptr ? none : *r.use;
  Json j{{"elapsed", r.elapsed.us / 1'000'000},
         {"start", r.started.seconds()},
         {"end", r.ended.seconds()},
         {"suspended", r.suspended.us / 1'000'000},
         {"system", seconds_and_micros(use.system_us)},
         {"user", seconds_and_micros(use.user_us)},
         {"total", seconds_and_micros(use.user_us + use.system_us)}};
  return j;
}

Json spread_json(const RecordRow& r, const model::UseSpread& spread) {
  const auto node = [&](const std::string& named) { return named.empty() ? r.nodes : named; };
  return {{"total", spread.sum},
          {"max", {{"amount", spread.most}, {"node", node(*spread.most_node)}, {"task", spread.most_task}}},
          {"min", {{"amount", spread.least}, {"node", node(*spread.least_node)}, {"task", spread.least_task}}}};
}

/// Bytes and microseconds; null: nothing was measured.
Json use_json(const RecordRow& r) {
  if (r.use == nullptr || r.use->tasks == 0) return nullptr;
  static constexpr std::pair<const char*, UseKind> kParts[] = {{"cpu", UseKind::kCpu},
                                                               {"rss", UseKind::kRss},
                                                               {"vm", UseKind::kVm},
                                                               {"disk_read", UseKind::kRead},
                                                               {"disk_write", UseKind::kWritten},
                                                               {"pages", UseKind::kPages}};
  Json j{{"tasks", r.use->tasks}};
  for (const auto& [name, kind] : kParts) j[name] = spread_json(r, r.use->of(kind));
  return j;
}

Json gpu_use_json(const RecordRow& r) {
  if (r.use == nullptr || r.use->gpu.gpus == 0) return nullptr;
  const model::GpuUse& use = r.use->gpu;
  return {{"gpus", use.gpus},
          {"seen_us", use.seen_us},
          {"busy_us", use.busy_us},
          {"idle_us", use.idle_us},
          {"max_busy_percent", use.most_busy},
          {"max_memory", use.most_mem},
          {"memory", use.sum_mem}};
}

/// "CANCELLED by 1001" is a state and a user.
Json state_json(const RecordRow& r) {
  const std::string word = r.state.substr(0, r.state.find(' '));
  return {{"current", Json::array({word})}, {"reason", r.kind == RecordKind::kJob ? reason_word(*r.job) : "None"}};
}

Json step_json(const RecordRow& r) {
  Json j;
  const std::string name = r.kind == RecordKind::kBatch    ? "batch"
                           : r.kind == RecordKind::kExtern ? "extern"
                                                           : r.run->of_step().request().name();
  j["step"] = {{"id", r.raw_id}, {"name", name}};
  j["state"] = Json::array({r.state});
  j["exit_code"] = exit_json(r.exit);
  const auto hosts = base::expand_hostlist(r.nodes);
  j["nodes"] = {{"count", r.size.nodes}, {"range", r.nodes}, {"list", hosts ? Json(*hosts) : Json::array()}};
  j["tasks"] = {{"count", r.size.tasks}};
  j["time"] = time_json(r);
  j["tres"] = {{"allocated", tres_json(r.size)}};
  j["statistics"] = use_json(r);
  j["gpu_use"] = gpu_use_json(r);
  return j;
}

Json job_json(const RecordRow& r, const std::string& cluster) {
  const wire::JobSpec& spec = r.job->spec();
  Json j{{"job_id", r.job->id()},
         {"name", spec.name()},
         {"user", spec.user()},
         {"user_id", spec.uid()},
         {"group_id", spec.gid()},
         {"account", spec.account()},
         {"qos", spec.qos()},
         {"partition", r.partition},
         {"cluster", cluster},
         {"nodes", r.nodes},
         {"allocation_nodes", r.has_size ? r.size.nodes : 0},
         {"comment", spec.comment()},
         {"working_directory", spec.launch().work_dir()},
         {"submit_line", spec.submit_line()},
         {"wckey", spec.wckey()},
         {"reservation", spec.reservation()}};
  j["state"] = state_json(r);
  j["exit_code"] = exit_json(r.exit);
  j["derived_exit_code"] = exit_json(r.derived_exit);
  j["time"] = time_json(r);
  j["time"]["submission"] = r.job->status().submitted_us() / 1'000'000;
  j["time"]["eligible"] = r.eligible.seconds();
  const base::Duration limit = time_limit(*r.job);
  j["time"]["limit"] = limit == base::kUnlimited ? slurm::infinite() : number(limit.us / 60'000'000);
  j["gpu_use"] = gpu_use_json(r);
  j["required"] = {{"CPUs", cpu_count(*r.job)}, {"memory", memory_mb(*r.job)}};
  j["tres"] = {{"allocated", r.has_size ? tres_json(r.size) : Json::array()},
               {"requested", tres_json({node_count(*r.job), task_count(*r.job), cpu_count(*r.job), gpu_count(*r.job),
                                        memory_mb(*r.job)})}};
  j["het"] = {{"job_id", spec.het_job()}, {"job_offset", spec.het_offset()}};
  j["restart_cnt"] = r.job->status().restarts();
  j["steps"] = Json::array();
  return j;
}

}  // namespace

std::string records_json(const std::vector<RecordRow>& rows, const Records& records) {
  Json j{{"schema_version", kSchemaVersion}, {"jobs", Json::array()}};
  const wire::Job* last = nullptr;
  for (const RecordRow& r : rows) {
    if (r.kind == RecordKind::kJob || r.job != last) j["jobs"].push_back(job_json(r, records.cluster()));
    last = r.job;
    if (r.kind != RecordKind::kJob) j["jobs"].back()["steps"].push_back(step_json(r));
  }
  j["last_update"] = records.now().seconds();
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gw::client
