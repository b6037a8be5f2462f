// See partitions.h.
#include "ctld/core/cluster/partitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "base/hostlist.h"
#include "base/name.h"
#include "base/text.h"
#include "ctld/core/cluster/quota_rules.h"
#include "ctld/core/names.h"
#include "ctld/core/rows/row_rules.h"
#include "ctld/core/shared/replies.h"
#include "model/partition_keys.h"
#include "wire/bounds.h"
#include "wire/convert.h"
#include "wire/row_bytes.h"

namespace gw::ctld {

using base::ErrorCode;
using base::Status;
using model::Partition;

namespace {

/// Everything that a partition can be given wrong, whoever gives it.
Status check_partition_values(const Core& core, Partition& p) {
  GW_TRY_STATUS(settle_partition_row(p));
  if (p.nodes.empty()) return base::invalid("a partition needs nodes", "add Nodes=LIST");
  for (const std::string& node : p.nodes)
    if (!core.nodes.contains(node))
      return tl::unexpected(invalid_name(ErrorCode::kNotFound, NameOf::kNode, node, core.nodes.names()));
  std::vector<std::string> named = p.allow_qos;
  if (!p.default_qos.empty()) named.push_back(p.default_qos);
  for (const std::string& qos : named)
    if (!has_qos(core, qos))
      return tl::unexpected(invalid_name(ErrorCode::kNotFound, NameOf::kQos, qos, keys_of(core.quotas.qos)));
  if (!p.allow_qos.empty() && !p.default_qos.empty() &&
      std::find(p.allow_qos.begin(), p.allow_qos.end(), p.default_qos) == p.allow_qos.end())
    return base::invalid(fmt::format("the default QOS {} is none of those allowed", p.default_qos));
  if (p.max_time.us <= 0 || p.default_time.us <= 0) return base::invalid("a time limit is not positive");
  if (p.default_time != base::kUnlimited && p.default_time > p.max_time)
    return base::invalid("DefaultTime is longer than MaxTime");
  if (p.grace && *p.grace < base::Duration{}) return base::invalid("a grace is negative");
  p.unlimited = p.unlimited || (p.max_time == base::kUnlimited && p.default_time == base::kUnlimited);
  return {};
}

void keep_partition(Core& core, const Caller& caller, const Partition& p, const model::KeyNames& keys,
                    std::string_view what) {
  const PartitionTable::Origin by{caller.user, caller.uid, core.now};
  for (auto& [name, other] : core.partitions.all) {
    if (!p.is_default || !other.is_default || name == p.name) continue;
    other.is_default = false;
    core.partitions.origins[name]["default"] = by;
  }
  core.partitions.all[p.name] = p;
  for (const std::string& key : keys) core.partitions.origins[p.name][key] = by;
  const auto made = core.partitions.made.find(p.name);
  if (made != core.partitions.made.end()) made->second = p;
  publish_partition(core, p);
  store_partition(core, p);
  core.out.event(fmt::format("partition {}", what), p.name + " by " + caller.user, caller.uid);
}

/// Sets what is set in `u`, and says which keys those are; checked by check_partition_values().
base::Result<model::KeyNames> change_partition(Partition& p, const wire::UpdatePartitionRequest& u) {
  if (u.state() > static_cast<uint32_t>(model::PartitionState::kInactive))
    return base::invalid("unknown partition state", "UP, DOWN, DRAIN, INACTIVE");
  if (u.fit() > static_cast<uint32_t>(model::Fit::kSpread)) return base::invalid("unknown fit");
  if (u.consolidate() > static_cast<uint32_t>(model::Consolidate::kDryRun))
    return base::invalid("unknown way to consolidate");
  model::KeyNames keys;
  const auto set = [&keys](bool is_set, const char* key, auto& to, auto value) {
    if (!is_set) return;
    to = std::move(value);
    keys.insert(key);
  };
  const auto names = [](const std::string& list) {
    return list.empty() ? std::vector<std::string>() : base::split(list, ',');
  };
  set(u.has_state(), "state", p.state, static_cast<model::PartitionState>(u.state()));
  set(u.has_max_time_us(), "max_time", p.max_time, base::Duration{u.max_time_us()});
  set(u.has_default_time_us(), "default_time", p.default_time, base::Duration{u.default_time_us()});
  set(u.has_tier(), "tier", p.tier, u.tier());
  set(u.has_is_default(), "default", p.is_default, u.is_default());
  set(u.has_default_qos(), "default_qos", p.default_qos, u.default_qos());
  set(u.has_max_nodes(), "max_nodes", p.max_nodes, u.max_nodes());
  set(u.has_default_for_compute(), "default_for", p.default_for_compute, u.default_for_compute());
  set(u.has_default_for_aux(), "default_for", p.default_for_aux, u.default_for_aux());
  set(u.has_exclusive(), "exclusive", p.exclusive, u.exclusive());
  set(u.has_allow_qos(), "allow_qos", p.allow_qos, names(u.allow_qos()));
  set(u.has_allow_users(), "allow_users", p.allow_users, names(u.allow_users()));
  set(u.has_allow_groups(), "allow_groups", p.allow_groups, names(u.allow_groups()));
  set(u.has_consolidate(), "consolidate", p.consolidate, static_cast<model::Consolidate>(u.consolidate()));
  set(u.has_fit(), "fit", p.fit, static_cast<model::Fit>(u.fit()));
  set(u.has_grace_us(), "grace", p.grace, base::Duration{u.grace_us()});
  if (!u.has_nodes()) return keys;
  GW_TRY(nodes, base::expand_hostlist(u.nodes(), wire::kMostNodeNames));
  set(true, "nodes", p.nodes, nodes);
  return keys;
}

/// What holds in a partition, also where that is the cluster's.
Partition in_effect(const Core& core, const Partition& p) {
  Partition out = p;
  if (out.fit == model::Fit::kDefault) out.fit = core.settings.policy.fit;
  if (out.consolidate == model::Consolidate::kDefault) out.consolidate = core.settings.consolidate;
  if (!out.grace) out.grace = core.settings.policy.grace;
  if (out.default_qos.empty()) out.default_qos = core.settings.default_qos;
  if (out.order.empty() && out.order_weights.empty()) out.order_weights = core.settings.policy.order_weights;
  if (out.order.empty()) out.order = std::string(core.planning.orders.cluster().name());
  if (!out.quantum) out.quantum = core.settings.policy.quantum;
  return out;
}

/// `is_open`: the partition leaves it to the cluster, whoever said so.
wire::KeyOrigin origin_of(const Core& core, const std::string& partition, const model::PartitionKey& key,
                          bool is_open) {
  wire::KeyOrigin out;
  out.set_key(std::string(key.name));
  const auto is_in_file = [&](const std::string& dotted, model::OriginKind kind) {
    const auto found = core.settings.config_lines.find(dotted);
    if (found == core.settings.config_lines.end()) return false;
    out.set_place(fmt::format("{}:{}", core.settings.file, found->second));
    out.set_kind(static_cast<uint32_t>(kind));
    return true;
  };
  const auto keys = core.partitions.origins.find(partition);
  const PartitionTable::Origin* said = nullptr;
  if (keys != core.partitions.origins.end())
    if (const auto it = keys->second.find(key.name); it != keys->second.end()) said = &it->second;
  if (said != nullptr && !is_open) {
    out.set_kind(static_cast<uint32_t>(model::OriginKind::kCommand));
    out.set_by(said->user);
    out.set_by_uid(said->uid);
    out.set_at_us(said->at.us);
    return out;
  }
  const bool is_own = !is_open && !core.partitions.made.contains(partition) &&
                      is_in_file(fmt::format("partitions.{}.{}", partition, key.name), model::OriginKind::kFile);
  if (!is_own && !key.cluster_key.empty()) is_in_file(std::string(key.cluster_key), model::OriginKind::kCluster);
  return out;
}

}  // namespace

void tell_policy(Core& core) {
  sched::Policy policy = core.settings.policy;
  // One that a command has made anew has nothing of what the file says of that name.
  for (const auto& [name, p] : core.partitions.made) policy.pool_orders.erase(name);
  if (sched::Orders(policy.order, policy.pool_orders, {}, {}, policy.qos_orders).needs().services)
    policy.services = core.planning.services.all();
  core.planning.orders =
      sched::Orders(policy.order, policy.pool_orders, policy.order_weights, policy.services, policy.qos_orders);
  core.feed.tell(sched::PolicySet{std::move(policy)});
}

void publish_partition(Core& core, const model::Partition& p) {
  sched::PartitionFacts facts = sched::facts_of(p);
  if (facts.consolidate == model::Consolidate::kDefault) facts.consolidate = core.settings.consolidate;
  if (facts.grace) facts.grace = std::max(*facts.grace, base::seconds(1));
  if (const auto filter = core.settings.filters.find(p.name); filter != core.settings.filters.end())
    if (filter->second.name == p.filter) facts.filter = filter->second;  // else a command has made it anew
  core.ledger.set_partition(facts);
}

void withdraw_partition(Core& core, const std::string& name) { core.ledger.remove_partition(name); }

Partition over_defaults(const Core& core, const Partition& own, const model::KeyNames& said) {
  Partition p = model::merged(core.settings.partition_defaults, own, said);
  const bool has_limit = p.max_time != base::kUnlimited || p.default_time != base::kUnlimited;
  p.unlimited = !has_limit || (p.unlimited && said.contains("unlimited"));
  return p;
}

void store_partition(Core& core, const Partition& p) {
  wire::Partition row = wire::to_wire(p);
  row.set_is_made(core.partitions.made.contains(p.name));
  for (const auto& [key, said] : core.partitions.origins[p.name]) {
    wire::KeyOrigin& origin = *row.add_origins();
    origin.set_key(key);
    origin.set_by(said.user);
    origin.set_by_uid(said.uid);
    origin.set_at_us(said.at.us);
  }
  core.out.write(store::PutPartition{p.name, wire::row_bytes(row)});
}

model::KeyNames keys_given(const wire::Partition& w, const Partition& p) {
  model::KeyNames keys;
  for (const wire::KeyOrigin& origin : w.origins())
    if (model::partition_key(origin.key()) != nullptr) keys.insert(origin.key());
  return keys.empty() ? model::keys_changed(p) : keys;
}

void create_partition(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  auto given = wire::from_wire(request.create_partition().partition());
  if (!given) return core.out.refuse(conn, request.id(), given.error());
  const model::KeyNames keys = keys_given(request.create_partition().partition(), *given);
  Partition p = over_defaults(core, *given, keys);
  Status done = base::check_name(p.name);
  if (done && core.partitions.all.contains(p.name))
    done = base::fail(ErrorCode::kConflict, "partition " + p.name + " exists already",
                      "change it with: gcontrol update PartitionName=" + p.name);
  // An order or a filter is a program that the controller loads: that is not for a request to say.
  if (done && (!given->order.empty() || !given->order_weights.empty()))
    done = base::invalid("a partition that a command makes has the cluster's order",
                         "give it one of its own in the configuration: partitions[].order");
  if (done) done = check_partition_values(core, p);
  if (done && (!given->filter.empty() || !given->filter_weights.empty()))
    done = base::invalid("a partition that a command makes has no filter",
                         "give it one in the configuration: partitions[].filter");
  if (!done) return core.out.refuse(conn, request.id(), done.error());
  core.partitions.gone.erase(p.name);
  core.partitions.made[p.name] = p;
  core.partitions.origins.erase(p.name);
  if (core.settings.policy.pool_orders.contains(p.name)) tell_policy(core);  // it is not the one of the file
  keep_partition(core, caller, p, keys, "created");
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(core, conn, caller, request, std::move(out));
}

void delete_partition(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const std::string& name = request.delete_partition().name();
  if (!core.partitions.all.contains(name))
    return core.out.refuse(conn, request.id(),
                           invalid_name(ErrorCode::kNotFound, NameOf::kPartition, name, keys_of(core.partitions.all)));
  size_t count = 0;
  for (const auto& [id, job] : core.jobs.all()) {
    const bool waits = job.waiting() != nullptr && std::find(job.spec.partitions.begin(), job.spec.partitions.end(),
                                                             name) != job.spec.partitions.end();
    count += waits || (job.placed() != nullptr && job.placed()->partition == name);
  }
  if (count > 0)
    return core.out.refuse(
        conn, request.id(),
        {ErrorCode::kConflict, fmt::format("partition {} has {}", name, base::counted(count, "job")),
         "set it to DRAIN and let them end, or move those that wait: gcontrol update JobId=ID Partition=OTHER"});
  core.partitions.all.erase(name);
  core.partitions.made.erase(name);
  core.partitions.origins.erase(name);
  core.partitions.gone.insert(name);
  withdraw_partition(core, name);
  wire::Partition row;
  row.set_name(name);
  row.set_is_gone(true);
  core.out.write(store::PutPartition{name, wire::row_bytes(row)});
  core.out.event("partition deleted", name + " by " + caller.user, caller.uid);
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(core, conn, caller, request, std::move(out));
}

void update_partition(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::UpdatePartitionRequest& u = request.update_partition();
  const auto it = core.partitions.all.find(u.name());
  if (it == core.partitions.all.end())
    return core.out.refuse(
        conn, request.id(),
        invalid_name(ErrorCode::kNotFound, NameOf::kPartition, u.name(), keys_of(core.partitions.all)));
  Partition p = it->second;
  const auto keys = change_partition(p, u);
  if (!keys) return core.out.refuse(conn, request.id(), keys.error());
  if (const Status fits = check_partition_values(core, p); !fits)
    return core.out.refuse(conn, request.id(), fits.error());
  keep_partition(core, caller, p, *keys, "updated");
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(core, conn, caller, request, std::move(out));
}

wire::Partition describe_partition(const Core& core, const Partition& p) {
  Partition shown = p;
  shown.grace = in_effect(core, p).grace;
  shown.consolidate = in_effect(core, p).consolidate;
  return wire::to_wire(shown);
}

wire::Partition describe_effective(const Core& core, const Partition& p) {
  const Partition shown = in_effect(core, p);
  wire::Partition out = wire::to_wire(shown);
  for (const model::PartitionKey& key : model::partition_keys()) {
    Partition own = shown;
    key.copy(own, p);
    *out.add_origins() = origin_of(core, p.name, key, own != shown);
  }
  return out;
}

}  // namespace gw::ctld
