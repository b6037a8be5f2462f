// What Slurm's keys have here. Programs decide by them: whether accounting can be asked, how long ended jobs stay, how
// many tasks an array may have.
#include "cmds/gcontrol/slurm_config.h"

#include <fmt/format.h>
#include <pwd.h>

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "client/conn/program.h"
#include "model/named_counts.h"
#include "model/task_set.h"

namespace gw::cmds {
namespace {

using Text = std::string_view;

class Facts {
 public:
  explicit Facts(const wire::ShowConfigReply& config) {
    for (const wire::ConfigEntry& e : config.entries()) {
      values_[e.key()] = e.value();
      if (e.key().starts_with("nodes.") && e.key().ends_with(".gres"))
        if (const auto gres = model::parse_gres(e.value()); gres)
          for (const auto& [name, count] : *gres) gres_.insert(name.substr(0, name.find(':')));
      has_switches_ |= e.key().starts_with("network.");
    }
    for (const wire::LicenseUse& one : config.licenses()) licenses_.push_back(one.name());
  }

  std::string of(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? "" : found->second;
  }
  std::string or_null(const std::string& key) const {
    const std::string value = of(key);
    return value.empty() ? "(null)" : value;
  }
  bool is(const std::string& key, Text value) const { return of(key) == value; }
  /// Zero where it cannot be read.
  base::Duration length(const std::string& key) const {
    const auto read = base::parse_duration(of(key));
    return read ? *read : base::Duration{};
  }
  std::string seconds(const std::string& key) const { return fmt::format("{} sec", length(key).seconds()); }
  /// MiB; UNLIMITED where nothing is said.
  std::string memory(const std::string& key) const {
    const auto mb = base::parse_memory_mb(of(key));
    return mb && *mb > 0 ? std::to_string(*mb) : "UNLIMITED";
  }
  const std::set<std::string>& gres() const { return gres_; }
  const std::vector<std::string>& licenses() const { return licenses_; }
  bool has_switches() const { return has_switches_; }
  bool has_factors() const { return is("scheduler.order", "multifactor"); }
  bool preempts() const { return !is("scheduler.reclaim", "none") || is("scheduler.preempt", "true"); }

 private:
  std::map<std::string, std::string> values_;
  std::set<std::string> gres_ = {"gpu"};
  std::vector<std::string> licenses_;
  bool has_switches_ = false;
};

/// "gangway(993)"; a user may be configured by number.
std::string user_text(const std::string& user) {
  const auto number = base::parse_int(user, 0, UINT32_MAX, "");
  const passwd* entry = number ? ::getpwuid(static_cast<uid_t>(*number)) : ::getpwnam(user.c_str());
  return entry == nullptr ? user : fmt::format("{}({})", entry->pw_name, entry->pw_uid);
}

/// What jobs are counted by: the trackable resources.
std::string tracked(const Facts& facts) {
  std::vector<std::string> all = {"cpu", "mem", "node", "billing"};
  for (const std::string& kind : facts.gres()) all.push_back("gres/" + kind);
  for (const std::string& name : facts.licenses()) all.push_back("license/" + name);
  return base::join(all, ",");
}

/// Of the multifactor order what its configuration says of one factor, else its own.
std::string weight(const Facts& facts, Text name, Text own) {
  if (!facts.has_factors()) return "0";
  for (std::string part : base::split(facts.of("scheduler.order_weights"), ',')) {
    std::erase_if(part, [](char c) { return c == '{' || c == '}' || c == ' '; });
    const size_t colon = part.find_first_of(":=");
    if (colon != std::string::npos && part.substr(0, colon) == name) return part.substr(colon + 1);
  }
  return std::string(own);
}

using Lines = std::vector<std::pair<std::string, std::string>>;

void add_accounting(Lines& out, const Facts& f) {
  out.emplace_back("AccountingStorageEnforce",
                   f.is("accounts.enforce", "true") ? "associations,limits,qos" : "limits,qos");
  out.emplace_back("AccountingStorageHost", f.of("controller.host"));
  out.emplace_back("AccountingStorageTRES", tracked(f));
  out.emplace_back("AccountingStorageType", "accounting_storage/slurmdbd");
  out.emplace_back("AuthType", "auth/munge");
}

void add_jobs(Lines& out, const Facts& f, const wire::ShowConfigReply& c) {
  out.emplace_back("BOOT_TIME", base::format_time({c.boot_us()}));
  out.emplace_back("ClusterName", f.or_null("cluster"));
  out.emplace_back("DefMemPerCPU", f.memory("partition_defaults.default_mem_per_cpu"));
  out.emplace_back("EnforcePartLimits", "ANY");
  out.emplace_back("Epilog", f.or_null("node_daemon.epilog"));
  out.emplace_back("EpilogSlurmctld", f.or_null("controller.epilog"));
  out.emplace_back("FirstJobId", "1");
  out.emplace_back("GresTypes", base::join(std::vector(f.gres().begin(), f.gres().end()), ","));
  out.emplace_back("InactiveLimit", "0 sec");
  out.emplace_back("JobAcctGatherFrequency", "10");
  out.emplace_back("JobAcctGatherType", "jobacct_gather/cgroup");
  out.emplace_back("JobRequeue", f.is("jobs.requeue", "true") ? "1" : "0");
  out.emplace_back("KillOnBadExit", "0");
  out.emplace_back("KillWait", f.seconds("jobs.kill_wait"));
  out.emplace_back("LaunchParameters", "(null)");
  out.emplace_back("Licenses", f.or_null("licenses"));
  out.emplace_back("MailDomain", f.or_null("mail.domain"));
  out.emplace_back("MailProg", f.or_null("mail.program"));
  out.emplace_back("MaxArraySize", std::to_string(model::kMaxArrayIndex + 1));
  out.emplace_back("MaxJobCount", f.of("jobs.max_jobs"));
  out.emplace_back("MinJobAge", f.seconds("jobs.min_job_age"));
  out.emplace_back("MpiDefault", "pmix");
  out.emplace_back("OverTimeLimit", "0 min");
}

void add_scheduling(Lines& out, const Facts& f) {
  out.emplace_back("PreemptMode", f.preempts() ? "REQUEUE" : "OFF");
  out.emplace_back("PreemptType", f.preempts() ? "preempt/qos" : "preempt/none");
  out.emplace_back("PriorityDecayHalfLife", base::format_duration(f.length("scheduler.usage_half_life")));
  out.emplace_back("PriorityType", f.has_factors() ? "priority/multifactor" : "priority/basic");
  out.emplace_back("PriorityWeightAge", weight(f, "age", "1000"));
  out.emplace_back("PriorityWeightAssoc", "0");
  out.emplace_back("PriorityWeightFairShare", weight(f, "fair_share", "10000"));
  out.emplace_back("PriorityWeightJobSize", weight(f, "size", "100"));
  out.emplace_back("PriorityWeightPartition", weight(f, "partition", "1000"));
  out.emplace_back("PriorityWeightQOS", weight(f, "qos", "1000"));
  out.emplace_back("PriorityWeightTRES", "(null)");
  out.emplace_back("ProctrackType",
                   f.is("node_daemon.containment", "none") ? "proctrack/linuxproc" : "proctrack/cgroup");
  out.emplace_back("Prolog", f.or_null("node_daemon.prolog"));
  out.emplace_back("PrologSlurmctld", f.or_null("controller.prolog"));
  out.emplace_back("SchedulerParameters", "(null)");
  out.emplace_back("SchedulerType", "sched/backfill");
  out.emplace_back("SelectType", "select/cons_tres");
  out.emplace_back("SelectTypeParameters", "CR_CORE_MEMORY");
}

void add_daemons(Lines& out, const Facts& f, const std::string& path) {
  out.emplace_back("SlurmUser", user_text(f.of("controller.user")));
  out.emplace_back("SlurmctldHost[0]", f.of("controller.host"));
  out.emplace_back("SlurmctldPort", f.of("controller.port"));
  out.emplace_back("SlurmdPort", "0");  // node daemons call the controller
  out.emplace_back("SlurmdSpoolDir", f.of("node_daemon.spool_dir"));
  out.emplace_back("SlurmdTimeout", f.seconds("links.node_timeout"));
  out.emplace_back("SlurmdUser", "root(0)");
  out.emplace_back("SLURM_CONF", path);
  out.emplace_back("SLURM_VERSION", std::string(client::kSlurmVersion));
  out.emplace_back("StateSaveLocation", f.of("controller.state_dir"));
  out.emplace_back("TaskEpilog", f.or_null("node_daemon.task_epilog"));
  out.emplace_back("TaskPlugin", "task/affinity,task/cgroup");
  out.emplace_back("TaskProlog", f.or_null("node_daemon.task_prolog"));
  out.emplace_back("TmpFS", "/tmp");
  out.emplace_back("TopologyPlugin", f.has_switches() ? "topology/tree" : "topology/default");
}

}  // namespace

std::string slurm_config_lines(const wire::ShowConfigReply& config, const std::string& path) {
  const Facts facts(config);
  Lines lines;
  add_accounting(lines, facts);
  add_jobs(lines, facts, config);
  add_scheduling(lines, facts);
  add_daemons(lines, facts, path);
  std::string out;
  for (const auto& [key, value] : lines) out += fmt::format("{:<23} = {}\n", key, value);
  return out;
}

}  // namespace gw::cmds
