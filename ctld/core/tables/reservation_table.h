// The reservations of nodes for a time, by name and by node.
// Invariants: the index by node has exactly the nodes of each reservation; `told` is what the scheduler was told.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "model/reservation.h"
#include "sched/cycle/plan.h"
#include "sched/view/view.h"

namespace gw::ctld {

struct ReservationTable {
  std::map<std::string, model::Reservation> all;
  std::unordered_map<std::string, std::set<std::string>> by_node;
  sched::AdvanceReservations told;
};

}  // namespace gw::ctld
