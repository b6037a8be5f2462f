// The tree of quotas in the controller: where it comes from, who changes it, and what each job may submit to.
// Invariants: the rows of the store, core.quotas and what the scheduler was told are one and the same tree; a request
// that changes it is one transaction.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// The first tree of QOS is that of the configuration.
void seed_quotas(Core& core);
/// The tree as the store has it; rows that cannot be read are held aside.
void restore_quotas(Core& core, const store::Snapshot& snapshot);
/// Changes of the tree and of users, all of them or none; jobs of a QOS that goes move to another.
void change_quotas(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
/// The tree, and who may use and operate what.
void list_quotas(Core& core, ConnId conn, const wire::ApiRequest& request);

}  // namespace gw::ctld
