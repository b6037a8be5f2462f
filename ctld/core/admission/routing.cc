// See routing.h.
#include "ctld/core/admission/routing.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/faults.h"
#include "base/text.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/names.h"
#include "sched/place/place.h"

namespace gw::ctld {

namespace {

bool lists(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

base::Status check_partition(const Core& core, const Caller& caller, const model::Partition& p) {
  if (p.state == model::PartitionState::kDrain || p.state == model::PartitionState::kInactive)
    return base::with_sentence(
        base::fail(base::ErrorCode::kUnavailable,
                   fmt::format("partition {} takes no new jobs: it is {}", p.name, model::name(p.state))),
        "Required partition not available (inactive or drain)");
  const bool by_group = std::any_of(caller.groups.begin(), caller.groups.end(),
                                    [&](const std::string& g) { return lists(p.allow_groups, g); });
  const bool restricted = !p.allow_users.empty() || !p.allow_groups.empty();
  const bool admin = is_admin(core.settings, caller);
  if (!admin && (lists(p.deny_users, caller.user) || (restricted && !lists(p.allow_users, caller.user) && !by_group)))
    return base::with_sentence(
        base::fail(base::ErrorCode::kDenied, fmt::format("user {} may not use partition {}", caller.user, p.name),
                   "ask an administrator, or name another partition"),
        "User's group not permitted to use this partition");
  return {};
}

base::Status check_allowed_qos(const model::JobSpec& spec, const model::Partition& p) {
  if (!p.allow_qos.empty() && !lists(p.allow_qos, spec.qos))
    return base::fail(base::ErrorCode::kDenied, fmt::format("partition {} does not take QOS {}", p.name, spec.qos),
                      "it takes " + base::join(p.allow_qos, ", "));
  return {};
}

/// Where jobs take turns, one that never yields would keep the GPUs of those that made room for it.
base::Status check_turns(const Core& core, const model::JobSpec& spec, const std::string& partition) {
  const bool has_turns = can_be_suspended(spec) || spec.on_preempt == model::OnPreempt::kCheckpoint;
  if (has_turns || !core.planning.orders.takes_turns(partition)) return {};
  return base::invalid(
      fmt::format("jobs of partition {} take turns, and this one cannot be suspended: it has several components, is "
                  "elastic, or is in a reservation",
                  partition),
      "give --on-preempt=checkpoint, so that it saves its work at the end of a turn, or name another partition");
}

}  // namespace

void choose_partitions(const Core& core, model::JobSpec& spec) {
  if (!spec.partitions.empty()) return;
  const bool compute = spec.request.gpus > 0;
  for (const auto& [name, p] : core.partitions.all)
    if (compute ? p.default_for_compute : p.default_for_aux) spec.partitions.push_back(name);
  for (const auto& [name, p] : core.partitions.all)
    if (spec.partitions.empty() && p.is_default) spec.partitions.push_back(name);
}

base::Status route(const Core& core, const Caller& caller, model::JobSpec& spec, bool is_qos_known,
                   const model::JobSpec* before) {
  choose_partitions(core, spec);
  if (spec.partitions.empty())
    return base::invalid("no partition named and none is the default",
                         "name one with --partition: " + base::join(keys_of(core.partitions.all), ", "));
  base::Faults faults;
  for (const std::string& name : spec.partitions) {
    if (faults.is_full()) break;
    const auto it = core.partitions.all.find(name);
    if (it == core.partitions.all.end()) {
      faults.add(invalid_name(base::ErrorCode::kInvalid, NameOf::kPartition, name, keys_of(core.partitions.all)));
      continue;
    }
    const base::Status open = check_partition(core, caller, it->second);
    faults.add(open);
    if (open && is_qos_known) faults.add(check_allowed_qos(spec, it->second));
    const bool is_there = before != nullptr && lists(before->partitions, name);  // before its jobs took turns
    if (open && !is_there) faults.add(check_turns(core, spec, name));
  }
  return faults.status();
}

base::Status check_time(const Core& core, model::JobSpec& spec, bool is_admin_caller) {
  if (spec.time_limit < base::Duration{})
    return base::invalid("the time limit is negative", "give --time as minutes or [D-]HH:MM:SS");
  base::Duration most = base::Duration{0}, fallback = base::Duration{0};
  std::string longest;  // allows the most
  bool unlimited_somewhere = false;
  for (const std::string& name : spec.partitions) {
    const auto it = core.partitions.all.find(name);
    if (it == core.partitions.all.end())
      return base::invalid("partition " + name + " is not there any more", "name another one");
    const model::Partition& p = it->second;
    if (longest.empty() || p.max_time > most) longest = name;
    most = std::max(most, p.max_time);
    fallback = std::max(fallback, p.default_time == base::kUnlimited ? p.max_time : p.default_time);
    unlimited_somewhere |= p.unlimited || p.max_time == base::kUnlimited;
  }
  if (spec.time_limit == base::Duration{}) {
    spec.time_limit = fallback;
    return {};
  }
  if (!unlimited_somewhere && spec.time_limit > most && !is_admin_caller)
    return base::invalid(fmt::format("requested time limit is invalid: {} asked; partition {} allows {}",
                                     base::format_duration(spec.time_limit), longest, base::format_duration(most)),
                         "ask for less, or leave --time out for the partition's default");
  return {};
}

base::Status check_runnable(const Core& core, const model::JobSpec& spec) {
  base::Status first;
  for (const std::string& name : spec.partitions) {
    const sched::PartitionFacts* facts = core.ledger.capacity().partition(name);
    if (facts == nullptr) continue;
    const base::Status verdict = sched::could_ever_run(core.ledger.capacity(), *facts, model::least_of(spec.request));
    if (verdict) return {};
    if (first) first = verdict;
  }
  return first;
}

}  // namespace gw::ctld
