// gshare (sshare): the tree of quotas as the scheduler sees it now.
#include <pwd.h>
#include <unistd.h>

#include "client/show/display.h"
#include "client/show/share_text.h"
#include "cmds/gshare/fair_share_text.h"
#include "cmds/shared/commands.h"
#include "cmds/shared/hidden_note.h"

namespace gw::cmds {
namespace {

using client::Arg;
using client::Program;
using Text = std::string_view;

struct ShareOptions {
  client::ShareView view;
  FairShareQuery past;
  bool json = false, ignored = false, wants_columns = false;
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
  flag("all", 'a', "the table of past use, with all users", o.past.all_users);
  t.push_back({"users",
               'u',
               Arg::kRequired,
               "NAMES",
               "the table of past use, with these users",
               {},
               client::kPlain,
               lists(o.past.users, "-u/--users")});
  flag("Users", 'U', "the table of past use: users, no accounts", o.past.users_alone);
  t.push_back({"format",
               'o',
               Arg::kRequired,
               "COLUMNS",
               "the table of past use: Account,User%20,FairShare,...",
               {},
               client::kPlain,
               keeps(o.past.format)});
  flag("helpformat", 'e', "the names of its columns", o.wants_columns);
  flag("partition", 'm', "by partition (shares are the same in all)", o.ignored);
  flag("verbose", 'v', "say more", o.ignored);
  add_cluster_option(t);
  client::add_common_options(t, flags);
  static constexpr client::Unsupported kUnsupported[] = {{"yaml", 0, Arg::kOptional}};
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
      "Past use plays no part: shares are about what is in use now.\n\n"
      "With -o, -a, -u, -U, and as sshare, past use is shown in Slurm's columns: of each account (a QOS) and of users "
      "that "
      "are asked for RawShares (weight), NormShares (their part of all), RawUsage (GPU-seconds that count now; a "
      "hardware "
      "thread without GPUs is a 32nd of one), EffectvUsage (their part of all) and FairShare, "
      "2^-(EffectvUsage/NormShares). Users have equal shares, as scheduler.order: multifactor ranks them, and of a "
      "user "
      "all jobs count, under whatever account.";
  d.exit_codes = {{"0", "shown"}, {"1", "bad option, unknown QOS or resource, or the controller is out of reach"}};
  d.environment = {{"GANGWAY_CONF", "configuration file"}, {"NO_COLOR", "no colours"}};
  d.examples = {{"gshare", "all QOS and their GPUs"},
                {"gshare -q team-a -r all", "every resource of a QOS and those below it"},
                {"gshare -nP -r all", "for scripts"},
                {"gshare -a -o account,user,rawusage,fairshare", "past use, and what it makes of priorities"}};
  return d;
}

/// As Slurm's sshare has it: the caller's own rows, unless others are asked for.
int show_past_use(const Program& program, ShareOptions& o) {
  if (o.wants_columns) return printed(fair_share_columns());
  o.past.accounts = o.view.qos;
  o.past.is_long = o.view.is_long;
  if (o.past.users.empty() && !o.past.all_users) {
    const passwd* own = ::getpwuid(::getuid());
    o.past.users = {own == nullptr ? std::to_string(::getuid()) : own->pw_name};
  }
  wire::ApiRequest request;
  request.mutable_list_quotas();
  const auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  const client::QuotaTableStyle style = {o.view.no_header, o.view.parsable, o.view.parsable2, program.is_slurm};
  const auto text = fair_share_table(reply->list_quotas(), o.past, style);
  return text ? printed(*text) : failed(program, text.error());
}

bool wants_past_use(const Program& program, const ShareOptions& o) {
  const bool has_said =
      o.wants_columns || o.past.all_users || o.past.users_alone || !o.past.users.empty() || !o.past.format.empty();
  return (program.is_slurm || has_said) && !o.json && o.view.resources.empty();
}

}  // namespace

int run_gshare(const Program& called, Args args) {
  ShareOptions o;
  client::CommonFlags flags;
  const Parsed parsed = parse_command(called, doc(), table(o, flags), flags, args, client::kExitUsage);
  if (parsed.exit) return *parsed.exit;
  const client::Program program = louder(called, parsed);
  if (!parsed.operands.empty()) return refuse_operand(program, parsed.operands.front(), "QOS go with -q");
  if (wants_past_use(program, o)) return show_past_use(program, o);
  if (o.view.resources.empty()) o.view.resources = {o.json ? "all" : "gpu"};
  o.view.unicode = client::use_unicode();
  o.view.colour = client::use_colour(STDOUT_FILENO);
  constexpr size_t kUsual = 80, kWide = 100;
  const size_t columns = client::terminal_columns(STDOUT_FILENO, 0);
  o.view.columns = columns == 0 ? kUsual : columns;
  o.view.is_narrow = columns > 0 && columns < kWide;  // scripts see the same words always
  wire::ApiRequest request;
  request.mutable_show_shares();
  const auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  const wire::ShowSharesReply& shares = reply->show_shares();
  note_hidden(program, shares.hidden(), "QOS of others", "QOS of others");
  const auto text = o.json ? client::shares_json(shares, o.view) : client::share_text(shares, o.view);
  return text ? printed(*text) : failed(program, text.error());
}

}  // namespace gw::cmds
