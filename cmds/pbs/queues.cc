// See queues.h.
#include "cmds/pbs/queues.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "cmds/pbs/job_record.h"
#include "cmds/pbs/refusal.h"
#include "model/cluster.h"

namespace gw::cmds::pbs {
namespace {

using queue::Caller;
using queue::Doing;
using queue::Jobs;
using queue::Row;

struct Counts {
  uint32_t total = 0, waits = 0, runs = 0, held = 0, timed = 0, leaves = 0, ended = 0;

  void add(Doing doing) {
    ++total;
    switch (doing) {
      case Doing::kWaits:
        ++waits;
        break;
      case Doing::kWaitsForTime:
        ++timed;
        break;
      case Doing::kIsHeld:
        ++held;
        break;
      case Doing::kLeaves:
        ++leaves;
        break;
      case Doing::kHasEnded:
        ++ended;
        break;
      default:
        ++runs;
    }
  }
  std::string text() const {
    return fmt::format("Transit:0 Queued:{} Held:{} Waiting:{} Running:{} Exiting:{} Begun:0", waits, held, timed, runs,
                       leaves);
  }
};

bool takes_jobs(const wire::Partition& p) {
  const auto state = static_cast<model::PartitionState>(p.state());
  return state == model::PartitionState::kUp || state == model::PartitionState::kDown;
}

bool starts_jobs(const wire::Partition& p) {
  const auto state = static_cast<model::PartitionState>(p.state());
  return state == model::PartitionState::kUp || state == model::PartitionState::kDrain;
}

std::string queue_head(bool is_torque) {
  if (is_torque)
    return "Queue              Max    Tot   Ena   Str   Que   Run   Hld   Wat   Trn   Ext T   Cpt\n"
           "----------------   ---   ----    --    --   ---   ---   ---   ---   ---   --- -   ---\n";
  return "Queue              Max   Tot Ena Str   Que   Run   Hld   Wat   Trn   Ext Type\n"
         "---------------- ----- ----- --- --- ----- ----- ----- ----- ----- ----- ----\n";
}

std::string queue_row(bool is_torque, const wire::Partition& p, const Counts& c) {
  const char* enabled = takes_jobs(p) ? "yes" : "no";
  const char* started = starts_jobs(p) ? "yes" : "no";
  if (is_torque)
    return fmt::format("{:<18} {:>3} {:>6} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {} {:>5}\n", p.name(), 0,
                       c.total, enabled, started, c.waits, c.runs, c.held, c.timed, 0, c.leaves, "E", c.ended);
  return fmt::format("{:<16} {:>5} {:>5} {:<3} {:<3} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} Exec\n", p.name(), 0,
                     c.total - c.ended, enabled, started, c.waits, c.runs, c.held, c.timed, 0, c.leaves);
}

bool has_limit(int64_t us) { return us > 0 && base::Duration{us} != base::kUnlimited; }

std::string limit_row(const wire::Partition& p, const Counts& c) {
  const std::string time = has_limit(p.max_time_us()) ? clock_text({p.max_time_us()}) : "--";
  return fmt::format("{:<16} {:>6} {:>8} {:>8} {:>4} {:>5} {:>5} {:>4}  {} {}\n", p.name(), "--", "--", time,
                     p.max_nodes() == 0 ? "--" : std::to_string(p.max_nodes()), c.runs, c.waits + c.held + c.timed,
                     "--", takes_jobs(p) ? 'E' : 'D', starts_jobs(p) ? 'R' : 'S');
}

Record queue_record(const wire::Partition& p, const Counts& c) {
  Record r{p.name(), {}};
  r.put("queue_type", "Execution");
  r.put("Priority", std::to_string(p.tier()));
  r.put("total_jobs", std::to_string(c.total - c.ended));
  r.put("state_count", c.text());
  if (has_limit(p.max_time_us())) r.put("resources_max.walltime", clock_text({p.max_time_us()}));
  if (has_limit(p.default_time_us())) r.put("resources_default.walltime", clock_text({p.default_time_us()}));
  r.put_if(p.max_nodes() > 0, "resources_max.nodect", std::to_string(p.max_nodes()));
  r.put("enabled", takes_jobs(p) ? "True" : "False");
  r.put("started", starts_jobs(p) ? "True" : "False");
  return r;
}

base::Result<wire::ListPartitionsReply> list_partitions(const client::Program& program) {
  wire::ApiRequest request;
  request.mutable_list_partitions();
  GW_TRY(reply, ask(program, std::move(request)));
  return std::move(*reply.mutable_list_partitions());
}

base::Status check_known(const wire::ListPartitionsReply& list, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool is_there = std::any_of(list.partitions().begin(), list.partitions().end(),
                                      [&](const wire::Partition& p) { return p.name() == name; });
    if (!is_there)
      return base::fail(base::ErrorCode::kNotFound, "Invalid partition name specified: " + base::printable(name, 60));
  }
  return {};
}

std::map<std::string, Counts> count(const Jobs& jobs, Counts& all) {
  std::map<std::string, Counts> counts;
  for (const Row& row : jobs.rows()) {
    counts[client::partition_of(*row.row.job)].add(row.doing);
    all.add(row.doing);
  }
  return counts;
}

std::string limits_text(const std::string& rows, const Counts& all, const std::string& server) {
  return fmt::format(
      "\nserver: {}\n\n"
      "Queue            Memory CPU Time Walltime Node   Run   Que   Lm  State\n"
      "---------------- ------ -------- -------- ---- ----- ----- ----  -----\n{}"
      "                                               ----- -----\n"
      "                                               {:>5} {:>5}\n",
      server, rows, all.runs, all.waits + all.held + all.timed);
}

std::string queue_text(const Caller& caller, QueueForm form, const wire::Partition& p, const Counts& c) {
  if (form == QueueForm::kFull) return as_lines(queue_record(p, c), {"Queue: ", 4, false});
  return form == QueueForm::kLimits ? limit_row(p, c) : queue_row(caller.is_torque(), p, c);
}

}  // namespace

base::Status check_queues(const client::Program& program, const std::vector<std::string>& names) {
  GW_TRY(list, list_partitions(program));
  return check_known(list, names);
}

int show_queues(const Caller& caller, const std::vector<std::string>& names, QueueForm form) {
  auto list = list_partitions(caller.program);
  if (!list) return refuse(caller, list.error());
  std::vector<std::string> wanted;
  for (const std::string& name : names)
    if (const std::string bare = name.substr(0, name.find('@')); !bare.empty()) wanted.push_back(bare);
  if (auto known = check_known(*list, wanted); !known) return refuse(caller, known.error());
  auto jobs = Jobs::find(caller.program, {});
  if (!jobs) return refuse(caller, jobs.error());
  Counts all;
  auto counts = count(*jobs, all);
  std::string rows;
  for (const wire::Partition& p : list->partitions())
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), p.name()) != wanted.end())
      rows += queue_text(caller, form, p, counts[p.name()]);
  if (form == QueueForm::kLimits) return printed(limits_text(rows, all, jobs->cluster()));
  return printed(form == QueueForm::kTable ? queue_head(caller.is_torque()) + rows : rows);
}

int show_server(const Caller& caller, bool is_full) {
  auto jobs = Jobs::find(caller.program, {});
  if (!jobs) return refuse(caller, jobs.error());
  Counts all;
  count(*jobs, all);
  if (is_full) {
    Record r{jobs->cluster(), {}};
    r.put("server_state", "Active");
    r.put("scheduling", "True");
    r.put("total_jobs", std::to_string(all.total - all.ended));
    r.put("state_count", all.text());
    r.put("pbs_version", version_text(caller.is_torque()));
    return printed(as_lines(r, {"Server: ", 4, false}));
  }
  return printed(
      fmt::format("Server             Max   Tot   Que   Run   Hld   Wat   Trn   Ext Status\n"
                  "---------------- ----- ----- ----- ----- ----- ----- ----- ----- -----------\n"
                  "{:<16} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} Active\n",
                  jobs->cluster(), 0, all.total - all.ended, all.waits, all.runs, all.held, all.timed, 0, all.leaves));
}

}  // namespace gw::cmds::pbs
