// qsub of PBS Pro and Torque: submits a script, a command behind `--`, or opens a shell on a node (-I).
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "cmds/pbs/commands.h"
#include "cmds/pbs/words.h"
#include "cmds/queue/ids.h"
#include "cmds/queue/submit.h"

namespace gw::cmds::pbs {
namespace {

using queue::Call;
using queue::Caller;
using Words = std::vector<std::string>;

constexpr std::string_view kSubUsage =
    "qsub [-l RESOURCES] [-N NAME] [-q QUEUE] [-A ACCOUNT] [-o PATH] [-e PATH] [-j oe] [-v VARIABLES] [-V] [-h] [-I] "
    "[-W ATTRIBUTES] [-J|-t TASKS] ... [SCRIPT [ARGUMENTS] | -- COMMAND [ARGUMENTS]]";

struct Line {
  Words options, operands;
  std::string prefix = "#PBS";
  bool is_interactive = false, is_command = false;
};

/// "-I", "-IX": letters without values, I among them.
bool is_flags_with_i(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && word.find('I') != std::string::npos &&
         word.find_first_not_of("-VhIXzxnf") == std::string::npos;
}

/// Takes out -C and -I, which are not about the job.
base::Result<Line> split_line(const Caller& caller, Args args) {
  Line line;
  Words words(args.begin(), args.end());
  const size_t count = client::count_pbs_options(words, queue::pbs_kind(caller.system));
  for (size_t i = 0; i < count; ++i) {
    const std::string& word = words[i];
    if (is_flags_with_i(word)) {
      line.is_interactive = true;
      std::string others = word;
      std::erase(others, 'I');
      if (others.size() > 1) line.options.push_back(others);
    } else if (word.starts_with("-C")) {
      if (word.size() == 2 && i + 1 >= words.size()) return base::invalid("option -C needs a value");
      line.prefix = word.size() > 2 ? word.substr(2) : words[++i];
    } else {
      line.options.push_back(word);
      const bool has_value_apart = client::count_pbs_options({word}, queue::pbs_kind(caller.system)) == 1 &&
                                   client::count_pbs_options({word, "x"}, queue::pbs_kind(caller.system)) == 2;
      if (has_value_apart && i + 1 < count) line.options.push_back(words[++i]);
    }
  }
  line.operands.assign(words.begin() + static_cast<std::ptrdiff_t>(count), words.end());
  if (!line.operands.empty() && line.operands.front() == "--") {
    line.operands.erase(line.operands.begin());
    line.is_command = true;
  }
  return line;
}

int submit_call(const Caller& caller, Call& call) {
  std::vector<std::string> notes;
  auto config = client::load_config();
  if (!config) return refuse(caller, config.error());
  call.cluster = config->cluster;
  auto submission = queue::prepare(caller, call, notes);
  if (!submission) return queue::say(caller, submission.error().text(), 1);
  const bool is_quiet = submission->components.front().quiet;
  auto connection = client::open_connection(caller.program, *config);
  if (!connection) return refuse(caller, connection.error());
  auto made = submit_request(caller.program, *submission, notes);
  if (!made) return refuse(caller, made.error());
  for (const std::string& note : notes) queue::say(caller, "warning: " + note, 0);
  wire::ApiRequest request;
  *request.mutable_submit() = std::move(*made);
  const BatchOptions& o = submission->components.front();
  auto reply = connection->call(std::move(request));
  if (!reply) return refuse(caller, reply.error());
  for (const std::string& warning : reply->submit().warnings()) queue::say(caller, "warning: " + warning, 0);
  const uint32_t id = reply->submit().job_id();
  const std::string suffix = (o.array ? "[]." : ".") + config->cluster + "\n";
  const int code = is_quiet ? client::kExitOk : printed(std::to_string(id) + suffix);
  return o.wait ? wait_for(caller.program, *connection, id, true) : code;
}

/// A login shell on the first node, in a terminal where there is one.
int open_shell(const Caller& caller, Words options, Words operands) {
  constexpr std::string_view kVariables = "--queue-variables=";
  for (const std::string& word : options) {
    if (!word.starts_with(kVariables)) continue;
    auto entries = split_variables(std::string_view(word).substr(kVariables.size()), "-v");
    if (!entries) return refuse_usage(caller, entries.error(), kSubUsage);
    for (const std::string& entry : *entries)  // those without a value go along anyway
      if (const size_t equals = entry.find('='); equals != std::string::npos && equals > 0)
        ::setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
  }
  std::erase_if(options, [](const std::string& word) {
    return word.starts_with("--queue-") || word.starts_with("--" + std::string(client::kPbsLeftOut)) ||
           word.starts_with("--array") || word == "--requeue" || word == "--no-requeue";
  });
  const passwd* entry = ::getpwuid(::geteuid());
  const char* shell = entry != nullptr && *entry->pw_shell != '\0' ? entry->pw_shell : "/bin/sh";
  if (::isatty(STDIN_FILENO) == 1) options.emplace_back("--pty");
  if (operands.empty()) operands = {shell, "-l"};
  options.insert(options.end(), operands.begin(), operands.end());
  return run_grun({caller.program.name, false}, options);
}

}  // namespace

int run_qsub(const Caller& caller, Args args) {
  if (const auto code = answer_common(caller, args, kSubUsage)) return *code;
  auto line = split_line(caller, args);
  if (!line) return refuse_usage(caller, line.error(), kSubUsage);
  const client::PbsRules rules{queue::pbs_kind(caller.system), true, false};
  auto options = client::translate_pbs(line->options, {rules.kind, true, true});
  if (!options) return refuse_usage(caller, options.error(), kSubUsage);
  if (line->is_interactive) return open_shell(caller, std::move(*options), std::move(line->operands));
  Call call;
  call.options = std::move(*options);
  call.operands = std::move(line->operands);
  call.is_command = line->is_command;
  call.directives = {line->is_command ? std::string() : line->prefix,
                     [rules](const Words& words) { return client::translate_pbs(words, rules); }, false};
  call.line = queue::typed_line(caller, args);
  return submit_call(caller, call);
}

}  // namespace gw::cmds::pbs
