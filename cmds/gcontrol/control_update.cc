// gcontrol update KEY=VALUE...
#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/bitset.h"
#include "base/check.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "cmds/gcontrol/control_verbs.h"
#include "cmds/request/gpu_options.h"
#include "cmds/request/job_values.h"
#include "cmds/shared/job_faults.h"
#include "cmds/shared/job_filter.h"
#include "cmds/shared/job_ids.h"
#include "cmds/shared/update_keys.h"
#include "model/request.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Status;
using client::Program;
using wire::attribute;
using wire::JobAttribute;
using Settings = std::map<std::string, std::string>;

using U = wire::UpdateJobRequest;

Status set_node_count(U& r, const std::string& value, base::Time) {
  const size_t dash = value.find('-');
  GW_TRY(low, base::parse_int(value.substr(0, dash), 1, 1'000'000, "NumNodes"));
  r.set_min_nodes(static_cast<uint32_t>(low));
  r.set_max_nodes(static_cast<uint32_t>(low));
  if (dash == std::string::npos) return {};
  GW_TRY(high, base::parse_int(value.substr(dash + 1), low, 1'000'000, "NumNodes"));
  r.set_max_nodes(static_cast<uint32_t>(high));
  return {};
}

Status set_time_limit(U& r, const std::string& value, base::Time) {
  if (value.starts_with('+') || value.starts_with('-')) {
    auto change = base::parse_duration(std::string_view(value).substr(1));
    if (change && *change == base::kUnlimited) change = invalid("a change of it has an end");
    if (!change) return base::fail(change.error().code, "TimeLimit: " + change.error().what, change.error().hint);
    const base::Duration whole = base::round_up_to_minute(*change);
    r.set_time_limit_change_us(value.front() == '+' ? whole.us : -whole.us);
    return {};
  }
  auto limit = parse_time_limit(value);
  if (!limit) return base::fail(limit.error().code, "TimeLimit: " + limit.error().what, limit.error().hint);
  r.set_time_limit_us(limit->us);
  return {};
}

/// N[@TIME], as --switches takes it.
Status set_job_switches(U& r, const std::string& value, base::Time) {
  const size_t at = value.find('@');
  GW_TRY(count, base::parse_int(value.substr(0, at), 0, 1'000'000, "Switches"));
  r.set_max_switches(static_cast<uint32_t>(count));
  if (at == std::string::npos) return {};
  auto wait = base::parse_duration(value.substr(at + 1));
  if (!wait) return base::fail(wait.error().code, "Switches: " + wait.error().what, wait.error().hint);
  r.set_switches_wait_us(wait->us);
  return {};
}

Status set_shortest_time(U& r, const std::string& value, base::Time) {
  if (value.empty() || value == "0") return r.set_time_min_us(0), Status{};
  GW_TRY(us, duration_us("TimeMin", value));
  r.set_time_min_us(us);
  return {};
}

Status set_job_deadline(U& r, const std::string& value, base::Time now) {
  if (value.empty() || base::iequals(value, "none")) return r.set_deadline_us(0), Status{};
  GW_TRY(us, time_us("Deadline", value, now));
  r.set_deadline_us(us);
  return {};
}

Status check_hosts(const std::string& value) {
  if (value.empty()) return {};
  auto names = base::expand_hostlist(value);
  return names ? Status{} : Status(tl::unexpected(names.error()));
}

template <void (U::*kSet)(uint32_t)>
Status set_count(U& r, std::string_view key, const std::string& value) {
  GW_TRY(count, base::parse_int(value, 1, 100'000'000, key));
  (r.*kSet)(static_cast<uint32_t>(count));
  return {};
}

/// As --mem takes it: MiB without a unit.
template <void (U::*kSet)(uint64_t)>
Status set_memory(U& r, std::string_view key, const std::string& value) {
  auto mb = base::parse_memory_mb(value);
  if (!mb) return base::fail(mb.error().code, std::string(key) + ": " + mb.error().what, mb.error().hint);
  (r.*kSet)(*mb);
  return {};
}

/// As --gres takes it. GPUs stand in one field, however they are counted.
Status set_gres(U& r, std::string_view key, const std::string& value, model::GpuCounting counting) {
  if (r.has_gres())
    return invalid("Gres, TresPerNode, TresPerJob and TresPerTask exclude each other", "give one of them");
  auto asked = value.empty() ? parse_gres_option("none") : parse_gres_option(value);
  if (!asked) return base::fail(asked.error().code, std::string(key) + ": " + asked.error().what, asked.error().hint);
  const bool is_of_nodes = counting == model::GpuCounting::kPerNode;
  if (!is_of_nodes && !asked->others.empty())
    return invalid(std::string(key) + ": generic resources but GPUs are those of each node", "say Gres=");
  wire::GresUpdate& update = *r.mutable_gres();
  update.set_says_others(is_of_nodes);
  wire::set_gres(update.mutable_others(), asked->others);
  if (!asked->gpus || asked->gpus->count == 0) return {};
  if (!is_of_nodes && asked->gpus->milli != model::kWholeGpu)
    return invalid(std::string(key) + ": a part of a GPU is that of a node", "say Gres=");
  update.set_gpu_counting(static_cast<uint32_t>(counting));
  update.set_gpus(asked->gpus->count);
  update.set_gpu_type(asked->gpus->type);
  if (asked->gpus->milli != model::kWholeGpu) update.set_gpu_milli(asked->gpus->milli);
  return {};
}

/// A count of which 0 says that it is not asked for any more.
template <void (U::*kSet)(uint32_t)>
Status set_least(U& r, std::string_view key, const std::string& value) {
  GW_TRY(count, base::parse_int(value, 0, 65'536, key));
  (r.*kSet)(static_cast<uint32_t>(count));
  return {};
}

Status set_end(U& r, const std::string& value, base::Time now) {
  GW_TRY(us, time_us("EndTime", value, now));
  r.set_end_us(us);
  return {};
}

Status set_tasks_on_node(U& r, const std::string& value, base::Time) {
  GW_TRY(count, base::parse_int(value, 0, 1'000'000, "TasksPerNode"));
  r.set_tasks_per_node(static_cast<uint32_t>(count));
  return {};
}

Status set_neighbours(U& r, const std::string& value, base::Time) {
  GW_TRY(yes, yes_or_no("Contiguous", value));
  r.set_contiguous(yes);
  return {};
}

/// Whether others may run on its nodes.
Status set_sharing(U& r, const std::string& value, base::Time) {
  GW_TRY(yes, yes_or_no("OverSubscribe", value));
  r.set_exclusive(!yes);
  return {};
}

/// How an update is read whose value has a form of its own.
struct UpdateReader {
  const JobAttribute* attribute;
  Status (*set)(U& update, const std::string& value, base::Time now);
};

constexpr UpdateReader kUpdateReaders[] = {
    {&attribute("nodes"), set_node_count},
    {&attribute("ntasks"),
     [](U& r, const std::string& v, base::Time) { return set_count<&U::set_task_count>(r, "NumTasks", v); }},
    {&attribute("cpus-per-task"),
     [](U& r, const std::string& v, base::Time) { return set_count<&U::set_cpus_per_task>(r, "CPUsPerTask", v); }},
    {&attribute("mincpus"),
     [](U& r, const std::string& v, base::Time) { return set_count<&U::set_min_cpus>(r, "MinCPUsNode", v); }},
    {&attribute("mem"),
     [](U& r, const std::string& v, base::Time) { return set_memory<&U::set_mem_per_node_mb>(r, "MinMemoryNode", v); }},
    {&attribute("mem-per-cpu"),
     [](U& r, const std::string& v, base::Time) { return set_memory<&U::set_mem_per_cpu_mb>(r, "MinMemoryCPU", v); }},
    {&attribute("ntasks-per-node"), set_tasks_on_node},
    {&attribute("tmp"),
     [](U& r, const std::string& v, base::Time) { return set_memory<&U::set_tmp_mb>(r, "MinTmpDiskNode", v); }},
    {&attribute("contiguous"), set_neighbours},
    {&attribute("sockets-per-node"),
     [](U& r, const std::string& v, base::Time) { return set_least<&U::set_sockets>(r, "ReqSockets", v); }},
    {&attribute("cores-per-socket"),
     [](U& r, const std::string& v, base::Time) { return set_least<&U::set_socket_cores>(r, "ReqCores", v); }},
    {&attribute("threads-per-core"),
     [](U& r, const std::string& v, base::Time) { return set_least<&U::set_core_threads>(r, "ReqThreads", v); }},
    {&wire::attribute_of_key("NumCPUs"),
     [](U& r, const std::string& v, base::Time) { return set_count<&U::set_cpu_count>(r, "NumCPUs", v); }},
    {&wire::attribute_of_key("EndTime"), set_end},
    {&attribute("exclusive"), set_sharing},
    {&attribute("gres"),
     [](U& r, const std::string& v, base::Time) { return set_gres(r, "Gres", v, model::GpuCounting::kPerNode); }},
    {&attribute("gpus"),
     [](U& r, const std::string& v, base::Time) { return set_gres(r, "TresPerJob", v, model::GpuCounting::kPerJob); }},
    {&attribute("gpus-per-task"),
     [](U& r, const std::string& v, base::Time) {
       return set_gres(r, "TresPerTask", v, model::GpuCounting::kPerTask);
     }},
    {&attribute("output"), [](U& r, const std::string& v, base::Time) { return r.set_std_out(v), Status{}; }},
    {&attribute("error"), [](U& r, const std::string& v, base::Time) { return r.set_std_err(v), Status{}; }},
    {&attribute("input"), [](U& r, const std::string& v, base::Time) { return r.set_std_in(v), Status{}; }},
    {&attribute("chdir"), [](U& r, const std::string& v, base::Time) { return r.set_work_dir(v), Status{}; }},
    {&attribute("time"), set_time_limit},
    {&attribute("switches"), set_job_switches},
    {&attribute("time-min"), set_shortest_time},
    {&attribute("deadline"), set_job_deadline},
    {&attribute("partition"),
     [](U& r, const std::string& v, base::Time) {
       r.set_partition(v);
       return Status{};
     }},
    {&attribute("constraint"),
     [](U& r, const std::string& v, base::Time) -> Status {
       GW_TRY_STATUS(model::parse_features(v).map([](const auto&) {}));
       r.set_features(v);
       return {};
     }},
    {&attribute("nodelist"),
     [](U& r, const std::string& v, base::Time) {
       r.set_nodelist(v);
       return check_hosts(v);
     }},
    {&attribute("exclude"),
     [](U& r, const std::string& v, base::Time) {
       r.set_exclude(v);
       return check_hosts(v);
     }},
    {&attribute("priority"),
     [](U& r, const std::string& v, base::Time) -> Status {
       GW_TRY(p, base::parse_int(v, 0, UINT32_MAX, "Priority"));
       r.set_priority(p);
       return {};
     }},
    {&attribute("nice"),
     [](U& r, const std::string& v, base::Time) -> Status {
       GW_TRY(n, base::parse_int(v, -2'147'483'645, 2'147'483'645, "Nice"));
       r.set_nice(static_cast<int32_t>(n));
       return {};
     }},
    {&attribute("begin"),
     [](U& r, const std::string& v, base::Time now) -> Status {
       GW_TRY(us, time_us("StartTime", v, now));
       r.set_begin_us(us);
       return {};
     }},
};

Status set_array_throttle(U& update, const std::string& value) {
  GW_TRY(most, base::parse_int(value, 0, model::kMaxArrayIndex, "ArrayTaskThrottle"));
  update.set_array_throttle(static_cast<uint32_t>(most));
  return {};
}

std::vector<Key<U>> job_keys(base::Time now) {
  std::vector<Key<U>> keys;
  keys.push_back({"arraytaskthrottle", set_array_throttle});
  for (const JobAttribute& a : wire::kJobAttributes) {
    if (a.update.who == wire::Updater::kNobody) continue;
    const auto* by_hand = std::find_if(std::begin(kUpdateReaders), std::end(kUpdateReaders),
                                       [&](const UpdateReader& r) { return r.attribute == &a; });
    const bool is_by_hand = by_hand != std::end(kUpdateReaders);
    GW_CHECK(is_by_hand || a.update.field.set != nullptr);
    const auto set = [=, &a](U& update, const std::string& value) {
      return is_by_hand ? by_hand->set(update, value, now) : update_by_row(a, update, value);
    };
    for (std::string_view key : {a.update.key, a.update.alias})
      if (!key.empty()) keys.push_back({base::to_lower(key), set});
  }
  return keys;
}

/// "TimeLimit+=10" was split at its equals sign: the sign goes to the value.
Status move_sign_of_limit(Settings& settings) {
  for (const char* key : {"timelimit+", "timelimit-"}) {
    auto signed_one = settings.extract(key);
    if (!signed_one) continue;
    signed_one.mapped() = signed_one.key().back() + signed_one.mapped();
    signed_one.key().pop_back();
    if (!settings.insert(std::move(signed_one)).inserted) return invalid("key timelimit stands twice");
  }
  return {};
}

base::Result<wire::ApiRequest> job_update(const std::string& ids_text, Settings settings, base::Time now) {
  JobIds ids;
  GW_TRY_STATUS(parse_job_ids(ids_text, ids));
  GW_TRY_STATUS(move_sign_of_limit(settings));
  wire::ApiRequest request;
  wire::UpdateJobRequest& update = *request.mutable_update_job();
  ids.put(*update.mutable_ids(), *update.mutable_tasks());
  GW_TRY_STATUS(apply(job_keys(now), settings, update));
  return request;
}

Status set_node_state(wire::UpdateNodeRequest& r, const std::string& value) {
  static const std::map<std::string, wire::NodeAction> states = {
      {"drain", wire::kNodeDrain},    {"down", wire::kNodeDown},   {"resume", wire::kNodeResume},
      {"undrain", wire::kNodeResume}, {"idle", wire::kNodeResume}, {"up", wire::kNodeResume},
      {"offline", wire::kGpuOffline}, {"online", wire::kGpuOnline}};
  const auto it = states.find(base::to_lower(value));
  if (it == states.end()) {
    std::vector<std::string> known;
    for (const auto& [name, action] : states) known.push_back(name);
    const std::string hint = base::did_you_mean(base::to_lower(value), known);
    return invalid("Invalid node state: " + base::printable(value),
                   hint.empty() ? "DRAIN, RESUME or DOWN; for GPUs OFFLINE or ONLINE" : hint);
  }
  r.set_action(it->second);
  return {};
}

Status set_gpus(wire::UpdateNodeRequest& r, const std::string& value) {
  auto set = base::IndexSet::parse(value);
  if (!set || set->empty())
    return invalid("Gpu: \"" + base::printable(value, 60) + "\" is no list of GPU indices", "such as 3 or 0-3,7");
  for (uint32_t index : set->to_vector()) r.add_gpus(index);
  return {};
}

/// A state means the GPUs if some are named, and the node if not.
Status settle_node_action(wire::UpdateNodeRequest& r) {
  const bool gpus = r.gpus_size() != 0;
  if (r.action() == wire::kNodeNoAction) {
    if (!r.dead()) return invalid("No changes specified", "add State=DRAIN, RESUME or DOWN, or Foreign=END");
    r.set_action(wire::kNodeDown);
  }
  const bool about_gpus = r.action() == wire::kGpuOffline || r.action() == wire::kGpuOnline;
  if (gpus && r.action() == wire::kNodeResume)
    r.set_action(wire::kGpuOnline);
  else if (gpus && !about_gpus)
    return invalid("Gpu= goes with State=OFFLINE or State=ONLINE");
  else if (!gpus && about_gpus)
    return invalid("State=OFFLINE and State=ONLINE are for GPUs",
                   "name them: Gpu=3; for the node use DRAIN and RESUME");
  if (r.dead() && r.action() != wire::kNodeDown) return invalid("Dead=yes goes with State=DOWN");
  return {};
}

base::Result<wire::ApiRequest> node_update(const std::string& names_text, const Settings& settings) {
  using R = wire::UpdateNodeRequest;
  const std::vector<Key<R>> keys = {
      {"state", set_node_state},
      {"reason",
       [](R& r, const std::string& v) {
         r.set_reason(v);
         return Status{};
       }},
      {"gpu", set_gpus},
      {"gpus", set_gpus},
      {"foreign",
       [&settings](R& r, const std::string& v) -> Status {
         if (settings.size() > 1) return invalid("Foreign=END goes with no other change");
         if (!base::iequals(v, "end"))
           return invalid("Foreign: \"" + base::printable(v, 40) + "\" is not known", "Foreign=END ends those runs");
         r.set_action(wire::kEndForeign);
         return {};
       }},
      {"dead",
       [](R& r, const std::string& v) -> Status {
         GW_TRY(yes, yes_or_no("Dead", v));
         r.set_dead(yes);
         return {};
       }},
  };
  GW_TRY(names, base::expand_hostlist(names_text));
  wire::ApiRequest request;
  R& update = *request.mutable_update_node();
  update.mutable_names()->Assign(names.begin(), names.end());
  GW_TRY_STATUS(apply(keys, settings, update));
  GW_TRY_STATUS(settle_node_action(update));
  return request;
}

}  // namespace

base::Status update_by_row(const JobAttribute& a, wire::UpdateJobRequest& update, const std::string& value) {
  const wire::UpdateField& field = a.update.field;
  const std::string key(a.update.key);
  switch (a.kept.form) {
    case wire::Form::kText:
      field.set(update, value);
      return {};
    case wire::Form::kFlag: {
      GW_TRY(yes, yes_or_no(key, value));
      field.set(update, yes);
      return {};
    }
    case wire::Form::kNumber: {
      GW_TRY(number, base::parse_int(value, a.least, static_cast<int64_t>(a.most), key));
      field.set(update, number);
      return {};
    }
    case wire::Form::kLength:
    case wire::Form::kMoment:
      break;
  }
  GW_CHECK(!"times are read by hand: what zero and UNLIMITED mean differs");
}

std::string job_update_keys() {
  std::vector<std::string> keys;
  for (const JobAttribute& a : wire::kJobAttributes)
    if (a.update.who != wire::Updater::kNobody) keys.emplace_back(a.update.key);
  return base::join(keys, " ");
}

base::Result<Settings> parse_settings(Args words) {
  Settings settings;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      return invalid("\"" + base::printable(word, 60) + "\" is not KEY=VALUE");
    const std::string key = base::to_lower(std::string_view(word).substr(0, equals));
    if (!settings.emplace(key, word.substr(equals + 1)).second)
      return invalid("key " + base::printable(key, 60) + " stands twice");
  }
  return settings;
}

base::Result<wire::ApiRequest> update_request(Args words, base::Time now) {
  GW_TRY(settings, parse_settings(words));
  static constexpr std::pair<std::string_view, int> kSubjects[] = {
      {"jobid", 0}, {"job", 0}, {"nodename", 1}, {"node", 1}, {"reservationname", 3}, {"partitionname", 2}};
  for (const auto& [key, kind] : kSubjects) {
    const auto it = settings.find(std::string(key));
    if (it == settings.end()) continue;
    const std::string subject = it->second;
    settings.erase(it);
    if (subject.empty()) return invalid(std::string(key) + "= is empty");
    return kind == 0   ? job_update(subject, settings, now)
           : kind == 1 ? node_update(subject, settings)
           : kind == 2 ? partition_update(subject, settings)
                       : reservation_update(subject, settings, now);
  }
  if (const auto it = settings.find("reservation"); it != settings.end()) {  // a job has one, too
    const std::string subject = it->second;
    settings.erase(it);
    return reservation_update(subject, settings, now);
  }
  if (const auto it = settings.find("partition");
      it != settings.end()) {  // after the subjects: a job has a partition, too
    const std::string subject = it->second;
    settings.erase(it);
    return partition_update(subject, settings);
  }
  return invalid("No valid entity in update command",
                 "begin with JobId=, NodeName=, PartitionName= or ReservationName=");
}

base::Result<std::vector<std::string>> all_nodes(client::Connection& connection) {
  wire::ApiRequest request;
  request.mutable_list_nodes();
  GW_TRY(reply, connection.call(std::move(request)));
  std::vector<std::string> names;
  for (const wire::Node& node : reply.list_nodes().nodes()) names.push_back(node.name());
  if (names.empty()) return base::fail(base::ErrorCode::kNotFound, "the cluster has no nodes");
  return names;
}

base::Status name_all_nodes(client::Connection& connection, wire::ApiRequest& request) {
  const auto is_all = [](const std::string& text) { return base::iequals(text, "all"); };
  if (request.has_update_node()) {
    wire::UpdateNodeRequest& update = *request.mutable_update_node();
    if (update.names_size() != 1 || !is_all(update.names(0))) return {};
    GW_TRY(names, all_nodes(connection));
    update.mutable_names()->Assign(names.begin(), names.end());
  } else if (request.has_update_partition() && is_all(request.update_partition().nodes())) {
    GW_TRY(names, all_nodes(connection));
    request.mutable_update_partition()->set_nodes(base::compress_hostlist(names));
  } else if (request.has_create_partition()) {
    wire::Partition& partition = *request.mutable_create_partition()->mutable_partition();
    if (partition.nodes_size() != 1 || !is_all(partition.nodes(0))) return {};
    GW_TRY(names, all_nodes(connection));
    partition.mutable_nodes()->Assign(names.begin(), names.end());
  }
  return {};
}

namespace {

/// Whose jobs of what name an update is about that names no job, nor anything else: JobName=NAME, with UserId=USER
/// those of somebody else.
std::optional<JobFilters> jobs_by_name(const Settings& settings) {
  for (const char* key : {"jobid", "job", "nodename", "node", "reservationname", "partitionname"})
    if (settings.contains(key)) return std::nullopt;
  const auto name = settings.find("jobname");
  if (name == settings.end()) return std::nullopt;
  JobFilters filters;
  filters.names = {name->second};
  const auto user = settings.find("userid");
  filters.me = user == settings.end();
  if (!filters.me) filters.users = {user->second};
  return filters;
}

/// As Slurm says it.
std::string no_jobs(const JobFilters& filters) {
  const std::string name = fmt::format("name '{}'", base::printable(filters.names.front(), 60));
  if (filters.me) return "No jobs with " + name;
  const std::string& user = filters.users.front();
  const passwd* entry = ::getpwnam(user.c_str());
  return fmt::format("No jobs with user ID {} and {}", entry == nullptr ? user : std::to_string(entry->pw_uid), name);
}

/// The words, with the ids of these jobs in place of their name.
base::Result<std::vector<std::string>> words_by_ids(client::Connection& connection, Args words,
                                                    const JobFilters& filters) {
  wire::ApiRequest request;
  GW_TRY(filter, to_filter(filters));
  *request.mutable_list_jobs()->mutable_filter() = std::move(filter);
  GW_TRY(reply, connection.call(std::move(request)));
  std::vector<std::string> ids, out;
  for (const wire::Job& job : reply.list_jobs().jobs()) ids.push_back(std::to_string(job.id()));
  if (ids.empty())
    return tl::unexpected<base::Error>(
        {base::ErrorCode::kNotFound,
         "no job of the name " + base::printable(filters.names.front(), 60) + " waits or runs",
         "UserId=USER names another user's", no_jobs(filters)});
  out.push_back("JobId=" + base::join(ids, ","));
  for (const std::string& word : words) {
    const std::string key = base::to_lower(std::string_view(word).substr(0, word.find('=')));
    if (key != "jobname" && key != "userid") out.push_back(word);
  }
  return out;
}

}  // namespace

int control_update(const Program& program, const ControlOptions& o, Args words) {
  const auto settings = parse_settings(words);
  if (!settings) return failed(program, settings.error());
  const base::Time now = base::SystemClock().now();
  const auto by_name = jobs_by_name(*settings);
  auto request = by_name ? base::Result<wire::ApiRequest>(wire::ApiRequest()) : update_request(words, now);
  if (!request) return failed(program, request.error());
  auto connection = client::connect(program);
  if (!connection) return failed(program, connection.error());
  if (by_name) {
    const auto by_ids = words_by_ids(*connection, words, *by_name);
    if (!by_ids) return failed(program, by_ids.error());
    request = update_request(*by_ids, now);
    if (!request) return failed(program, request.error());
  }
  if (auto named = name_all_nodes(*connection, *request); !named) return failed(program, named.error());
  auto reply = connection->call(std::move(*request));
  return reply ? report_faults(program, reply->jobs().faults(), o.quiet) : failed(program, reply.error());
}

}  // namespace gw::cmds
