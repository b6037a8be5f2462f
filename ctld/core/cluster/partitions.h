// Partitions: those of the configuration, and what commands make of them. What is made or deleted by a command is kept
// by the store; other changes of a partition that the configuration has hold until that is read again, but for its
// state.
#pragma once

#include "ctld/core/core.h"
#include "model/partition_keys.h"

namespace gw::ctld {

/// Ledger and scheduler have the partition as it is in force now.
void publish_partition(Core& core, const model::Partition& partition);
/// The partition is gone for ledger and scheduler.
void withdraw_partition(Core& core, const std::string& name);
/// One that a command made: what was said of it, over the cluster's defaults.
model::Partition over_defaults(const Core& core, const model::Partition& own, const model::KeyNames& said);
/// What commands gave the partition is written.
void store_partition(Core& core, const model::Partition& p);
/// What a creation, or the row of one, says; without a list of it: what is not as built in.
model::KeyNames keys_given(const wire::Partition& w, const model::Partition& p);
/// A partition of an administrator's making.
void create_partition(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
/// Jobs that wait for it alone keep it from being deleted.
void delete_partition(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
/// Changes keys of partitions; what a command says outlives the configuration.
void update_partition(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
/// As clients see it, with its defaults filled in.
wire::Partition describe_partition(const Core& core, const model::Partition& p);
/// With the origin of every key.
wire::Partition describe_effective(const Core& core, const model::Partition& p);

/// The policy of the settings, for the scheduler; again when a command makes a partition that the file has, too.
void tell_policy(Core& core);

}  // namespace gw::ctld
