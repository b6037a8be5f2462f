// See slurm_records.h. Amounts as Slurm has them: CPU time in milliseconds, memory of what is allocated in MiB, of what
// was used in bytes.
#include "client/json/slurm_records.h"

#include <pwd.h>

#include "base/hostlist.h"
#include "base/text.h"
#include "client/json/record_parts.h"
#include "client/json/slurm_parts.h"
#include "client/show/array_view.h"
#include "client/show/job_view.h"

namespace gw::client::slurm {
namespace {

using model::RunUse;
using model::UseKind;
using model::UseSpread;

Json end_of_process(const model::ExitStatus& exit) { return process_end(exit.code, exit.signo); }

void add_processor_times(Json& time, const RecordRow& r) {
  const RunUse none, &use = r.use == nullptr ? none : *r.use;
  time["system"] = seconds_and_micros(use.system_us);
  time["total"] = seconds_and_micros(use.user_us + use.system_us);
  time["user"] = seconds_and_micros(use.user_us);
}

Json time_of_job(const RecordRow& r) {
  Json time{{"elapsed", r.elapsed.us / 1'000'000},
            {"eligible", r.eligible.seconds()},
            {"end", r.ended.seconds()},
            {"start", r.started.seconds()},
            {"submission", r.job->status().submitted_us() / 1'000'000},
            {"suspended", r.suspended.us / 1'000'000},
            {"limit", minutes(time_limit(*r.job))}};
  add_processor_times(time, r);
  return time;
}

/// "CANCELLED by 1001" is a state and a user.
std::string state_word(const RecordRow& r) { return r.state.substr(0, r.state.find(' ')); }

/// By name; by number where this machine does not know him.
std::string who_cancelled(const RecordRow& r) {
  const size_t by = r.state.find(" by ");
  if (by == std::string::npos) return "";
  const std::string number = r.state.substr(by + 4);
  const auto uid = base::parse_int(number, 0, UINT32_MAX, "");
  const passwd* user = uid ? ::getpwuid(static_cast<uid_t>(*uid)) : nullptr;
  return user == nullptr ? number : user->pw_name;
}

// ---- What a step used

constexpr struct {
  const char* type;
  const char* name;
  int id;
  UseKind kind;
  uint64_t divisor;
} kUsed[] = {{"cpu", "", 1, UseKind::kCpu, 1000},
             {"mem", "", 2, UseKind::kRss, 1},
             {"fs", "disk", 6, UseKind::kRead, 1},
             {"vmem", "", 7, UseKind::kVm, 1},
             {"pages", "", 8, UseKind::kPages, 1}};

enum class Amount { kMost, kLeast, kMean, kSum };

Json used(const RecordRow& r, Amount amount) {
  Json list = Json::array();
  if (r.use == nullptr || r.use->tasks == 0) return list;
  for (const auto& row : kUsed) {
    const UseSpread& spread = r.use->of(row.kind);
    Json one{{"type", row.type}, {"name", row.name}, {"id", row.id}};
    const uint64_t value = amount == Amount::kMost    ? spread.most
                           : amount == Amount::kLeast ? spread.least
                           : amount == Amount::kMean  ? spread.sum / r.use->tasks
                                                      : spread.sum;
    one["count"] = value / row.divisor;
    const bool is_of_task = amount == Amount::kMost || amount == Amount::kLeast;
    const std::string& node = amount == Amount::kMost ? *spread.most_node : *spread.least_node;
    if (is_of_task) one["task"] = amount == Amount::kMost ? spread.most_task : spread.least_task;
    if (is_of_task) one["node"] = node.empty() ? r.nodes : node;
    list.push_back(std::move(one));
  }
  return list;
}

Json step(const RecordRow& r) {
  const bool is_own = r.kind == RecordKind::kBatch || r.kind == RecordKind::kExtern;
  const std::string name = r.kind == RecordKind::kBatch    ? "batch"
                           : r.kind == RecordKind::kExtern ? "extern"
                                                           : r.run->of_step().request().name();
  Json time{{"elapsed", r.elapsed.us / 1'000'000},
            {"end", moment(r.ended)},
            {"start", moment(r.started)},
            {"suspended", r.suspended.us / 1'000'000}};
  add_processor_times(time, r);
  const auto hosts = base::expand_hostlist(r.nodes);
  Json j;
  j["time"] = std::move(time);
  j["exit_code"] = end_of_process(r.exit);
  j["nodes"] = {{"count", r.size.nodes}, {"range", r.nodes}, {"list", hosts ? Json(*hosts) : Json::array()}};
  j["tasks"] = {{"count", r.size.tasks}};
  j["pid"] = "";
  j["CPU"] = {{"requested_frequency", {{"min", unset()}, {"max", unset()}}}, {"governor", "0"}};
  j["kill_request_user"] = who_cancelled(r);
  j["state"] = Json::array({state_word(r)});
  j["statistics"] = {{"CPU", {{"actual_frequency", 0}}}, {"energy", {{"consumed", unset()}}}};
  j["step"] = {{"id", r.raw_id}, {"name", name}};
  j["task"] = {{"distribution", is_own ? "Unknown" : "Block"}};
  j["tres"] = {{"requested",
                {{"max", used(r, Amount::kMost)},
                 {"min", used(r, Amount::kLeast)},
                 {"average", used(r, Amount::kMean)},
                 {"total", used(r, Amount::kSum)}}},
               {"consumed",
                {{"max", Json::array()}, {"min", Json::array()}, {"average", Json::array()}, {"total", Json::array()}}},
               {"allocated", tres_json(r.size)}};
  return j;
}

// ---- Jobs

Json array_of_job(const wire::Job& job) {
  const wire::ArrayPlace& place = job.spec().array();
  const bool is_task = job.spec().has_array() && place.has_task();
  return {{"job_id", job.spec().has_array() ? array_of(job) : 0},
          {"limits", {{"max", {{"running", {{"tasks", job.status().tasks().throttle()}}}}}}},
          {"task_id", is_task ? number(place.task()) : unset()},
          {"task", job.spec().has_array() && !is_task ? array_tasks({&job, {}, nullptr, {}}) : ""}};
}

void add_asked(Json& j, const wire::Job& job) {
  const wire::Request& r = job.spec().request();
  j["required"] = {{"CPUs", cpu_count(job)},
                   {"memory_per_cpu", number_or_unset(static_cast<int64_t>(r.mem_per_cpu_mb()))},
                   {"memory_per_node", number_or_unset(static_cast<int64_t>(r.mem_per_node_mb()))}};
  j["constraints"] = features_of(job);
  j["licenses"] = job.spec().licenses();
  j["reservation"] = {{"id", 0}, {"name", job.spec().reservation()}};
}

Json record(const RecordRow& r, const std::string& cluster) {
  const wire::Job& job = *r.job;
  const wire::JobSpec& s = job.spec();
  Json j;
  j["account"] = s.account();
  j["comment"] = {{"administrator", s.admin_comment()}, {"job", s.comment()}, {"system", s.system_comment()}};
  j["allocation_nodes"] = r.has_size ? r.size.nodes : 0;
  j["array"] = array_of_job(job);
  j["association"] = {{"account", s.account()}, {"cluster", cluster}, {"partition", ""}, {"user", s.user()}, {"id", 0}};
  j["block"] = "";
  j["cluster"] = cluster;
  j["container"] = "";
  j["derived_exit_code"] = end_of_process(r.derived_exit);
  j["time"] = time_of_job(r);
  j["exit_code"] = end_of_process(r.exit);
  j["extra"] = s.extra();
  j["failed_node"] = "";
  j["flags"] = Json::array();
  j["group"] = s.group();
  j["het"] = {{"job_id", s.het_job()}, {"job_offset", s.het_job() == 0 ? unset() : number(s.het_offset())}};
  j["job_id"] = job.id();
  j["name"] = s.name();
  j["mcs"] = {{"label", ""}};
  j["nodes"] = r.nodes.empty() ? "None assigned" : r.nodes;
  j["partition"] = r.partition;
  j["hold"] = state_of(job) == model::JobState::kPending && priority_of(job) == 0;
  j["priority"] = number(priority_of(job));
  j["qos"] = s.qos();
  add_asked(j, job);
  j["kill_request_user"] = who_cancelled(r);
  j["script"] = "";
  j["restart_cnt"] = job.status().restarts();
  j["state"] = {{"current", Json::array({state_word(r)})}, {"reason", reason_word(job)}};
  j["steps"] = Json::array();
  j["submit_line"] = s.submit_line();
  j["tres"] = {
      {"allocated", r.has_size ? tres_json(r.size) : Json::array()},
      {"requested", tres_json({node_count(job), task_count(job), cpu_count(job), gpu_count(job), memory_mb(job)})}};
  j["used_gres"] = "";
  j["user"] = s.user();
  j["wckey"] = {{"wckey", s.wckey()}, {"flags", Json::array()}};
  j["working_directory"] = s.launch().work_dir();
  return j;
}

}  // namespace

std::string records(const std::vector<RecordRow>& rows, const Asked& asked) {
  Json list = Json::array();
  const wire::Job* last = nullptr;
  for (const RecordRow& r : rows) {
    if (r.kind == RecordKind::kJob || r.job != last) list.push_back(record(r, asked.cluster));
    last = r.job;
    if (r.kind != RecordKind::kJob) list.back()["steps"].push_back(step(r));
  }
  Json body;
  body["jobs"] = std::move(list);
  return answer(std::move(body), asked);
}

}  // namespace gw::client::slurm
