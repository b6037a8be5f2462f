// See record_match.h.
#include "ctld/shell/record_match.h"

#include <algorithm>

#include "base/hostlist.h"
#include "model/job_state.h"

namespace gw::ctld {
namespace {

using model::JobState;
using By = store::RecordQuery::By;
using Names = std::set<std::string, std::less<>>;

template <typename List>
Names names_of(const List& list) {
  return {list.begin(), list.end()};
}

bool passes(const Names& names, const std::string& name) { return names.empty() || names.contains(name); }

}  // namespace

RecordMatch::RecordMatch(const wire::RecordFilter& f, base::Time now)
    : uids_(f.uids().begin(), f.uids().end()),
      states_(f.states().begin(), f.states().end()),
      users_(names_of(f.users())),
      accounts_(names_of(f.accounts())),
      partitions_(names_of(f.partitions())),
      qos_(names_of(f.qos())),
      names_(names_of(f.names())),
      nodes_(names_of(f.nodes())) {
  for (const uint32_t id : std::set<uint32_t>(f.ids().begin(), f.ids().end())) query_.ids.emplace_back(id);
  for (const base::JobId id : query_.ids) query_.arrays.push_back({id, {}});  // it may be one
  for (const wire::TasksOfArray& named : f.tasks()) {
    store::RecordQuery::OfArray& of = query_.arrays.emplace_back();
    of.array = base::JobId(named.array());
    for (const wire::TaskRange& range : named.tasks()) of.tasks.emplace_back(range.first(), range.last());
  }
  query_.since = {f.since_us()};
  query_.until = f.until_us() > 0 ? base::Time{f.until_us()} : now;
  // By the column that rules out most; users who are named by number alone have no index.
  const std::pair<By, const Names*> columns[] = {{By::kUser, uids_.empty() ? &users_ : nullptr},
                                                 {By::kAccount, &accounts_},
                                                 {By::kQos, &qos_},
                                                 {By::kPartition, &partitions_}};
  for (const auto& [by, names] : columns) {
    if (names == nullptr || names->empty()) continue;
    query_.by = by;
    query_.names.assign(names->begin(), names->end());
    return;
  }
}

bool RecordMatch::wants(const store::JobRow& row) const {
  return was_then(row) && is_of_user(row) && passes(accounts_, row.account) && passes(partitions_, row.partition) &&
         passes(qos_, row.qos) && passes(names_, row.name) && touches_nodes(row);
}

bool RecordMatch::was_then(const store::JobRow& row) const {
  if (states_.empty()) return row.submitted <= query_.until && (!row.ended || row.ended >= query_.since);
  return std::any_of(states_.begin(), states_.end(), [&](uint32_t state) { return has_state_then(row, state); });
}

/// As sacct's page has it: in that state at some time between the two.
bool RecordMatch::has_state_then(const store::JobRow& row, uint32_t state) const {
  const bool had_not_ended = !row.ended || row.ended >= query_.since;
  switch (static_cast<JobState>(state)) {
    case JobState::kPending: {
      const base::Time over = row.started ? row.started : row.ended;
      return row.submitted <= query_.until && (!over || over >= query_.since);
    }
    case JobState::kRunning:
      return row.started && row.started <= query_.until && had_not_ended;
    default:
      return row.state == state && had_not_ended && (row.ended ? row.ended : row.submitted) <= query_.until;
  }
}

/// Users by name or by number: either list may name the owner.
bool RecordMatch::is_of_user(const store::JobRow& row) const {
  if (uids_.empty()) return passes(users_, row.user);
  return uids_.contains(row.uid) || (!users_.empty() && users_.contains(row.user));
}

bool RecordMatch::touches_nodes(const store::JobRow& row) const {
  if (nodes_.empty()) return true;
  const auto list = base::expand_hostlist(row.nodes);
  return list && std::any_of(list->begin(), list->end(), [this](const auto& node) { return nodes_.contains(node); });
}

}  // namespace gw::ctld
