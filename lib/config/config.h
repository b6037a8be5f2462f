// The typed configuration (gangway.yaml). Unknown keys, wrong types and contradictions are errors with file:line:column
// and "did you mean"; a file is taken whole or refused whole.
// Invariant: a Config that load() returned is complete: names resolve, host lists are expanded, defaults are filled in.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/cluster.h"
#include "model/network.h"

namespace gw::config {

struct Config {
  std::string path;                 ///< The file it came from.
  std::string cluster = "gangway";  ///< cluster: name; letters, digits, - and _.

  // controller:
  std::string controller_host = "localhost";  ///< Where clients and nodes connect.
  uint16_t controller_port = 6920;
  std::string listen = "";                  ///< Address to bind; empty: by controller_host.
  std::string controller_user = "gangway";  ///< Name or number; only this uid can decode what clients send.
  uint32_t controller_uid = 0;              ///< Resolved from controller_user.
  std::string state_dir = "/var/lib/gangway";
  std::string log_dir = "/var/log/gangway";
  std::string run_dir = "/run/gangway";
  std::string job_prolog, job_epilog;                   ///< Run by gscriptd before and after a job; empty: none.
  base::Duration job_program_limit = base::minutes(5);  ///< For each of them.

  // metrics:
  std::string metrics_listen;  ///< Address of the HTTP page with figures; empty: none.

  // web:
  std::string web_listen;                ///< Address of the web page and its API; empty: none.
  std::string web_user = "gwebd";        ///< Name or number; not looked up here.
  std::vector<std::string> web_hosts;    ///< Names by which browsers ask for it, beside the address.
  std::string web_certificate, web_key;  ///< Files for TLS; empty: plain HTTP.
  bool web_open_to_read = false;         ///< Whoever reaches it may read.

  // auth:
  std::string munge_socket;  ///< Empty: MUNGE's default.

  // node_daemon:
  std::string spool_dir = "/var/spool/gangway";  ///< Step folders, scripts.
  std::string containment = "auto";              ///< auto | cgroup_v2 | cgroup_v1 | cgroup_mixed | none
  bool constrain_devices = true;
  uint32_t max_processes = 65'536;                  ///< Per job and node; 0: no limit.
  std::string step_ports = "61000-64999";           ///< As base::parse_port_range takes it.
  std::string prolog, epilog;                       ///< Run by gnoded before and after a job; empty: none.
  std::string task_prolog, task_epilog;             ///< Run as the user before and after each task; empty: none.
  base::Duration program_limit = base::minutes(5);  ///< For each of them.

  // jobs:
  bool allow_root_jobs = false;
  uint32_t max_jobs = 1'000'000;  ///< Not ended, in the whole cluster.
  uint64_t max_script_bytes = 4 << 20;
  base::Duration kill_wait = base::seconds(30);      ///< SIGTERM to SIGKILL at the time limit and on cancel.
  base::Duration min_job_age = base::seconds(300);   ///< Ended jobs stay visible in gqueue -t all for so long.
  base::Duration start_timeout = base::seconds(60);  ///< A gang not prepared by then is released and tried again.
  uint32_t node_launch_failures = 3;  ///< Of different jobs, in a row; then the node is drained. 0: never.
  uint32_t max_launch_failures = 5;   ///< In a row on account of nodes; then the job is held.
  bool requeue = true;                ///< Default for jobs that do not say.
  std::string default_qos = "normal";
  bool default_qos_implied = false;  ///< Not in the list of the file: its jobs run at the root of the tree.

  // accounts:
  bool enforce_accounts = true;  ///< An account that is no QOS is refused.

  // users: what each user who is no administrator may take of the controller
  uint32_t user_requests_per_second = 1'000;  ///< 0: no bound.
  uint32_t user_request_burst = 20'000;
  uint32_t user_max_jobs = 200'000;  ///< Not ended.
  uint64_t user_max_stored_bytes = uint64_t{1} << 30;
  uint32_t user_kept_replies = 100'000;
  uint64_t user_kept_reply_bytes = uint64_t{32} << 20;

  // retention: how long what ended jobs leave is kept; 0 for ever, but for environments
  base::Duration keep_environments = base::minutes(5);
  base::Duration keep_scripts = base::hours(7 * 24);
  uint64_t keep_script_bytes = uint64_t{4} << 30;
  base::Duration keep_ended_jobs = base::hours(400 * 24);
  base::Duration keep_events = base::hours(90 * 24);
  base::Duration keep_audit = base::hours(400 * 24);
  std::string archive_dir;  ///< Empty: what is over is deleted.

  // nodes (timing of the links):
  base::Duration heartbeat = base::seconds(10);
  base::Duration node_timeout = base::seconds(60);  ///< Silence after which a node counts as out of reach.
  std::string fence_program;  ///< Run as `PROGRAM NODE` for an unreachable node: exit 0 means it is dead.

  // submit_hook:
  std::string submit_program;                       ///< Looks at every submission; empty: none.
  base::Duration submit_limit = base::seconds(10);  ///< For one.
  std::string submit_on_failure = "refuse";         ///< refuse | accept

  std::vector<std::string> licenses;  ///< NAME:COUNT, what the cluster has of each.

  // mail:
  std::string mail_program;           ///< Run as `PROGRAM -s SUBJECT [--] ADDRESS...`; empty: no mail is sent.
  bool mail_double_dash = true;       ///< `--` stands before the addresses.
  std::string mail_domain;            ///< Of addresses that have none; empty: none is added.
  uint32_t mail_per_user_hour = 200;  ///< Mails of one user; 0: no bound.

  // scheduler:
  std::string order = "fifo_skip";                            ///< Name of an order plug-in.
  std::map<std::string, double> order_weights;                ///< For that plug-in; empty: its own.
  std::string share = "by_weight";                            ///< Name of a share plug-in.
  std::map<std::string, double> share_weights;                ///< For that plug-in; empty: its own.
  base::Duration quantum = base::minutes(1);                  ///< Where no partition says.
  model::Fit fit = model::Fit::kBest;                         ///< Where neither partition nor job says.
  uint32_t reservations = 16;                                 ///< Blocked jobs of a partition that get a reservation.
  uint32_t candidates = 32;                                   ///< Nodes compared for one task; 0: all.
  model::Reclaim reclaim = model::Reclaim::kFairShare;        ///< Between QOS.
  bool preempts = false;                                      ///< Inside a QOS, by submitted priority.
  model::Consolidate consolidate = model::Consolidate::kOff;  ///< Where the partition does not say.
  uint32_t moves_per_hour = 60;
  uint32_t preemptions_per_hour = 600;  ///< Of each QOS, for jobs beyond their guarantee.
  base::Duration patience = base::hours(12);
  base::Duration reclaim_delay_max = base::minutes(15);
  base::Duration usage_half_life = base::hours(7 * 24);  ///< In which use of the cluster counts half.
  double fairness_over_time = 0;
  base::Duration forecast_every = base::seconds(10);  ///< Starts are forecast no more often; zero: never.

  std::vector<std::string>
      admins;  ///< Users (names or numbers) and @groups who may do everything; root and controller_user always may.
  std::vector<std::string> private_data;      ///< Words of model::PrivateData.
  std::vector<model::NodeConfig> nodes;       ///< Expanded: one entry a node.
  std::vector<model::SwitchConfig> switches;  ///< As written under network:, expanded.
  model::Network network;                     ///< Built from them.
  model::Partition partition_defaults;        ///< What partitions have where they do not say; without name and nodes.
  std::vector<model::Partition> partitions;
  /// Line of each key that the file has, of those that say something about partitions: "partitions.gpu.fit",
  /// "partition_defaults.lease", "scheduler.fit".
  std::map<std::string, uint32_t> lines;
  std::vector<model::Qos> qos;  ///< Always holds default_qos.
  /// Of the jobs of a QOS, by its name. Not kept with the QOS, since an order is loaded with the file.
  struct QosOrder {
    std::string order;
    std::map<std::string, double> weights;
  };
  std::map<std::string, QosOrder> qos_orders;
  std::vector<std::string> plugin_dirs;
  std::vector<std::string> warnings;  ///< Said once at load: fit for people.
};

/// Reads and checks a file. Errors name FILE:LINE:COLUMN, what, why and the remedy.
base::Result<Config> load(const std::string& path);
/// The same from text; `path` only for messages.
base::Result<Config> parse(std::string_view text, const std::string& path);
/// Only what a command needs to reach the controller (cluster, controller, auth): cheap, checks just that much.
base::Result<Config> load_client_part(const std::string& path);
/// The same by read_plain_yaml() alone; an error too where that gives nothing.
base::Result<Config> load_plain_client_part(const std::string& path);
/// Where gscriptd serves the controller.
std::string script_socket(const Config& c);
/// Of a name or a number; none: this host does not know the name. Asks the user database, which may block.
std::optional<uint32_t> uid_of_user(const std::string& user);
/// $GANGWAY_CONF, else /etc/gangway/gangway.yaml.
std::string default_path();
/// Human lines "key: old -> new", for reconfigure; empty if nothing differs.
std::vector<std::string> diff(const Config& before, const Config& after);
/// Keys among the differences that need a restart of the daemon ("controller.port"), subset of the above.
std::vector<std::string> restart_needed(const Config& before, const Config& after);
/// Every key with its value and documentation as annotated YAML: the reference and the sample file come from this.
std::string dump(const Config& c);
/// All effective keys as flat pairs ("jobs.kill_wait" -> "30s").
std::vector<std::pair<std::string, std::string>> entries(const Config& c);

}  // namespace gw::config
