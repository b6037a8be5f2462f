// Rows of the store that could not be read, and are held aside (docs/adr): what of them still lives on nodes is left
// alone until an administrator deletes them.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// For the log and for administrators.
std::string text_of(const store::HeldRow& row);
/// The row stays in the store, out of the way; it is reported. `nodes`: where something of it may live.
void hold_aside(Core& core, store::RowKind kind, std::vector<store::KeyValue> key, const std::string& name,
                const std::string& reason, const std::string& nodes = {});
/// Those of before, and those that the store has just found.
void restore_held(Core& core, const store::Snapshot& snapshot);
/// With all rows of their runs and steps.
void hold_jobs(Core& core, const store::Snapshot& snapshot, const std::map<JobId, std::string>& faults);
/// With the rows of what it has on its nodes.
void hold_step(Core& core, const store::Snapshot& snapshot, const store::PutStep& row, const std::string& reason);
/// What may run there of jobs that are held aside, only the node knows.
void hear_of_held(Core& core, const model::Node& node, const wire::Register& m);
/// Whether something of a job whose row is held aside may live on the node.
void held_may_run(Core& core, const model::Node& node, uint32_t job, bool may_run);
/// A step continues within its job, which has room for it.
void want_held_steps(const Core& core, const wire::Register& m, wire::Registered& out);
/// Likewise, for rows whose key is their name.
inline void hold_named(Core& core, store::RowKind kind, const std::string& name, const std::string& reason) {
  hold_aside(core, kind, {name}, name, reason);
}

}  // namespace gw::ctld
