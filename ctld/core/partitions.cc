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
#include "wire/convert.h"

namespace gw::ctld {

using base::ErrorCode;
using base::Status;
using model::Partition;

void Controller::publish_partition(const model::Partition& p) {
  const sched::PartitionFacts facts = sched::facts_of(p);
  empty_.reset();
  ledger_.set_partition(facts);
  emit(sched::PartitionSet{facts});
}

void Controller::withdraw_partition(const std::string& name) {
  empty_.reset();
  ledger_.remove_partition(name);
  emit(sched::PartitionRemoved{name});
}

namespace {}  // namespace

/// Everything that a partition can be given wrong, whoever gives it.
Status Controller::check_partition_values(Partition& p) const {
  if (p.nodes.empty()) return base::invalid("a partition needs nodes", "add Nodes=LIST");
  for (const std::string& node : p.nodes)
    if (!node_ids_.contains(node))
      return tl::unexpected(invalid_name(ErrorCode::kNotFound, "node name", node, node_names()));
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
  p.unlimited = p.unlimited || (p.max_time == base::kUnlimited && p.default_time == base::kUnlimited);
  return {};
}

void Controller::keep_partition(Time now, const Caller& caller, const Partition& p, std::string_view what) {
  if (p.is_default)
    for (auto& [name, other] : partitions_) other.is_default = false;
  partitions_[p.name] = p;
  const auto made = made_partitions_.find(p.name);
  if (made != made_partitions_.end()) made->second = p;
  publish_partition(p);
  wire::Partition row = wire::to_wire(p);
  row.set_is_made(made != made_partitions_.end());
  effects_.writes.push_back(store::PutPartition{p.name, row.SerializeAsString()});
  effects_.writes.push_back(
      store::Event{now, {}, {}, fmt::format("partition {}", what), p.name + " by " + caller.user, caller.uid});
}

void Controller::create_partition(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  auto given = wire::from_wire(request.create_partition().partition());
  if (!given) return reply_error(conn, request.id(), given.error());
  Partition p = std::move(*given);
  Status done = base::check_name(p.name);
  if (done && partitions_.contains(p.name))
    done = base::fail(ErrorCode::kConflict, "partition " + p.name + " exists already",
                      "change it with: gcontrol update PartitionName=" + p.name);
  if (done) done = check_partition_values(p);
  if (!done) return reply_error(conn, request.id(), done.error());
  gone_partitions_.erase(p.name);
  made_partitions_[p.name] = p;
  keep_partition(now, caller, p, "created");
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(now, conn, caller, request, std::move(out));
}

void Controller::delete_partition(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const std::string& name = request.delete_partition().name();
  if (!partitions_.contains(name))
    return reply_error(conn, request.id(),
                       invalid_name(ErrorCode::kNotFound, "partition name", name, keys_of(partitions_)));
  size_t count = 0;
  for (const auto& [id, job] : jobs_) {
    const bool waits = job.waiting() != nullptr && std::find(job.spec.partitions.begin(), job.spec.partitions.end(),
                                                             name) != job.spec.partitions.end();
    count += waits || (job.placed() != nullptr && job.placed()->partition == name);
  }
  if (count > 0)
    return reply_error(
        conn, request.id(),
        {ErrorCode::kConflict, fmt::format("partition {} has {}", name, base::counted(count, "job")),
         "set it to DRAIN and let them end, or move those that wait: gcontrol update JobId=ID Partition=OTHER"});
  partitions_.erase(name);
  made_partitions_.erase(name);
  gone_partitions_.insert(name);
  withdraw_partition(name);
  wire::Partition row;
  row.set_name(name);
  row.set_is_gone(true);
  effects_.writes.push_back(store::PutPartition{name, row.SerializeAsString()});
  effects_.writes.push_back(store::Event{now, {}, {}, "partition deleted", name + " by " + caller.user, caller.uid});
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(now, conn, caller, request, std::move(out));
}

/// What is set in `u`; checked by check_partition_values().
Status Controller::change_partition(Partition& p, const wire::UpdatePartitionRequest& u) const {
  if (u.has_state() && u.state() > static_cast<uint32_t>(model::PartitionState::kInactive))
    return base::invalid("unknown partition state", "UP, DOWN, DRAIN, INACTIVE");
  if (u.has_state()) p.state = static_cast<model::PartitionState>(u.state());
  if (u.has_max_time_us()) p.max_time = base::Duration{u.max_time_us()};
  if (u.has_default_time_us()) p.default_time = base::Duration{u.default_time_us()};
  if (u.has_tier()) p.tier = u.tier();
  if (u.has_is_default()) p.is_default = u.is_default();
  if (u.has_default_qos()) p.default_qos = u.default_qos();
  if (u.has_max_nodes()) p.max_nodes = u.max_nodes();
  if (u.has_default_for_compute()) p.default_for_compute = u.default_for_compute();
  if (u.has_default_for_aux()) p.default_for_aux = u.default_for_aux();
  if (u.has_exclusive()) p.exclusive = u.exclusive();
  const auto names = [](const std::string& list) {
    return list.empty() ? std::vector<std::string>() : base::split(list, ',');
  };
  if (u.has_allow_qos()) p.allow_qos = names(u.allow_qos());
  if (u.has_allow_users()) p.allow_users = names(u.allow_users());
  if (u.has_allow_groups()) p.allow_groups = names(u.allow_groups());
  if (!u.has_nodes()) return {};
  GW_TRY(nodes, base::expand_hostlist(u.nodes()));
  p.nodes = nodes;
  return {};
}

void Controller::update_partition(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::UpdatePartitionRequest& u = request.update_partition();
  const auto it = partitions_.find(u.name());
  if (it == partitions_.end())
    return reply_error(conn, request.id(),
                       invalid_name(ErrorCode::kNotFound, "partition name", u.name(), keys_of(partitions_)));
  Partition p = it->second;
  Status done = change_partition(p, u);
  if (done) done = check_partition_values(p);
  if (!done) return reply_error(conn, request.id(), done.error());
  keep_partition(now, caller, p, "updated");
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(now, conn, caller, request, std::move(out));
}

/// States, and what commands made and deleted.
void Controller::restore_partitions(const store::Snapshot& snapshot) {
  for (const store::NamedBytes& row : snapshot.partitions) {
    wire::Partition stored;
    if (!stored.ParseFromString(row.bytes)) continue;
    if (stored.is_gone()) gone_partitions_.insert(row.name);
    if (!stored.is_made()) continue;
    if (auto p = wire::from_wire(stored)) made_partitions_[row.name] = std::move(*p);
  }
  configure_pools();
  for (const store::NamedBytes& row : snapshot.partitions) {
    wire::Partition stored;
    const auto it = partitions_.find(row.name);
    if (it == partitions_.end() || !stored.ParseFromString(row.bytes)) continue;
    if (stored.state() > static_cast<uint32_t>(model::PartitionState::kInactive)) continue;
    it->second.state = static_cast<model::PartitionState>(stored.state());
    publish_partition(it->second);
  }
}

}  // namespace gw::ctld
