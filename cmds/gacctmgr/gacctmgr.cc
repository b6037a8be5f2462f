// gacctmgr (sacctmgr): shows and changes the tree of quotas, and who may use it.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "cmds/gacctmgr/acct.h"

namespace gw::cmds {
namespace {

using client::Arg;
using client::Program;
using Text = std::string_view;

std::vector<client::Option> table(AcctOptions& o, std::string& move_to, client::CommonFlags& flags) {
  std::vector<client::Option> t;
  const auto flag = [&t](Text name, char letter, Text help, bool& value) {
    t.push_back({name, letter, Arg::kNone, {}, help, {}, client::kPlain, sets(value)});
  };
  flag("dry-run", 0, "say what would be changed, and change nothing", o.dry_run);
  flag("force", 0, "take guarantees that do not fit (administrators); dump: overwrite FILE", o.force);
  const auto target = [&move_to](Text value) -> base::Status {
    if (value.empty()) return base::invalid("option --move-to: a QOS is missing");
    move_to = value;
    return {};
  };
  t.push_back({"move-to", 0, Arg::kRequired, "QOS", "delete qos: where its jobs go", {}, client::kPlain, target});
  flag("noheader", 'n', "no header line", o.style.no_header);
  flag("parsable", 'p', "fields end with |", o.style.parsable);
  flag("parsable2", 'P', "fields separated by |", o.style.parsable2);
  flag("quiet", 'Q', "no messages but errors", o.quiet);
  t.push_back({"json", 0, Arg::kOptional, {}, "JSON with a schema_version", {}, client::kPlain, sets(o.json)});
  flag("immediate", 'i', "change without asking (gacctmgr never asks)", o.immediate);
  flag("verbose", 'v', "say more", o.ignored);
  for (Text name : {"readonly", "local"})
    t.push_back({name, 0, Arg::kNone, {}, {}, {}, client::kHidden, sets(o.ignored)});
  client::add_common_options(t, flags);
  flag("associations", 's', "show user: a row for each of its QOS", o.associations);
  static constexpr client::Unsupported kUnsupported[] = {{"oneliner", 'o', Arg::kNone}, {"yaml", 0, Arg::kOptional}};
  client::add_unsupported(t, kUnsupported);
  return t;
}

client::CommandDoc doc() {
  client::CommandDoc d;
  d.summary = "show and change the tree of quotas, and who may use it";
  d.synopsis = "[OPTIONS] COMMAND [WORDS] [-- COMMAND [WORDS]]...";
  d.description =
      "add qos NAMES KEY=VALUE...; modify qos NAMES set KEY=VALUE...; delete qos NAMES [--move-to=QOS]; show qos "
      "[NAMES] "
      "[tree] [format=FIELDS]. An account is a second name of a QOS: both words mean the same tree. Keys: parent "
      "guaranteed limit weight priority preempt_children min_runtime grace patience max_wall max_jobs "
      "max_submit "
      "max_jobs_per_user max_submit_per_user limit_per_user users operators description budget; and Slurm's names for "
      "these: "
      "GrpTRES (limit), Fairshare (weight), MaxWall, MaxJobs, GrpJobs, MaxSubmitJobs, GrpSubmitJobs, MaxJobsPerUser, "
      "MaxSubmitJobsPerUser, MaxTRESPerUser (limit_per_user), GraceTime, PreemptExemptTime (min_runtime). Keys are "
      "taken "
      "in any case, with or without underscores.\n\n"
      "Amounts: guaranteed=gpu:56,cpu:96 changes the resources that it names (gpu, gpu:TYPE, cpu, mem, node), gpu:none "
      "takes one away, an empty value all. Lists: users=ann,@ml replaces, users+=ann adds, users-=ann takes away. "
      "Where "
      "neither a QOS nor anything above it names users, everybody may submit; the first name closes it for the others. "
      "grace=inherit and patience=inherit: as above it.\n\n"
      "budget=5000gpuh/month: GPU-hours in each day, week, month, quarter or year, or in total, of a QOS with what is "
      "below it, or of a user. Once they are used no job with GPUs starts until the next period; with :borrow behind "
      "it the jobs of a QOS then only borrow. budget=none takes it away; show budgets [NAMES] tells what is used. "
      "GrpTRESMins=gres/gpu=N is N minutes in total.\n\n"
      "add user NAMES account=QOS[,QOS] [default_qos=QOS] [budget=BUDGET]; modify user NAMES set default_qos=QOS "
      "budget=BUDGET; delete user NAMES "
      "[account=QOS]: gives users roles, and takes them away (without account= all of them). show user [NAMES]; show "
      "associations [user=NAMES] [account=NAMES]: a row for each user of each QOS.\n\n"
      "Changes that stand between -- are made together or not at all; behind -- the verb of the change before holds if "
      "none is given.\n\n"
      "modify job where jobid=IDS set derivedexitcode=N[:SIGNAL] comment=TEXT: what the owner of a job that has ended "
      "takes it for; sacct shows it.\n\n"
      "dump [FILE] writes the whole tree as YAML, load FILE puts the file in the place of the whole tree (- is "
      "standard input).\n\n"
      "Called as sacctmgr it shows what is about to be changed and asks for 30 seconds, unless --immediate is given; "
      "called as gacctmgr it does not ask. --dry-run shows what would happen. show cluster, show tres and show "
      "configuration are sacctmgr's lists; add coordinator NAMES accounts=QOS makes operators. Verbs and "
      "what they are about may be shortened; create, update, remove and list are other names of add, modify, delete "
      "and "
      "show. Administrators may change everything, operators of a QOS what is below it.";
  d.exit_codes = {{"0", "done"}, {"1", "bad words, refused, not found, or the controller is out of reach"}};
  d.environment = {{"GANGWAY_CONF", "configuration file"}};
  d.words = "show list add create modify delete remove dump load";
  d.examples = {
      {"gacctmgr add qos team-b parent=dept guaranteed=gpu:48 limit=gpu:64 users=bob,@ml-b operators=ann", "a new QOS"},
      {"gacctmgr modify qos q1.1 set guaranteed=gpu:56 -- qos q1.2 set guaranteed=gpu:72",
       "two guarantees at once, so that their sum fits all the time"},
      {"gacctmgr add user bob account=team-b default_qos=team-b", "a user of a QOS"},
      {"gacctmgr show qos tree format=Name,Guaranteed,Limit,Users%30", "the tree"},
      {"gacctmgr modify qos team-b set budget=5000gpuh/month:borrow", "GPU-hours that come back every month"},
      {"gacctmgr modify job where jobid=7 set derivedexitcode=1 comment='diverged'",
       "a job that only seemed to end well"},
      {"gacctmgr dump quotas.yaml", "the whole tree as a file"},
      {"gacctmgr load quotas.yaml --dry-run", "what a file would change"}};
  return d;
}

/// The words as they were given, parted where a bare -- stands.
Segments split_at_dashes(Args args) {
  Segments out(1);
  for (const std::string& word : args) {
    if (word == "--")
      out.emplace_back();
    else
      out.back().push_back(word);
  }
  return out;
}

/// Options may stand in every part. Those of the whole command are kept in `o`; --move-to becomes a word of its part.
Parsed parse_parts(const Program& program, AcctOptions& o, Args args, Segments& parts) {
  Parsed whole;
  for (std::vector<std::string>& part : parts = split_at_dashes(args)) {
    std::string move_to;
    client::CommonFlags flags;
    Parsed parsed = parse_command(program, doc(), table(o, move_to, flags), flags, part, client::kExitUsage);
    if (parsed.exit) return parsed;
    part = std::move(parsed.operands);
    whole.verbose += parsed.verbose;
    if (!move_to.empty()) part.push_back("move_to=" + move_to);
  }
  // `gacctmgr --dry-run -- modify ...`: a -- before the first word only ends the options.
  if (parts.size() > 1 && parts.front().empty()) parts.erase(parts.begin());
  return whole;
}

int usage(const Program& program) {
  return failed(program,
                {base::ErrorCode::kInvalid, "no command given", "such as: " + program.name + " show qos; see --help"});
}

int show(const Program& program, const AcctOptions& o, Args words) {
  if (words.empty())
    return failed(program,
                  {base::ErrorCode::kInvalid, "show what?", "qos, account, user, associations, tree or budgets"});
  const AcctEntity entity = acct_entity(words.front());
  if (entity == AcctEntity::kNone) return failed(program, unknown_entity(words.front()));
  if (entity == AcctEntity::kJob)
    return failed(program, {base::ErrorCode::kInvalid, "the records of jobs are shown by sacct (gacct)", ""});
  if (entity == AcctEntity::kCluster || entity == AcctEntity::kTres || entity == AcctEntity::kConfig)
    return acct_show_cluster(program, o, entity, words.subspan(1));
  if (entity == AcctEntity::kEvent || entity == AcctEntity::kTransaction)
    return acct_show_events(program, o, entity, words.subspan(1));
  if (entity == AcctEntity::kCoordinator)
    return failed(program, {base::ErrorCode::kInvalid, "coordinators are shown with their users and accounts",
                            "show user withcoord"});
  return acct_show(program, o, entity, words.subspan(1));
}

/// What is no change stands alone.
int run_alone(const Program& program, const AcctOptions& o, const std::string& verb, Args words) {
  if (verb == "show") return show(program, o, words);
  return verb == "dump" ? acct_dump(program, o, words) : acct_load(program, o, words);
}

}  // namespace

int run_gacctmgr(const Program& called, Args args) {
  AcctOptions o;
  Segments parts;
  const Parsed parsed = parse_parts(called, o, args, parts);
  if (parsed.exit) return *parsed.exit;
  const Program program = louder(called, parsed);
  o.style.is_slurm = program.is_slurm;
  for (const auto& part : parts)
    for (const std::string& word : part)
      if (!base::is_utf8(word))
        return failed(program, {base::ErrorCode::kInvalid, "not valid UTF-8: " + base::printable(word), {}});
  if (parts.front().empty()) return usage(program);
  const std::string verb = acct_verb(parts.front().front());
  if (verb == "version" || base::iequals(parts.front().front(), "version"))
    return parts.front().size() > 1 ? refuse_operand(program, parts.front()[1], "version takes no arguments")
                                    : printed(client::version_line(program) + "\n");
  const bool is_change = verb == "add" || verb == "modify" || verb == "delete";
  if (!verb.empty() && !is_change && parts.size() == 1)
    return run_alone(program, o, verb, Args(parts.front()).subspan(1));
  if (verb == "modify" && parts.size() == 1 && parts.front().size() > 1 &&
      acct_entity(parts.front()[1]) == AcctEntity::kJob)
    return acct_modify_jobs(program, o, Args(parts.front()).subspan(2));
  auto changes = quota_changes(parts, program.is_slurm);
  if (!changes) return failed(program, changes.error());
  return acct_change(program, o, std::move(*changes));
}

}  // namespace gw::cmds
