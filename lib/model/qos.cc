// See qos.h.
#include "model/qos.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "base/name.h"
#include "base/text.h"
#include "model/request.h"

namespace gw::model {
namespace {

constexpr int64_t kMost = 1'000'000'000;
constexpr size_t kMaxLevels = 32;

base::Result<uint64_t> parse_gpus(std::string_view resource, std::string_view text) {
  const size_t dot = std::min(text.find('.'), text.size());
  GW_TRY(gpus, base::parse_int(text.substr(0, dot), 0, kMost, resource));
  const uint64_t milli = static_cast<uint64_t>(gpus) * kWholeGpu;
  if (dot == text.size()) return milli;
  std::string part(text.substr(dot + 1));
  if (part.empty() || part.size() > 3)
    return base::invalid(fmt::format("{}: at most three decimals", resource), "write 0.5 or 0.125");
  part.resize(3, '0');
  GW_TRY(thousandths, base::parse_int(part, 0, 999, resource));
  return milli + static_cast<uint64_t>(thousandths);
}

using ByName = std::map<std::string, const Qos*>;

ByName by_name(const std::vector<Qos>& tree) {
  ByName out;
  for (const Qos& q : tree) out.emplace(q.name, &q);
  return out;
}

const Qos* find(const ByName& index, const std::string& name) {
  const auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

QosFault fault_of(const Qos& qos, std::string what, std::string hint) {
  return {qos.name, base::Error{base::ErrorCode::kInvalid, std::move(what), std::move(hint)}};
}

std::optional<QosFault> check_parent(const ByName& index, const Qos& qos) {
  if (qos.parent.empty()) return std::nullopt;
  const Qos* at = find(index, qos.parent);
  if (at == nullptr) {
    std::vector<std::string> names;
    for (const auto& [name, q] : index)
      if (name != qos.name) names.push_back(name);
    return fault_of(qos, fmt::format("QOS {}: no QOS {} to be its parent", qos.name, base::printable(qos.parent)),
                    base::did_you_mean(qos.parent, names));
  }
  size_t levels = 1;
  for (; at != nullptr && at->name != qos.name && levels <= kMaxLevels; ++levels) at = find(index, at->parent);
  if (at == nullptr) return std::nullopt;
  if (at->name == qos.name) return fault_of(qos, fmt::format("QOS {} is below itself", qos.name), "break the circle");
  return fault_of(qos, fmt::format("QOS {} is more than {} levels below the root", qos.name, kMaxLevels), {});
}

using Children = std::map<std::string, std::vector<const Qos*>>;

std::optional<QosFault> check_sums(const std::vector<const Qos*>& children, const Amounts& has) {
  Amounts sums;
  for (const Qos* q : children)
    for (const auto& [resource, amount] : guarantees_of(*q)) sums[resource] += amount;
  for (const auto& [resource, sum] : sums) {
    const auto limit = has.find(resource);
    if (limit == has.end() || sum <= limit->second) continue;
    std::string parts;
    for (const Qos* q : children)
      if (const Amounts all = guarantees_of(*q); all.contains(resource))
        parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", q->name, format_amount(resource, all.at(resource)));
    const std::string& parent = children.front()->parent;
    return fault_of(*children.back(),
                    fmt::format("the guarantees below {} add up to {} {}, but it has {}: {}",
                                parent.empty() ? std::string(kRootQos) : "QOS " + parent, format_amount(resource, sum),
                                resource, format_amount(resource, limit->second), parts),
                    "lower one of them, or raise what is above");
  }
  return std::nullopt;
}

// Unlike base::format_memory_mb(), nothing is rounded: what is dumped is loaded again.
std::string exact_memory(uint64_t mb) {
  constexpr std::string_view kUnits = "MGT";
  size_t unit = 0;
  for (; mb != 0 && mb % 1024 == 0 && unit + 1 < kUnits.size(); ++unit) mb /= 1024;
  return fmt::format("{}{}", mb, kUnits[unit]);
}

}  // namespace

base::Result<std::string> parse_resource(std::string_view text) {
  static const std::vector<std::string> kKnown = {"gpu", "cpu", "mem", "node"};
  std::string name = base::to_lower(std::string(text));
  if (name.starts_with("gres/")) name.erase(0, 5);
  const bool is_type = name.starts_with("gpu:") && base::check_name(name.substr(4)).has_value();
  if (is_type || std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end()) return name;
  const std::string meant = base::did_you_mean(name, kKnown);
  return base::invalid(fmt::format("no resource \"{}\"", base::printable(std::string(text))),
                       meant.empty() ? "one of gpu, gpu:TYPE, cpu, mem, node" : meant);
}

base::Result<uint64_t> parse_amount(std::string_view resource, std::string_view text) {
  if (resource == "mem") return base::parse_memory_mb(text);
  if (resource.starts_with("gpu")) return parse_gpus(resource, text);
  GW_TRY(whole, base::parse_int(text, 0, kMost, resource));
  return static_cast<uint64_t>(whole);
}

std::string format_amount(std::string_view resource, uint64_t amount) {
  if (resource == "mem") return exact_memory(amount);
  if (!resource.starts_with("gpu")) return std::to_string(amount);
  std::string text = std::to_string(amount / kWholeGpu);
  if (amount % kWholeGpu != 0) {
    text += fmt::format(".{:03}", amount % kWholeGpu);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

std::string format_amounts(const Amounts& amounts) {
  std::string text;
  for (const auto& [resource, amount] : amounts)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", resource, format_amount(resource, amount));
  return text;
}

namespace {

struct BudgetUnit {
  std::string_view name;
  uint32_t seconds;
  std::string_view words;
};
/// The finest that divides an amount is written.
constexpr BudgetUnit kBudgetUnits[] = {
    {"gpuh", 3600, "GPU-hour"}, {"gpumin", 60, "GPU-minute"}, {"gpus", 1, "GPU-second"}};

base::Error not_a_budget(std::string_view text) {
  return {base::ErrorCode::kInvalid,
          fmt::format("\"{}\" is no budget of GPU-hours", base::printable(std::string(text), 60)),
          "such as 5000gpuh/month; units: gpuh, gpumin, gpus; a period: day, week, month, quarter, year, total; "
          "behind it :refuse or :borrow"};
}

/// "5000gpuh"
base::Result<uint64_t> parse_gpu_time(std::string_view text, std::string_view whole) {
  double amount = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), amount, std::chars_format::fixed);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  const auto* known = std::find_if(std::begin(kBudgetUnits), std::end(kBudgetUnits),
                                   [unit](const BudgetUnit& u) { return base::iequals(u.name, unit); });
  if (wrong != std::errc{} || !std::isfinite(amount) || known == std::end(kBudgetUnits))
    return tl::unexpected(not_a_budget(whole));
  const double seconds = std::round(amount * known->seconds);
  if (seconds < 1 || seconds > static_cast<double>(kMostGpuSeconds))
    return base::invalid(fmt::format("a budget of {} is out of range", base::printable(std::string(text), 60)),
                         "1gpus to 277777777gpuh; for no GPUs at all: limit=gpu:0");
  return static_cast<uint64_t>(seconds);
}

std::pair<std::string, const BudgetUnit*> in_its_unit(const GpuBudget& budget) {
  const auto* unit = kBudgetUnits;
  if (budget.gpu_seconds % 36 == 0) return {gpu_hours(static_cast<double>(budget.gpu_seconds)), unit};  // two decimals
  while (budget.gpu_seconds % unit->seconds != 0) ++unit;
  return {std::to_string(budget.gpu_seconds / unit->seconds), unit};
}

}  // namespace

base::Result<GpuBudget> parse_gpu_budget(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return tl::unexpected(not_a_budget(text));
  GpuBudget budget;
  GW_TRY(seconds, parse_gpu_time(text.substr(0, slash), text));
  budget.gpu_seconds = seconds;
  const std::string_view rest = text.substr(slash + 1);
  const size_t colon = std::min(rest.find(':'), rest.size());
  GW_TRY(period, base::parse_period(rest.substr(0, colon)));
  budget.period = period;
  const std::string_view then = colon == rest.size() ? "refuse" : rest.substr(colon + 1);
  budget.borrows = base::iequals(then, "borrow");
  if (!budget.borrows && !base::iequals(then, "refuse")) return tl::unexpected(not_a_budget(text));
  return budget;
}

std::string format_gpu_budget(const GpuBudget& budget) {
  const auto [amount, unit] = in_its_unit(budget);
  return fmt::format("{}{}/{}{}", amount, unit->name, base::name(budget.period), budget.borrows ? ":borrow" : "");
}

std::string words(const GpuBudget& budget) {
  const auto [amount, unit] = in_its_unit(budget);
  const std::string text = fmt::format("{} {}{}", amount, unit->words, amount == "1" ? "" : "s");
  return budget.period == base::Period::kNone ? text + " in all" : fmt::format("{} a {}", text, name(budget.period));
}

std::string gpu_hours(double gpu_seconds) {
  std::string text = fmt::format("{:.2f}", gpu_seconds / 3600);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

bool names_types_alone(const Qos& qos) {
  return !qos.guaranteed.contains("gpu") &&
         std::any_of(qos.guaranteed.begin(), qos.guaranteed.end(),
                     [](const auto& each) { return each.first.starts_with("gpu:"); });
}

Amounts guarantees_of(const Qos& qos) {
  Amounts out = qos.guaranteed;
  if (!names_types_alone(qos)) return out;
  uint64_t gpus = 0;
  for (const auto& [resource, amount] : qos.guaranteed)
    if (resource.starts_with("gpu:")) gpus += amount;
  out["gpu"] = gpus;
  return out;
}

namespace {
constexpr std::pair<Reclaim, std::string_view> kReclaims[] = {
    {Reclaim::kNone, "none"}, {Reclaim::kGuaranteed, "guaranteed"}, {Reclaim::kFairShare, "fair_share"}};
}  // namespace

std::string_view name(Reclaim reclaim) { return kReclaims[static_cast<size_t>(reclaim)].second; }

base::Result<Reclaim> parse_reclaim(std::string_view text) {
  std::vector<std::string> known;
  for (const auto& [reclaim, word] : kReclaims) {
    if (word == text) return reclaim;
    known.emplace_back(word);
  }
  return base::invalid(fmt::format("reclaim is none of {}", base::join(known, ", ")),
                       base::did_you_mean(std::string(text), known));
}

std::optional<QosFault> check_qos_tree(const std::vector<Qos>& tree) {
  std::set<std::string> seen;
  for (const Qos& q : tree) {
    if (q.name.empty() || q.name == kRootQos)
      return fault_of(q, fmt::format("the root of the QOS tree ({}) is implied", kRootQos), "choose another name");
    if (!seen.insert(q.name).second) return fault_of(q, fmt::format("QOS {} is there twice", q.name), {});
  }
  const ByName index = by_name(tree);
  for (const Qos& q : tree)
    if (auto fault = check_parent(index, q)) return fault;
  return std::nullopt;
}

const Qos* shortest_wall(const std::vector<Qos>& tree, const std::string& qos) {
  const auto named = [&tree](const std::string& name) {
    const auto it = std::find_if(tree.begin(), tree.end(), [&name](const Qos& q) { return q.name == name; });
    return it == tree.end() ? nullptr : &*it;
  };
  const Qos* shortest = nullptr;
  size_t levels = tree.size();  // there may be a loop
  for (const Qos* q = named(qos); q != nullptr && levels-- > 0; q = named(q->parent))
    if (q->max_wall.us > 0 && (shortest == nullptr || q->max_wall < shortest->max_wall)) shortest = q;
  return shortest;
}

std::optional<QosFault> check_guarantees(const std::vector<Qos>& tree, const Amounts& capacity) {
  const ByName index = by_name(tree);
  Children children;
  for (const Qos& q : tree) children[q.parent].push_back(&q);
  for (const auto& [name, list] : children) {
    const Qos* parent = find(index, name);
    Amounts has = parent == nullptr ? capacity : guarantees_of(*parent);
    // A resource that is named above has a line here, and `gpu` always has: 0 unless given.
    if (parent != nullptr) has.try_emplace("gpu", 0);
    for (const Qos* above = parent; above != nullptr; above = find(index, above->parent))
      for (const auto& [resource, amount] : above->guaranteed) has.try_emplace(resource, 0);
    if (auto fault = check_sums(list, has)) return fault;
  }
  return std::nullopt;
}

namespace {

/// Of the QOS or of one above it.
bool has_line(const ByName& index, const Qos& q, const std::string& resource) {
  for (const Qos* at = &q; at != nullptr; at = find(index, at->parent))
    if (at->guaranteed.contains(resource)) return true;
  return false;
}

bool is_below(const ByName& index, const Qos& q, const Qos& above) {
  for (const Qos* at = find(index, q.parent); at != nullptr; at = find(index, at->parent))
    if (at == &above) return true;
  return false;
}

bool has_gpus(const Qos& q) {
  const Amounts guaranteed = guarantees_of(q);
  const auto gpu = guaranteed.find("gpu");
  return gpu != guaranteed.end() && gpu->second > 0;
}

/// Jobs without GPUs that are covered by a guarantee of this resource keep what belongs to guaranteed GPUs of others.
/// One of those is named.
void doubt_beside_gpus(const std::vector<Qos>& tree, const ByName& index, const std::string& resource,
                       std::vector<QosFault>& out) {
  std::vector<const Qos*> with_gpus;
  for (const Qos& q : tree)
    if (has_gpus(q) && !has_line(index, q, resource)) with_gpus.push_back(&q);
  for (const Qos& q : tree) {
    const auto amount = q.guaranteed.find(resource);
    if (amount == q.guaranteed.end() || amount->second == 0 || has_gpus(q)) continue;
    // Whoever is below it has no GPUs either, and those above it are few.
    const auto other =
        std::find_if(with_gpus.begin(), with_gpus.end(), [&](const Qos* o) { return !is_below(index, q, *o); });
    if (other == with_gpus.end()) continue;
    const std::string& name = (*other)->name;
    out.push_back(fault_of(
        q,
        fmt::format("QOS {}: {}: {} may hold what belongs to the GPUs that QOS {} is guaranteed, which gets no {} back "
                    "from it: both hold only where nodes have so much beside those GPUs",
                    q.name, resource, format_amount(resource, amount->second), name, resource),
        fmt::format("guarantee {} to QOS {}, too, or keep QOS {} on nodes without GPUs", resource, name, q.name)));
  }
}

}  // namespace

std::vector<QosFault> doubtful_guarantees(const std::vector<Qos>& tree) {
  const ByName index = by_name(tree);
  const auto names_type = [](const Qos& q) {
    return std::any_of(q.guaranteed.begin(), q.guaranteed.end(),
                       [](const auto& g) { return g.first.starts_with("gpu:"); });
  };
  const bool has_types = std::any_of(tree.begin(), tree.end(), names_type);
  std::vector<QosFault> out;
  for (const Qos& q : tree) {
    if (q.guaranteed.empty()) continue;
    std::set<std::string> told;
    for (const Qos* above = find(index, q.parent); above != nullptr; above = find(index, above->parent))
      for (const auto& [resource, amount] : above->guaranteed)
        if (!guarantees_of(q).contains(resource) && told.insert(resource).second)
          out.push_back(
              fault_of(q,
                       fmt::format("QOS {} is guaranteed no {}, QOS {} above it is: a job of it that asks for "
                                   "{} is never within its guarantee",
                                   q.name, resource, above->name, resource),
                       fmt::format("give it a part, or take {} away from {}", resource, above->name)));
    if (const auto gpu = q.guaranteed.find("gpu");
        has_types && !names_type(q) && gpu != q.guaranteed.end() && gpu->second > 0)
      out.push_back(
          fault_of(q,
                   fmt::format("QOS {}: gpu: {} promises so many GPUs of whatever type, and none of a certain "
                               "one, while other QOS are guaranteed types",
                               q.name, format_amount("gpu", gpu->second)),
                   "name its types, too, if it needs certain ones: gpu:TYPE: N"));
  }
  for (const char* resource : {"cpu", "mem"}) doubt_beside_gpus(tree, index, resource, out);
  return out;
}

}  // namespace gw::model
