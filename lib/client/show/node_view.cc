// States and counts of nodes.
#include "client/show/node_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/bitset.h"
#include "base/text.h"
#include "model/named_counts.h"

namespace gw::client {
namespace {

/// "MIXED+DRAIN*" taken apart.
struct Parts {
  std::string base;
  bool drain = false;
  bool maintenance = false;
  bool reserved = false;
  bool silent = false;
};

Parts parts_of(const wire::Node& node) {
  Parts p;
  std::string state = node.state();
  p.silent = !state.empty() && state.back() == '*';
  if (p.silent) state.pop_back();
  std::vector<std::string> words = base::split(state, '+');
  if (!words.empty()) p.base = words.front();
  const auto has = [&words](const char* flag) { return std::find(words.begin(), words.end(), flag) != words.end(); };
  p.drain = has("DRAIN");
  p.maintenance = has("MAINTENANCE");
  p.reserved = has("RESERVED");
  return p;
}

bool is_busy(const std::string& base) { return base == "MIXED" || base == "ALLOCATED" || base == "COMPLETING"; }

std::string worded(const wire::Node& node, const char* drained, const char* draining,
                   const std::map<std::string, std::string>& words) {
  const Parts p = parts_of(node);
  std::string text;
  if (p.maintenance && p.base != "DOWN")
    text = "maint";
  else if (p.drain)
    text = is_busy(p.base) ? draining : drained;
  else if (p.reserved && p.base == "IDLE")
    text = words.empty() ? "reserved" : "resv";
  else if (const auto it = words.find(p.base); it != words.end())
    text = it->second;
  else
    text = p.base.empty() ? "unknown" : base::to_lower(p.base);
  return text + (p.silent ? "*" : "");
}

std::string without_star(std::string text) {
  if (!text.empty() && text.back() == '*') text.pop_back();
  return text;
}

uint32_t count(const std::string& list) {
  auto set = base::IndexSet::parse(list);
  return set ? set->size() : 0;
}

}  // namespace

std::string node_state_long(const wire::Node& node) { return worded(node, "drained", "draining", {}); }

std::string node_state_short(const wire::Node& node) {
  return worded(node, "drain", "drng",
                {{"MIXED", "mix"}, {"ALLOCATED", "alloc"}, {"COMPLETING", "comp"}, {"UNKNOWN", "unk"}});
}

std::string node_state_flags(const wire::Node& node) {
  std::string state = node.state().empty() ? "UNKNOWN" : node.state();
  if (state.back() == '*') state = state.substr(0, state.size() - 1) + "+NOT_RESPONDING";
  return state;
}

bool node_state_is(const wire::Node& node, const std::string& word) {
  const std::string wanted = without_star(base::to_lower(word));
  const Parts p = parts_of(node);
  if (wanted == "all") return true;
  if (wanted == "drain") return p.drain;
  if (wanted == "no_respond") return p.silent;
  return wanted == without_star(node_state_long(node)) || wanted == without_star(node_state_short(node));
}

Use node_use(const wire::Node& node) {
  const Parts p = parts_of(node);
  if (is_busy(p.base)) return Use::kAllocated;
  return p.base == "IDLE" && !p.drain && !p.silent ? Use::kIdle : Use::kOther;
}

GpuCounts& GpuCounts::operator+=(const GpuCounts& o) {
  free += o.free;
  used += o.used;
  offline += o.offline;
  return *this;
}

std::string GpuCounts::text() const {
  return std::to_string(free) + "/" + std::to_string(used) + "/" + std::to_string(offline);
}

uint32_t total_gpus(const wire::Node& node) { return node.total_gpus(); }

std::string gres_used(const wire::Node& node) {
  std::vector<std::string> out;
  if (node.total_gpus() != 0)
    out.push_back("gpu:" + std::to_string(gpu_counts(node).used) +
                  "(IDX:" + (node.alloc_gpus().empty() ? "N/A" : node.alloc_gpus()) + ")");
  const auto used = model::parse_gres(node.alloc_gres());
  model::Gres rest = used.value_or(model::Gres());
  std::vector<std::string> names;
  for (const std::string& part : base::split(node.gres(), ','))
    if (!part.empty() && !part.starts_with("gpu:")) names.push_back(part.substr(0, part.rfind(':')));
  // Those with a type first: what is in use of a kind beside them is of no type.
  const auto is_typed = [](const std::string& name) { return name.find(':') != std::string::npos; };
  std::stable_partition(names.begin(), names.end(), is_typed);
  for (const std::string& name : names) {
    model::Gres own;
    own.add(name, rest.count(name));
    out.push_back(own.empty() ? name + ":0" : model::format_gres(own));
    if (is_typed(name)) own.add(name.substr(0, name.find(':')), rest.count(name));
    rest.take(own);
  }
  // Of a kind without a type, where the node says the types.
  if (const std::string more = model::format_gres(rest); !more.empty()) out.push_back(more);
  return base::join(out, ",");
}

GpuCounts gpu_counts(const wire::Node& node) {
  GpuCounts c;
  const uint32_t total = total_gpus(node);
  auto used = base::IndexSet::parse(node.alloc_gpus());
  c.used = std::min(used ? used->size() : 0, total);
  for (const auto& [index, reason] : node.offline_gpus())
    if (index < total && !(used && used->contains(index))) ++c.offline;
  c.free = total - c.used - std::min(c.offline, total - c.used);
  const Parts p = parts_of(node);
  const bool takes_jobs = !p.drain && !p.silent && p.base != "DOWN" && p.base != "UNKNOWN";
  if (!takes_jobs) c.offline += c.free, c.free = 0;
  return c;
}

CpuCounts& CpuCounts::operator+=(const CpuCounts& o) {
  allocated += o.allocated;
  idle += o.idle;
  other += o.other;
  total += o.total;
  return *this;
}

std::string load_text(uint64_t centi) { return fmt::format("{}.{:02}", centi / 100, centi % 100); }

CpuCounts cpu_counts(const wire::Node& node) {
  CpuCounts c;
  c.total = node.schedulable_cpus() != 0 ? node.schedulable_cpus() : node.total_cpus();
  c.allocated = std::min(node.alloc_cpus() != 0 ? node.alloc_cpus() : count(node.alloc_cores()), c.total);
  const uint32_t rest = c.total - c.allocated;
  const Parts p = parts_of(node);
  (p.drain || p.silent || p.base == "DOWN" || p.base == "UNKNOWN" ? c.other : c.idle) = rest;
  return c;
}

}  // namespace gw::client
