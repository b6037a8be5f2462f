// See pools.h.
#include "ctld/core/cluster/pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "ctld/core/cluster/partitions.h"
#include "ctld/core/jobs/usage.h"
#include "ctld/core/shared/held.h"
#include "ctld/core/shared/publish.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Partition;

void configure_pools(Core& core) {
  std::map<std::string, model::Partition> before = std::move(core.partitions.all);
  core.partitions.all.clear();
  for (const auto& [name, own] : core.partitions.made) {
    model::KeyNames said;
    for (const auto& [key, by] : core.partitions.origins[name]) said.insert(key);
    core.partitions.all[name] = over_defaults(core, own, said);
  }
  for (const model::Partition& configured : core.settings.partitions) {
    if (core.partitions.gone.contains(configured.name)) continue;
    model::Partition& p = core.partitions.all[configured.name] = configured;
    // An administrator's word on the state outlives a reload; limits come from the file.
    PartitionTable::KeyOrigins& said = core.partitions.origins[p.name];
    std::erase_if(said, [](const auto& key) { return key.first != "state"; });
    const bool was_made = core.partitions.made.erase(p.name) > 0;  // the file has it now
    if (const auto it = before.find(p.name); it != before.end() && said.contains("state")) p.state = it->second.state;
    if (was_made) store_partition(core, p);
  }
  for (const auto& [name, p] : core.partitions.all) publish_partition(core, p);
  for (const auto& [name, p] : before) {
    if (core.partitions.all.contains(name)) continue;
    withdraw_partition(core, name);
    core.partitions.origins.erase(name);
  }
}

void configure_scheduler(Core& core) {
  if (!core.settings.policy.order) core.settings.policy.order = *sched::make_order("fifo_skip");
  core.settings.policy.grace = std::max(core.settings.policy.grace, base::seconds(1));
  tell_policy(core);
  core.ledger.set_network(core.settings.network);
}

void on_reconfigured(Core& core, Settings settings, const Reload& reply_to, const std::vector<std::string>& changes,
                     const std::vector<std::string>& warnings) {
  wire::ApiReply out;
  for (const std::string& c : changes) out.mutable_reconfigure()->add_changes(c);
  for (const std::string& w : warnings) out.mutable_reconfigure()->add_warnings(w);
  out.mutable_reconfigure();
  // Nodes that left the file keep their record while jobs hold them.
  std::set<std::string> kept;
  for (const model::NodeConfig& n : settings.nodes) kept.insert(n.name);
  for (const std::string& name : core.nodes.names())
    if (!kept.contains(name)) withdraw_node(core, *core.nodes.find(name), out);
  if (settings.qos != core.settings.qos)
    out.mutable_reconfigure()->add_warnings(
        "qos: is read at the first start only, since then the tree is changed by gacctmgr: nothing of it was taken "
        "over");
  core.settings = std::move(settings);
  core.clients.kept_replies.set_limits({core.settings.per_user.kept_replies, core.settings.per_user.kept_reply_bytes});
  core.usage.set_half_life(core.settings.usage_half_life, core.now);
  core.jobs.arrays().room_for_all();  // by users.max_jobs
  configure_scheduler(core);
  publish_usage(core);
  configure_nodes(core);
  configure_pools(core);
  std::map<std::string, size_t> stranded;
  for (const auto& [id, job] : core.jobs.all()) {
    if (job.waiting() == nullptr) continue;
    for (const std::string& name : job.spec.partitions) stranded[name] += !core.partitions.all.contains(name);
  }
  for (const auto& [name, count] : stranded)
    if (count > 0)
      out.mutable_reconfigure()->add_warnings(
          fmt::format("partition {} is gone, but {} for it: gcontrol update moves them", name,
                      count == 1 ? "1 job waits" : fmt::format("{} jobs wait", count)));
  for (const std::string& c : changes) {
    core.out.note("reconfigured: " + c);
    core.out.audit("reconfigured", "", base::printable(c, 1'000), reply_to.uid);
  }
  if (reply_to.conn != 0) core.out.reply(reply_to.conn, reply_to.request_id, std::move(out));
}

void restore_partitions(Core& core, const store::Snapshot& snapshot) {
  for (const store::NamedBytes& row : snapshot.partitions) {
    wire::Partition stored;
    auto p = stored.ParseFromString(row.bytes) && stored.name() == row.name
                 ? wire::from_wire(stored)
                 : base::Result<Partition>(base::invalid("it cannot be read"));
    if (!p) {
      hold_named(core, store::RowKind::kPartition, row.name, p.error().what);
      continue;
    }
    if (stored.is_gone()) core.partitions.gone.insert(row.name);
    for (const wire::KeyOrigin& origin : stored.origins())
      if (stored.is_made() || origin.key() == "state")
        core.partitions.origins[row.name][origin.key()] =
            PartitionTable::Origin{origin.by(), origin.by_uid(), Time{origin.at_us()}};
    if (!stored.is_made()) continue;
    for (const std::string& key : keys_given(stored, *p)) core.partitions.origins[row.name].try_emplace(key);
    core.partitions.made[row.name] = std::move(*p);
  }
  configure_pools(core);
  for (const store::NamedBytes& row : snapshot.partitions) {
    wire::Partition stored;
    const auto it = core.partitions.all.find(row.name);
    const bool is_held = core.stored.held.find(store::word_of(store::RowKind::kPartition), row.name) != nullptr;
    if (it == core.partitions.all.end() || is_held || !stored.ParseFromString(row.bytes)) continue;
    if (stored.state() > static_cast<uint32_t>(model::PartitionState::kInactive)) continue;
    // Rows of old have no list of what was said.
    const bool was_said = core.partitions.origins[row.name].contains("state");
    if (!was_said && stored.origins_size() > 0) continue;
    const auto state = static_cast<model::PartitionState>(stored.state());
    if (!was_said && it->second.state != state) core.partitions.origins[row.name].try_emplace("state");
    it->second.state = state;
    publish_partition(core, it->second);
  }
}

}  // namespace gw::ctld
