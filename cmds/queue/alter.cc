// See alter.h.
#include "cmds/queue/alter.h"

#include <algorithm>

#include "base/text.h"
#include "client/options/pbs.h"

namespace gw::cmds::queue {
namespace {

/// An option of gbatch, the key of its update, and what stands in front of the value there.
struct Change {
  std::string_view option, key, before = {};
};
constexpr Change kChanges[] = {
    {"time", "TimeLimit"},
    {"job-name", "JobName"},
    {"account", "Account"},
    {"partition", "Partition"},
    {"dependency", "Dependency"},
    {"begin", "StartTime"},
    {"wckey", "WCKey"},
    {"mail-type", "MailType"},
    {"mail-user", "MailUser"},
    {"reservation", "Reservation"},
    {"nodes", "NumNodes"},
    {"ntasks", "NumTasks"},
    {"ntasks-per-node", "TasksPerNode"},
    {"cpus-per-task", "CPUsPerTask"},
    {"mem", "MinMemoryNode"},
    {"mem-per-cpu", "MinMemoryCPU"},
    {"gpus", "TresPerJob", "gres/gpu:"},
    {"gpus-per-node", "Gres", "gpu:"},
    {"constraint", "Features"},
    {"nodelist", "ReqNodeList"},
    {"chdir", "WorkDir"},
    {"input", "StdIn"},
    {"queue-output", "StdOut"},
    {"queue-error", "StdErr"},
    {"queue-at-once", "ArrayTaskThrottle"},
};

/// Of an option without a value, or with one that has another form.
base::Result<std::string> special(const std::string& option, const std::string& value) {
  if (option == "requeue") return std::string("Requeue=1");
  if (option == "no-requeue") return std::string("Requeue=0");
  if (option == "queue-hold-jid") {
    std::vector<std::string> terms;
    for (const std::string& job : base::split(value, ',')) {
      GW_TRY_STATUS(base::parse_int(job, 1, UINT32_MAX, "-hold_jid").map([](const auto&) {}));
      terms.push_back("afterany:" + job);
    }
    return "Dependency=" + base::join(terms, ",");
  }
  if (option == "queue-mem") {
    GW_TRY(bytes, base::parse_int(value, 0, INT64_MAX, "mem"));
    return "MinMemoryNode=" + std::to_string((bytes + 1023) / 1024) + "K";
  }
  if (option == "exclusive") return std::string("OverSubscribe=no");
  if (option != "queue-priority") return std::string();
  GW_TRY(priority, base::parse_int(value, -1024, 1024, "-p"));
  if (priority > 0) return base::invalid("-p above 0 is for administrators", "gcontrol update JobId=... Priority=");
  return "Nice=" + std::to_string(-priority);
}

}  // namespace

base::Result<std::vector<std::string>> settings_of(const std::vector<std::string>& words,
                                                   std::vector<std::string>& left_out) {
  std::vector<std::string> settings;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string option = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    const std::string value = equals == std::string::npos ? std::string() : word.substr(equals + 1);
    if (option == "queue-new-size") continue;
    const auto* change =
        std::find_if(std::begin(kChanges), std::end(kChanges), [&](const Change& c) { return c.option == option; });
    if (change != std::end(kChanges)) {
      const std::string key = std::string(change->key) + "=";
      std::erase_if(settings, [&](const std::string& said) { return said.starts_with(key); });  // the last one counts
      settings.push_back(key + std::string(change->before) + value);
      continue;
    }
    GW_TRY(setting, special(option, value));
    if (!setting.empty())
      settings.push_back(setting);
    else
      left_out.push_back(option == client::kPbsLeftOut  ? value
                         : option.starts_with("queue-") ? "-" + option.substr(6)
                                                        : "--" + option);
  }
  return settings;
}

}  // namespace gw::cmds::queue
