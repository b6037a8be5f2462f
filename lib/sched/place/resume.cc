// Resumption: one placement to check, and the moments at which it may become possible; see resume.h.
#include "sched/place/resume.h"

#include <algorithm>

namespace gw::sched {
namespace {

std::optional<BlockerKind> lack(const FreeResources& room, const model::NodeShare& share, bool own_gpu) {
  for (uint32_t gpu = share.gpus.next(0); gpu != UINT32_MAX; gpu = share.gpus.next(gpu + 1)) {
    if (room.gpus.contains(gpu)) continue;
    if (own_gpu) return BlockerKind::kGpus;
    const auto part = std::find_if(room.shared.begin(), room.shared.end(), [&](auto& s) { return s.gpu == gpu; });
    if (part == room.shared.end() || part->left < share.gpu_milli) return BlockerKind::kGpus;
  }
  for (uint32_t core = share.cores.next(0); core != UINT32_MAX; core = share.cores.next(core + 1))
    if (!room.cores.contains(core)) return BlockerKind::kCores;
  if (!room.gres.covers(share.gres)) return BlockerKind::kGres;
  return room.mem_mb < share.mem_mb ? std::optional(BlockerKind::kMemory) : std::nullopt;
}

std::optional<BlockerKind> failed_filter(const NodeAccount& account, const model::NodeShare& share,
                                         const PlacementOptions& options, bool own_gpu) {
  const auto& inside = options.inside;
  if (inside != nullptr && std::find(inside->begin(), inside->end(), share.name) == inside->end())
    return BlockerKind::kReservedNode;
  if (options.against == Against::kEmpty) return std::nullopt;
  if (options.against == Against::kNow)
    if (const auto requirement = lack(account.free, share, own_gpu)) return requirement;
  if (options.timeline == nullptr) return std::nullopt;
  return lack(options.timeline->free_during(account, options.span, options.reservation), share, own_gpu);
}

}  // namespace

Placement place_exactly(const Capacity& capacity, const model::Request& request, const PlacementOptions& options) {
  Placement out;
  Diagnosis& diagnosis = out.diagnosis;
  diagnosis.nodes = diagnosis.needed_nodes = static_cast<uint32_t>(request.exactly.size());
  for (const model::NodeShare& share : request.exactly) {
    const NodeAccount* account = capacity.node(share.node);
    if (account == nullptr || !account->facts.usable) {
      ++diagnosis.ruled_out[BlockerKind::kUnavailableNode];
      ++diagnosis.unusable_why[account == nullptr ? "not known" : account->facts.unusable_why];
    } else if (const auto requirement = failed_filter(*account, share, options, request.own_gpu)) {
      ++diagnosis.ruled_out[*requirement];
    } else {
      ++diagnosis.fitting;
    }
  }
  if (diagnosis.fitting == diagnosis.nodes) out.allocation = model::Allocation{request.exactly};
  return out;
}

std::optional<FutureStart> earliest_exactly(const Capacity& capacity, const model::Request& request,
                                            const PlacementOptions& options, base::Time now, base::Duration length) {
  std::vector<base::Time> moments = {now};
  for (const model::NodeShare& share : request.exactly)
    if (const NodeAccount* account = capacity.node(share.node)) options.timeline->collect_ends(*account, now, moments);
  std::sort(moments.begin(), moments.end());
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  PlacementOptions later = options;
  later.against = Against::kLater;
  for (base::Time t : moments) {
    later.span = {t, t + length};
    if (auto placed = place_exactly(capacity, request, later); placed.allocation)
      return FutureStart{t, std::move(*placed.allocation)};
  }
  return std::nullopt;
}

}  // namespace gw::sched
