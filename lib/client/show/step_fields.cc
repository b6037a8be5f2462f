// The table of step fields, and the JSON of steps.
#include "client/show/step_fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bitset.h"
#include "client/show/show_json.h"
#include "model/cluster.h"

namespace gw::client {
namespace {

using Row = StepRow;

std::string num(uint64_t n) { return std::to_string(n); }

/// What only its job knows.
std::string of_job(const Row& r, std::string (*get)(const wire::Job&), std::string_view otherwise = "(null)") {
  return or_else(r.job == nullptr ? std::string() : get(*r.job), otherwise);
}
std::string user_of(const wire::Job& job) { return job.spec().user(); }
std::string job_name(const wire::Job& job) { return job.spec().name(); }

/// Sorts by job, then step. The steps of one job beyond the millionth stay in the order in which they come.
double id_key(const Row& r) {
  constexpr uint32_t kMost = 1U << 20;
  const std::optional<uint32_t> number = step_number(r);
  return double(job_id(r)) + (number ? double(std::min(*number, kMost - 2) + 1) / kMost : 0);
}
std::string job_text(const Row& r) { return num(job_id(r)); }
double job_key(const Row& r) { return job_id(r); }
std::string name_text(const Row& r) { return or_else(name_of(r), "(null)"); }
std::string user_text(const Row& r) { return or_else(of_job(r, user_of, ""), num(uid_of(r))); }
double uid_key(const Row& r) { return uid_of(r); }
std::string not_here(const Row&) { return "N/A"; }
std::string nodes_text(const Row& r) { return node_list(r); }
std::string state_text(const Row& r) { return std::string(model::long_name(state_of(r))); }
double state_key(const Row& r) { return static_cast<double>(state_of(r)); }

void add_identity(std::vector<Field<Row>>& t) {
  t.push_back({{'i', "StepID", "STEPID"}, step_id, id_key});
  t.push_back({{'F', "ArrayJobID", "ARRAY_JOB_ID"}, job_text, job_key});
  t.push_back({{0, "JobID", "JOBID"}, job_text, job_key});
  t.push_back({{'K', "ArrayTaskID", "ARRAY_TASK_ID"}, not_here});
  t.push_back({{'j', "StepName", "NAME"}, name_text});
  t.push_back({{0, "Name", "NAME"}, name_text});
  t.push_back({{0, "JobName", "JOB_NAME"}, [](const Row& r) { return of_job(r, job_name); }});
  t.push_back({{'u', "UserName", "USER"}, user_text});
  t.push_back({{'U', "UserID", "UID"}, [](const Row& r) { return num(uid_of(r)); }, uid_key});
  t.push_back({{'P', "Partition", "PARTITION"}, [](const Row& r) { return of_job(r, partition_of); }});
  t.push_back({{0, "StepState", "STATE"}, state_text, state_key});
  t.push_back({{0, "State", "STATE"}, state_text, state_key});
}

void add_times(std::vector<Field<Row>>& t) {
  t.push_back({{'M', "TimeUsed", "TIME"},
               [](const Row& r) { return base::format_duration(run_time(r), true); },
               [](const Row& r) { return double(run_time(r).us); }});
  // A step has no limit of its own: it ends with its job.
  t.push_back({{'l', "TimeLimit", "TIME_LIMIT"}, [](const Row&) { return std::string("UNLIMITED"); }});
  t.push_back({{'L', "TimeLeft", "TIME_LEFT"}, [](const Row&) { return std::string("UNLIMITED"); }});
  t.push_back({{'S', "StartTime", "START_TIME"},
               [](const Row& r) { return show_time(start_of(r), "N/A"); },
               [](const Row& r) { return double(start_of(r).us); }});
}

void add_resources(std::vector<Field<Row>>& t) {
  t.push_back({{'N', "Nodes", "NODELIST"}, nodes_text});
  t.push_back({{0, "NodeList", "NODELIST"}, nodes_text});
  t.push_back({{0, "NumNodes", "NODES"},
               [](const Row& r) { return num(shares_of(r).size()); },
               [](const Row& r) { return double(shares_of(r).size()); }});
  t.push_back({{'A', "NumTasks", "TASKS"},
               [](const Row& r) { return num(task_count(r)); },
               [](const Row& r) { return double(task_count(r)); }});
  t.push_back({{0, "NumCPUs", "CPUS"},
               [](const Row& r) { return num(cpu_count(r)); },
               [](const Row& r) { return double(cpu_count(r)); }});
  t.push_back({{'b', "tres-per-node", "TRES_PER_NODE"}, [](const Row& r) { return or_else(gpus_per_node(r), "N/A"); }});
  t.push_back({{0, "tres-alloc", "TRES_ALLOC"}, tres_of});
}

using Json = nlohmann::ordered_json;

Json indices(const std::string& list) {
  const auto set = base::IndexSet::parse(list);
  return set ? Json(set->to_vector()) : Json::array();
}

Json share_object(const wire::NodeShare& share) {
  return {{"node", share.node()},          {"tasks", share.tasks()},
          {"cpus", share.cpus()},          {"cores", indices(share.cores())},
          {"gpus", indices(share.gpus())}, {"gpu_milli", share.has_gpu_milli() ? share.gpu_milli() : model::kWholeGpu},
          {"memory_mb", share.mem_mb()}};
}

Json step_object(const Row& r) {
  const std::optional<uint32_t> number = step_number(r);
  Json j{{"step_id", step_id(r)},
         {"job_id", job_id(r)},
         {"step", number ? Json(*number) : Json(nullptr)},
         {"name", name_of(r)},
         {"user_id", uid_of(r)},
         {"user_name", of_job(r, user_of, "")},
         {"partition", of_job(r, partition_of, "")},
         {"state", model::long_name(state_of(r))},
         {"start_time", start_of(r).seconds()},
         {"run_time", run_time(r).seconds()},
         {"nodes", node_list(r)},
         {"node_count", shares_of(r).size()},
         {"cpus", cpu_count(r)},
         {"tasks", task_count(r)},
         {"tres", tres_of(r)}};
  if (r.step != nullptr && !r.step->detail().empty()) j["state_description"] = r.step->detail();
  j["allocation"] = Json::array();
  for (const wire::NodeShare* share : shares_of(r)) j["allocation"].push_back(share_object(*share));
  return j;
}

}  // namespace

const std::vector<Field<StepRow>>& step_fields() {
  static const std::vector<Field<Row>> table = [] {
    std::vector<Field<Row>> t;
    add_identity(t);
    add_times(t);
    add_resources(t);
    return t;
  }();
  return table;
}

std::string steps_json(const std::vector<StepRow>& rows, base::Time now) {
  Json j{{"schema_version", kSchemaVersion}, {"steps", Json::array()}};
  for (const Row& r : rows) j["steps"].push_back(step_object(r));
  j["last_update"] = now.seconds();
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gw::client
