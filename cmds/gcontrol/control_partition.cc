// gcontrol create, update and delete of partitions.
#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"
#include "cmds/gcontrol/control_verbs.h"
#include "cmds/shared/update_keys.h"
#include "model/cluster.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Status;
using client::Program;
using Change = wire::UpdatePartitionRequest;
using Settings = std::map<std::string, std::string>;
using Text = std::string_view;

Status set_state(Change& r, const std::string& value) {
  using model::PartitionState;
  for (auto s : {PartitionState::kUp, PartitionState::kDown, PartitionState::kDrain, PartitionState::kInactive}) {
    if (!base::iequals(value, model::name(s))) continue;
    r.set_state(static_cast<uint32_t>(s));
    return {};
  }
  return invalid("Invalid partition state: " + base::printable(value), "UP, DOWN, DRAIN or INACTIVE");
}

Status set_nodes(Change& r, const std::string& value) {
  if (value.empty()) return invalid("Nodes: a partition needs nodes", "Nodes=LIST or Nodes=ALL");
  if (!base::iequals(value, "all")) GW_TRY_STATUS(base::expand_hostlist(value).map([](const auto&) {}));
  return r.set_nodes(value), Status{};
}

/// "ALL" and an empty value let everybody in.
base::Result<std::string> allowed(Text key, const std::string& value) {
  if (value.empty() || base::iequals(value, "all")) return std::string();
  for (const std::string& name : base::split(value, ','))
    if (base::trim(name).empty()) return invalid(fmt::format("{}: an empty name", key));
  return value;
}

/// An account is a second name of a QOS.
Status set_allow_qos(Change& r, const std::string& value) {
  if (r.has_allow_qos()) return invalid("AllowQos and AllowAccounts say the same", "give one of them");
  GW_TRY(names, allowed("AllowQos", value));
  return r.set_allow_qos(names), Status{};
}

Status set_max_nodes(Change& r, const std::string& value) {
  if (base::iequals(value, "unlimited")) return r.set_max_nodes(0), Status{};
  GW_TRY(n, base::parse_int(value, 0, 1'000'000, "MaxNodes"));
  return r.set_max_nodes(static_cast<uint32_t>(n)), Status{};
}

Status set_oversubscribe(Change& r, const std::string& value) {
  const bool is_exclusive = base::iequals(value, "exclusive");
  if (!is_exclusive && !base::iequals(value, "no"))
    return invalid("OverSubscribe: \"" + base::printable(value, 60) + "\" is neither EXCLUSIVE nor NO",
                   "jobs never share cores");
  return r.set_exclusive(is_exclusive), Status{};
}

Status set_default_for(Change& r, const std::string& value) {
  bool compute = false, aux = false;
  for (const std::string& word : base::split(value, ',')) {
    if (base::iequals(word, "compute"))
      compute = true;
    else if (base::iequals(word, "aux"))
      aux = true;
    else if (!base::iequals(word, "none") || value != word)
      return invalid("DefaultFor: \"" + base::printable(word, 60) + "\" is none of compute, aux, none");
  }
  r.set_default_for_compute(compute);
  r.set_default_for_aux(aux);
  return {};
}

Status set_qos(Change& r, const std::string& value) {
  return r.set_default_qos(base::iequals(value, "none") || value == "N/A" ? "" : value), Status{};
}

Status set_consolidate(Change& r, const std::string& value) {
  auto parsed = model::parse_consolidate(value);
  if (!parsed) return base::fail(parsed.error().code, "Consolidate: " + parsed.error().what);
  return r.set_consolidate(static_cast<uint32_t>(*parsed)), Status{};
}

Status set_fit(Change& r, const std::string& value) {
  const bool is_default = base::iequals(value, "default");
  auto parsed = is_default ? model::Fit::kDefault : model::parse_fit(base::to_lower(value));
  if (!parsed) return base::fail(parsed.error().code, "Fit: " + parsed.error().what, parsed.error().hint);
  return r.set_fit(static_cast<uint32_t>(*parsed)), Status{};
}

/// In seconds, as Slurm takes it, or with a unit.
Status set_grace(Change& r, const std::string& value) {
  const bool is_bare = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  auto parsed = base::parse_duration(is_bare ? value + "s" : value);
  if (!parsed) return base::fail(parsed.error().code, "GraceTime: " + parsed.error().what, parsed.error().hint);
  if (*parsed > base::hours(24)) return invalid("GraceTime: more than a day");
  return r.set_grace_us(parsed->us), Status{};
}

template <void (Change::*kSet)(int64_t)>
Status set_time(Text key, Change& r, const std::string& value) {
  GW_TRY(us, duration_us(std::string(key), value));
  return (r.*kSet)(us), Status{};
}

const std::vector<Key<Change>>& partition_keys() {
  static const std::vector<Key<Change>> kKeys = {
      {"nodes", set_nodes},
      {"state", set_state},
      {"maxtime", [](Change& r, const std::string& v) { return set_time<&Change::set_max_time_us>("MaxTime", r, v); }},
      {"defaulttime",
       [](Change& r, const std::string& v) { return set_time<&Change::set_default_time_us>("DefaultTime", r, v); }},
      {"prioritytier",
       [](Change& r, const std::string& v) -> Status {
         GW_TRY(tier, base::parse_int(v, 0, 65'535, "PriorityTier"));
         return r.set_tier(static_cast<int32_t>(tier)), Status{};
       }},
      {"default",
       [](Change& r, const std::string& v) -> Status {
         GW_TRY(yes, yes_or_no("Default", v));
         return r.set_is_default(yes), Status{};
       }},
      {"qos", set_qos},
      {"defaultqos", set_qos},
      {"maxnodes", set_max_nodes},
      {"allowqos", set_allow_qos},
      {"allowaccounts", set_allow_qos},
      {"allowusers",
       [](Change& r, const std::string& v) -> Status {
         GW_TRY(names, allowed("AllowUsers", v));
         return r.set_allow_users(names), Status{};
       }},
      {"allowgroups",
       [](Change& r, const std::string& v) -> Status {
         GW_TRY(names, allowed("AllowGroups", v));
         return r.set_allow_groups(names), Status{};
       }},
      {"oversubscribe", set_oversubscribe},
      {"defaultfor", set_default_for},
      {"consolidate", set_consolidate},
      {"fit", set_fit},
      {"gracetime", set_grace},
  };
  return kKeys;
}

/// "partition" may stand as a word of its own, as Slurm takes it.
Args without_kind(Args words) {
  const bool has_kind = !words.empty() && base::iequals(words.front(), "partition");
  return has_kind ? words.subspan(1) : words;
}

std::vector<std::string> names_in(const std::string& list) {
  return list.empty() ? std::vector<std::string>() : base::split(list, ',');
}

/// What is not said is as built in; without a time limit jobs may run without one.
model::Partition partition_of(const std::string& name, const Change& c, std::vector<std::string> nodes) {
  model::Partition p;
  p.name = name;
  p.nodes = std::move(nodes);
  if (c.has_state()) p.state = static_cast<model::PartitionState>(c.state());
  if (c.has_max_time_us()) p.max_time = {c.max_time_us()};
  p.default_time = c.has_default_time_us() ? base::Duration{c.default_time_us()} : p.max_time;
  p.unlimited = p.max_time == base::kUnlimited && p.default_time == base::kUnlimited;
  if (c.has_tier()) p.tier = c.tier();
  p.is_default = c.is_default();
  p.default_for_compute = c.default_for_compute();
  p.default_for_aux = c.default_for_aux();
  p.default_qos = c.default_qos();
  p.max_nodes = c.max_nodes();
  p.allow_qos = names_in(c.allow_qos());
  p.allow_users = names_in(c.allow_users());
  p.allow_groups = names_in(c.allow_groups());
  p.exclusive = c.exclusive();
  p.consolidate = static_cast<model::Consolidate>(c.consolidate());
  p.fit = static_cast<model::Fit>(c.fit());
  if (c.has_grace_us()) p.grace = base::Duration{c.grace_us()};
  return p;
}

/// The keys of a new partition that are said; the others are left to the cluster's defaults.
std::vector<const char*> keys_given(const Change& c) {
  std::vector<const char*> keys = {"nodes"};
  const auto add = [&keys](bool is_said, const char* key) {
    if (is_said) keys.push_back(key);
  };
  add(c.has_state(), "state");
  add(c.has_max_time_us(), "max_time");
  add(c.has_max_time_us() || c.has_default_time_us(), "default_time");
  add(c.has_tier(), "tier");
  add(c.has_is_default(), "default");
  add(c.has_default_for_compute() || c.has_default_for_aux(), "default_for");
  add(c.has_default_qos(), "default_qos");
  add(c.has_max_nodes(), "max_nodes");
  add(c.has_allow_qos(), "allow_qos");
  add(c.has_allow_users(), "allow_users");
  add(c.has_allow_groups(), "allow_groups");
  add(c.has_exclusive(), "exclusive");
  add(c.has_consolidate(), "consolidate");
  add(c.has_fit(), "fit");
  add(c.has_grace_us(), "grace");
  return keys;
}

/// Takes the name of the partition out of the settings.
std::string take_name(Settings& settings) {
  for (const char* key : {"partitionname", "partition", "name"}) {
    const auto it = settings.find(key);
    if (it == settings.end()) continue;
    std::string name = it->second;
    settings.erase(it);
    return name;
  }
  return {};
}

}  // namespace

bool is_about_partition(Args words) {
  bool has_partition = false;
  for (const std::string& word : words) {
    const std::string key = base::to_lower(word.substr(0, word.find('=')));
    for (Text other : {"reservation", "reservationname", "starttime", "endtime", "duration", "nodecnt"})
      if (key == other) return false;
    has_partition |= key == "partition" || key == "partitionname";
  }
  return has_partition;
}

base::Result<wire::ApiRequest> partition_update(const std::string& name, const Settings& settings) {
  wire::ApiRequest request;
  request.mutable_update_partition()->set_name(name);
  GW_TRY_STATUS(apply(partition_keys(), settings, *request.mutable_update_partition()));
  return request;
}

base::Result<wire::ApiRequest> partition_creation(Args words) {
  GW_TRY(settings, parse_settings(without_kind(words)));
  const std::string name = take_name(settings);
  if (name.empty()) return invalid("a partition needs a name", "PartitionName=NAME");
  if (!settings.contains("nodes")) return invalid("a partition needs nodes", "Nodes=LIST or Nodes=ALL");
  Change change;
  GW_TRY_STATUS(apply(partition_keys(), settings, change));
  std::vector<std::string> nodes = {"ALL"};
  if (!base::iequals(change.nodes(), "all")) {
    GW_TRY(names, base::expand_hostlist(change.nodes()));
    nodes = std::move(names);
  }
  wire::ApiRequest request;
  wire::Partition& made = *request.mutable_create_partition()->mutable_partition();
  made = wire::to_wire(partition_of(name, change, std::move(nodes)));
  for (const char* key : keys_given(change)) made.add_origins()->set_key(key);
  return request;
}

int create_partition(const Program& program, const ControlOptions& o, Args words) {
  auto request = partition_creation(words);
  if (!request) return failed(program, request.error());
  auto connection = client::connect(program);
  if (!connection) return failed(program, connection.error());
  if (auto named = name_all_nodes(*connection, *request); !named) return failed(program, named.error());
  const std::string name = request->create_partition().partition().name();
  auto reply = connection->call(std::move(*request));
  if (!reply) return failed(program, reply.error());
  return o.quiet ? client::kExitOk : printed("Partition created: " + name + "\n");
}

int delete_partition(const Program& program, const ControlOptions&, Args words) {
  words = without_kind(words);
  std::string name;
  if (words.size() == 1) name = words.front().substr(words.front().find('=') + 1);
  if (name.empty())
    return failed(program, {base::ErrorCode::kInvalid, "delete: expected one partition",
                            "such as: " + program.name + " delete PartitionName=NAME"});
  wire::ApiRequest request;
  request.mutable_delete_partition()->set_name(name);
  auto reply = ask(program, std::move(request));
  return reply ? client::kExitOk : failed(program, reply.error());
}

}  // namespace gw::cmds
