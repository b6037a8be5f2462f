// What holds for a run from its placement on.
// Invariant: every order about a run is made from its contract, never from settings that may have changed meanwhile: a
// node that counts another lease than its controller lets a job run twice.
#pragma once

#include "base/time.h"
#include "model/state_mark.h"

namespace gw::model {

struct Contract {
  base::Duration lease = {};                     ///< A node cut off for so long ends the run by itself; zero: never.
  base::Duration margin = {};                    ///< The controller waits so much longer before it believes that.
  base::Duration kill_wait = base::seconds(30);  ///< Between being told to end and being killed.
  bool allow_root = false;                       ///< It may run as root.
  bool has_prolog = false;                       ///< The controller's, before its nodes are told of it.
  bool has_epilog = false;                       ///< The controller's, after its nodes have nothing of it left.
  StateMark placed_in = {};  ///< The state that holds the placement; its runs carry it on their nodes.
  /// So long after contact was lost the run is over on its node.
  base::Duration over_after() const { return lease + margin; }
  bool has_lease() const { return lease.us > 0; }
  bool operator==(const Contract&) const = default;
};

}  // namespace gw::model
