// See usage_table.h.
#include "ctld/core/tables/usage_table.h"

#include "base/text.h"

namespace gw::ctld {
namespace {

constexpr char kUser[] = "user", kQos[] = "qos";

template <typename Key>
void add_row(const char* kind, std::string name, const std::map<Key, sched::Used>& holders, const Key& key,
             store::Batch& rows) {
  const auto it = holders.find(key);
  if (it == holders.end())
    rows.push_back(store::DropUsage{kind, std::move(name)});
  else
    rows.push_back(store::PutUsage{kind, std::move(name), it->second.amount, it->second.at});
}

}  // namespace

bool UsageTable::restore(const store::PutUsage& row) {
  const auto uid = base::parse_int(row.name, 0, UINT32_MAX, "uid");
  const bool is_sound = row.amount >= 0 && row.at.us >= 0 && (row.kind == kQos || (row.kind == kUser && uid));
  if (!is_sound) return false;
  if (row.kind == kQos)
    qos_.restore(row.name, row.amount, row.at);
  else
    users_.restore(static_cast<uint32_t>(*uid), row.amount, row.at);
  return true;
}

std::optional<sched::UsageSet> UsageTable::news(base::Time at, bool do_users_count, bool does_qos_count) {
  sched::UsageSet use;
  if (do_users_count) use.usage = users_.at(at);
  if (does_qos_count) use.qos = qos_.at(at);
  if (use.usage == last_sent_.usage && use.qos == last_sent_.qos) return std::nullopt;
  last_sent_ = use;
  return use;
}

store::Batch UsageTable::take_rows() {
  store::Batch rows;
  for (const uint32_t uid : users_.take_changed()) add_row(kUser, std::to_string(uid), users_.holders(), uid, rows);
  for (const std::string& qos : qos_.take_changed()) add_row(kQos, qos, qos_.holders(), qos, rows);
  return rows;
}

}  // namespace gw::ctld
