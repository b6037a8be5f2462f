// gdiag (sdiag): the figures of the controller: jobs, passes of the scheduler, requests.
#include "cmds/gdiag/figures_text.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {
namespace {

using client::Arg;
using client::Program;
using Text = std::string_view;

struct DiagOptions {
  FiguresView view;
  bool reset = false, json = false, ignored = false;
};

std::vector<client::Option> table(DiagOptions& o, client::CommonFlags& flags) {
  std::vector<client::Option> t;
  const auto flag = [&t](Text name, char letter, Text help, bool& value) {
    t.push_back({name, letter, Arg::kNone, {}, help, {}, client::kPlain, sets(value)});
  };
  const auto sort = [&t, &o](Text name, char letter, Text help, FiguresView::Sort how) {
    t.push_back({name, letter, Arg::kNone, {}, help, {}, client::kPlain, [&o, how](Text) {
                   o.view.sort = how;
                   return base::Status{};
                 }});
  };
  flag("all", 'a', "all figures (always so)", o.ignored);
  flag("reset", 'r', "begin to count anew (administrators)", o.reset);
  sort("sort-by-id", 'i', "requests by number, users by uid", FiguresView::Sort::kByNumber);
  sort("sort-by-time", 't', "requests by how long all of them took", FiguresView::Sort::kByTotal);
  sort("sort-by-time2", 'T', "requests by how long one took", FiguresView::Sort::kByMean);
  t.push_back({"json", 0, Arg::kOptional, {}, "JSON with a schema_version", {}, client::kPlain, sets(o.json)});
  add_cluster_option(t);
  client::add_common_options(t, flags);
  static constexpr client::Unsupported kUnsupported[] = {{"yaml", 0, Arg::kOptional}};
  client::add_unsupported(t, kUnsupported);
  return t;
}

client::CommandDoc doc() {
  client::CommandDoc d;
  d.summary = "show figures of the controller: jobs, scheduler, requests";
  d.synopsis = "[OPTIONS]";
  d.description =
      "Prints what the controller has done since its start, or since --reset, in Slurm's lines: jobs (tasks of arrays "
      "count as jobs), passes of the scheduler and how long they took, and requests by kind and user, those of which "
      "there were most first. Times are microseconds; of a request the time for which it kept the controller's event "
      "loop. \"Server thread count\" is the number of clients and nodes that are connected, \"Timeout\" of passes that "
      "are to be continued. A job was backfilled if it started while nodes of its partition were kept for one before "
      "it. What Slurm has and Gangway has not (agents, a queue of requests) is 0. Below Slurm's lines stand Gangway's "
      "own: "
      "in how many classes the waiting jobs fall (those of one are alike to the scheduler), how many rows one "
      "transaction of the database has and how long it takes, what waits, and the slowest single requests.";
  d.exit_codes = {{"0", "shown"}, {"1", "bad option, permission denied, or the controller is out of reach"}};
  d.environment = {{"GANGWAY_CONF", "configuration file"}};
  d.examples = {{"gdiag", "all figures"}, {"gdiag -t", "which requests take the controller's time"}};
  return d;
}

}  // namespace

int run_gdiag(const Program& called, Args args) {
  DiagOptions o;
  client::CommonFlags flags;
  const Parsed parsed = parse_command(called, doc(), table(o, flags), flags, args, client::kExitUsage);
  if (parsed.exit) return *parsed.exit;
  const Program program = louder(called, parsed);
  if (!parsed.operands.empty()) return refuse_operand(program, parsed.operands.front(), "it takes options only");
  o.view.is_slurm = program.is_slurm;
  wire::ApiRequest request;
  request.mutable_show_figures()->set_reset(o.reset);
  const auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  if (o.reset) return printed("Reset scheduling statistics\n");
  const wire::ShowFiguresReply& figures = reply->show_figures();
  return printed(o.json ? figures_json(figures, o.view) : figures_text(figures, o.view));
}

}  // namespace gw::cmds
