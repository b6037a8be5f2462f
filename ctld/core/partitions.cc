// Partitions: those of the configuration, and what commands make of them. What is made or deleted by a command is kept
// by the store; other changes of a partition that the configuration has hold until that is read again, but for its
// state.
#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/hostlist.h"
#include "base/name.h"
#include "base/text.h"
#include "ctld/core/controller.h"
#include "ctld/core/names.h"
#include "ctld/core/row_rules.h"
#include "wire/bounds.h"
#include "wire/convert.h"

namespace gw::ctld {

using base::ErrorCode;
using base::Status;
using model::Partition;

void Controller::publish_partition(const model::Partition& p) {
  sched::PartitionFacts facts = sched::facts_of(p);
  if (facts.consolidate == model::Consolidate::kDefault) facts.consolidate = settings_.consolidate;
  if (facts.grace) facts.grace = std::max(*facts.grace, base::seconds(1));
  ledger_.set_partition(facts);
}

void Controller::withdraw_partition(const std::string& name) { ledger_.remove_partition(name); }

/// One that a command made: what was said of it, over the cluster's defaults.
Partition Controller::over_defaults(const Partition& own, const model::KeyNames& said) const {
  Partition p = model::merged(settings_.partition_defaults, own, said);
  const bool has_limit = p.max_time != base::kUnlimited || p.default_time != base::kUnlimited;
  p.unlimited = !has_limit || (p.unlimited && said.contains("unlimited"));
  return p;
}

/// Everything that a partition can be given wrong, whoever gives it.
Status Controller::check_partition_values(Partition& p) const {
  GW_TRY_STATUS(settle_partition_row(p));
  if (p.nodes.empty()) return base::invalid("a partition needs nodes", "add Nodes=LIST");
  for (const std::string& node : p.nodes)
    if (!nodes_.contains(node))
      return tl::unexpected(invalid_name(ErrorCode::kNotFound, "node name", node, nodes_.names()));
  std::vector<std::string> named = p.allow_qos;
  if (!p.default_qos.empty()) named.push_back(p.default_qos);
  for (const std::string& qos : named)
    if (!has_qos(qos)) return tl::unexpected(invalid_name(ErrorCode::kNotFound, "QOS", qos, keys_of(book_.qos)));
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

void Controller::store_partition(const Partition& p) {
  wire::Partition row = wire::to_wire(p);
  row.set_is_made(made_partitions_.contains(p.name));
  for (const auto& [key, said] : said_[p.name]) {
    wire::KeyOrigin& origin = *row.add_origins();
    origin.set_key(key);
    origin.set_by(said.user);
    origin.set_by_uid(said.uid);
    origin.set_at_us(said.at.us);
  }
  out_.write(store::PutPartition{p.name, row.SerializeAsString()});
}

void Controller::keep_partition(Time now, const Caller& caller, const Partition& p, const model::KeyNames& keys,
                                std::string_view what) {
  const Said by{caller.user, caller.uid, now};
  for (auto& [name, other] : partitions_) {
    if (!p.is_default || !other.is_default || name == p.name) continue;
    other.is_default = false;
    said_[name]["default"] = by;
  }
  partitions_[p.name] = p;
  for (const std::string& key : keys) said_[p.name][key] = by;
  const auto made = made_partitions_.find(p.name);
  if (made != made_partitions_.end()) made->second = p;
  publish_partition(p);
  store_partition(p);
  out_.event(now, fmt::format("partition {}", what), p.name + " by " + caller.user, caller.uid);
}

namespace {

/// What a creation, or the row of one, says; without a list of it: what is not as built in.
model::KeyNames said_in(const wire::Partition& w, const Partition& p) {
  model::KeyNames keys;
  for (const wire::KeyOrigin& origin : w.origins())
    if (model::partition_key(origin.key()) != nullptr) keys.insert(origin.key());
  return keys.empty() ? model::keys_changed(p) : keys;
}

}  // namespace

void Controller::create_partition(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  auto given = wire::from_wire(request.create_partition().partition());
  if (!given) return out_.refuse(conn, request.id(), given.error());
  const model::KeyNames keys = said_in(request.create_partition().partition(), *given);
  Partition p = over_defaults(*given, keys);
  Status done = base::check_name(p.name);
  if (done && partitions_.contains(p.name))
    done = base::fail(ErrorCode::kConflict, "partition " + p.name + " exists already",
                      "change it with: gcontrol update PartitionName=" + p.name);
  if (done) done = check_partition_values(p);
  if (!done) return out_.refuse(conn, request.id(), done.error());
  gone_partitions_.erase(p.name);
  made_partitions_[p.name] = p;
  said_.erase(p.name);
  keep_partition(now, caller, p, keys, "created");
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(now, conn, caller, request, std::move(out));
}

void Controller::delete_partition(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const std::string& name = request.delete_partition().name();
  if (!partitions_.contains(name))
    return out_.refuse(conn, request.id(),
                       invalid_name(ErrorCode::kNotFound, "partition name", name, keys_of(partitions_)));
  size_t count = 0;
  for (const auto& [id, job] : jobs_.all()) {
    const bool waits = job.waiting() != nullptr && std::find(job.spec.partitions.begin(), job.spec.partitions.end(),
                                                             name) != job.spec.partitions.end();
    count += waits || (job.placed() != nullptr && job.placed()->partition == name);
  }
  if (count > 0)
    return out_.refuse(
        conn, request.id(),
        {ErrorCode::kConflict, fmt::format("partition {} has {}", name, base::counted(count, "job")),
         "set it to DRAIN and let them end, or move those that wait: gcontrol update JobId=ID Partition=OTHER"});
  partitions_.erase(name);
  made_partitions_.erase(name);
  said_.erase(name);
  gone_partitions_.insert(name);
  withdraw_partition(name);
  wire::Partition row;
  row.set_name(name);
  row.set_is_gone(true);
  out_.write(store::PutPartition{name, row.SerializeAsString()});
  out_.event(now, "partition deleted", name + " by " + caller.user, caller.uid);
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(now, conn, caller, request, std::move(out));
}

/// Sets what is set in `u`, and says which keys those are; checked by check_partition_values().
base::Result<model::KeyNames> Controller::change_partition(Partition& p, const wire::UpdatePartitionRequest& u) const {
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

void Controller::update_partition(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::UpdatePartitionRequest& u = request.update_partition();
  const auto it = partitions_.find(u.name());
  if (it == partitions_.end())
    return out_.refuse(conn, request.id(),
                       invalid_name(ErrorCode::kNotFound, "partition name", u.name(), keys_of(partitions_)));
  Partition p = it->second;
  const auto keys = change_partition(p, u);
  if (!keys) return out_.refuse(conn, request.id(), keys.error());
  if (const Status fits = check_partition_values(p); !fits) return out_.refuse(conn, request.id(), fits.error());
  keep_partition(now, caller, p, *keys, "updated");
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(now, conn, caller, request, std::move(out));
}

/// What holds in a partition, also where that is the cluster's.
Partition Controller::in_effect(const Partition& p) const {
  Partition out = p;
  if (out.fit == model::Fit::kDefault) out.fit = settings_.policy.fit;
  if (out.consolidate == model::Consolidate::kDefault) out.consolidate = settings_.consolidate;
  if (!out.grace) out.grace = settings_.policy.grace;
  if (out.default_qos.empty()) out.default_qos = settings_.default_qos;
  return out;
}

/// `is_open`: the partition leaves it to the cluster, whoever said so.
wire::KeyOrigin Controller::origin_of(const std::string& partition, const model::PartitionKey& key,
                                      bool is_open) const {
  wire::KeyOrigin out;
  out.set_key(std::string(key.name));
  const auto is_in_file = [&](const std::string& dotted, model::OriginKind kind) {
    const auto found = settings_.config_lines.find(dotted);
    if (found == settings_.config_lines.end()) return false;
    out.set_place(fmt::format("{}:{}", settings_.file, found->second));
    out.set_kind(static_cast<uint32_t>(kind));
    return true;
  };
  const auto keys = said_.find(partition);
  const Said* said = nullptr;
  if (keys != said_.end())
    if (const auto it = keys->second.find(key.name); it != keys->second.end()) said = &it->second;
  if (said != nullptr && !is_open) {
    out.set_kind(static_cast<uint32_t>(model::OriginKind::kCommand));
    out.set_by(said->user);
    out.set_by_uid(said->uid);
    out.set_at_us(said->at.us);
    return out;
  }
  const bool is_own = !is_open && !made_partitions_.contains(partition) &&
                      is_in_file(fmt::format("partitions.{}.{}", partition, key.name), model::OriginKind::kFile);
  if (!is_own && !key.cluster_key.empty()) is_in_file(std::string(key.cluster_key), model::OriginKind::kCluster);
  return out;
}

wire::Partition Controller::describe_partition(const Partition& p) const {
  Partition shown = p;
  shown.grace = in_effect(p).grace;
  shown.consolidate = in_effect(p).consolidate;
  return wire::to_wire(shown);
}

/// With the origin of every key.
wire::Partition Controller::describe_effective(const Partition& p) const {
  const Partition shown = in_effect(p);
  wire::Partition out = wire::to_wire(shown);
  for (const model::PartitionKey& key : model::partition_keys()) {
    Partition own = shown;
    key.copy(own, p);
    *out.add_origins() = origin_of(p.name, key, own != shown);
  }
  return out;
}

/// States, and what commands made and deleted.
void Controller::restore_partitions(const store::Snapshot& snapshot, Time now) {
  for (const store::NamedBytes& row : snapshot.partitions) {
    wire::Partition stored;
    auto p = stored.ParseFromString(row.bytes) && stored.name() == row.name
                 ? wire::from_wire(stored)
                 : base::Result<Partition>(base::invalid("it cannot be read"));
    if (!p) {
      hold_named(now, store::RowKind::kPartition, row.name, p.error().what);
      continue;
    }
    if (stored.is_gone()) gone_partitions_.insert(row.name);
    for (const wire::KeyOrigin& origin : stored.origins())
      if (stored.is_made() || origin.key() == "state")
        said_[row.name][origin.key()] = Said{origin.by(), origin.by_uid(), Time{origin.at_us()}};
    if (!stored.is_made()) continue;
    for (const std::string& key : said_in(stored, *p)) said_[row.name].try_emplace(key);
    made_partitions_[row.name] = std::move(*p);
  }
  configure_pools();
  for (const store::NamedBytes& row : snapshot.partitions) {
    wire::Partition stored;
    const auto it = partitions_.find(row.name);
    const bool is_held = held_.find(store::word_of(store::RowKind::kPartition), row.name) != nullptr;
    if (it == partitions_.end() || is_held || !stored.ParseFromString(row.bytes)) continue;
    if (stored.state() > static_cast<uint32_t>(model::PartitionState::kInactive)) continue;
    // Rows of old have no list of what was said.
    const bool was_said = said_[row.name].contains("state");
    if (!was_said && stored.origins_size() > 0) continue;
    const auto state = static_cast<model::PartitionState>(stored.state());
    if (!was_said && it->second.state != state) said_[row.name].try_emplace("state");
    it->second.state = state;
    publish_partition(it->second);
  }
}

}  // namespace gw::ctld
