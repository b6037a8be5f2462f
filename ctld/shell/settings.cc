// Configuration -> core settings.
#include "ctld/shell/settings.h"

#include "base/text.h"
#include "model/named_counts.h"
#include "plugin/orders.h"
#include "plugin/policies.h"

namespace gw::ctld {

namespace {

void set_admins(const config::Config& config, Settings& s) {
  s.node_uids = {0, config.controller_uid};
  s.admin_uids = {0, config.controller_uid};
  for (const std::string& admin : config.admins) {
    const auto uid = base::parse_int(admin, 0, UINT32_MAX - 1, "admins");
    if (uid)
      s.admin_uids.insert(static_cast<uint32_t>(*uid));
    else
      s.admin_users.push_back(admin);
  }
}

base::Status set_policy(const config::Config& config, sched::Policy& policy) {
  auto share = plugin::load_share(plugin::Folders(config.plugin_dirs), config.share, config.share_weights);
  if (!share) {
    share.error().what = "scheduler.share: " + share.error().what;
    return tl::unexpected(std::move(share.error()));
  }
  policy.share = std::move(*share);
  const plugin::Orders orders(config.plugin_dirs);
  if (auto loaded = orders.set(policy, config.order, config.order_weights); !loaded) {
    base::Error error = loaded.error();
    error.what = "scheduler.order: " + error.what;
    return tl::unexpected(std::move(error));
  }
  const auto choose = [&](const auto& name, const auto& weights) { return orders.choose(name, weights); };
  GW_TRY(pools, sched::choose_pool_orders(config.partitions, config.order, choose));
  policy.pool_orders = std::move(pools);
  for (const auto& [qos, own] : config.qos_orders) {
    GW_TRY(chosen, sched::choose_qos_order(qos, own.order, own.weights, choose));
    policy.qos_orders[qos] = std::move(chosen);
  }
  policy.quantum = config.quantum;
  policy.fit = config.fit;
  policy.max_planned_starts = config.reservations;
  policy.candidates = config.candidates;
  policy.grace = config.kill_wait;
  policy.reclaim = config.reclaim;
  policy.preempts = config.preempts;
  policy.moves_per_hour = config.moves_per_hour;
  policy.preemptions_per_hour = config.preemptions_per_hour;
  policy.patience = config.patience;
  policy.reclaim_delay_max = config.reclaim_delay_max;
  policy.fairness_over_time = config.fairness_over_time;
  policy.licenses = model::parse_licenses(base::join(config.licenses, ",")).value_or(model::Licenses());
  return {};
}

}  // namespace

base::Result<Settings> settings_of(const config::Config& config) {
  Settings s;
  s.cluster = config.cluster;
  s.version = GANGWAY_VERSION;
  s.allow_root_jobs = config.allow_root_jobs;
  s.max_jobs = config.max_jobs;
  s.max_script_bytes = config.max_script_bytes;
  s.per_user.requests_per_second = config.user_requests_per_second;
  s.per_user.request_burst = config.user_request_burst;
  s.per_user.max_jobs = config.user_max_jobs;
  s.per_user.max_stored_bytes = config.user_max_stored_bytes;
  s.per_user.kept_replies = config.user_kept_replies;
  s.per_user.kept_reply_bytes = config.user_kept_reply_bytes;
  s.retention = {config.keep_environments, config.keep_scripts, config.keep_script_bytes};
  s.kill_wait = config.kill_wait;
  s.min_job_age = config.min_job_age;
  s.start_timeout = config.start_timeout;
  // A prolog that fails is followed by the epilog before the node says so.
  if (!config.prolog.empty()) s.prolog_time = config.program_limit * (config.epilog.empty() ? 1 : 2);
  s.max_launch_failures = config.max_launch_failures;
  s.node_launch_failures = config.node_launch_failures;
  s.requeue = config.requeue;
  s.default_qos = config.default_qos;
  s.default_qos_implied = config.default_qos_implied;
  s.enforce_accounts = config.enforce_accounts;
  s.heartbeat = config.heartbeat;
  s.node_timeout = config.node_timeout;
  s.has_fence = !config.fence_program.empty();
  s.has_prolog = !config.job_prolog.empty();
  s.has_epilog = !config.job_epilog.empty();
  s.sends_mail = !config.mail_program.empty();
  s.mail_per_user_hour = config.mail_per_user_hour;
  set_admins(config, s);
  if (!config.web_listen.empty()) s.web_uid = config::uid_of_user(config.web_user);
  if (s.web_uid == 0U) s.web_uid.reset();  // gwebd does not run as root
  s.private_data = model::private_data_of(config.private_data);
  s.nodes = config.nodes;
  s.partition_defaults = config.partition_defaults;
  s.partitions = config.partitions;
  s.file = config.path;
  s.config_lines = config.lines;
  s.consolidate = config.consolidate;
  s.qos = config.qos;
  s.network = config.network;
  GW_TRY_STATUS(set_policy(config, s.policy));
  const plugin::Folders folders(config.plugin_dirs);
  GW_TRY(filters, sched::choose_filters(config.partitions, [&](const auto& name, const auto& weights) {
           return plugin::load_filter(folders, name, weights);
         }));
  s.filters = std::move(filters);
  s.usage_half_life = config.usage_half_life;
  s.entries = config::entries(config);
  return s;
}

}  // namespace gw::ctld
