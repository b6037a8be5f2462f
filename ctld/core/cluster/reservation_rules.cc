// See reservation_rules.h.
#include "ctld/core/cluster/reservation_rules.h"

#include <fmt/format.h>

#include <unordered_set>

#include "base/hostlist.h"
#include "base/text.h"
#include "ctld/core/names.h"

namespace gw::ctld {

using base::Status;
using model::Reservation;

base::Result<const Reservation*> find_reservation(const Core& core, const std::string& name) {
  const auto it = core.reservations.all.find(name);
  if (it != core.reservations.all.end()) return &it->second;
  return base::fail(base::ErrorCode::kNotFound, "reservation " + base::printable(name) + " does not exist",
                    name_hint(name, keys_of(core.reservations.all)));
}

void route_by_reservation(const Core& core, model::JobSpec& spec) {
  const auto r = core.reservations.all.find(spec.reservation);
  if (spec.partitions.empty() && r != core.reservations.all.end() && !r->second.partition.empty())
    spec.partitions = {r->second.partition};
}

Status check_reservation(const Core& core, const model::JobSpec& spec) {
  if (spec.reservation.empty()) return {};
  GW_TRY(found, find_reservation(core, spec.reservation));
  const Reservation& r = *found;
  if (r.maintenance)
    return base::fail(base::ErrorCode::kDenied, "reservation " + r.name + " is for maintenance: nobody runs in it");
  if (!r.admits(spec.user, spec.qos))
    return base::fail(base::ErrorCode::kDenied,
                      fmt::format("user {} with account {} may not use reservation {}", spec.user, spec.qos, r.name),
                      "ask an administrator: gcontrol update ReservationName=" + r.name + " Users+=" + spec.user);
  if (spec.request.min_nodes > r.nodes.size())
    return base::invalid(
        fmt::format("{} nodes asked; reservation {} has {}", spec.request.min_nodes, r.name, r.nodes.size()));
  const std::unordered_set<std::string_view> there(r.nodes.begin(), r.nodes.end());
  for (const std::string& name : spec.request.nodelist)
    if (!there.contains(name))
      return base::invalid(fmt::format("node {} of --nodelist is not in reservation {}", name, r.name),
                           "it has " + base::compress_hostlist(r.nodes));
  const base::Duration least = spec.time_min.us > 0 ? spec.time_min : spec.time_limit;
  if (least > r.duration)
    return base::invalid(fmt::format("the time limit {} is longer than reservation {} lasts: {}",
                                     base::format_duration(least), r.name, base::format_duration(r.duration)),
                         "give a shorter --time");
  return {};
}

std::string reserved_as(const Core& core, const std::string& node) {
  const auto there = core.reservations.by_node.find(node);
  if (there == core.reservations.by_node.end()) return {};
  std::string out;
  for (const std::string& name : there->second) {
    const Reservation& r = core.reservations.all.at(name);
    const model::Occurrence o = r.at(core.now);
    if (core.now < o.from || o.to <= core.now) continue;
    if (r.maintenance) return "MAINTENANCE";
    out = "RESERVED";
  }
  return out;
}

}  // namespace gw::ctld
