// The controller's settings as plain data: what the shell distils from the configuration for the core.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/cluster.h"
#include "model/network.h"
#include "model/private_data.h"
#include "sched/view/view.h"

namespace gw::ctld {

/// What one user who is no administrator may take of the controller.
struct UserLimits {
  uint32_t requests_per_second = 1'000;  ///< 0: no bound.
  uint32_t request_burst = 20'000;
  uint32_t max_jobs = 200'000;  ///< That have not ended.
  uint64_t max_stored_bytes = uint64_t{1} << 30;
  size_t kept_replies = 100'000;  ///< See kept_replies.h.
  size_t kept_reply_bytes = size_t{32} << 20;
};

/// How long what ended jobs leave is kept.
struct Retention {
  base::Duration environments = base::minutes(5);
  base::Duration scripts = base::hours(7 * 24);
  uint64_t script_bytes = uint64_t{4} << 30;
};

struct Settings {
  std::string cluster;
  std::string version;
  std::string incarnation;  ///< Of this start of the controller: random. Empty: its state has no identity.
  bool allow_root_jobs = false;
  uint32_t max_jobs = 1'000'000;
  uint64_t max_script_bytes = 4 << 20;
  UserLimits per_user;
  Retention retention;
  base::Duration kill_wait = base::seconds(30);
  base::Duration min_job_age = base::seconds(300);
  base::Duration start_timeout = base::seconds(60);
  base::Duration prolog_time = {};  ///< What prologs may take on top of that.
  base::Duration prepare_timeout() const { return start_timeout + prolog_time; }
  uint32_t max_launch_failures = 5;
  uint32_t node_launch_failures = 3;
  bool requeue = true;
  std::string default_qos = "normal";
  bool default_qos_implied = false;  ///< It is not in the configuration's list: its jobs run at the root.
  bool enforce_accounts = true;      ///< An account that is no QOS is refused; else it is a label.
  base::Duration heartbeat = base::seconds(10);
  base::Duration node_timeout = base::seconds(60);
  bool has_fence = false;   ///< A fencing program is configured.
  bool has_prolog = false;  ///< Of the controller: its contracts say so.
  bool has_epilog = false;
  bool sends_mail = false;               ///< A mail program is configured.
  uint32_t mail_per_user_hour = 0;       ///< 0: no bound.
  std::set<uint32_t> node_uids;          ///< Who may register as a node: root and the controller's own uid.
  std::optional<uint32_t> web_uid = {};  ///< Who may act for others by their tokens: gwebd.
  std::set<uint32_t> admin_uids;         ///< root, the controller's uid, admins given by number.
  std::vector<std::string> admin_users;  ///< Names, and @groups.
  model::PrivateData private_data;       ///< What others may not see.
  std::vector<model::NodeConfig> nodes;
  model::Partition partition_defaults;                        ///< What partitions have where nobody says anything.
  std::vector<model::Partition> partitions;                   ///< With what they have by default.
  std::string file;                                           ///< The configuration.
  std::map<std::string, uint32_t> config_lines;               ///< As config::Config has them.
  model::Consolidate consolidate = model::Consolidate::kOff;  ///< Where the partition does not say.
  std::vector<model::Qos> qos;
  model::Network network;
  sched::Policy policy;
  sched::PoolFilters filters;  ///< Of partitions that have one.
  base::Duration usage_half_life = base::hours(7 * 24);
  std::vector<std::pair<std::string, std::string>> entries;  ///< For `gcontrol show config`.
};

}  // namespace gw::ctld
