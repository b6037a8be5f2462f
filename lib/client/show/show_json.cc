// JSON of everything that is listed. Bytes that are not UTF-8 come out as the replacement character.
#include "client/show/show_json.h"

#include <nlohmann/json.hpp>

#include "base/bitset.h"
#include "client/show/array_view.h"
#include "client/show/job_view.h"
#include "client/show/node_view.h"
#include "model/cluster.h"
#include "wire/blockers.h"
#include "wire/convert.h"
#include "wire/job_attributes.h"

namespace gw::client {
namespace {

using Json = nlohmann::ordered_json;

std::string finished(Json&& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

/// Seconds since the epoch; 0 for never and unknown.
int64_t seconds(int64_t us) { return us == base::Time::never().us ? 0 : us / 1'000'000; }
/// Seconds, or null for UNLIMITED.
Json limit(int64_t us) { return us <= 0 || us == base::kUnlimited.us ? Json(nullptr) : Json(us / 1'000'000); }

Json indices(const std::string& list) {
  auto set = base::IndexSet::parse(list);
  return set ? Json(set->to_vector()) : Json::array();
}

template <typename Names>
Json strings(const Names& names) {
  Json list = Json::array();
  for (const std::string& n : names) list.push_back(n);
  return list;
}

Json shares_json(const wire::Job& job) {
  Json list = Json::array();
  for (const wire::NodeShare& s : shares_of(job))
    list.push_back({{"node", s.node()},
                    {"tasks", s.tasks()},
                    {"cpus", s.cpus()},
                    {"cores", indices(s.cores())},
                    {"gpus", indices(s.gpus())},
                    {"gpu_milli", s.has_gpu_milli() ? s.gpu_milli() : model::kWholeGpu},
                    {"memory_mb", s.mem_mb()}});
  return list;
}

/// The key of the attribute that has this option.
consteval const char* key_of(std::string_view option) { return wire::attribute(option).json_key.data(); }

/// What the attribute's field holds.
Json value_of(const wire::JobAttribute& a, const wire::JobSpec& s) {
  const wire::AttributeValue value = a.kept.get(s);
  if (a.kept.form == wire::Form::kLength) return limit(std::get<int64_t>(value));
  if (a.kept.form == wire::Form::kMoment) return Json(seconds(std::get<int64_t>(value)));
  return std::visit([](const auto& v) { return Json(v); }, value);
}

std::string gres_of(const wire::Request& r) {
  const auto gres = wire::gres_from(r.gres());
  return gres ? model::format_gres(*gres) : std::string();
}

Json request_json(const wire::Job& job) {
  const wire::Request& r = job.spec().request();
  static constexpr const char* kCounting[] = {"none", "per_job", "per_node", "per_task"};
  return {{"min_nodes", r.min_nodes()},
          {"max_nodes", r.max_nodes()},
          {key_of("ntasks"), r.tasks()},
          {key_of("ntasks-per-node"), r.tasks_per_node()},
          {key_of("cpus-per-task"), r.cpus_per_task()},
          {key_of("mem"), r.mem_per_node_mb()},
          {key_of("mem-per-cpu"), r.mem_per_cpu_mb()},
          {"gpus", r.gpus()},
          {"gpus_counted", kCounting[r.gpu_counting() <= 3 ? r.gpu_counting() : 0]},
          {"gpu_type", r.gpu_type()},
          {"generic_resources_per_node", gres_of(r)},
          {key_of("nodelist"), strings(r.nodelist())},
          {key_of("exclude"), strings(r.exclude())},
          {key_of("exclusive"), r.exclusive()},
          {"gpu_milli", r.has_gpu_milli() ? r.gpu_milli() : model::kWholeGpu},
          {key_of("cpus-per-gpu"), r.cpus_per_gpu()},
          {key_of("mincpus"), r.min_cpus()},
          {key_of("tmp"), r.tmp_mb()},
          {key_of("hint"), r.whole_cores()},
          {key_of("mem-per-gpu"), r.mem_per_gpu_mb()},
          {key_of("locality"), locality_of(job)},
          {key_of("switches"), r.max_switches()},
          {"switches_wait", r.has_switches_wait_us() ? Json(r.switches_wait_us() / 1'000'000) : Json(nullptr)},
          {key_of("segment"), r.segment()},
          {"contiguous", r.contiguous()},
          {key_of("fit"), fit_of(job)}};
}

void add_spec(Json& j, const wire::JobSpec& s) {
  j[key_of("job-name")] = s.name();
  j["user_name"] = s.user();
  j["user_id"] = s.uid();
  j["group_name"] = s.group();
  j["group_id"] = s.gid();
  j[key_of("account")] = s.account();
  j[key_of("qos")] = s.qos();
  j[key_of("partition")] = strings(s.partitions());
  j[key_of("priority")] = s.priority();
  j[key_of("nice")] = s.nice();
  j[key_of("hold")] = s.hold_user() || s.hold_admin();
  j[key_of("requeue")] = s.requeue();
  j[key_of("preempt-signal")] = s.preempt_signo();
  j[key_of("elastic")] = s.request().elastic();
  j[key_of("min-tasks")] = s.request().min_tasks();
  j[key_of("resize-signal")] = s.resize_signo();
  for (const wire::JobAttribute& a : wire::kJobAttributes)
    if (a.shown == wire::Shown::kByRow && !a.json_key.empty()) j[std::string(a.json_key)] = value_of(a, s);
  j[key_of("licenses")] = s.licenses();
  j[key_of("reservation")] = s.reservation();
  j[key_of("dependency")] = s.dependency();
  j[key_of("gpu-bind")] = s.gpu_bind();
  j[key_of("gres-flags")] = s.gres_flags();
  j["submit_host"] = s.submit_host();
  j["submit_line"] = s.submit_line();
  j["command"] = s.launch().command();
  j[key_of("chdir")] = s.launch().work_dir();
}

/// Everything that keeps a job waiting, for programs.
Json blockers(const wire::Waiting& waiting) {
  Json list = Json::array();
  for (const model::Blocker& b : wire::blockers_from(waiting.blockers())) {
    Json one = {{"kind", model::name(b.kind)}, {"scope", model::name(b.scope)}, {"where", b.where}};
    if (!b.resource.empty()) {
      one["resource"] = b.resource;
      one["asked"] = b.asked;
      one["bound"] = b.bound;
      one["available"] = b.bound - std::min(b.held, b.bound);
    }
    if (b.nodes > 0) one["nodes"] = b.nodes;
    if (!b.held_by.empty()) one["held_by"] = b.held_by;
    if (b.until) one["until"] = seconds(b.until.us);
    if (const std::string_view remedy = model::help(b.kind); !remedy.empty()) one["help"] = remedy;
    list.push_back(std::move(one));
  }
  return list;
}

/// null: it said nothing.
Json progress_json(const wire::Job& job) {
  if (!job.status().has_progress()) return nullptr;
  const wire::Progress& p = job.status().progress();
  const auto known = [](uint64_t n) { return n == 0 ? Json(nullptr) : Json(n); };
  const base::Time end = told_end(job);
  return {{"step", p.step()},
          {"of", known(p.of())},
          {"steps_per_second", p.rate_milli() == 0 ? Json(nullptr) : Json(static_cast<double>(p.rate_milli()) / 1e3)},
          {"own_steps_per_second",
           p.own_rate_milli() == 0 ? Json(nullptr) : Json(static_cast<double>(p.own_rate_milli()) / 1e3)},
          {"needs_own_gpu", p.needs_own_gpu()},
          {"scaling", p.other_tasks() == 0 ? Json(nullptr) : Json(p.scaling() / 100.0)},
          {"told_at", seconds(p.told_us())},
          {"told_end", seconds(end.us)},
          {"has_overrun", p.has_overrun()}};
}

void add_state(Json& j, const JobRow& row) {
  const wire::Job& job = *row.job;
  j["job_state"] = Json::array({model::long_name(state_of(job))});
  j["state_reason"] = reason_word(job);
  j["state_description"] = reason_detail(job);
  j["state_blockers"] = blockers(job.status().waiting());
  j["exit_code"] = exit_code(job);
  j["submit_time"] = seconds(job.status().submitted_us());
  j["eligible_time"] = seconds(job.status().eligible_us());
  const base::Time start = start_of(job);
  j["start_time"] = seconds((start ? start : expected_start(job)).us);
  j["end_time"] = seconds(end_of(job).us);
  j["run_time"] = run_time(row).seconds();
  j[key_of("time")] = limit(job.spec().time_limit_us());
  j[key_of("time-min")] = limit(job.spec().time_min_us());
  j[key_of("deadline")] = seconds(job.spec().deadline_us());
  j["restart_count"] = job.status().restarts();
  j["preemption_count"] = job.status().preemptions();
  j["lost_gpu_seconds"] = lost_gpu_seconds(job);
  j["attained_gpu_seconds"] = attained_gpu_seconds(job, row.now);
  j["progress"] = progress_json(job);
  j["waited_for"] = Json::object();
  for (const auto& [cause, seconds] : waited_seconds(job)) j["waited_for"][std::string(model::name(cause))] = seconds;
  const auto range = start_range_seconds(job);
  j["start_range"] = range.empty() ? Json(nullptr) : Json(range);
  if (suspended_at(job)) j["suspended_because"] = why_suspended(job);
}

void add_array(Json& j, const wire::Job& job) {
  const wire::ArrayPlace& place = job.spec().array();
  j["array_job_id"] = array_of(job);
  j["array_task_id"] = place.has_task() ? Json(place.task()) : Json();
  j["array_max_tasks"] = job.status().tasks().throttle();
  const auto left = wire::from_wire(job.status().tasks().left());
  if (!place.has_task() && left) j["array_tasks"] = left->text();
}

void add_resources(Json& j, const wire::Job& job) {
  j["partition"] = partition_of(job);
  j["nodes"] = node_list(job);
  j["batch_host"] = first_node(job);
  j["node_count"] = node_count(job);
  j["cpus"] = cpu_count(job);
  j[key_of("ntasks")] = task_count(job);
  j["gpus"] = gpu_count(job);
  j["memory_mb"] = memory_mb(job);
  j["tres_req_str"] = tres_requested(job);
  j["tres_alloc_str"] = shares_of(job).empty() ? "" : tres_allocated(job);
  j[key_of("constraint")] = features_of(job);
  j["request"] = request_json(job);
  j["allocation"] = shares_json(job);
  j["unreachable_nodes"] = strings(job.status().placed().unreachable());
  j[key_of("output")] = stdout_path(job);
  j[key_of("error")] = stderr_path(job);
  j[key_of("input")] = stdin_path(job);
}

/// Null: it does not run.
Json label_object(const wire::JobLabel* label) {
  if (label == nullptr) return nullptr;
  Json j;
  j["label"] = label->is_borrowed() ? "borrowed" : "covered";
  j["borrowed_at"] = label->is_borrowed() ? Json(label->borrowed_at()) : Json(nullptr);
  if (label->has_fair()) {
    j["fair_share_label"] = label->is_beyond_fair() ? "borrowed" : "covered";
    j["beyond_fair_share_at"] = label->is_beyond_fair() ? Json(label->beyond_fair_at()) : Json(nullptr);
  }
  j["never_preempted"] = label->is_never_preempted();
  j["protected_until"] = label->protected_until_us() != 0 ? Json(seconds(label->protected_until_us())) : Json(nullptr);
  j["preemptible_by"] = std::vector<std::string>(label->preemptors().begin(), label->preemptors().end());
  j["preemptible_by_complete"] = !label->preemptors_cut();
  j["taken_by"] = j["preemptible_by"];  // older names
  j["taken_by_complete"] = j["preemptible_by_complete"];
  j["extensions"] = label->extensions();
  j["borrowed_extensions"] = label->borrowed_extensions();
  return j;
}

Json job_object(const wire::Job& job, int64_t now_us, const wire::JobLabel* label) {
  Json j;
  j["job_id"] = job.id();
  j["het_job_id"] = job.spec().het_job();
  if (job.spec().has_array()) add_array(j, job);
  j["het_job_offset"] = job.spec().het_offset();
  add_spec(j, job.spec());
  j[key_of("on-preempt")] = on_preempt_of(job);
  j[key_of("priority")] = priority_of(job);
  add_state(j, {&job, {now_us}});
  add_resources(j, job);
  j["quota"] = label_object(label);
  return j;
}

Json gpus_json(const wire::Node& n) {
  Json list = Json::array();
  auto used = base::IndexSet::parse(n.alloc_gpus());
  for (uint32_t i = 0; i < n.total_gpus(); ++i) {
    Json g{{"index", i}};
    if (static_cast<int>(i) < n.topology().gpus_size()) {
      const wire::Gpu& gpu = n.topology().gpus(static_cast<int>(i));
      g["type"] = gpu.type();
      g["model"] = gpu.model();
      g["pci"] = gpu.pci();
      g["numa"] = gpu.numa();
    }
    const auto offline = n.offline_gpus().find(i);
    const bool is_used = used && used->contains(i);
    g["state"] = is_used ? "in_use" : offline != n.offline_gpus().end() ? "offline" : "free";
    if (offline != n.offline_gpus().end()) g["reason"] = offline->second;
    if (const auto job = n.gpu_jobs().find(i); job != n.gpu_jobs().end()) g["job_id"] = job->second;
    list.push_back(std::move(g));
  }
  return list;
}

Json node_object(const wire::Node& n) {
  const CpuCounts cpus = cpu_counts(n);
  const GpuCounts gpus = gpu_counts(n);
  return {{"name", n.name()},
          {"state", node_state_flags(n)},
          {"state_short", node_state_short(n)},
          {"reason", n.reason()},
          {"reason_set_by_user", n.reason_user()},
          {"reason_changed_at", seconds(n.reason_time_us())},
          {"warning", n.warning()},
          {"connected", n.connected()},
          {"last_seen", seconds(n.last_seen_us())},
          {"address", n.peer_address()},
          {"version", n.version()},
          {"boot_id", n.boot_id()},
          {"containment", n.containment()},
          {"emulated", n.is_emulated()},
          {"features", strings(n.features())},
          {"partitions", strings(n.partitions())},
          {"weight", n.weight()},
          {"cpus", cpus.total},
          {"alloc_cpus", cpus.allocated},
          {"sockets", n.sockets()},
          {"cores", n.cores()},
          {"threads_per_core", n.threads_per_core()},
          {"real_memory", n.schedulable_mem_mb()},
          {"alloc_memory", n.alloc_mem_mb()},
          {"free_memory", n.has_free_mem_mb() ? Json(n.free_mem_mb()) : Json()},
          {"load", n.has_load_centi() ? Json(n.load_centi() / 100.0) : Json()},
          {"gres", n.gres()},
          {"gres_used_beside_gpus", n.alloc_gres()},
          {"temporary_disk_mb", n.tmp_mb()},
          {"gpus_total", n.total_gpus()},
          {"gpus_free", gpus.free},
          {"gpus_in_use", gpus.used},
          {"gpus_offline", gpus.offline},
          {"gpus", gpus_json(n)},
          {"jobs", std::vector<uint32_t>(n.jobs().begin(), n.jobs().end())}};
}

Json partition_object(const wire::Partition& p) {
  const bool known = p.state() <= static_cast<uint32_t>(model::PartitionState::kInactive);
  return {{"name", p.name()},
          {"state", known ? model::name(static_cast<model::PartitionState>(p.state())) : "UNKNOWN"},
          {"default", p.is_default()},
          {"default_for_compute", p.default_for_compute()},
          {"default_for_aux", p.default_for_aux()},
          {"nodes", strings(p.nodes())},
          {"tier", p.tier()},
          {"max_time", limit(p.max_time_us())},
          {"default_time", limit(p.default_time_us())},
          {"max_nodes", p.max_nodes()},
          {"exclusive", p.exclusive()},
          {"allow_users", strings(p.allow_users())},
          {"allow_groups", strings(p.allow_groups())},
          {"default_qos", p.default_qos()},
          {"allow_qos", strings(p.allow_qos())},
          {"deny_users", strings(p.deny_users())},
          {"grace", p.grace_us() / 1'000'000},
          {"lease", p.lease_us() / 1'000'000},
          {"consolidate", model::name(static_cast<model::Consolidate>(
                              std::min(p.consolidate(), static_cast<uint32_t>(model::Consolidate::kDryRun))))},
          {"order", p.order().empty() ? Json(nullptr) : Json(p.order())},
          {"filter", p.filter().empty() ? Json(nullptr) : Json(p.filter())},
          {"quantum", p.has_quantum_us() ? Json(static_cast<double>(p.quantum_us()) / 1e6) : Json(nullptr)},
          {"total_cpus", p.total_cpus()},
          {"total_nodes", p.total_nodes()},
          {"total_gpus", p.total_gpus()}};
}

Json event_object(const wire::HistoryEvent& e) {
  return {{"time_us", e.time_us()},
          {"kind", e.kind()},
          {"text", e.text()},
          {"seq", e.seq()},
          {"uid", e.has_uid() ? Json(e.uid()) : Json(nullptr)}};
}

template <typename Items, typename Factory>
Json list_of(const Items& items, Factory make) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(make(item));
  return list;
}

Json headed() { return Json{{"schema_version", kSchemaVersion}}; }

}  // namespace

std::string spec_json(const wire::JobSpec& spec) {
  wire::Job job;
  *job.mutable_spec() = spec;
  Json j;
  add_spec(j, spec);
  j[key_of("time")] = limit(spec.time_limit_us());
  j[key_of("time-min")] = limit(spec.time_min_us());
  j[key_of("deadline")] = seconds(spec.deadline_us());
  j[key_of("constraint")] = features_of(job);
  j[key_of("on-preempt")] = on_preempt_of(job);
  j["begin_time"] = seconds(spec.begin_us());
  j["request"] = request_json(job);
  j["request"]["memory_all"] = spec.request().mem_all();
  return finished(std::move(j));
}

std::string jobs_json(const google::protobuf::RepeatedPtrField<wire::Job>& jobs, int64_t now_us,
                      const JobLabels& labels) {
  Json j = headed();
  j["jobs"] = list_of(jobs, [&](const wire::Job& job) { return job_object(job, now_us, labels.of(job)); });
  j["last_update"] = seconds(now_us);
  return finished(std::move(j));
}

std::string job_json(const wire::ShowJobReply& reply, const JobLabels& labels) {
  Json j = headed();
  Json job = job_object(reply.job(), reply.now_us(), labels.of(reply.job()));
  if (reply.history_size() != 0) job["history"] = list_of(reply.history(), event_object);
  j["jobs"] = Json::array({std::move(job)});
  j["last_update"] = seconds(reply.now_us());
  return finished(std::move(j));
}

std::string nodes_json(const wire::ListNodesReply& reply) {
  Json j = headed();
  j["nodes"] = list_of(reply.nodes(), node_object);
  j["last_update"] = seconds(reply.now_us());
  return finished(std::move(j));
}

std::string partitions_json(const wire::ListPartitionsReply& reply) {
  Json j = headed();
  j["partitions"] = list_of(reply.partitions(), partition_object);
  j["last_update"] = seconds(reply.now_us());
  return finished(std::move(j));
}

std::string info_json(const wire::ListNodesReply& nodes, const wire::ListPartitionsReply& partitions) {
  Json j = headed();
  j["partitions"] = list_of(partitions.partitions(), partition_object);
  j["nodes"] = list_of(nodes.nodes(), node_object);
  j["last_update"] = seconds(nodes.now_us());
  return finished(std::move(j));
}

std::string config_json(const wire::ShowConfigReply& reply) {
  Json j = headed();
  Json config = Json::object();
  for (const wire::ConfigEntry& e : reply.entries()) config[e.key()] = e.value();
  j["config"] = std::move(config);
  j["version"] = reply.version();
  j["boot_time"] = seconds(reply.boot_us());
  j["qos"] = list_of(reply.qos(), [](const wire::Qos& q) {
    return Json{
        {"name", q.name()}, {"parent", q.parent()}, {"description", q.description()}, {"priority", q.priority()}};
  });
  return finished(std::move(j));
}

std::string events_json(const wire::ListEventsReply& reply,
                        const std::function<std::string(const wire::HistoryEvent&)>& user_of) {
  Json j = headed();
  j["events"] = list_of(reply.events(), [&](const wire::HistoryEvent& e) {
    Json event = event_object(e);
    event["job"] = e.job() == 0 ? Json(nullptr) : Json(e.job());
    event["node"] = e.node().empty() ? Json(nullptr) : Json(e.node());
    event["user"] = e.has_uid() ? Json(user_of(e)) : Json(nullptr);
    return event;
  });
  j["last_update"] = seconds(reply.now_us());
  return finished(std::move(j));
}

std::string ping_json(const wire::PingReply& r) {
  Json j = headed();
  j["pings"] = Json::array({Json{{"pinged", "UP"},
                                 {"cluster", r.cluster()},
                                 {"version", r.version()},
                                 {"pending", r.pending()},
                                 {"running", r.running()},
                                 {"nodes_up", r.nodes_up()},
                                 {"nodes", r.nodes()},
                                 {"store_state", r.store_state()},
                                 {"held_aside", r.held_aside()},
                                 {"boot_time", seconds(r.boot_us())},
                                 {"now", seconds(r.now_us())}}});
  return finished(std::move(j));
}

}  // namespace gw::client
