// See node_offers.h.
#include "ctld/core/cluster/node_offers.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace gw::ctld {
namespace {

/// Looked at for one answer, during which no pass is made: partitions may have nodes in common.
constexpr size_t kMostNodes = 100'000;

/// From when on each node is for others; a node that is for them already is there with the present.
std::unordered_map<base::NodeId, base::Time> taken_from(const sched::ClusterView& view,
                                                        const std::vector<sched::PlannedStart>& planned,
                                                        base::Time now) {
  std::unordered_map<base::NodeId, base::Time> out;
  const auto take = [&out](base::NodeId node, base::Time from) {
    if (!node) return;
    const auto [it, is_new] = out.try_emplace(node, from);
    if (!is_new) it->second = std::min(it->second, from);
  };
  for (const sched::PlannedStart& start : planned)
    for (const std::string& name : start.nodes) take(view.capacity().id_of(name), start.start);
  for (const auto& [made, nomination] : view.nominations())
    for (const std::string& name : nomination.node_names()) take(view.capacity().id_of(name), now);
  sched::Timeline reserved;
  sched::add_reservations(view.reservations(), view.capacity(), now, reserved);
  for (const auto& [node, bookings] : reserved.all())
    for (const sched::Booking& booking : bookings)
      if (booking.span.to > now) take(node, booking.span.from);
  return out;
}

/// What is free of a node, as it is offered.
using Shape = std::tuple<uint32_t, std::string, uint32_t, uint64_t, base::Time>;

std::optional<Shape> shape_of(const sched::NodeAccount& node, const sched::PartitionFacts& partition,
                              base::Time until) {
  if (!node.facts.usable || node.node_class == nullptr || node.node_class->units == nullptr) return std::nullopt;
  if (partition.exclusive && !node.is_idle()) return std::nullopt;
  const auto free_of = [&node](base::IndexSet all) { return all &= node.free.gpus; };
  uint32_t gpus = 0;
  std::string type;
  for (const auto& [name, all] : node.node_class->gpus_by_type) {
    const uint32_t count = free_of(all).size();
    if (count > gpus) gpus = count, type = name;
  }
  const uint32_t cpus = node.free.cores.size() * node.threads();
  constexpr uint64_t kGib = 1024;
  const uint64_t mem_mb = node.free_mem_mb() / kGib * kGib;
  if (cpus == 0 || mem_mb == 0) return std::nullopt;
  return Shape{gpus, type, cpus, mem_mb, until};
}

void add_partition(const sched::ClusterView& view, const sched::PartitionFacts& partition,
                   const std::unordered_map<base::NodeId, base::Time>& taken, base::Time now, base::Duration longest,
                   std::vector<NodeOffer>& out) {
  std::map<Shape, std::vector<std::string>> groups;
  for (const base::NodeId id : view.capacity().partition_nodes(partition.name)) {
    const sched::NodeAccount* node = view.capacity().node(id);
    const auto from = taken.find(id);
    const base::Time until = from == taken.end() ? base::Time::never() : from->second;
    if (node == nullptr || until <= now) continue;
    if (auto shape = shape_of(*node, partition, until)) groups[std::move(*shape)].push_back(node->facts.name);
  }
  for (auto& [shape, nodes] : groups) {
    const auto& [gpus, type, cpus, mem_mb, until] = shape;
    out.push_back(
        {partition.name, std::move(nodes), gpus, type, cpus, mem_mb, until, std::min(partition.max_time, longest)});
  }
}

uint64_t left_of(uint64_t bound, uint64_t used) { return bound - std::min(bound, used); }

/// From the QOS up: what is left in each, of which the least counts.
void tell_headroom(const sched::ClusterView& view, const OfferQuestion& question, NodeOffers& out) {
  const sched::QuotaTree& tree = view.quota().tree();
  if (tree.is_flat()) return;
  const sched::Quotas quotas(view.quota());
  const auto lower = [](std::optional<uint64_t>& to, uint64_t value) { to = to ? std::min(*to, value) : value; };
  for (uint32_t q = tree.leaf_of(question.qos); q != sched::kNoQos; q = tree.qos(q).parent) {
    const sched::QosNode& node = tree.qos(q);
    const uint64_t counted = quotas.tally().counted[q][sched::kGpu];
    if (node.has_line[sched::kGpu]) lower(out.guaranteed, left_of(quotas.shares().guaranteed[q][sched::kGpu], counted));
    if (node.limit[sched::kGpu] != sched::kNoLimit) lower(out.most, left_of(node.limit[sched::kGpu], counted));
    if (node.user_limit[sched::kGpu] == sched::kNoLimit) continue;
    const auto of_user = quotas.tally().of_users.find({q, question.uid});
    const uint64_t used = of_user == quotas.tally().of_users.end() ? 0 : of_user->second[sched::kGpu];
    lower(out.most, left_of(node.user_limit[sched::kGpu], used));
  }
  if (out.guaranteed && out.most) out.guaranteed = std::min(*out.guaranteed, *out.most);
}

}  // namespace

NodeOffers offers_of(const sched::ClusterView& view, const OfferQuestion& question,
                     const std::vector<sched::PlannedStart>& planned, base::Time now) {
  NodeOffers out;
  const auto taken = taken_from(view, planned, now);
  size_t nodes = 0;
  bool has_looked = false;
  for (const std::string& name : question.partitions) {
    const sched::PartitionFacts* partition = view.capacity().partition(name);
    if (partition == nullptr || !partition->is_up) continue;
    nodes += view.capacity().partition_nodes(name).size();
    if (std::exchange(has_looked, true) && nodes > kMostNodes)
      ++out.left_out;
    else
      add_partition(view, *partition, taken, now, question.longest, out.offers);
  }
  std::stable_sort(out.offers.begin(), out.offers.end(), [](const NodeOffer& a, const NodeOffer& b) {
    return std::tuple(a.gpus, a.cpus, a.mem_mb) > std::tuple(b.gpus, b.cpus, b.mem_mb);
  });
  tell_headroom(view, question, out);
  return out;
}

}  // namespace gw::ctld
