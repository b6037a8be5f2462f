// See lending.h. A sweep over the moments at which something changed.
#include "sched/quota/lending.h"

#include <fmt/format.h>

#include <algorithm>

namespace gw::sched {
namespace {

/// In thousandths of a GPU.
uint64_t guaranteed_gpus(const model::Qos& qos) {
  uint64_t of_types = 0;
  for (const auto& [resource, amount] : qos.guaranteed) {
    if (resource == "gpu") return amount;
    if (resource.starts_with("gpu:")) of_types += amount;
  }
  return of_types;
}

}  // namespace

Lending::Lending(const std::vector<model::Qos>& tree, base::Time since, base::Time until)
    : since_(since), until_(until) {
  nodes_.emplace_back();
  for (const model::Qos& qos : tree) {
    ids_[qos.name] = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back({qos.name, 0, {}, guaranteed_gpus(qos), 0});
  }
  for (const model::Qos& qos : tree) {
    const auto parent = ids_.find(qos.parent);
    const uint32_t id = ids_.at(qos.name);
    nodes_[id].parent = parent == ids_.end() ? 0 : parent->second;
    nodes_[nodes_[id].parent].children.push_back(id);
  }
}

base::Status Lending::add(const std::string& qos, base::Time from, base::Time to, uint64_t gpu_milli) {
  const auto id = ids_.find(qos);
  from = std::max(from, since_);
  to = std::min(to, until_);
  if (id == ids_.end() || gpu_milli == 0 || from >= to) return {};
  if (changes_.size() >= 2 * kMostRuns)
    return base::invalid(fmt::format("more than {} runs of jobs with GPUs", kMostRuns), "name a shorter time");
  changes_.push_back({from, id->second, static_cast<int64_t>(gpu_milli)});
  changes_.push_back({to, id->second, -static_cast<int64_t>(gpu_milli)});
  return {};
}

void Lending::add_idle(const std::string& qos, uint64_t ms) {
  const auto id = ids_.find(qos);
  for (uint32_t at = id == ids_.end() ? 0 : id->second; at != 0; at = nodes_[at].parent) nodes_[at].idle_ms += ms;
}

void Lending::lend(uint32_t parent, uint64_t ms, const std::vector<uint64_t>& held,
                   std::vector<LendingSum>& sums) const {
  const std::vector<uint32_t>& children = nodes_[parent].children;
  uint64_t borrowed = 0;
  std::vector<std::pair<uint64_t, uint32_t>> spare;
  const bool is_shared_out =
      std::any_of(children.begin(), children.end(), [this](uint32_t c) { return nodes_[c].guarantee > 0; });
  for (const uint32_t c : children) {
    const uint64_t guarantee = nodes_[c].guarantee;
    sums[c].held += held[c] * ms;
    if (held[c] < guarantee) spare.emplace_back(guarantee - held[c], c);
    if (held[c] <= guarantee || !is_shared_out) continue;
    sums[c].borrowed += (held[c] - guarantee) * ms;
    borrowed += held[c] - guarantee;
  }
  std::sort(spare.begin(), spare.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  for (const auto& [amount, c] : spare) {  // as show shares has it: who has most to spare lends first
    const uint64_t lent = std::min(amount, borrowed);
    sums[c].lent += lent * ms;
    borrowed -= lent;
    if (borrowed == 0) return;
  }
}

std::vector<LendingSum> Lending::sums() const {
  constexpr int64_t kMs = 1000;
  std::vector<LendingSum> out(nodes_.size());
  const auto whole = static_cast<uint64_t>(std::max((until_ - since_).us, int64_t{0}) / kMs);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    out[i].qos = nodes_[i].name;
    if (i > 0) out[i].parent = nodes_[nodes_[i].parent].name;
    out[i].idle_ms = nodes_[i].idle_ms;
    out[i].guaranteed = nodes_[i].guarantee * whole;
  }
  std::vector<Change> changes = changes_;
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  std::vector<uint64_t> held(nodes_.size());
  std::vector<base::Time> since(nodes_.size(), since_);  // for parents: what is below them has been so since then
  const auto settle = [&](uint32_t parent, base::Time now) {
    const auto ms = static_cast<uint64_t>((now - since[parent]).us / kMs);
    if (ms > 0) lend(parent, ms, held, out);
    since[parent] = since[parent] + base::Duration{static_cast<int64_t>(ms) * kMs};
  };
  for (const Change& change : changes) {
    for (uint32_t at = change.qos; at != 0; at = nodes_[at].parent) settle(nodes_[at].parent, change.at);
    for (uint32_t at = change.qos; at != 0; at = nodes_[at].parent) held[at] += static_cast<uint64_t>(change.gpu_milli);
  }
  for (uint32_t parent = 0; parent < nodes_.size(); ++parent) settle(parent, until_);
  std::vector<LendingSum> ordered;
  std::vector<uint32_t> open(nodes_[0].children.rbegin(), nodes_[0].children.rend());
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    ordered.push_back(std::move(out[at]));
    open.insert(open.end(), nodes_[at].children.rbegin(), nodes_[at].children.rend());
  }
  return ordered;
}

}  // namespace gw::sched
