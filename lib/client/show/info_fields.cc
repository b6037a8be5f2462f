// The table of ginfo's fields and the grouping of nodes into lines.
#include "client/show/info_fields.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/hostlist.h"
#include "base/text.h"
#include "client/show/job_view.h"
#include "model/cluster.h"

namespace gw::client {
namespace {

using Row = InfoRow;
using Text = std::function<std::string(const Row&)>;
using Size = uint64_t (*)(const wire::Node&);

std::string num(uint64_t n) { return std::to_string(n); }

struct Entry {
  Field<Row> field;
  InfoKind kind;
};

/// A field of the partition; "N/A" where there is none.
Entry of_partition(char letter, std::string_view name, std::string_view header,
                   std::string (*text)(const wire::Partition&)) {
  return {
      {{letter, name, header}, [text](const Row& r) { return r.partition == nullptr ? "N/A" : text(*r.partition); }},
      InfoKind::kPartition};
}

/// A text of the node, taken from the first of the line.
Entry of_node(char letter, std::string_view name, std::string_view header, std::string (*text)(const wire::Node&)) {
  return {{{letter, name, header}, [text](const Row& r) { return r.nodes.empty() ? "n/a" : text(*r.nodes.front()); }},
          InfoKind::kKey};
}

/// A number of the node: the smallest of the line, with + if they differ.
Entry of_size(char letter, std::string_view name, std::string_view header, Size size) {
  const auto text = [size](const Row& r) -> std::string {
    if (r.nodes.empty()) return "0";
    uint64_t low = UINT64_MAX, high = 0;
    for (const wire::Node* n : r.nodes) low = std::min(low, size(*n)), high = std::max(high, size(*n));
    return num(low) + (low == high ? "" : "+");
  };
  return {{{letter, name, header}, text}, InfoKind::kSize};
}

Entry of_all(char letter, std::string_view name, std::string_view header, Text text) {
  return {{{letter, name, header}, std::move(text)}, InfoKind::kSum};
}

std::string node_names(const Row& r) {
  std::vector<std::string> names;
  for (const wire::Node* n : r.nodes) names.push_back(n->name());
  base::sort_hostlist(names);
  return base::compress_hostlist(names);
}

/// "A/I/O/T" or "A/I".
std::string node_counts(const Row& r, bool whole) {
  uint32_t c[3] = {};
  for (const wire::Node* n : r.nodes) ++c[static_cast<size_t>(node_use(*n))];
  const std::string two = num(c[0]) + "/" + num(c[1]);
  return whole ? two + "/" + num(c[2]) + "/" + num(r.nodes.size()) : two;
}

CpuCounts cpu_sum(const Row& r) {
  CpuCounts sum;
  for (const wire::Node* n : r.nodes) sum += cpu_counts(*n);
  return sum;
}

std::string cpu_text(const Row& r) {
  const CpuCounts c = cpu_sum(r);
  return num(c.allocated) + "/" + num(c.idle) + "/" + num(c.other) + "/" + num(c.total);
}

GpuCounts gpu_sum(const Row& r) {
  GpuCounts sum;
  for (const wire::Node* n : r.nodes) sum += gpu_counts(*n);
  return sum;
}

std::string limit_text(int64_t us) {
  return us <= 0 || us == base::kUnlimited.us ? "infinite" : base::format_duration({us}, true);
}

std::string partition_state(const wire::Partition& p) {
  if (p.state() > static_cast<uint32_t>(model::PartitionState::kInactive)) return "unknown";
  const auto state = static_cast<model::PartitionState>(p.state());
  return state == model::PartitionState::kInactive ? "inact" : base::to_lower(model::name(state));
}

std::string groups_text(const wire::Partition& p) {
  std::vector<std::string> names(p.allow_groups().begin(), p.allow_groups().end());
  return names.empty() ? "all" : base::join(names, ",");
}

std::string features_text(const wire::Node& n) {
  std::vector<std::string> names(n.features().begin(), n.features().end());
  return or_else(base::join(names, ","), "(null)");
}

std::string sct(const wire::Node& n) {
  const uint32_t per_socket = n.sockets() == 0 ? n.cores() : n.cores() / n.sockets();
  return num(n.sockets()) + ":" + num(per_socket) + ":" + num(n.threads_per_core());
}

uint64_t cores_per_socket(const wire::Node& n) { return n.sockets() == 0 ? n.cores() : n.cores() / n.sockets(); }

std::string version_of(const Row& r) {
  const std::string own = r.nodes.empty() ? std::string() : r.nodes.front()->version();
  const bool is_said = r.facts != nullptr && !r.facts->version.empty();
  return or_else(is_said && !own.empty() ? r.facts->version : own, "N/A");
}
/// The least and the most of the nodes that have said it: "0.02-12.31".
std::string range_text(const Row& r, std::optional<uint64_t> (*of)(const wire::Node&), std::string (*text)(uint64_t)) {
  std::optional<uint64_t> least, most;
  for (const wire::Node* n : r.nodes)
    if (const auto value = of(*n)) least = std::min(least.value_or(*value), *value), most = std::max(most, value);
  if (!least) return "N/A";
  return text(*least) + (least == most ? "" : "-" + text(*most));
}

std::string free_memory(const Row& r) {
  return range_text(
      r, [](const wire::Node& n) { return n.has_free_mem_mb() ? std::optional(n.free_mem_mb()) : std::nullopt; },
      [](uint64_t mb) { return std::to_string(mb); });
}

std::string load_of(const Row& r) {
  return range_text(
      r,
      [](const wire::Node& n) { return n.has_load_centi() ? std::optional<uint64_t>(n.load_centi()) : std::nullopt; },
      load_text);
}

/// Of a line's nodes, which all have the same.
std::string reservation_of(const Row& r) {
  if (r.facts == nullptr || r.nodes.empty()) return {};
  const auto it = r.facts->reservations.find(r.nodes.front()->name());
  return it == r.facts->reservations.end() ? std::string() : it->second;
}

std::string reason_of(const wire::Node& n) {
  std::string reason = n.reason();
  if (reason.empty() && n.state().ends_with('*')) reason = "Not responding";
  if (reason.empty()) reason = n.warning();
  return or_else(base::printable(reason, 1000), "none");
}

void add_partition_entries(std::vector<Entry>& t) {
  t.push_back(of_partition('P', "Partition", "PARTITION",
                           [](const wire::Partition& p) { return p.name() + (p.is_default() ? "*" : ""); }));
  t.push_back(of_partition('R', "PartitionName", "PARTITION", [](const wire::Partition& p) { return p.name(); }));
  t.push_back(of_partition('a', "Available", "AVAIL", partition_state));
  t.push_back(
      of_partition('l', "Time", "TIMELIMIT", [](const wire::Partition& p) { return limit_text(p.max_time_us()); }));
  t.push_back(of_partition('L', "DefaultTime", "DEFAULTTIME",
                           [](const wire::Partition& p) { return limit_text(p.default_time_us()); }));
  t.push_back(of_partition('s', "Size", "JOB_SIZE", [](const wire::Partition& p) {
    return p.max_nodes() == 0 ? std::string("1-infinite") : "1-" + num(p.max_nodes());
  }));
  t.push_back(of_partition('r', "Root", "ROOT", [](const wire::Partition&) { return std::string("no"); }));
  t.push_back(of_partition('h', "OverSubscribe", "OVERSUBS",
                           [](const wire::Partition& p) { return std::string(p.exclusive() ? "EXCLUSIV" : "NO"); }));
  t.push_back(of_partition('g', "Groups", "GROUPS", groups_text));
  t.push_back(of_partition('p', "PriorityTier", "PRIO_TIER",
                           [](const wire::Partition& p) { return std::to_string(p.tier()); }));
  t.push_back(of_partition('I', "PriorityJobFactor", "PRIO_JOB_FACTOR",
                           [](const wire::Partition&) { return std::string("1"); }));
  t.push_back(of_partition('B', "MaxCPUsPerNode", "MAX_CPUS_PER_NODE",
                           [](const wire::Partition&) { return std::string("UNLIMITED"); }));
  t.push_back(
      of_partition('M', "PreemptMode", "PREEMPT_MODE", [](const wire::Partition&) { return std::string("OFF"); }));
  t.push_back(of_partition('S', "AllocNodes", "ALLOCNODES", [](const wire::Partition&) { return std::string("all"); }));
}

void add_node_entries(std::vector<Entry>& t) {
  t.push_back(of_node('t', "StateCompact", "STATE", node_state_short));
  t.push_back(of_node('T', "StateLong", "STATE", node_state_long));
  t.push_back(
      of_node(0, "StateComplete", "STATE", [](const wire::Node& n) { return base::to_lower(node_state_flags(n)); }));
  t.push_back(of_node('n', "NodeHost", "HOSTNAMES", [](const wire::Node& n) { return n.name(); }));
  t.push_back(
      of_node('o', "NodeAddr", "NODE_ADDR", [](const wire::Node& n) { return or_else(n.peer_address(), n.name()); }));
  t.push_back(of_node('f', "Features", "AVAIL_FEATURES", features_text));
  t.push_back(of_node('b', "features_act", "ACTIVE_FEATURES", features_text));
  t.push_back({{{'i', "Reservation", "RESERVATION"}, reservation_of}, InfoKind::kKey});
  t.push_back(of_node(0, "Comment", "COMMENT", [](const wire::Node&) { return std::string("(null)"); }));
  t.push_back(of_node(0, "Extra", "EXTRA", [](const wire::Node&) { return std::string("(null)"); }));
  // Node daemons call the controller; nobody calls them.
  t.push_back(of_node(0, "Port", "PORT", [](const wire::Node&) { return std::string("0"); }));
  t.push_back(of_node('G', "Gres", "GRES", [](const wire::Node& n) { return or_else(n.gres(), "(null)"); }));
  t.push_back(of_node(0, "GresUsed", "GRES_USED", [](const wire::Node& n) { return or_else(gres_used(n), "(null)"); }));
  t.push_back(of_node('E', "Reason", "REASON", reason_of));
  t.push_back(of_node('H', "TimeStamp", "TIMESTAMP",
                      [](const wire::Node& n) { return show_time({n.reason_time_us()}, "Unknown"); }));
  t.push_back(of_node('u', "User", "USER", [](const wire::Node& n) { return or_else(n.reason_user(), "Unknown"); }));
  t.push_back(of_node('U', "UserLong", "USER", [](const wire::Node& n) {
    return n.reason_user().empty() ? std::string("Unknown") : n.reason_user() + "(" + num(n.reason_uid()) + ")";
  }));
  t.push_back({{{'v', "Version", "VERSION"}, version_of}, InfoKind::kKey});
  t.push_back(of_node(0, "Warning", "WARNING", [](const wire::Node& n) { return or_else(n.warning(), "none"); }));
  t.push_back(of_node('z', "SocketCoreThread", "S:C:T", sct));
}

void add_size_entries(std::vector<Entry>& t) {
  t.push_back(of_size('c', "CPUs", "CPUS", [](const wire::Node& n) { return uint64_t{cpu_counts(n).total}; }));
  t.push_back(of_size('m', "Memory", "MEMORY", [](const wire::Node& n) {
    return n.schedulable_mem_mb() != 0 ? n.schedulable_mem_mb() : n.total_mem_mb();
  }));
  // What changes all the time keeps no line apart.
  t.push_back({{{'e', "FreeMem", "FREE_MEM"}, free_memory}, InfoKind::kSum});
  t.push_back(of_size(0, "AllocMem", "ALLOCMEM", [](const wire::Node& n) { return uint64_t{n.alloc_mem_mb()}; }));
  t.push_back(of_size('d', "Disk", "TMP_DISK", [](const wire::Node& n) { return n.tmp_mb(); }));
  t.push_back(of_size('w', "Weight", "WEIGHT", [](const wire::Node& n) { return uint64_t{n.weight()}; }));
  t.push_back(of_size('X', "Sockets", "SOCKETS", [](const wire::Node& n) { return uint64_t{n.sockets()}; }));
  t.push_back(of_size('Y', "Cores", "CORES", cores_per_socket));
  t.push_back(of_size('Z', "Threads", "THREADS", [](const wire::Node& n) { return uint64_t{n.threads_per_core()}; }));
  t.push_back({{{'O', "CPUsLoad", "CPU_LOAD"}, load_of}, InfoKind::kSum});
}

void add_sum_entries(std::vector<Entry>& t) {
  t.push_back(of_all('D', "Nodes", "NODES", [](const Row& r) { return num(r.nodes.size()); }));
  t.push_back(of_all('N', "NodeList", "NODELIST", node_names));
  t.push_back(of_all('A', "NodeAI", "NODES(A/I)", [](const Row& r) { return node_counts(r, false); }));
  t.push_back(of_all('F', "NodeAIOT", "NODES(A/I/O/T)", [](const Row& r) { return node_counts(r, true); }));
  t.push_back(of_all('C', "CPUsState", "CPUS(A/I/O/T)", cpu_text));
  t.push_back(of_all('J', "GPUsState", "GPUS(F/U/O)", [](const Row& r) { return gpu_sum(r).text(); }));
  t.push_back(of_all(0, "GPUsFree", "GPUS_FREE", [](const Row& r) { return num(gpu_sum(r).free); }));
  t.push_back(of_all(0, "GPUsUsed", "GPUS_USED", [](const Row& r) { return num(gpu_sum(r).used); }));
  t.push_back(of_all(0, "GPUsOffline", "GPUS_OFFLINE", [](const Row& r) { return num(gpu_sum(r).offline); }));
  t.push_back(of_all('V', "Cluster", "CLUSTER",
                     [](const Row& r) { return r.facts == nullptr ? std::string("N/A") : r.facts->cluster; }));
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> table = [] {
    std::vector<Entry> t;
    add_partition_entries(t);
    add_node_entries(t);
    add_size_entries(t);
    add_sum_entries(t);
    return t;
  }();
  return table;
}

int state_rank(const wire::Node& n) {
  switch (node_use(n)) {
    case Use::kOther:
      return 0;
    case Use::kAllocated:
      return 1;
    case Use::kIdle:
      return 2;
  }
  return 3;
}

std::string key_of(const Format& format, const wire::Node& node, const InfoFacts* facts, bool by_node, bool exact) {
  if (by_node) return node.name();
  const InfoRow row{nullptr, {&node}, facts};
  std::string key;
  for (const Column& c : format.columns) {
    const InfoKind kind = info_kind(c.field);
    if (kind == InfoKind::kKey || (kind == InfoKind::kSize && exact)) key += info_fields()[c.field].text(row) + '\x1f';
  }
  return key;
}

void add_groups(std::vector<InfoRow>& rows, const Format& format, const wire::Partition* partition,
                std::vector<const wire::Node*> nodes, const InfoFacts* facts, bool by_node, bool exact) {
  std::stable_sort(nodes.begin(), nodes.end(), [&](const wire::Node* a, const wire::Node* b) {
    const int x = by_node ? 0 : state_rank(*a), y = by_node ? 0 : state_rank(*b);
    return x != y ? x < y : base::host_less(a->name(), b->name());
  });
  std::map<std::string, size_t> place;
  for (const wire::Node* node : nodes) {
    const auto [it, is_new] = place.emplace(key_of(format, *node, facts, by_node, exact), rows.size());
    if (is_new) rows.push_back({partition, {}, facts});
    rows[it->second].nodes.push_back(node);
  }
  if (nodes.empty() && partition != nullptr && !by_node) rows.push_back({partition, {}, facts});
}

}  // namespace

Tone node_tone(const wire::Node& node) {
  const std::string state = node_state_long(node);
  const auto says = [&state](std::string_view word) { return state.find(word) != std::string::npos; };
  if (says("*") || says("down") || says("unknown") || says("fail")) return Tone::kBad;
  if (says("drain") || says("maint") || says("reserved")) return Tone::kWaits;
  return says("idle") ? Tone::kGood : Tone::kBusy;
}

namespace {
/// Of nodes that look alike; none of a partition without nodes.
Tone state_tone(const InfoRow& row) { return row.nodes.empty() ? Tone::kPlain : node_tone(*row.nodes.front()); }
}  // namespace

const std::vector<Field<InfoRow>>& info_fields() {
  static const std::vector<Field<InfoRow>> table = [] {
    std::vector<Field<InfoRow>> t;
    for (const Entry& e : entries()) {
      t.push_back(e.field);
      if (e.field.id.name.starts_with("State")) t.back().tone = state_tone;
    }
    return t;
  }();
  return table;
}

InfoKind info_kind(size_t field) { return entries()[field].kind; }

std::vector<InfoRow> group_nodes(const Format& format,
                                 const google::protobuf::RepeatedPtrField<wire::Partition>& partitions,
                                 const std::vector<const wire::Node*>& nodes, bool by_node, bool exact,
                                 const InfoFacts* facts) {
  std::vector<InfoRow> rows;
  const bool shows_partition = std::any_of(format.columns.begin(), format.columns.end(),
                                           [](const Column& c) { return info_kind(c.field) == InfoKind::kPartition; });
  if (!shows_partition) {
    add_groups(rows, format, nullptr, nodes, facts, by_node, exact);
    return rows;
  }
  for (const wire::Partition& p : partitions) {
    std::vector<const wire::Node*> members;
    for (const wire::Node* n : nodes)
      if (std::find(n->partitions().begin(), n->partitions().end(), p.name()) != n->partitions().end())
        members.push_back(n);
    add_groups(rows, format, &p, std::move(members), facts, by_node, exact);
  }
  return rows;
}

}  // namespace gw::client
