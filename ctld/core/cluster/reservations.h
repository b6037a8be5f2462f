// Advance reservations: made, changed, deleted and shown by administrators; which jobs may run inside them; and their
// end. Which nodes a reservation by count gets is decided once, when it is made or its count is changed.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Reservations that are over are dropped, or move to their next turn.
void reservations_due(Core& core);
/// Nodes for a time; picked here where none are named.
void create_reservation(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
/// Changes a reservation; all of the changes or none.
void update_reservation(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
/// Its nodes are free for others at once; jobs in it continue.
void delete_reservation(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
/// The reservations that are named, or all, piece by piece.
void list_reservations(Core& core, ConnId conn, const wire::ApiRequest& request);
/// As the store has them; rows that cannot be read are held aside.
void restore_reservations(Core& core, const store::Snapshot& snapshot);

}  // namespace gw::ctld
