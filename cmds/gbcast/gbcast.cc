// gbcast (sbcast): sends a file to all nodes of an allocation, through a step of one receiver a node.
// Invariants: on each node the file is there whole or not at all; what is wrong with the call is said before the
// controller is asked; it exits with 0 only if every node has the file.
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "auth/crypto.h"
#include "base/reach.h"
#include "base/text.h"
#include "cmds/gbcast/bcast_feed.h"
#include "cmds/grun/run_session.h"
#include "cmds/request/batch_script.h"
#include "cmds/request/job_values.h"
#include "cmds/shared/commands.h"
#include "cmds/shared/step_ids.h"
#include "io/address.h"
#include "model/output_path.h"
#include "wire/bcast.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Result;
using base::Status;
using client::Arg;
using client::kPlain;
using client::kRaw;
using client::Option;
using client::Program;
using Text = std::string_view;

constexpr uint32_t kDefaultWidth = 32;
constexpr size_t kDefaultPiece = size_t{1} << 20;
constexpr int64_t kMaxSeconds = int64_t{365} * 24 * 3600;
constexpr int kInterrupted = 130;

struct BcastOptions {
  bool force = false, preserve = false, compress = false;
  std::string job;
  size_t piece = kDefaultPiece;
  uint32_t width = kDefaultWidth;
  uint32_t timeout_seconds = 0;
  uint32_t verbose = 0;
};

Status set_piece(BcastOptions& o, Text value) {
  const size_t digits = value.find_first_not_of("0123456789");
  const std::string unit = digits == Text::npos ? "" : base::to_lower(value.substr(digits));
  const int64_t factor = unit.empty() ? 1 : unit == "k" ? 1024 : unit == "m" ? 1024 * 1024 : 0;
  const auto count = base::parse_int(value.substr(0, digits), 1, INT32_MAX, "size");
  const int64_t bytes = factor == 0 || !count ? 0 : *count * factor;
  if (bytes < 1 || bytes >= static_cast<int64_t>(wire::kMaxBcastFrame))
    return invalid("option -s/--size: invalid value \"" + base::printable(value, 40) + "\"",
                   "a number of bytes, with k or m behind it, below 8m");
  o.piece = static_cast<size_t>(bytes);
  return {};
}

std::vector<Option> bcast_table(BcastOptions& o, client::CommonFlags& flags) {
  std::vector<Option> t;
  t.push_back({"force", 'f', Arg::kNone, "", "replace a file that is there", "FORCE", kPlain, sets(o.force)});
  t.push_back(
      {"preserve", 'p', Arg::kNone, "", "keep mode and times of the source", "PRESERVE", kPlain, sets(o.preserve)});
  t.push_back({"jobid",
               'j',
               Arg::kRequired,
               "JOB[.STEP]",
               "the allocation, or the nodes of one step of it",
               {},
               kPlain,
               keeps(o.job)});
  t.push_back({"fanout", 'F', Arg::kRequired, "N", "every sender feeds at most N nodes (32)", "FANOUT", kPlain,
               number(o.width, "-F/--fanout", 1, 512)});
  t.push_back({"size", 's', Arg::kRequired, "BYTES[k|m]", "pieces in which it is sent (1m)", "SIZE", kPlain,
               [&o](Text v) { return set_piece(o, v); }});
  t.push_back({"timeout", 't', Arg::kRequired, "SECONDS", "give up when nothing has moved for so long (never)",
               "TIMEOUT", kPlain, number(o.timeout_seconds, "-t/--timeout", 1, kMaxSeconds)});
  t.push_back({"compress", 'C', Arg::kOptional, "METHOD", "taken, and without effect: files go as they are", "COMPRESS",
               kPlain, sets(o.compress)});
  t.push_back({"verbose", 'v', Arg::kNone, "", "say what is done", {}, kPlain, [&o](Text) {
                 ++o.verbose;
                 return Status{};
               }});
  for (Text of_libraries_and_trees : {"exclude", "treewidth"})
    t.push_back(
        {of_libraries_and_trees, 0, Arg::kRequired, {}, {}, {}, client::kHidden, [](Text) { return Status{}; }});
  client::add_common_options(t, flags);
  static constexpr client::Unsupported kUnsupported[] = {{"send-libs", 0, Arg::kOptional}};
  client::add_unsupported(t, kUnsupported);
  return t;
}

client::CommandDoc bcast_doc() {
  client::CommandDoc d;
  d.summary = "send a file to all nodes of an allocation";
  d.synopsis = "[OPTIONS] SOURCE DESTINATION";
  d.description =
      "Copies SOURCE, a file here, to DESTINATION on every node of the allocation that it is called in, or of -j. The "
      "files are the user's, and are written within the job. A DESTINATION that is a folder, or ends in a slash, takes "
      "the name of the source; one that is relative counts from the present folder; %N in it stands for the name of "
      "the node, %n for its number, %j for the job, %u for the user, and %% for a percent sign.\n\n"
      "On each node the file appears when it is whole, with the checksum that was sent along, and synced to disk; "
      "until then there is nothing under its name. If one node cannot write it the others stop too; those that had "
      "it already keep it. Up to 32 nodes (-F) are fed from here, and each of them feeds as many further ones.";
  d.exit_codes = {{"0", "every node has the file"},
                  {"1", "refused, a bad option, interrupted, or a node could not write it: the message names it"},
                  {"130", "interrupted before the copy began"}};
  d.environment = {{"GANGWAY_CONF", "configuration file (/etc/gangway/gangway.yaml)"},
                   {"GANGWAY_JOB_ID, SLURM_JOB_ID", "the allocation"}};
  d.examples = {{"gbcast program /tmp/program", "then: grun /tmp/program"},
                {"gbcast -f -p data.tar /scratch/", "replace /scratch/data.tar, with its mode and times"}};
  d.env_prefixes = {"SBCAST_", "GBCAST_"};
  return d;
}

struct Source {
  io::Fd fd;
  wire::BcastHeader header;
};

int64_t nanoseconds(const timespec& t) { return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; }

Result<Source> open_source(const std::string& path, const BcastOptions& o) {
  Source source;
  source.fd = io::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat file {};
  if (!source.fd || ::fstat(source.fd.get(), &file) != 0)
    return base::fail_errno("cannot read " + base::printable(path), errno);
  if (!S_ISREG(file.st_mode)) return invalid(base::printable(path) + " is no file", "gbcast sends single files");
  source.header.set_size(static_cast<uint64_t>(file.st_size));
  source.header.set_mode(file.st_mode & 07777);
  source.header.set_accessed_ns(nanoseconds(file.st_atim));
  source.header.set_modified_ns(nanoseconds(file.st_mtim));
  source.header.set_name(path.substr(path.rfind('/') + 1));
  source.header.set_preserve(o.preserve);
  source.header.set_force(o.force);
  return source;
}

Result<std::pair<io::Fd, io::Fd>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::fail_errno("a pipe cannot be made", errno);
  ::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);  // fewer switches between the threads; it does without
  return std::pair{io::Fd(ends[0]), io::Fd(ends[1])};
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

/// The nodes of a step that runs.
Result<std::vector<std::string>> nodes_of_step(const Program& program, const StepId& id) {
  wire::ApiRequest request;
  request.mutable_list_steps()->add_job_ids(id.job);
  GW_TRY(reply, ask(program, std::move(request)));
  std::vector<std::string> names;
  for (const wire::Step& step : reply.list_steps().steps())
    if (step.step() == id.number)
      for (const wire::StepNode& node : step.nodes()) names.push_back(node.share().node());
  if (names.empty())
    return base::fail(base::ErrorCode::kNotFound, "step " + id.text() + " does not run",
                      "gqueue -s lists the steps that run");
  return names;
}

/// What the step of receivers is: one a node, beside the other steps.
Status choose_nodes(const Program& program, const BcastOptions& o, RunPlan& plan) {
  model::Request& r = plan.options().job.spec.request;
  plan.options().overlap = true;
  plan.options().cpu_bind = "none";
  plan.options().job.spec.name = "gbcast";
  r.tasks_per_node = 1;
  plan.members.front().knows_size = false;
  const auto get = [](const char* name) -> const char* { return std::getenv(name); };
  if (o.job.empty()) GW_TRY_STATUS(check_job_of_environment(get));
  plan.members.front().job.id = facts_of_environment(get).id;
  if (o.job.empty() && plan.members.front().job.id == 0)
    return invalid("there is no allocation here", "call it inside a job, or with -j JOB");
  if (o.job.empty()) return {};
  StepChoice choice;
  GW_TRY_STATUS(parse_step_ids(o.job, choice));
  GW_TRY_STATUS(resolve(program, choice));
  if (choice.jobs.size() + choice.steps.size() != 1)
    return invalid("option -j/--jobid: \"" + base::printable(o.job, 40) + "\" is not one job or step");
  plan.members.front().job.id = choice.jobs.empty() ? choice.steps.front().job : choice.jobs.front();
  if (choice.steps.empty() || !choice.steps.front().number) return {};
  GW_TRY(names, nodes_of_step(program, choice.steps.front()));
  r.nodelist = std::move(names);
  return {};
}

Result<std::string> present_folder() {
  char here[PATH_MAX];
  if (::getcwd(here, sizeof here) == nullptr)
    return base::fail_errno("the current directory cannot be found", errno, "give an absolute destination");
  return std::string(here);
}

Status set_context(RunPlan& plan) {
  plan.context.work_dir = "/";
  plan.context.umask = present_umask();
  const char* user = std::getenv("USER");
  plan.context.user = user == nullptr ? std::to_string(::getuid()) : user;
  plan.options().pmix = false;
  plan.options().disable_status = true;  // the first ctrl-C ends it
  plan.options().kill_on_bad_exit = true;
  plan.quiet_ends = true;
  return {};
}

/// What is known once the step has its nodes.
struct Launch {
  std::string destination, folder;
  uint32_t width = kDefaultWidth;
  std::string secret;

  void adjust(const wire::Step& step, std::vector<attach::NodePlan>& plans, const LaunchContext& context) const {
    const auto nodes = static_cast<uint32_t>(plans.size());
    for (uint32_t i = 0; i < nodes; ++i) {
      model::PatternValues values;
      values.job_id = step.job();
      values.step = std::to_string(step.step());
      values.job_name = step.request().name();
      values.user = context.user;
      values.node = plans[i].node;
      values.node_index = i;
      values.task = i;
      wire::LaunchTasks& l = plans[i].launch;
      l.clear_programs();
      wire::Program& program = *l.add_programs();
      program.set_own(true);
      for (const std::string& word :
           {std::string(wire::kReceiveFile), model::resolve_job_path(destination, folder, values), std::to_string(i),
            std::to_string(nodes), std::to_string(width)})
        program.add_argv(word);
      wire::TaskOrder& task = *l.mutable_tasks(0);
      task.set_program(0);
      task.add_env(std::string(wire::kBcastSecret) + "=" + secret);
      if (!wire::is_fed_by_command(i, width)) task.mutable_input()->set_kind(wire::TaskStream::kNothing);
    }
  }
};

Result<int> copy(const Program& program, const BcastOptions& o, const std::vector<std::string>& operands) {
  GW_TRY(source, open_source(operands[0], o));
  RunPlan plan;
  GW_TRY_STATUS(choose_nodes(program, o, plan));
  GW_TRY_STATUS(set_context(plan));
  plan.members.front().parts = {{1, {wire::kReceiveFile}}};
  plan.options().quiet = o.verbose == 0;
  GW_TRY(folder, present_folder());
  GW_TRY(input, make_pipe());
  GW_TRY(lines, make_pipe());
  if (::dup2(input.first.get(), STDIN_FILENO) < 0 || ::dup2(lines.second.get(), STDOUT_FILENO) < 0)
    return base::fail_errno("a pipe cannot be put in place", errno);
  input.first.reset();
  lines.second.reset();
  BcastFeed feed;
  const uint64_t size = source.header.size();
  feed.source = std::move(source.fd);
  feed.to = std::move(input.second);
  feed.from = std::move(lines.first);
  feed.header = std::move(source.header);
  feed.width = o.width;
  feed.piece = o.piece;
  feed.stall_limit = base::seconds(o.timeout_seconds);
  const auto had_trouble = std::make_shared<std::atomic<bool>>(false);
  feed.on_trouble = [program, had_trouble](const base::Error& error) {
    *had_trouble = true;
    client::print_error(program, error);
    ::kill(::getpid(), SIGTERM);
  };
  const Launch launch{operands[1], folder, o.width, hex(auth::view(auth::random_bytes32()))};
  const base::Duration before = io::Loop::monotonic();
  size_t nodes = 0;
  plan.adjust = [&](const wire::Step& step, std::vector<attach::NodePlan>& plans, const LaunchContext& context) {
    launch.adjust(step, plans, context);
    nodes = plans.size();
    feed.nodes = static_cast<uint32_t>(nodes);
    for (const attach::NodePlan& node : plans) feed.hosts.emplace_back(base::host_of_address(node.address));
    start_feed(std::move(feed)).detach();
  };
  GW_TRY(config, client::load_config());
  const int code = RunSession(program, std::move(config), std::move(plan)).run();
  const double seconds = static_cast<double>((io::Loop::monotonic() - before).us) / 1e6;
  if (code == 0 && o.verbose > 0)
    client::print_note(program, fmt::format("{} bytes on {} node{} in {:.2f} s ({:.0f} MB/s each)", size, nodes,
                                            nodes == 1 ? "" : "s", seconds, static_cast<double>(size) / 1e6 / seconds));
  if (*had_trouble) return client::kExitFailed;
  // Receivers that are ended because another failed have codes that mean nothing to anybody.
  return code == client::kExitOk || code == kInterrupted ? code : client::kExitFailed;
}

}  // namespace

int run_gbcast(const Program& program, Args args) {
  BcastOptions o;
  client::CommonFlags flags;
  const auto table = bcast_table(o, flags);
  const Status read = client::read_environment(table, bcast_doc().env_prefixes,
                                               [](const char* name) -> const char* { return std::getenv(name); });
  Parsed parsed = parse_command(program, bcast_doc(), table, flags, args, client::kExitFailed);
  if (parsed.exit) return *parsed.exit;
  if (!read) return failed(program, read.error());
  if (parsed.operands.size() != 2)
    return failed(program, invalid(fmt::format("{} file names are given", parsed.operands.size()),
                                   "say what to send and where to: gbcast SOURCE DESTINATION")
                               .value());
  if (parsed.operands[1].empty()) return failed(program, invalid("the destination is empty", "say where to").value());
  if (o.compress) client::print_note(program, "warning: --compress has no effect: the file goes as it is");
  ::signal(SIGPIPE, SIG_IGN);
  const auto code = copy(program, o, parsed.operands);
  if (!code) return failed(program, code.error());
  std::fflush(nullptr);
  std::_Exit(*code);  // the thread that feeds may still wait
}

}  // namespace gw::cmds
