// See acct_options.h.
#include "cmds/gacct/acct_options.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "client/show/job_view.h"
#include "cmds/shared/commands.h"
#include "cmds/shared/job_filter.h"
#include "cmds/shared/job_ids.h"
#include "cmds/shared/past_time.h"
#include "wire/bounds.h"

namespace gw::cmds {
namespace {

using base::Status;
using base::Time;
using client::Arg;
using Text = std::string_view;

/// A state that Slurm has and no job here is in.
constexpr uint32_t kNoState = UINT32_MAX;

base::Result<uint32_t> parse_state(const std::string& text) {
  static constexpr Text kElsewhere[] = {"RQ", "REQUEUED",  "RS", "RESIZING",  "RV", "REVOKED",
                                        "BF", "BOOT_FAIL", "SI", "SIGNALING", "SO", "STAGE_OUT"};
  for (const Text name : kElsewhere)
    if (base::iequals(text, name)) return kNoState;
  GW_TRY(state, model::parse_job_state(text));
  return static_cast<uint32_t>(state);
}

client::Handler range(NumberRange& to, const char* name) {
  return [&to, name](Text value) -> Status {
    const size_t dash = value.find('-');
    GW_TRY(least, base::parse_int(value.substr(0, dash), 0, INT32_MAX, name));
    to = {true, least, least};
    if (dash == Text::npos) return {};
    GW_TRY(most, base::parse_int(value.substr(dash + 1), least, INT32_MAX, name));
    to.most = most;
    return {};
  };
}

client::Handler minutes(int64_t& to, NumberRange& of, const char* name) {
  return [&to, &of, name](Text value) -> Status {
    GW_TRY(limit, base::parse_duration(value));
    if (limit == base::kUnlimited) return base::invalid(std::string(name) + ": a bound is a time");
    to = limit.us / 60'000'000;
    of.is_given = true;
    return {};
  };
}

client::Handler unit(char& to) {
  return [&to](Text value) -> Status {
    constexpr Text kUnits = "KMGTP";
    const char letter = value.size() == 1 ? static_cast<char>(value.front() & ~0x20) : '\0';
    if (letter == '\0' || kUnits.find(letter) == Text::npos)
      return base::invalid("--units: \"" + base::printable(value, 20) + "\" is no unit", "K, M, G, T or P");
    to = letter;
    return {};
  };
}

void add_filters(std::vector<client::Option>& t, RecordOptions& o) {
  const auto list = [&t](Text name, char letter, Text value, Text help, std::vector<std::string>& to, Text written) {
    t.push_back({name, letter, Arg::kRequired, value, help, {}, client::kPlain, lists(to, written)});
  };
  t.push_back({"jobs",
               'j',
               Arg::kRequired,
               "JOBS",
               "these jobs or steps: 7, 7.0, 7.batch, 5-9",
               {},
               client::kPlain,
               [&o](Text v) {
                 for (const std::string& part : base::split(std::string(v), ',')) {
                   StepChoice one;
                   if (part.find('+') != std::string::npos && parse_step_ids(part, one))
                     o.alone.insert(one.jobs.begin(), one.jobs.end());
                 }
                 return parse_step_ids(v, o.ids);
               }});
  list("user", 'u', "USERS", "jobs of these users (names or numbers)", o.users, "-u/--user");
  list("uid", 0, {}, {}, o.users, "--uid");
  t.back().flags = client::kHidden;
  t.push_back({"allusers", 'a', Arg::kNone, {}, "jobs of all users", {}, client::kPlain, sets(o.all_users)});
  list("accounts", 'A', "NAMES", "jobs of these accounts", o.accounts, "-A/--accounts");
  list("partition", 'r', "NAMES", "jobs in these partitions", o.partitions, "-r/--partition");
  list("qos", 'q', "NAMES", "jobs of these QOS", o.qos, "-q/--qos");
  list("name", 0, "NAMES", "jobs of these names", o.names, "--name");
  list("group", 'g', "GROUPS", "jobs of users of these groups", o.groups, "-g/--group");
  list("gid", 0, {}, {}, o.groups, "--gid");
  t.back().flags = client::kHidden;
  list("wckeys", 'W', "NAMES", "jobs with these wckeys", o.wckeys, "-W/--wckeys");
  list("reason", 'R', "REASONS", "jobs with these reasons", o.reasons, "-R/--reason");
  list("constraints", 'C', "FEATURES", "jobs that ask for one of these features", o.constraints, "-C/--constraints");
  list("flags", 'F', {}, {}, o.flags, "-F/--flags");
  t.back().flags = client::kHidden;
  t.push_back(
      {"nodelist", 'N', Arg::kRequired, "NODES", "jobs on these nodes", {}, client::kPlain, host_lists(o.nodes)});
}

void add_bounds(std::vector<client::Option>& t, RecordOptions& o) {
  t.push_back({"state",
               's',
               Arg::kRequired,
               "STATES",
               "jobs that were in these states then (names or letters)",
               {},
               client::kPlain,
               lists(o.states, "-s/--state")});
  t.push_back({"starttime",
               'S',
               Arg::kRequired,
               "TIME",
               "jobs that had not ended before; without it since midnight; with job ids those of any time, with states "
               "those of now",
               {},
               client::kPlain,
               keeps(o.since)});
  t.push_back({"endtime",
               'E',
               Arg::kRequired,
               "TIME",
               "jobs that were submitted before; without it now",
               {},
               client::kPlain,
               keeps(o.until)});
  t.push_back({"nnodes",
               'i',
               Arg::kRequired,
               "N[-M]",
               "jobs with so many nodes",
               {},
               client::kPlain,
               range(o.node_counts, "-i/--nnodes")});
  t.push_back({"ncpus",
               'I',
               Arg::kRequired,
               "N[-M]",
               "jobs with so many CPUs",
               {},
               client::kPlain,
               range(o.cpu_counts, "-I/--ncpus")});
  t.push_back({"timelimit-min",
               'k',
               Arg::kRequired,
               "TIME",
               "jobs with at least this time limit",
               {},
               client::kPlain,
               minutes(o.limits.least, o.limits, "-k/--timelimit-min")});
  t.push_back({"timelimit-max",
               'K',
               Arg::kRequired,
               "TIME",
               "jobs with at most this time limit",
               {},
               client::kPlain,
               minutes(o.limits.most, o.limits, "-K/--timelimit-max")});
}

void add_output(std::vector<client::Option>& t, RecordOptions& o) {
  const auto flag = [&t](Text name, char letter, Text help, bool& to) {
    t.push_back({name, letter, Arg::kNone, {}, help, {}, client::kPlain, sets(to)});
  };
  const auto hidden = [&t](Text name, char letter, Arg arg, client::Handler handler) {
    t.push_back({name, letter, arg, {}, {}, {}, client::kHidden, std::move(handler)});
  };
  flag("allocations", 'X', "jobs alone, without scripts and steps", o.jobs_alone);
  flag("duplicates", 'D', "also runs before the last, of jobs that were requeued", o.all_runs);
  t.push_back({"format", 'o', Arg::kRequired, "FIELDS", "these fields: JobID,Elapsed,MaxRSS%12", "FORMAT",
               client::kPlain, keeps(o.format)});
  hidden("fields", 0, Arg::kRequired, keeps(o.format));
  t.push_back({"brief", 'b', Arg::kNone, {}, "job, state and exit code", {}, client::kPlain, [&o](Text) -> Status {
                 o.format = client::kBriefRecordFormat;
                 return {};
               }});
  t.push_back({"long", 'l', Arg::kNone, {}, "all that was measured", {}, client::kPlain, [&o](Text) -> Status {
                 o.format = client::kLongRecordFormat;
                 return {};
               }});
  flag("noheader", 'n', "no header", o.table.no_header);
  flag("parsable", 'p', "fields end with |", o.with_bars_behind);
  flag("parsable2", 'P', "fields separated by |", o.with_bars);
  t.push_back(
      {"delimiter", 0, Arg::kRequired, "TEXT", "this in place of |", {}, client::kPlain, keeps(o.table.delimiter)});
  t.push_back({"units", 0, Arg::kRequired, "UNIT", "memory in K, M, G, T or P", {}, client::kPlain, unit(o.unit)});
  t.push_back({"noconvert", 0, Arg::kNone, {}, "memory in bytes", {}, client::kPlain, [&o](Text) -> Status {
                 o.unit = 'B';
                 return {};
               }});
  flag("truncate", 'T', "times within those of -S and -E", o.is_cut);
  t.push_back({"json", 0, Arg::kOptional, {}, "JSON with a schema_version", {}, client::kPlain, sets(o.json)});
  flag("helpformat", 'e', "print the names of all fields", o.help_format);
  flag("batch-script", 'B', "print the batch script of the job", o.script);
  flag("env-vars", 0, "print the environment that the job was submitted with", o.environment);
  flag("verbose", 'v', "say more", o.ignored);
  hidden("completion", 'c', Arg::kNone, sets(o.ignored));  // there is one place where records are
  for (const Text name : {"local", "federation", "use-local-uid", "array"})
    hidden(name, name == "local" ? 'L' : '\0', Arg::kNone, sets(o.ignored));
  t.push_back({"whole-hetjob",
               0,
               Arg::kOptional,
               "yes|no",
               "of a job with components that -j names: all of them (yes)",
               {},
               client::kPlain,
               [&o](Text v) -> Status {
                 if (!v.empty() && !base::iequals(v, "yes") && !base::iequals(v, "no"))
                   return base::invalid("--whole-hetjob: \"" + base::printable(v, 40) + "\" is neither yes nor no");
                 o.ignores_components = base::iequals(v, "no");
                 return {};
               }});
  add_cluster_option(t);
  hidden("associations", 'x', Arg::kRequired, [](Text) -> Status { return {}; });
}

constexpr client::Unsupported kUnsupported[] = {{"yaml", 0, Arg::kOptional}, {"file", 'f'}};

Status add_users(const RecordOptions& o, wire::RecordFilter& filter) {
  for (const std::string& user : o.users) {
    if (user.find_first_not_of("0123456789") != std::string::npos) {
      filter.add_users(user);
      continue;
    }
    GW_TRY(uid, base::parse_int(user, 0, UINT32_MAX, "-u/--user"));
    filter.add_uids(static_cast<uint32_t>(uid));
    if (const passwd* entry = ::getpwuid(static_cast<uid_t>(uid))) filter.add_users(entry->pw_name);
  }
  const bool is_limited = o.all_users || !o.users.empty() || !o.ids.empty() || !o.nodes.empty() || ::getuid() == 0;
  if (is_limited) return {};
  filter.add_uids(::getuid());
  if (const passwd* entry = ::getpwuid(::getuid())) filter.add_users(entry->pw_name);
  return {};
}

Status add_times(const RecordOptions& o, Time now, wire::RecordFilter& filter) {
  const Time usual = !o.ids.empty() ? Time{} : o.states.empty() ? midnight_before(now) : now;
  GW_TRY(since, o.since.empty() ? base::Result<Time>(usual) : parse_past(o.since, now));
  filter.set_since_us(since.us);
  if (o.until.empty()) return {};
  GW_TRY(until, parse_past_end(o.until, now));
  if (until < since)
    return base::invalid("-E/--endtime " + base::printable(o.until, 40) + " is before -S/--starttime",
                         "without -S, records begin at midnight");
  filter.set_until_us(until.us);
  return {};
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return list.empty() ||
         std::any_of(list.begin(), list.end(), [&](const auto& one) { return base::iequals(one, text); });
}

/// Does it ask for one of these features, in whatever combination?
bool asks_for(const std::vector<std::string>& features, const wire::JobSpec& spec) {
  if (features.empty()) return true;
  for (const wire::FeatureSet& set : spec.request().features())
    for (const std::string& feature : set.all())
      if (contains(features, feature)) return true;
  return false;
}

/// How its start was decided: as the field Flags has it.
bool has_flag(const std::vector<std::string>& flags, const client::RecordRow& row) {
  return flags.empty() || (row.started && contains(flags, "SchedBackfill"));
}

bool is_of_group(const RecordOptions& o, uint32_t gid) {
  const auto is_it = [gid](const std::string& name) {
    if (name == std::to_string(gid)) return true;
    const group* entry = ::getgrnam(name.c_str());
    return entry != nullptr && entry->gr_gid == gid;
  };
  return o.groups.empty() || std::any_of(o.groups.begin(), o.groups.end(), is_it);
}

}  // namespace

std::vector<client::Option> record_options(RecordOptions& o, client::CommonFlags& flags) {
  std::vector<client::Option> t;
  add_filters(t, o);
  add_bounds(t, o);
  add_output(t, o);
  client::add_common_options(t, flags);
  client::add_unsupported(t, kUnsupported);
  return t;
}

base::Result<wire::ListRecordsRequest> records_request(const RecordOptions& o, Time now) {
  wire::ListRecordsRequest request;
  wire::RecordFilter& filter = *request.mutable_filter();
  JobIds ids{o.ids.jobs, o.ids.tasks};
  for (const StepId& step : o.ids.steps)
    GW_TRY_STATUS(parse_job_ids(step.text().substr(0, step.text().find('.')), ids));
  ids.put(*filter.mutable_ids(), *filter.mutable_tasks());
  GW_TRY_STATUS(add_users(o, filter));
  GW_TRY_STATUS(add_times(o, now, filter));
  const auto put = [](const std::vector<std::string>& from, auto* to) { to->Assign(from.begin(), from.end()); };
  put(o.accounts, filter.mutable_accounts());
  put(o.partitions, filter.mutable_partitions());
  put(o.qos, filter.mutable_qos());
  put(o.names, filter.mutable_names());
  put(o.nodes, filter.mutable_nodes());
  for (const std::string& text : o.states) {
    GW_TRY(state, parse_state(text));
    filter.add_states(state);
  }
  request.set_jobs_alone(o.jobs_alone);
  request.set_all_runs(o.all_runs);
  return request;
}

bool hides_named(const wire::RecordFilter& filter) {
  wire::RecordFilter others = filter;
  others.clear_ids();
  others.clear_tasks();
  return others.ByteSizeLong() > 0;
}

std::vector<uint32_t> ids_of_components(const RecordOptions& o, const wire::ListRecordsReply& found) {
  constexpr uint32_t kMostComponents = 128;
  const std::set<uint32_t> asked(o.ids.jobs.begin(), o.ids.jobs.end());
  std::set<uint32_t> more;
  for (const wire::JobRecord& record : found.records()) {
    const uint32_t id = record.id();
    if (record.spec().het_job() != id || !asked.contains(id) || o.alone.contains(id)) continue;
    for (uint32_t k = 1; k < kMostComponents && more.size() < wire::kMostJobIds; ++k)
      if (!asked.contains(id + k)) more.insert(id + k);
  }
  return {more.begin(), more.end()};
}

void take_components(const RecordOptions& o, wire::ListRecordsReply found, wire::ListRecordsReply& to) {
  const std::set<uint32_t> asked(o.ids.jobs.begin(), o.ids.jobs.end());
  std::map<uint32_t, std::vector<wire::JobRecord*>> of;
  for (wire::JobRecord& record : *found.mutable_records())
    if (asked.contains(record.spec().het_job())) of[record.spec().het_job()].push_back(&record);
  wire::ListRecordsReply all;
  const auto take = [&all](const std::vector<wire::JobRecord*>& components) {
    for (wire::JobRecord* component : components) *all.add_records() = std::move(*component);
  };
  for (wire::JobRecord& record : *to.mutable_records()) {
    auto components = of.extract(record.id());
    *all.add_records() = std::move(record);
    if (components) take(components.mapped());
  }
  for (const auto& [job, components] : of) take(components);  // the first is hidden by a filter
  to.mutable_records()->Swap(all.mutable_records());
}

bool is_wanted(const RecordOptions& o, const client::RecordRow& row) {
  const wire::JobSpec& spec = row.job->spec();
  const base::Duration limit = client::time_limit(*row.job);
  return is_of_group(o, spec.gid()) && contains(o.wckeys, spec.wckey()) &&
         contains(o.reasons, client::reason_word(*row.job)) && asks_for(o.constraints, spec) &&
         has_flag(o.flags, row) && o.node_counts.has(row.size.nodes) && o.cpu_counts.has(row.size.cpus) &&
         o.limits.has(limit == base::kUnlimited ? INT64_MAX : limit.us / 60'000'000);
}

}  // namespace gw::cmds
