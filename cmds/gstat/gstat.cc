// gstat (sstat): what running steps use now.
// Invariant: what a node did not say is not shown as nothing: it is named.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "client/show/use_text.h"
#include "cmds/shared/commands.h"
#include "cmds/shared/step_ids.h"

namespace gw::cmds {
namespace {

using base::Status;
using client::Arg;
using client::Program;
using Text = std::string_view;

struct StatOptions {
  StepChoice choice;
  std::string format{client::kUseFormat};
  client::UseStyle style;
  bool parsable = false, parsable2 = false, json = false, help_format = false, ignored = false;
};

std::vector<client::Option> table(StatOptions& o, client::CommonFlags& flags) {
  std::vector<client::Option> t;
  const auto flag = [&t](Text name, char letter, Text help, bool& to) {
    t.push_back({name, letter, Arg::kNone, {}, help, {}, client::kPlain, sets(to)});
  };
  const auto add = [&o](Text v) -> Status { return parse_step_ids(v, o.choice); };
  t.push_back(
      {"jobs", 'j', Arg::kRequired, "JOBS", "these jobs or steps: 7, 7.0, 7.batch, 7.extern", {}, client::kPlain, add});
  t.push_back({"format",
               'o',
               Arg::kRequired,
               "FIELDS",
               "these fields: JobID,AveCPU%12,MaxRSS",
               {},
               client::kPlain,
               keeps(o.format)});
  t.push_back({"fields", 0, Arg::kRequired, {}, {}, {}, client::kHidden, keeps(o.format)});
  flag("allsteps", 'a', "all steps of a job, which is what is shown anyway", o.ignored);
  flag("noheader", 'n', "no header", o.style.no_header);
  flag("parsable", 'p', "fields end with |", o.parsable);
  flag("parsable2", 'P', "fields separated by |", o.parsable2);
  flag("helpformat", 'e', "print the names of all fields", o.help_format);
  flag("json", 0, "as JSON, in bytes and microseconds", o.json);
  t.push_back({"noconvert", 0, Arg::kNone, {}, {}, {}, client::kHidden, sets(o.ignored)});
  t.push_back({"verbose", 'v', Arg::kNone, {}, {}, {}, client::kHidden, sets(o.ignored)});
  client::add_common_options(t, flags);
  static constexpr client::Unsupported kUnsupported[] = {{"pidformat", 'i', Arg::kNone}};
  client::add_unsupported(t, kUnsupported);
  return t;
}

client::CommandDoc doc() {
  client::CommandDoc d;
  d.summary = "show what running steps use now";
  d.synopsis = "[OPTIONS] JOB_ID[.STEP]...";
  d.description =
      "Asks the nodes of running jobs what each step uses: processor time, memory now (RSS) and at most (MaxRSS, "
      "MaxVMSize), over its tasks with all their processes; and of its GPUs how busy they are and how much of their "
      "memory is in use, where NVML is there. JOB.batch is the batch script, JOB.extern an allocation without one as a "
      "whole. Times of processes that have ended count once their parents have waited for them. Nodes that do not "
      "answer "
      "within 3 seconds are named. For the owner of a job and for operators.";
  d.exit_codes = {{"0", "shown"},
                  {"1", "bad option or id, no such job or step, permission denied, or the controller is out of reach"}};
  d.environment = {{"GANGWAY_CONF", "configuration file"}};
  d.operands = client::Completes::kJobs;
  d.examples = {{"gstat 7", "all steps of job 7"},
                {"gstat -P -o JobID,MaxRSS,MaxRSSNode 7.0", "for scripts"},
                {"gstat --json 7", "everything, task by task"}};
  return d;
}

/// By job, the steps asked for; none: all.
std::map<uint32_t, std::set<uint32_t>> wanted(const StepChoice& choice) {
  std::map<uint32_t, std::set<uint32_t>> jobs;
  for (const StepId& id : choice.steps) jobs[id.job].insert(id.number ? *id.number + 1 : 0);
  for (const uint32_t job : choice.jobs) jobs[job].clear();
  return jobs;
}

Status check_all_there(uint32_t job, const std::set<uint32_t>& steps, const wire::StepUsageReply& reply) {
  for (const uint32_t step : steps) {
    const auto is_it = [step](const wire::StepUsage& s) { return s.step() == step; };
    if (std::any_of(reply.steps().begin(), reply.steps().end(), is_it)) continue;
    return base::fail(base::ErrorCode::kNotFound, fmt::format("job {} has no step {} that runs", job, step - 1),
                      "gqueue -s lists the steps that run");
  }
  return {};
}

void tell_problems(const Program& program, const std::vector<client::UseRow>& rows) {
  for (const client::UseRow& row : rows) {
    for (const std::string& node : row.step->silent())
      client::print_note(program, fmt::format("step {}: node {} gave no answer", row.id, node));
    for (const wire::NodeUsage& node : row.step->nodes())
      if (!node.problem().empty())
        client::print_note(
            program, fmt::format("step {}: node {}: {}", row.id, node.node(), base::printable(node.problem(), 200)));
  }
}

int show(const Program& program, const StatOptions& o, const std::vector<client::ChosenField>& fields) {
  auto connection = client::connect(program);
  if (!connection) return failed(program, connection.error());
  std::vector<wire::StepUsageReply> replies;
  std::vector<client::UseRow> rows;
  StepChoice choice = o.choice;
  if (Status known = resolve(program, choice); !known) return failed(program, known.error());
  const auto jobs = wanted(choice);
  replies.reserve(jobs.size());  // rows lead into them
  for (const auto& [job, steps] : jobs) {
    wire::ApiRequest request;
    request.mutable_step_usage()->set_job_id(job);
    for (const uint32_t step : steps) request.mutable_step_usage()->add_steps(step);
    auto reply = connection->call(std::move(request));
    if (!reply) return failed(program, reply.error());
    replies.push_back(std::move(*reply->mutable_step_usage()));
    if (Status there = check_all_there(job, steps, replies.back()); !there) return failed(program, there.error());
    for (client::UseRow& row : client::use_rows(job, replies.back())) rows.push_back(std::move(row));
  }
  tell_problems(program, rows);
  return printed(o.json ? client::use_json(rows, replies.back().now_us()) : client::use_text(rows, fields, o.style));
}

}  // namespace

int run_gstat(const Program& called, Args args) {
  StatOptions o;
  client::CommonFlags flags;
  const auto t = table(o, flags);
  Parsed parsed = parse_command(called, doc(), t, flags, args, client::kExitUsage);
  if (parsed.exit) return *parsed.exit;
  const client::Program program = louder(called, parsed);
  if (o.help_format) return printed(client::use_field_names());
  for (const std::string& operand : parsed.operands)
    if (Status added = parse_step_ids(operand, o.choice); !added) return failed(program, added.error());
  if (o.choice.empty())
    return failed(program, {base::ErrorCode::kInvalid, "No job given", "name jobs or steps, such as 7 or 7.0"});
  o.style.bars = o.parsable || o.parsable2;
  o.style.bar_last = o.parsable && !o.parsable2;
  const auto fields = client::parse_use_format(o.format);
  if (!fields) return failed(program, fields.error());
  return show(program, o, *fields);
}

}  // namespace gw::cmds
