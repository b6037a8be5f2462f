// Conversions between what the scheduler has and the messages of a snapshot. Structured bindings name every member of
// what is written: a new member that nobody writes does not compile.
#pragma once

#include "sched/cycle/snapshot.h"
#include "wire/snapshot.pb.h"

namespace gw::snapshot {

wire::SnapshotInput to_wire(const sched::PassInput& input);
/// Checks enumerators, index lists, times and numbers; what is not the state of any cluster is left to restore_view().
base::Result<sched::PassInput> from_wire(const wire::SnapshotInput& input);

/// `with_words`: with the details for people.
wire::SnapshotPlan to_wire(const sched::Plan& plan, bool with_words);
base::Result<sched::Plan> from_wire(const wire::SnapshotPlan& plan);

/// Shares carry the node's number, since names alone do not tell a node from its successor of the same name.
void set_share(wire::SnapshotShare* to, const model::NodeShare& share);
base::Result<model::NodeShare> share_from(const wire::SnapshotShare& from);

void set_nomination(wire::SnapshotNomination* to, const sched::Nomination& nomination);
base::Result<sched::Nomination> nomination_from(const wire::SnapshotNomination& from);

/// Errors: so far from any time or length of time that sums of them would overflow.
base::Result<base::Time> time_from(int64_t us);
base::Result<base::Duration> duration_from(int64_t us);

}  // namespace gw::snapshot
