// gshare (sshare): the tree of quotas as the scheduler sees it now.
#include <unistd.h>

#include "client/show/display.h"
#include "client/show/share_text.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {
namespace {

using client::Arg;
using client::Program;
using Text = std::string_view;

struct ShareOptions {
  client::ShareView view;
  bool json = false, ignored = false;
};

std::vector<client::Option> table(ShareOptions& o, client::CommonFlags& flags) {
  std::vector<client::Option> t;
  const auto flag = [&t](Text name, char letter, Text help, bool& value) {
    t.push_back({name, letter, Arg::kNone, {}, help, {}, client::kPlain, sets(value)});
  };
  t.push_back({"qos",
               'q',
               Arg::kRequired,
               "NAMES",
               "these QOS and what is below them",
               {},
               client::kPlain,
               lists(o.view.qos, "-q/--qos")});
  t.push_back(
      {"accounts", 'A', Arg::kRequired, "NAMES", "the same", {}, client::kPlain, lists(o.view.qos, "-A/--accounts")});
  t.push_back({"resource",
               'r',
               Arg::kRequired,
               "NAMES",
               "gpu (without this option), gpu:TYPE, cpu, mem, node; all",
               {},
               client::kPlain,
               lists(o.view.resources, "-r/--resource")});
  flag("long", 'l', "also demand, what is never preempted, what is covered, and those without jobs of their own",
       o.view.is_long);
  flag("noheader", 'n', "no header line, no explanation of the bars", o.view.no_header);
  flag("parsable", 'p', "fields end with |", o.view.parsable);
  flag("parsable2", 'P', "fields separated by |", o.view.parsable2);
  t.push_back({"json", 0, Arg::kOptional, {}, "JSON with a schema_version", {}, client::kPlain, sets(o.json)});
  flag("all", 'a', "all users (always so)", o.ignored);
  flag("verbose", 'v', "say more", o.ignored);
  client::add_common_options(t, flags);
  static constexpr client::Unsupported kUnsupported[] = {{"clusters", 'M'},
                                                         {"cluster"},
                                                         {"helpformat", 'e', Arg::kNone},
                                                         {"format", 'o'},
                                                         {"partition", 'm', Arg::kNone},
                                                         {"users", 'u'},
                                                         {"Users", 'U', Arg::kNone},
                                                         {"yaml", 0, Arg::kOptional}};
  client::add_unsupported(t, kUnsupported);
  return t;
}

client::CommandDoc doc() {
  client::CommandDoc d;
  d.summary = "show who is guaranteed, due and using how much, and who lends to whom";
  d.synopsis = "[OPTIONS]";
  d.description =
      "Draws the tree of quotas as the scheduler saw it at its last pass. Of each QOS, with all that is below it: what "
      "it is guaranteed and limited to, its fair share of what is there now, what is in use, how much of that is "
      "borrowed beyond the guarantee, how much of the guarantee others use, and its running and waiting jobs. A name "
      "with a slash behind it stands for the jobs of an inner QOS itself.\n\n"
      "All of a bar is the guarantee, or what is in use if that is more. While some are being preempted, what is in "
      "use "
      "already counts those who come in place of those who go; what is held is written behind the bar then. A dash "
      "under "
      "GUARANTEED and FAIR_SHARE: the resource is not shared out there, only limited.\n\n"
      "COVERED (with -l) is held by jobs that fit into the guarantee as a whole; the rest of what is in use is held by "
      "borrowed jobs, which others may take back (docs/quotas.md, rule 8). It may be less than the guarantee.\n\n"
      "Past use plays no part: shares are about what is in use now.";
  d.exit_codes = {{"0", "shown"}, {"1", "bad option, unknown QOS or resource, or the controller is out of reach"}};
  d.environment = {{"GANGWAY_CONF", "configuration file"}, {"NO_COLOR", "no colours"}};
  d.examples = {{"gshare", "all QOS and their GPUs"},
                {"gshare -q team-a -r all", "every resource of a QOS and those below it"},
                {"gshare -nP -r all", "for scripts"}};
  return d;
}

}  // namespace

int run_gshare(const Program& called, Args args) {
  ShareOptions o;
  client::CommonFlags flags;
  const Parsed parsed = parse_command(called, doc(), table(o, flags), flags, args, client::kExitUsage);
  if (parsed.exit) return *parsed.exit;
  const client::Program program = louder(called, parsed);
  if (!parsed.operands.empty()) return refuse_operand(program, parsed.operands.front(), "QOS go with -q");
  if (o.view.resources.empty()) o.view.resources = {o.json ? "all" : "gpu"};
  o.view.unicode = client::use_unicode();
  o.view.colour = client::use_colour(STDOUT_FILENO);
  o.view.columns = client::terminal_columns(STDOUT_FILENO, 80);
  wire::ApiRequest request;
  request.mutable_show_shares();
  const auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  const wire::ShowSharesReply& shares = reply->show_shares();
  const auto text = o.json ? client::shares_json(shares, o.view) : client::share_text(shares, o.view);
  return text ? printed(*text) : failed(program, text.error());
}

}  // namespace gw::cmds
