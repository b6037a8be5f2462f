// qsub of Grid Engine: submits a script, or a command (-b y).
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "base/text.h"
#include "client/options/sge.h"
#include "cmds/queue/submit.h"
#include "cmds/sge/commands.h"
#include "cmds/sge/words.h"

namespace gw::cmds::sge {
namespace {

using queue::Call;
using queue::Caller;
using Words = std::vector<std::string>;

constexpr std::string_view kSubUsage =
    "qsub [-N NAME] [-q QUEUE] [-P PROJECT] [-pe NAME SLOTS] [-l RESOURCES] [-t TASKS] [-o PATH] [-e PATH] [-j y] "
    "[-cwd|-wd DIR] [-v VARIABLES] [-V] [-b y] [-sync y] [-terse] ... [SCRIPT|COMMAND [ARGUMENTS]]";

/// As Grid Engine says it; the detail is on the line, since its clients show that to people.
int unable(const base::Error& error) {
  std::string text = error.text();
  constexpr std::string_view kQueue = "Invalid partition name specified: ";
  if (error.what.starts_with(kQueue))
    text = "Job was rejected because job requests unknown queue \"" + error.what.substr(kQueue.size()) + "\"";
  client::print_note({"Unable to run job", false}, text + ".");
  std::fputs("Exiting.\n", stderr);
  return client::kExitFailed;
}

/// "1-10:1"
std::string tasks_text(const model::ArraySpec& array) {
  const auto first = array.tasks.front();
  const auto next = array.tasks.next(first + 1);
  uint32_t last = first;
  for (auto task = next; task; task = array.tasks.next(*task + 1)) last = *task;
  return fmt::format("{}-{}:{}", first, last, next ? *next - first : 1);
}

std::string submitted(const BatchOptions& o, uint32_t id) {
  if (o.array) {
    const std::string tasks = fmt::format("{}.{}", id, tasks_text(*o.array));
    return o.queue.is_terse ? tasks + "\n"
                            : fmt::format("Your job-array {} (\"{}\") has been submitted\n", tasks, o.spec.name);
  }
  return o.queue.is_terse ? fmt::format("{}\n", id)
                          : fmt::format("Your job {} (\"{}\") has been submitted\n", id, o.spec.name);
}

int finish(const Caller& caller, client::Connection& connection, const BatchOptions& o, uint32_t id) {
  if (!o.wait) return client::kExitOk;
  const int code = wait_for(caller.program, connection, id, true);
  const int written = printed(code >= 128 ? fmt::format("Job {} exited because of signal {}.\n", id, code - 128)
                                          : fmt::format("Job {} exited with exit code {}.\n", id, code));
  return code != client::kExitOk ? code : written;
}

int submit_call(const Caller& caller, const Call& call) {
  std::vector<std::string> notes;
  auto submission = queue::prepare(caller, call, notes);
  if (!submission) return unable(submission.error());
  auto connection = client::connect(caller.program);
  if (!connection) return unable(connection.error());
  if (auto done = queue::add_held_for(*connection, *submission); !done) return unable(done.error());
  auto made = submit_request(caller.program, *submission, notes);
  if (!made) return unable(made.error());
  for (const std::string& note : notes) client::print_note({"warning", false}, note);
  wire::ApiRequest request;
  *request.mutable_submit() = std::move(*made);
  auto reply = connection->call(std::move(request));
  if (!reply) return unable(reply.error());
  for (const std::string& warning : reply->submit().warnings()) client::print_note({"warning", false}, warning);
  const BatchOptions& o = submission->components.front();
  if (o.test_only) return printed("verification: found suitable queue(s)\n");
  const uint32_t id = reply->submit().job_id();
  const int written = printed(submitted(o, id));
  return written != client::kExitOk ? written : finish(caller, *connection, o, id);
}

/// -@ FILE: its words in the place of the two.
base::Result<Words> with_files(Args args) {
  Words words;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] != "-@") {
      words.push_back(args[i]);
      continue;
    }
    if (i + 1 >= args.size()) return base::invalid("option -@ needs a value");
    std::ifstream file(args[++i]);
    if (!file) return base::invalid("cannot read_call " + base::printable(args[i], 200));
    for (std::string line; std::getline(file, line);) {
      if (base::trim(line).starts_with('#')) continue;
      GW_TRY(more, base::split_shell_words(line));
      words.insert(words.end(), more.begin(), more.end());
    }
  }
  return words;
}

/// Takes out -C and its value: what the directives begin with.
std::string take_prefix(Words& options) {
  std::string prefix = "#$";
  for (size_t i = 0; i + 1 < options.size();) {
    if (options[i] != "-C") {
      ++i;
      continue;
    }
    prefix = options[i + 1];
    options.erase(options.begin() + static_cast<std::ptrdiff_t>(i),
                  options.begin() + static_cast<std::ptrdiff_t>(i + 2));
  }
  return prefix;
}

base::Result<Call> read_call(const Caller& caller, Args args) {
  GW_TRY(words, with_files(args));
  GW_TRY(count, client::count_sge_options(words));
  Words options(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count));
  Call call;
  call.operands.assign(words.begin() + static_cast<std::ptrdiff_t>(count), words.end());
  const std::string prefix = take_prefix(options);
  GW_TRY(translated, client::translate_sge(options));
  call.options = std::move(translated);
  for (const std::string& word : call.options)
    if (word.starts_with("--queue-command=")) call.is_command = word.ends_with("yes");
  call.directives = {call.is_command ? std::string() : prefix, client::translate_sge, true};
  call.line = queue::typed_line(caller, args);
  return call;
}

}  // namespace

int run_qsub(const Caller& caller, Args args) {
  const std::string usage = std::string(kSubUsage) + "\noptions: " + client::sge_option_names() + " -@";
  if (const auto code = answer_common(caller, args, usage)) return *code;
  auto call = read_call(caller, args);
  if (!call) return refuse_usage(caller, call.error(), kSubUsage);
  return submit_call(caller, *call);
}

}  // namespace gw::cmds::sge
