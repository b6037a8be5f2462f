// The tables of keys. See keys.h.
#include "config/keys.h"

#include <array>
#include <utility>

#include "base/text.h"
#include "model/partition_keys.h"

namespace gw::config {
namespace {

constexpr int64_t kDay = 86'400, kYear = 366 * kDay, kAnyU32 = 4'294'967'294, kTiB = 1 << 20,
                  kMaxWeight = 1'000'000'000'000;
constexpr auto kLive = Reload::kLive;
constexpr auto kSeed = Reload::kSeed;
constexpr auto kController = Reload::kController;
constexpr auto kNode = Reload::kNode;
constexpr auto kWeb = Reload::kWeb;

const Key<Config> kConfigKeys[] = {
    {{"cluster", Kind::kName, kController, "Name of the cluster. It is part of cgroup paths and of accounting."},
     [](Config& c) -> Ref { return &c.cluster; }},

    {{"controller.host", Kind::kText, kController,
      "Host name or address where clients and nodes reach the controller."},
     [](Config& c) -> Ref { return &c.controller_host; }},
    {{"controller.port", Kind::kNumber, kController, "Its TCP port.", 1, 65535},
     [](Config& c) -> Ref { return &c.controller_port; }},
    {{"controller.listen", Kind::kText, kController,
      "Address that the controller binds. Empty: the address that host stands for, or all where that would keep others "
      "out."},
     [](Config& c) -> Ref { return &c.listen; }},
    {{"controller.user", Kind::kText, kController,
      "User that the controller runs as, by name or number. Only this user can decode what clients send."},
     [](Config& c) -> Ref { return &c.controller_user; }},
    {{"controller.state_dir", Kind::kPath, kController,
      "Folder of the controller's database, on a local disk; written by its user alone."},
     [](Config& c) -> Ref { return &c.state_dir; }},
    {{"controller.log_dir", Kind::kPath, kController, "Folder of the daemons' log files."},
     [](Config& c) -> Ref { return &c.log_dir; }},
    {{"controller.run_dir", Kind::kPath, kController,
      "Folder of pid files and sockets, of mode 0711; its path is short."},
     [](Config& c) -> Ref { return &c.run_dir; }},
    {{"controller.prolog", Kind::kPath, kLive,
      "Run by gscriptd, as the controller's user, for each run of a job before its nodes are told of it. If it fails, "
      "the job is tried again later. Empty: nothing is run."},
     [](Config& c) -> Ref { return &c.job_prolog; }},
    {{"controller.epilog", Kind::kPath, kLive,
      "Likewise when its nodes have nothing of the run left and others have them; the job is over when it has ended. A "
      "failure is only told."},
     [](Config& c) -> Ref { return &c.job_epilog; }},
    {{"controller.program_limit", Kind::kDuration, kLive,
      "How long each of them may take; then it is killed, with all that it started, and counts as failed.", 1,
      24 * 3600},
     [](Config& c) -> Ref { return &c.job_program_limit; }},

    {{"metrics.listen", Kind::kText, kController,
      "Address, such as 127.0.0.1:6922, where the controller serves its figures to monitoring: GET /metrics, text of "
      "Prometheus. Whoever reaches it may read them. Empty: nowhere."},
     [](Config& c) -> Ref { return &c.metrics_listen; }},

    {{"web.listen", Kind::kText, kWeb,
      "Address, such as 127.0.0.1:6923, where gwebd serves the web page and its API. Empty: nowhere."},
     [](Config& c) -> Ref { return &c.web_listen; }},
    {{"web.user", Kind::kText, kWeb,
      "User that gwebd runs as, by name or number: neither root nor the controller's. gwebd that root starts becomes "
      "it."},
     [](Config& c) -> Ref { return &c.web_user; }},
    {{"web.hosts", Kind::kTexts, kWeb,
      "Names by which browsers ask for the page (web.example.org), beside the address and localhost; a request by any "
      "other name is refused."},
     [](Config& c) -> Ref { return &c.web_hosts; }},
    {{"web.certificate", Kind::kPath, kWeb,
      "File with the certificate for TLS and those that vouch for it, as PEM. Empty: plain HTTP."},
     [](Config& c) -> Ref { return &c.web_certificate; }},
    {{"web.key", Kind::kPath, kWeb, "File with its private key, as PEM; read before root's rights are given up."},
     [](Config& c) -> Ref { return &c.web_key; }},
    {{"web.open_to_read", Kind::kBool, kWeb,
      "Whoever reaches the page may read what any user of the cluster may (private: holds). false: nobody may."},
     [](Config& c) -> Ref { return &c.web_open_to_read; }},

    {{"auth.munge_socket", Kind::kPath, kController, "Socket of munged. Empty: MUNGE's own default."},
     [](Config& c) -> Ref { return &c.munge_socket; }},

    {{"node_daemon.spool_dir", Kind::kPath, kNode, "Folder of step folders and scripts on a node."},
     [](Config& c) -> Ref { return &c.spool_dir; }},
    {{"node_daemon.containment", Kind::kChoice, kNode,
      "How jobs are contained. auto takes the best that the node offers (`gangway doctor` shows it).", 0, 0,
      "auto|cgroup_v2|cgroup_v1|cgroup_mixed|none"},
     [](Config& c) -> Ref { return &c.containment; }},
    {{"node_daemon.constrain_devices", Kind::kBool, kNode, "Hide from a job the GPUs that it was not given."},
     [](Config& c) -> Ref { return &c.constrain_devices; }},
    {{"node_daemon.max_processes", Kind::kNumber, kNode,
      "Processes and threads of one job on one node, and never more than half of what the machine has numbers for "
      "(kernel.pid_max): a fork bomb ends at it. 0: no limit.",
      0, 4'194'304},
     [](Config& c) -> Ref { return &c.max_processes; }},
    {{"node_daemon.step_ports", Kind::kText, kNode,
      "TCP ports of a node where clients and other nodes reach its steps, FIRST-LAST; a firewall must let them in. A "
      "step takes one on each node, two with MPI or gbcast. 0: any that the system gives."},
     [](Config& c) -> Ref { return &c.step_ports; }},
    {{"node_daemon.prolog", Kind::kPath, kNode,
      "Run by gnoded, as its own user (root), on each node of a job before anything of the job is there. If it fails, "
      "the node is drained and the job is tried on other nodes. Empty: none."},
     [](Config& c) -> Ref { return &c.prolog; }},
    {{"node_daemon.epilog", Kind::kPath, kNode,
      "Likewise when all of the job has left the node, whose cores and GPUs are given to others only then. If it "
      "fails, the node is drained. Empty: none."},
     [](Config& c) -> Ref { return &c.epilog; }},
    {{"node_daemon.task_prolog", Kind::kPath, kNode,
      "Run as the job's user before its script and before each task of a step, in the task's place. What it prints as "
      "`export NAME=value`, `unset NAME` and `print TEXT` is done to the task's environment and output. If it fails, "
      "the task does not run and has its exit code. Empty: none."},
     [](Config& c) -> Ref { return &c.task_prolog; }},
    {{"node_daemon.task_epilog", Kind::kPath, kNode,
      "Likewise when the script or a task has ended; its output is dropped, and a failure is only told in the log."},
     [](Config& c) -> Ref { return &c.task_epilog; }},
    {{"node_daemon.program_limit", Kind::kDuration, kNode,
      "How long a prolog or epilog may take; then it is killed, with all that it started, and counts as failed.", 1,
      24 * 3600},
     [](Config& c) -> Ref { return &c.program_limit; }},

    {{"jobs.allow_root_jobs", Kind::kBool, kLive, "Run jobs of uid 0."},
     [](Config& c) -> Ref { return &c.allow_root_jobs; }},
    {{"jobs.max_jobs", Kind::kNumber, kLive, "Jobs of the whole cluster that have not ended; more are refused.", 1,
      50'000'000},
     [](Config& c) -> Ref { return &c.max_jobs; }},
    {{"jobs.max_script_bytes", Kind::kBytes, kLive, "Largest batch script.", 1024, 64 << 20},
     [](Config& c) -> Ref { return &c.max_script_bytes; }},
    {{"jobs.kill_wait", Kind::kDuration, kLive, "Time from SIGTERM to SIGKILL at the time limit and on gcancel.", 0,
      kDay},
     [](Config& c) -> Ref { return &c.kill_wait; }},
    {{"jobs.min_job_age", Kind::kDuration, kLive, "Ended jobs stay visible in `gqueue -t all` for so long.", 0,
      30 * kDay},
     [](Config& c) -> Ref { return &c.min_job_age; }},
    {{"jobs.start_timeout", Kind::kDuration, kLive,
      "A gang whose nodes have not all prepared by then is released and tried again. Where there is a prolog, what "
      "that "
      "may take comes on top.",
      1, kDay},
     [](Config& c) -> Ref { return &c.start_timeout; }},
    {{"jobs.max_launch_failures", Kind::kNumber, kLive,
      "A job whose start failed so many times in a row on account of nodes is held.", 1, 1000},
     [](Config& c) -> Ref { return &c.max_launch_failures; }},
    {{"jobs.node_launch_failures", Kind::kNumber, kLive,
      "A node that failed to launch so many different jobs in a row, on its own account, is drained; 0: never.", 0,
      1000},
     [](Config& c) -> Ref { return &c.node_launch_failures; }},
    {{"jobs.requeue", Kind::kBool, kLive,
      "Jobs that say neither --requeue nor --no-requeue run again after a node failure."},
     [](Config& c) -> Ref { return &c.requeue; }},
    {{"jobs.default_qos", Kind::kName, kLive, "QOS of jobs that name none."},
     [](Config& c) -> Ref { return &c.default_qos; }},

    {{"accounts.enforce", Kind::kBool, kLive,
      "An account that is no QOS is refused. false: any name is taken and kept as a label; the job runs at its default "
      "QOS."},
     [](Config& c) -> Ref { return &c.enforce_accounts; }},

    {{"users.requests_per_second", Kind::kNumber, kLive,
      "Requests of one user that are taken in a second, in the long run; 0: no bound. Clients wait and ask again by "
      "themselves.",
      0, 1'000'000},
     [](Config& c) -> Ref { return &c.user_requests_per_second; }},
    {{"users.request_burst", Kind::kNumber, kLive, "Requests of one user that are taken at once after a pause.", 1,
      10'000'000},
     [](Config& c) -> Ref { return &c.user_request_burst; }},
    {{"users.max_jobs", Kind::kNumber, kLive, "Jobs of one user that wait or run; more are refused.", 1, 50'000'000},
     [](Config& c) -> Ref { return &c.user_max_jobs; }},
    {{"users.max_stored_bytes", Kind::kBytes, kLive,
      "What options, scripts and environments of one user's jobs take in the controller's store; a script that several "
      "jobs have counts once. Ended jobs count until jobs.min_job_age is over.",
      1 << 20, int64_t{1000} << 30},
     [](Config& c) -> Ref { return &c.user_max_stored_bytes; }},
    {{"users.kept_replies", Kind::kNumber, kLive,
      "Answers to changes of one user that are kept for an hour; above that the oldest go first, but none in its first "
      "two minutes.",
      1, 10'000'000},
     [](Config& c) -> Ref { return &c.user_kept_replies; }},
    {{"users.kept_reply_bytes", Kind::kBytes, kLive,
      "The same in bytes, with the names that the commands gave their requests.", 64 << 10, int64_t{100} << 30},
     [](Config& c) -> Ref { return &c.user_kept_reply_bytes; }},

    {{"retention.environments", Kind::kDuration, kLive,
      "After so long the environment of an ended job, which may hold secrets, is deleted.", 0, 30 * kDay},
     [](Config& c) -> Ref { return &c.keep_environments; }},
    {{"retention.scripts", Kind::kDuration, kLive, "After so long the script of ended jobs is deleted.", 0, 10 * kYear},
     [](Config& c) -> Ref { return &c.keep_scripts; }},
    {{"retention.script_bytes", Kind::kBytes, kLive,
      "Scripts of ended jobs above so many bytes, of all users, are deleted sooner, the oldest first.", 1 << 20,
      int64_t{1000} << 30},
     [](Config& c) -> Ref { return &c.keep_script_bytes; }},
    {{"retention.ended_jobs", Kind::kDuration, kLive,
      "After so long the record of an ended job leaves the database; 0s: never.", 0, 100 * kYear},
     [](Config& c) -> Ref { return &c.keep_ended_jobs; }},
    {{"retention.events", Kind::kDuration, kLive,
      "After so long a line of the history of jobs and nodes leaves the database; 0s: never.", 0, 100 * kYear},
     [](Config& c) -> Ref { return &c.keep_events; }},
    {{"retention.audit", Kind::kDuration, kLive,
      "After so long a line of `gcontrol show audit` leaves the database. It cannot be less than 30 days.", 30 * kDay,
      100 * kYear},
     [](Config& c) -> Ref { return &c.keep_audit; }},
    {{"retention.archive_dir", Kind::kPath, kLive,
      "Folder where records and lines that leave the database are kept, in archive.db (SQLite); written by the "
      "controller's user. Empty: they are deleted.",
      0, 0},
     [](Config& c) -> Ref { return &c.archive_dir; }},

    {{"links.heartbeat", Kind::kDuration, kLive,
      "Interval of the sign of life between controller and nodes, both ways.", 1, 3600},
     [](Config& c) -> Ref { return &c.heartbeat; }},
    {{"links.node_timeout", Kind::kDuration, kLive,
      "Silence after which a node counts as out of reach; at least twice the heartbeat.", 2, kDay},
     [](Config& c) -> Ref { return &c.node_timeout; }},
    {{"links.fence_program", Kind::kPath, kLive,
      "Run as `PROGRAM NODE` for a node out of reach; exit code 0 says that it is dead. Empty: none."},
     [](Config& c) -> Ref { return &c.fence_program; }},

    {{"submit_hook.program", Kind::kPath, kLive,
      "Run by gscriptd for every submission, with the job as JSON as its input; its answer refuses or changes it. "
      "Empty: "
      "none. See admin-guide.md."},
     [](Config& c) -> Ref { return &c.submit_program; }},
    {{"submit_hook.limit", Kind::kDuration, kLive, "How long it may take; then it is killed and has failed.", 1, 60},
     [](Config& c) -> Ref { return &c.submit_limit; }},
    {{"submit_hook.on_failure", Kind::kChoice, kLive,
      "What becomes of a submission when the program fails, takes too long, answers what nobody understands, or "
      "gscriptd is away: refuse, or accept as it came.",
      0, 0, "refuse|accept"},
     [](Config& c) -> Ref { return &c.submit_on_failure; }},

    {{"mail.program", Kind::kPath, kLive,
      "Run by gscriptd as `PROGRAM -s SUBJECT -- ADDRESS...` with the text as its input, such as /usr/bin/mail, for "
      "jobs "
      "with --mail-type. Empty: no mail is sent, and such jobs are told so."},
     [](Config& c) -> Ref { return &c.mail_program; }},
    {{"mail.double_dash", Kind::kBool, kLive,
      "Does `--` stand before the addresses? bsd-mailx and mailutils take it; say false for s-nail, and for scripts "
      "written for Slurm's MailProg."},
     [](Config& c) -> Ref { return &c.mail_double_dash; }},
    {{"mail.domain", Kind::kName, kLive, "Put behind addresses that have none: USER@DOMAIN. Empty: nothing is."},
     [](Config& c) -> Ref { return &c.mail_domain; }},
    {{"mail.per_user_hour", Kind::kNumber, kLive,
      "Mails about jobs of one user within an hour; those beyond it are not sent. 0: no bound.", 0, kAnyU32},
     [](Config& c) -> Ref { return &c.mail_per_user_hour; }},

    {{"scheduler.order", Kind::kName, kLive,
      "Which job is next, in partitions that have no order of their own: an order of docs/policies.md, or the name of "
      "a "
      "plug-in."},
     [](Config& c) -> Ref { return &c.order; }},
    {{"scheduler.order_weights", Kind::kWeights, kLive,
      "Weights of that order by name, such as {age: 1000, fair_share: 10000}; multifactor has age (full after "
      "max_age_hours), fair_share, size, partition, qos, nice. Those left out are its own.",
      -kMaxWeight, kMaxWeight},
     [](Config& c) -> Ref { return &c.order_weights; }},
    {{"scheduler.quantum", Kind::kDuration, kLive,
      "In partitions that do not say: so long a job runs at least before it makes room for one whose turn has come, "
      "where the order has turns.",
      1, 30 * kDay},
     [](Config& c) -> Ref { return &c.quantum; }},
    {{"scheduler.consolidate", Kind::kChoice, kLive,
      "In partitions that do not say: are jobs that can be preempted moved to other nodes where a blocked job fits "
      "then? off, dry_run (what would be moved is only told, in the log and in the blocked job's history), on.",
      0, 0, "off|dry_run|on"},
     [](Config& c) -> Ref { return &c.consolidate; }},
    {{"scheduler.moves_per_hour", Kind::kNumber, kLive,
      "Most jobs that are moved in an hour: in partitions with consolidate, and anywhere for a job within its "
      "guarantee.",
      0, 1'000'000},
     [](Config& c) -> Ref { return &c.moves_per_hour; }},
    {{"scheduler.patience", Kind::kDuration, kLive,
      "How long a job waits, where its QOS does not say, before nodes are kept for it that others would take again and "
      "again: one larger than the fair share of its QOS, or one whose start nobody can foresee; 0s: for ever. See "
      "quotas.md.",
      0, kYear},
     [](Config& c) -> Ref { return &c.patience; }},
    {{"scheduler.reclaim_delay_max", Kind::kDuration, kLive,
      "Jobs that were preempted before are protected for a while when they run again, each time longer; this is how "
      "long a waiting job is delayed by it at most. 0s: nobody is protected. See quotas.md.",
      0, kYear},
     [](Config& c) -> Ref { return &c.reclaim_delay_max; }},
    {{"scheduler.preemptions_per_hour", Kind::kNumber, kLive,
      "Once so many jobs of a QOS were preempted within an hour, no more of them are for a job beyond its guarantee. "
      "See "
      "quotas.md.",
      0, 1'000'000},
     [](Config& c) -> Ref { return &c.preemptions_per_hour; }},
    {{"scheduler.fit", Kind::kChoice, kLive,
      "Which of the nodes that would do is taken, where neither partition nor job says: best (the fullest), worst (the "
      "emptiest), spread (one after the other).",
      0, 0, "best|worst|spread"},
     [](Config& c) -> Ref { return &c.fit; }},
    {{"scheduler.reservations", Kind::kNumber, kLive,
      "So many blocked jobs of each partition, the first in order, get a reservation that backfill does not delay.", 0,
      100'000},
     [](Config& c) -> Ref { return &c.reservations; }},
    {{"scheduler.candidates", Kind::kNumber, kLive,
      "Nodes of different state that are compared for one task before the best is taken; 0: all. Fewer are faster, "
      "more pack tighter.",
      0, 1'000'000},
     [](Config& c) -> Ref { return &c.candidates; }},
    {{"scheduler.reclaim", Kind::kChoice, kLive,
      "What a QOS may take back from another: fair_share (what is beyond the other's fair share, for what is within "
      "its own), guaranteed (the same by guarantees alone), none. See quotas.md.",
      0, 0, "guaranteed|fair_share|none"},
     [](Config& c) -> Ref { return &c.reclaim; }},
    {{"scheduler.share", Kind::kName, kLive,
      "How what nobody needs of its own is divided among the QOS below another: by_weight (by priority, then weight), "
      "capacity (as capacities are), or the name of a plug-in. See policies.md."},
     [](Config& c) -> Ref { return &c.share; }},
    {{"scheduler.share_weights", Kind::kWeights, kLive,
      "Weights of that policy by name; capacity has dead_zone, per_round, round_seconds. Those left out are its own.",
      -kMaxWeight, kMaxWeight},
     [](Config& c) -> Ref { return &c.share_weights; }},
    {{"scheduler.preempt", Kind::kBool, kLive,
      "Inside one QOS a job of higher submitted priority takes from those of a lower one."},
     [](Config& c) -> Ref { return &c.preempts; }},
    {{"scheduler.usage_half_life", Kind::kDuration, kLive,
      "After so long past use of the cluster counts half: that of a user in the order, that of a QOS in its share.", 60,
      kYear},
     [](Config& c) -> Ref { return &c.usage_half_life; }},
    {{"scheduler.fairness_over_time", Kind::kDecimal, kLive,
      "How much the past use of a QOS lowers its part of what nobody is guaranteed; 0: not at all. See quotas.md.", 0,
      1000},
     [](Config& c) -> Ref { return &c.fairness_over_time; }},
    {{"scheduler.forecast_every", Kind::kDuration, kLive,
      "So long after a forecast when waiting jobs will start the next one is begun, and nine times as long as the "
      "forecast "
      "has taken at least: it has a thread of its own, of the lowest priority. 0s: none is made.",
      0, 86400},
     [](Config& c) -> Ref { return &c.forecast_every; }},

    {{"admins", Kind::kTexts, kLive,
      "Users (names or numbers) and @groups who may do everything; root and controller.user always may."},
     [](Config& c) -> Ref { return &c.admins; }},
    {{"private", Kind::kTexts, kLive,
      "What users who are no administrators may not see of others: jobs, users, usage, nodes. Lists say how many were "
      "left out."},
     [](Config& c) -> Ref { return &c.private_data; }},
    {{"licenses", Kind::kTexts, kLive,
      "Licences that the whole cluster has a number of, NAME:COUNT; jobs take them with -L/--licenses. Of those that "
      "are "
      "not here jobs cannot ask."},
     [](Config& c) -> Ref { return &c.licenses; }},
    {{"plugin_dirs", Kind::kTexts, kController, "Folders that plug-ins are looked for in, in order; absolute paths."},
     [](Config& c) -> Ref { return &c.plugin_dirs; }},
};

const Key<NodeEntry> kNodeKeys[] = {
    {{"name", Kind::kHosts, kLive,
      "Host list of the nodes that this entry describes, such as n[001-128]. (`names` is taken too.)"},
     [](NodeEntry& n) -> Ref { return &n.names; }},
    {{"address", Kind::kAddresses, kLive,
      "Where the node's connections come from: one for all nodes of the entry, or a host list or list of as many "
      "addresses as names. Empty: any."},
     [](NodeEntry& n) -> Ref { return &n.addresses; }},
    {{"features", Kind::kNames, kLive, "Words that jobs ask for by --constraint."},
     [](NodeEntry& n) -> Ref { return &n.common.features; }},
    {{"weight", Kind::kNumber, kLive, "Among nodes that suit a job equally the lowest weight is taken first.", 0,
      kAnyU32},
     [](NodeEntry& n) -> Ref { return &n.common.weight; }},
    {{"gpus", Kind::kNumber, kLive, "GPUs that should be found; fewer give a warning. 0: what is found is right.", 0,
      1024},
     [](NodeEntry& n) -> Ref { return &n.common.expected_gpus; }},
    {{"reserved_memory", Kind::kMemory, kLive, "Memory kept back for the system.", 0, 1024 * kTiB},
     [](NodeEntry& n) -> Ref { return &n.common.reserved_mem_mb; }},
    {{"reserved_cores", Kind::kNumber, kLive, "Cores kept back for the system.", 0, 65535},
     [](NodeEntry& n) -> Ref { return &n.common.reserved_cores; }},
    {{"gres", Kind::kTexts, kLive,
      "Generic resources of each node, NAME:COUNT or NAME:TYPE:COUNT (K, M, G, T); jobs take them with --gres."},
     [](NodeEntry& n) -> Ref { return &n.gres; }},
    {{"tmp_disk", Kind::kMemory, kLive,
      "Size of the disk for temporary files, which jobs ask for with --tmp; 0: nobody says, and none is kept out.", 0,
      1024 * kTiB},
     [](NodeEntry& n) -> Ref { return &n.common.tmp_mb; }},
    {{"topology", Kind::kTopology, kNode,
      "Emulated node: a generated topology (dgx-h100, a100-pcie, l40s) or an hwloc XML file. Empty: the live machine."},
     [](NodeEntry& n) -> Ref { return &n.common.topology; }},
};

const Key<model::SwitchConfig> kSwitchKeys[] = {
    {{"switch", Kind::kName, kLive, "Name of the switch. Names of switches and of nodes are separate."},
     [](model::SwitchConfig& s) -> Ref { return &s.name; }},
    {{"nodes", Kind::kHosts, kLive, "Nodes at this switch, which is a leaf then."},
     [](model::SwitchConfig& s) -> Ref { return &s.nodes; }},
    {{"switches", Kind::kHosts, kLive, "Switches below this one: leaves make it a block."},
     [](model::SwitchConfig& s) -> Ref { return &s.switches; }},
};

const Key<PartitionEntry> kPartitionKeys[] = {
    {{"name", Kind::kName, kLive, "Name of the partition."}, [](PartitionEntry& e) -> Ref { return &e.p.name; }},
    {{"nodes", Kind::kHosts, kLive, "Host list, list of host lists, or ALL."},
     [](PartitionEntry& e) -> Ref { return &e.p.nodes; }},
    {{"default", Kind::kBool, kLive, "Takes jobs that name no partition and that no default_for takes."},
     [](PartitionEntry& e) -> Ref { return &e.p.is_default; }},
    {{"default_for", Kind::kTexts, kLive,
      "compute: takes jobs that ask for GPUs and name no partition; aux: the others. One or both."},
     [](PartitionEntry& e) -> Ref { return &e.default_for; }},
    {{"state", Kind::kChoice, kLive,
      "At first: up, down (accepts jobs, starts none), drain (accepts none, starts those it has), inactive (neither).",
      0, 0, "up|down|drain|inactive"},
     [](PartitionEntry& e) -> Ref { return &e.state; }},
    {{"tier", Kind::kNumber, kLive, "Partitions of a higher tier are served first.", -65535, 65535},
     [](PartitionEntry& e) -> Ref { return &e.p.tier; }},
    {{"default_time", Kind::kLimit, kLive, "Time limit of jobs that give none. Needed unless unlimited is true.", 1,
      10 * kYear},
     [](PartitionEntry& e) -> Ref { return &e.p.default_time; }},
    {{"max_time", Kind::kLimit, kLive, "Longest time limit that a job may ask for.", 1, 10 * kYear},
     [](PartitionEntry& e) -> Ref { return &e.p.max_time; }},
    {{"unlimited", Kind::kBool, kLive, "Jobs may run without a time limit."},
     [](PartitionEntry& e) -> Ref { return &e.p.unlimited; }},
    {{"max_nodes", Kind::kNumber, kLive, "Most nodes of one job; 0: no limit.", 0, 1'000'000},
     [](PartitionEntry& e) -> Ref { return &e.p.max_nodes; }},
    {{"default_mem_per_cpu", Kind::kMemory, kLive, "Memory per CPU of jobs that ask for none; 0: none of its own.", 0,
      1024 * kTiB},
     [](PartitionEntry& e) -> Ref { return &e.p.default_mem_per_cpu_mb; }},
    {{"default_mem_per_gpu", Kind::kMemory, kLive, "Memory per GPU of jobs that ask for none; 0: none of its own.", 0,
      1024 * kTiB},
     [](PartitionEntry& e) -> Ref { return &e.p.default_mem_per_gpu_mb; }},
    {{"default_cpus_per_gpu", Kind::kNumber, kLive,
      "CPUs per GPU of jobs that ask for none; 0: nine tenths of their GPUs' part of the node.", 0, 65535},
     [](PartitionEntry& e) -> Ref { return &e.p.default_cpus_per_gpu; }},
    {{"fit", Kind::kChoice, kLive,
      "Which of the nodes that would do is taken: best (the fullest), worst (the emptiest), spread (one after the "
      "other); default: as scheduler.fit says.",
      0, 0, "default|best|worst|spread"},
     [](PartitionEntry& e) -> Ref { return &e.p.fit; }},
    {{"cores_per_gpu_kept", Kind::kNumber, kLive,
      "Cores that jobs without GPUs leave to each free GPU of a node; never more than cores / GPUs - 1.", 0, 65535},
     [](PartitionEntry& e) -> Ref { return &e.p.cores_per_gpu_kept; }},
    {{"allow_shared_gpus", Kind::kBool, kLive,
      "Jobs may ask for parts of a GPU (--gres=shard:N). Nothing isolates jobs that share one from each other."},
     [](PartitionEntry& e) -> Ref { return &e.p.allow_shared_gpus; }},
    {{"min_shared_rate", Kind::kNumber, kLive,
      "Percent of the rate that it had by itself (gangway progress) which a job keeps at least beside others on a GPU. "
      "Who "
      "is slower for a minute has a GPU of its own from then on, and the last that came makes room. 0: nobody looks.",
      0, 100},
     [](PartitionEntry& e) -> Ref { return &e.p.min_shared_rate; }},
    {{"share_suspended_gpus", Kind::kBool, kLive,
      "The GPUs of a suspended job are given to others meanwhile. Only where there is room for the memory of both: "
      "what "
      "a suspended job has in GPU memory stays there."},
     [](PartitionEntry& e) -> Ref { return &e.p.share_suspended_gpus; }},
    {{"allow_users", Kind::kTexts, kLive, "Only these users may submit (with allow_groups: either). Empty: everybody."},
     [](PartitionEntry& e) -> Ref { return &e.p.allow_users; }},
    {{"allow_groups", Kind::kTexts, kLive, "Only members of these groups may submit. Empty: everybody."},
     [](PartitionEntry& e) -> Ref { return &e.p.allow_groups; }},
    {{"consolidate", Kind::kChoice, kLive,
      "Are jobs that can be preempted moved to other nodes where a blocked job fits then? dry_run only tells what "
      "would "
      "be moved; default: as scheduler.consolidate says. true and false are on and off. See scheduler.moves_per_hour.",
      0, 0, "default|off|dry_run|on"},
     [](PartitionEntry& e) -> Ref { return &e.p.consolidate; }},
    {{"default_qos", Kind::kName, kLive,
      "QOS of jobs that name none, of users who have none of their own. Empty: jobs.default_qos."},
     [](PartitionEntry& e) -> Ref { return &e.p.default_qos; }},
    {{"allow_qos", Kind::kNames, kLive, "Only jobs of these QOS. Empty: all."},
     [](PartitionEntry& e) -> Ref { return &e.p.allow_qos; }},
    {{"deny_users", Kind::kTexts, kLive, "These users may not submit, whatever else allows them."},
     [](PartitionEntry& e) -> Ref { return &e.p.deny_users; }},
    {{"exclusive", Kind::kBool, kLive, "Jobs get whole nodes."},
     [](PartitionEntry& e) -> Ref { return &e.p.exclusive; }},
    {{"lease", Kind::kDuration, kLive,
      "A node cut off from the controller for so long ends its jobs by itself, so that they can run elsewhere; at "
      "least "
      "twice links.heartbeat. 0s: never, jobs stay.",
      0, 30 * kDay},
     [](PartitionEntry& e) -> Ref { return &e.p.lease; }},
    {{"grace", Kind::kDuration, kLive,
      "How long a job that is preempted still runs, where no QOS says. Empty: jobs.kill_wait.", 0, kDay},
     [](PartitionEntry& e) -> Ref { return &e.p.grace; }},
    {{"order", Kind::kName, kLive,
      "Which of its jobs is next: an order of docs/policies.md, or the name of a plug-in. Empty: scheduler.order."},
     [](PartitionEntry& e) -> Ref { return &e.p.order; }},
    {{"order_weights", Kind::kWeights, kLive,
      "Weights of that order by name. Those left out are its own. Empty, and without an order of its own: "
      "scheduler.order_weights.",
      -kMaxWeight, kMaxWeight},
     [](PartitionEntry& e) -> Ref { return &e.p.order_weights; }},
    {{"filter", Kind::kName, kLive,
      "Which of its nodes a job may go on, beyond what it asks for: a filter of docs/policies.md, or the name of a "
      "plug-in. Empty: all."},
     [](PartitionEntry& e) -> Ref { return &e.p.filter; }},
    {{"filter_weights", Kind::kWeights, kLive, "Weights of that filter by name. Those left out are its own.",
      -kMaxWeight, kMaxWeight},
     [](PartitionEntry& e) -> Ref { return &e.p.filter_weights; }},
    {{"quantum", Kind::kDuration, kLive,
      "So long a job runs at least before it makes room for one whose turn has come, where the order has turns. "
      "Empty: scheduler.quantum.",
      1, 30 * kDay},
     [](PartitionEntry& e) -> Ref { return &e.p.quantum; }},
    {{"time_slice", Kind::kDuration, kLive,
      "Jobs take turns, each so long: whose turn is over is suspended, and keeps its memory. Short for order: "
      "time_slice, quantum: so long, share_suspended_gpus: true. Empty: they do not.",
      1, 30 * kDay},
     [](PartitionEntry& e) -> Ref { return &e.time_slice; }},
};

const Key<model::Qos> kQosKeys[] = {
    {{"name", Kind::kName, kSeed, "Name of the QOS."}, [](model::Qos& q) -> Ref { return &q.name; }},
    {{"parent", Kind::kName, kSeed, "QOS above it. Empty: the root, which is the cluster."},
     [](model::Qos& q) -> Ref { return &q.parent; }},
    {{"description", Kind::kText, kSeed, "For people."}, [](model::Qos& q) -> Ref { return &q.description; }},
    {{"priority", Kind::kNumber, kSeed, "Higher gets what nobody is guaranteed first.", -1'000'000'000, 1'000'000'000},
     [](model::Qos& q) -> Ref { return &q.priority; }},
    {{"weight", Kind::kNumber, kSeed, "Its part of what nobody is guaranteed, beside those of the same priority.", 0,
      1'000'000},
     [](model::Qos& q) -> Ref { return &q.weight; }},
    {{"guaranteed", Kind::kAmounts, kSeed, "What it can always have: gpu, gpu:TYPE, cpu (threads), mem, node."},
     [](model::Qos& q) -> Ref { return &q.guaranteed; }},
    {{"limit", Kind::kAmounts, kSeed, "What it and all below it can hold at most, whoever has it idle."},
     [](model::Qos& q) -> Ref { return &q.limit; }},
    {{"preempt_children", Kind::kBool, kSeed, "Its own jobs take from the QOS below it, even within their guarantees."},
     [](model::Qos& q) -> Ref { return &q.preempt_children; }},
    {{"min_runtime", Kind::kDuration, kSeed, "Nobody is preempted so soon after its start; 0s: as above it.", 0,
      30 * kDay},
     [](model::Qos& q) -> Ref { return &q.min_runtime; }},
    {{"grace", Kind::kDuration, kSeed,
      "How long a job that is preempted still runs. Empty: as above it, else jobs.kill_wait.", 0, 30 * kDay},
     [](model::Qos& q) -> Ref { return &q.grace; }},
    {{"patience", Kind::kDuration, kSeed,
      "How long its jobs wait before nodes are kept for them, see scheduler.patience. Empty: as above it.", 0, kYear},
     [](model::Qos& q) -> Ref { return &q.patience; }},
    {{"max_wall", Kind::kDuration, kSeed, "Longest time limit of its jobs and of those below it; 0s: none.", 0, kYear},
     [](model::Qos& q) -> Ref { return &q.max_wall; }},
    {{"max_jobs", Kind::kNumber, kSeed, "Jobs that run at once, with those below it; 0: no bound.", 0, 1'000'000'000},
     [](model::Qos& q) -> Ref { return &q.max_jobs; }},
    {{"max_submit", Kind::kNumber, kSeed, "Jobs that run or wait, with those below it; 0: no bound.", 0, 1'000'000'000},
     [](model::Qos& q) -> Ref { return &q.max_submit; }},
    {{"max_jobs_per_user", Kind::kNumber, kSeed, "The same as max_jobs, of each user.", 0, 1'000'000'000},
     [](model::Qos& q) -> Ref { return &q.max_jobs_per_user; }},
    {{"max_submit_per_user", Kind::kNumber, kSeed, "The same as max_submit, of each user.", 0, 1'000'000'000},
     [](model::Qos& q) -> Ref { return &q.max_submit_per_user; }},
    {{"limit_per_user", Kind::kAmounts, kSeed, "What each user's jobs can hold together at most, here and below."},
     [](model::Qos& q) -> Ref { return &q.limit_per_user; }},
    {{"budget", Kind::kBudget, kSeed,
      "GPU-hours of its jobs and of those below it in a day, week, month, quarter, year or in total, such as "
      "5000gpuh/month; behind it :borrow, and its jobs only borrow once it is spent, where without it none with GPUs "
      "starts any more."},
     [](model::Qos& q) -> Ref { return &q.budget; }},
    {{"users", Kind::kTexts, kSeed,
      "Users and @groups who may submit to it and to what is below it. Named nowhere on the way to the root: "
      "everybody."},
     [](model::Qos& q) -> Ref { return &q.users; }},
    {{"operators", Kind::kTexts, kSeed, "Users and @groups who may change what is below it, and its jobs."},
     [](model::Qos& q) -> Ref { return &q.operators; }},
};

template <size_t i>
Ref kept_with_qos(QosEntry& e) {
  return kQosKeys[i].at(e.q);
}

/// All of those, and what is loaded with the file.
template <size_t... i>
std::array<Key<QosEntry>, sizeof...(i) + 2> entry_keys(std::index_sequence<i...>) {
  return {
      Key<QosEntry>{kQosKeys[i].info, kept_with_qos<i>}...,
      Key<QosEntry>{{"order", Kind::kName, kLive,
                     "Which of its jobs is next, in all partitions but those with turns: an order of docs/policies.md, "
                     "or the name of a plug-in. Not inherited. Empty: the partition's."},
                    [](QosEntry& e) -> Ref { return &e.order; }},
      Key<QosEntry>{{"order_weights", Kind::kWeights, kLive,
                     "Weights of that order by name. Those left out are its own.", -kMaxWeight, kMaxWeight},
                    [](QosEntry& e) -> Ref { return &e.order_weights; }}};
}
const auto kQosEntryKeys = entry_keys(std::make_index_sequence<std::size(kQosKeys)>());

}  // namespace

PartitionEntry entry_of(const model::Partition& p) {
  PartitionEntry entry{p, base::to_lower(model::name(p.state)), {}, {}};
  if (p.default_for_compute) entry.default_for.push_back("compute");
  if (p.default_for_aux) entry.default_for.push_back("aux");
  return entry;
}

bool is_partition_default(std::string_view name) {
  const model::PartitionKey* key = model::partition_key(name);
  return key != nullptr && key->cluster_key.starts_with("partition_defaults.");
}

std::span<const Key<Config>> config_keys() { return kConfigKeys; }
std::span<const Key<NodeEntry>> node_keys() { return kNodeKeys; }
std::span<const Key<model::SwitchConfig>> switch_keys() { return kSwitchKeys; }
std::span<const Key<PartitionEntry>> partition_keys() { return kPartitionKeys; }
std::span<const Key<model::Qos>> qos_keys() { return kQosKeys; }
std::span<const Key<QosEntry>> qos_entry_keys() { return kQosEntryKeys; }

}  // namespace gw::config
