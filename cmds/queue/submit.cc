// See submit.h.
#include "cmds/queue/submit.h"

#include <fnmatch.h>
#include <limits.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/text.h"
#include "client/show/array_view.h"
#include "cmds/gbatch/batch_components.h"
#include "cmds/request/slurm_forms.h"

namespace gw::cmds::queue {
namespace {

using base::Result;
using base::Status;
using Words = std::vector<std::string>;

struct Home {
  std::string folder = "/", shell = "/bin/sh", user;
};

Home home_of_user() {
  Home home;
  if (const passwd* entry = ::getpwuid(::geteuid()); entry != nullptr) {
    home.folder = entry->pw_dir;
    home.user = entry->pw_name;
    if (*entry->pw_shell != '\0') home.shell = entry->pw_shell;
  }
  if (const char* said = std::getenv("HOME"); said != nullptr && *said == '/') home.folder = said;
  return home;
}

Result<std::string> current_folder() {
  char path[PATH_MAX];
  if (::getcwd(path, sizeof path) == nullptr) return base::fail_errno("the current directory cannot be found", errno);
  return std::string(path);
}

bool is_folder(const std::string& path) {
  struct stat st {};
  return path.ends_with('/') || (::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode));
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

/// Variables that paths may have, as patterns of gbatch.
std::string with_patterns(std::string path, System system, const std::string& cluster, bool is_array) {
  replace_all(path, "%", "%%");
  if (system == System::kSge) {
    const std::pair<std::string_view, std::string_view> names[] = {{"$JOB_NAME", "%x"},
                                                                   {"$JOB_ID", is_array ? "%A" : "%j"},
                                                                   {"$TASK_ID", is_array ? "%a" : "undefined"},
                                                                   {"$HOSTNAME", "%N"},
                                                                   {"$USER", "%u"}};
    for (const auto& [name, pattern] : names) replace_all(path, name, pattern);
  } else {
    replace_all(path, "^array_index^", "%a");
    const std::string id = (is_array ? "%A[%a]." : "%j.") + cluster;
    replace_all(path, "${PBS_JOBID}", id);
    replace_all(path, "$PBS_JOBID", id);
    replace_all(path, "$PBS_ARRAYID", "%a");
  }
  return path;
}

/// "JOB.o7", of a task "JOB.o7.3", "JOB.o7-3"
std::string usual_name(System system, char letter, bool is_array) {
  const std::string name = std::string("%x.") + letter;
  if (!is_array) return name + "%j";
  return name + (system == System::kTorque ? "%A-%a" : "%A.%a");
}

struct Where {
  System system;
  std::string cluster;
  std::string folder;  ///< Where relative paths begin.
};

/// Where an output goes, from what was said of it: [HOST]:PATH, a folder, or nothing.
std::string output_path(const BatchOptions& o, const Where& where, const std::string& said, char letter) {
  std::string path = where.system == System::kSge ? said.substr(0, said.find(',')) : said;
  if (where.system == System::kSge) {
    const Home home = home_of_user();
    replace_all(path, "$HOME", home.folder);
    replace_all(path, "$USER", home.user);
  }
  const size_t colon = path.find(':');
  if (colon != std::string::npos && path.find('/') > colon) path = path.substr(colon + 1);
  const bool is_array = o.array.has_value();
  if (path.empty()) path = where.folder;
  if (path.front() != '/') path = where.folder + "/" + path;
  const bool names_folder = is_folder(path);
  path = with_patterns(path, where.system, where.cluster, is_array);
  if (names_folder) path += (path.ends_with('/') ? "" : "/") + usual_name(where.system, letter, is_array);
  return path;
}

/// Where it runs and where its output goes: at home of Grid Engine, unless -cwd says otherwise; PBS writes it where the
/// job was submitted, and runs it at home.
Status set_places(BatchOptions& o, System system, const std::string& cluster) {
  GW_TRY(here, current_folder());
  const std::string home = home_of_user().folder;
  if (o.chdir == ".") o.chdir = here;
  if (o.chdir.empty()) o.chdir = home;
  if (o.chdir.front() != '/') o.chdir = here + "/" + o.chdir;
  const Where where{system, cluster, system == System::kSge ? o.chdir : here};
  std::string out = output_path(o, where, o.queue.output, 'o');
  std::string error = output_path(o, where, o.queue.error, 'e');
  if (o.queue.join == "eo") out = error;
  if (o.queue.join == "oe" || o.queue.join == "eo") error.clear();
  o.spec.launch.std_out = out;
  o.spec.launch.std_err = error;
  return {};
}

/// What -v names, with its value, which is that of the submission where none is given.
Words chosen_variables(const QueueForms& q) {
  Words lines;
  for (const std::string& entry : q.variables) {
    const char* value = entry.find('=') == std::string::npos ? std::getenv(entry.c_str()) : nullptr;
    if (entry.find('=') != std::string::npos)
      lines.push_back(entry);
    else if (value != nullptr)
      lines.push_back(entry + "=" + value);
  }
  return lines;
}

void add_of_submission(Words& lines, const char* prefix) {
  for (const char* name : {"HOME", "LANG", "LOGNAME", "MAIL", "PATH", "SHELL", "TZ"})
    if (const char* value = std::getenv(name); value != nullptr)
      lines.push_back(std::string(prefix) + name + "=" + value);
}

/// What Grid Engine's jobs are told of their submission.
Result<Words> sge_settings(const BatchOptions& o) {
  GW_TRY(here, current_folder());
  Words lines{"GANGWAY_SUBMITTED_BY=sge", "SGE_O_HOST=" + host_name(), "SGE_O_WORKDIR=" + here,
              "SGE_STDIN_PATH=/dev/null"};
  if (!o.queue.environment.empty()) lines.push_back("PE=" + o.queue.environment);
  add_of_submission(lines, "SGE_O_");
  return lines;
}

/// Without -V that of a login, with what -v names.
Result<std::string> environment_of(const BatchOptions& o, System system) {
  Words more = chosen_variables(o.queue);
  for (const auto& [name, value] : o.slurm.for_steps) more.push_back(name + "=" + value);
  Words settings = pbs_settings(o.spec);
  settings.emplace_back("GANGWAY_SUBMITTED_BY=pbs");
  if (system == System::kSge) {
    GW_TRY(lines, sge_settings(o));
    settings = std::move(lines);
  }
  more.insert(more.end(), settings.begin(), settings.end());
  if (!o.queue.has_environment) {
    const bool is_chosen = std::any_of(o.queue.variables.begin(), o.queue.variables.end(),
                                       [](const std::string& entry) { return entry.starts_with("HOME="); });
    if (!is_chosen) more.push_back("HOME=" + home_of_user().folder);
    more.push_back("SLURM_GET_USER_ENV=" + std::to_string(kLoginSeconds));
  }
  return export_environment("ALL", o.queue.has_environment ? present_environment() : Words(), more);
}

Result<Script> script_of(const Call& call) {
  if (call.is_command) {
    if (call.operands.empty()) return base::invalid("a command is missing");
    Words quoted;
    for (const std::string& word : call.operands) quoted.push_back(base::shell_quote(word));
    Script script = wrapped_script(base::join(quoted, " "));
    script.label = call.operands.front();
    return script;
  }
  return load_script(call.operands.empty() ? std::string() : call.operands.front());
}

/// Their scripts need not say which shell reads them: -S does, else it is that of the user.
Status name_shell(Script& script, const BatchOptions& o, System system) {
  const std::string shell = o.queue.shell.substr(o.queue.shell.find(':') + 1);  // Grid Engine has HOST:PATH
  if (!shell.empty() && shell.front() != '/')
    return base::invalid("-S: \"" + base::printable(shell, 100) + "\" is no absolute path");
  if (!shell.empty())
    script.bytes = "#!" + shell + "\n" + script.bytes;
  else if (!script.bytes.starts_with("#!"))
    script.bytes =
        "#!" + (system == System::kSge ? std::string("/bin/sh") : home_of_user().shell) + "\n" + script.bytes;
  return {};
}

void name_job(BatchOptions& o, const Script& script) {
  if (!o.spec.name.empty()) return;
  const size_t slash = script.label.rfind('/');
  o.spec.name = script.label == "stdin" ? "STDIN" : script.label.substr(slash + 1);
}

void warn_of_others(const Call& call, const Script& script, std::vector<std::string>& notes) {
  const std::string_view other = client::other_directives(script.bytes, call.directives.prefix);
  if (!other.empty())
    notes.push_back("the " + std::string(other) +
                    " lines of the script are comments here; those of this command begin with " +
                    call.directives.prefix);
}

/// Environments whose slots are cores of one node, by what sites call them. Of any other each slot is a task.
bool is_of_one_node(const std::string& environment) {
  const std::string name = base::to_lower(environment);
  if (name.find("mpi") != std::string::npos) return false;
  for (const std::string_view part : {"smp", "thread", "shm", "omp", "openmp", "shared", "onenode", "serial", "make"})
    if (name.find(part) != std::string::npos) return true;
  return false;
}

/// Says it as options of gbatch would.
Status apply_words(BatchOptions& o, const Words& words) {
  client::CommonFlags unused;
  return client::parse_options(batch_table(o, unused, o.now), words).map([](const auto&) {});
}

/// What -pe asks for, of which the last one counts, wherever it stands; and memory of the whole job, once its nodes are
/// known.
Status set_size(BatchOptions& o) {
  if (o.queue.slots > 0) {
    const std::string slots = std::to_string(o.queue.slots);
    GW_TRY_STATUS(apply_words(o, is_of_one_node(o.queue.environment)
                                     ? Words{"--nodes=1", "--ntasks=1", "--cpus-per-task=" + slots}
                                     : Words{"--ntasks=" + slots}));
  }
  if (o.queue.memory_bytes == 0) return {};
  const uint64_t of_node = o.queue.memory_bytes / std::max(1U, o.spec.request.min_nodes);
  return apply_words(o, {"--mem=" + std::to_string((of_node + 1023) / 1024) + "k"});
}

/// Words of the one line that the components of gbatch are made of: there is one.
Result<std::vector<BatchOptions>> read_options(const Call& call, const Script& script) {
  GW_TRY(directives, client::read_own_directives(script.bytes, script.label, call.directives));
  const auto no_variable = [](const char*) -> const char* { return nullptr; };
  return read_components(
      {std::move(directives), script.label, no_variable, {call.options}, base::SystemClock().now(), nullptr});
}

}  // namespace

std::string typed_line(const Caller& caller, Args args) {
  Words shown;
  for (const std::string& word : args) {
    const bool is_value = !shown.empty() && shown.back() == "-v";
    const bool has_value = caller.system != System::kSge && word.starts_with("-v") && word.size() > 2;
    shown.push_back(is_value ? "..." : has_value ? "-v..." : word);
  }
  return submit_line(caller.program.name, shown);
}

Result<Submission> prepare(const Caller& caller, const Call& call, std::vector<std::string>& notes) {
  GW_TRY(script, script_of(call));
  if (script.bytes.find_first_not_of(" \t\r\n\v\f") == std::string::npos)
    return base::invalid("the script " + base::printable(script.label) + " is empty");
  GW_TRY(components, read_options(call, script));
  warn_of_others(call, script, notes);
  BatchOptions& o = components.front();
  name_job(o, script);
  GW_TRY_STATUS(name_shell(script, o, caller.system));
  GW_TRY_STATUS(check_script(script.bytes));
  GW_TRY_STATUS(set_size(o));
  GW_TRY_STATUS(set_places(o, caller.system, call.cluster));
  if (o.array && o.queue.at_once > 0) o.array->throttle = o.queue.at_once;
  if (o.queue.priority < 0) o.spec.nice = -o.queue.priority;
  if (o.queue.priority > 0) notes.emplace_back("left out: -p above 0 (only administrators raise a priority)");
  GW_TRY(environment, environment_of(o, caller.system));
  Submission submission{std::move(script), std::move(components), {}, std::move(environment), call.line};
  if (!call.is_command && call.operands.size() > 1)
    submission.script_args.assign(call.operands.begin() + 1, call.operands.end());
  if (submission.script_args.empty() && !submission.components.front().queue.arguments.empty()) {
    GW_TRY(words, base::split_shell_words(submission.components.front().queue.arguments));
    submission.script_args = std::move(words);
  }
  return submission;
}

Status add_held_for(client::Connection& connection, Submission& submission) {
  BatchOptions& o = submission.components.front();
  std::set<uint32_t> jobs;
  if (!o.queue.hold_for.empty()) {
    wire::ApiRequest request;
    request.mutable_list_jobs()->mutable_filter()->add_uids(::geteuid());
    GW_TRY(reply, connection.call(std::move(request)));
    for (const wire::Job& job : reply.list_jobs().jobs()) {
      const uint32_t number = job.spec().has_array() ? client::array_of(job) : job.id();
      const auto is_meant = [&](const std::string& name) {
        return name == std::to_string(number) || ::fnmatch(name.c_str(), job.spec().name().c_str(), 0) == 0;
      };
      if (std::any_of(o.queue.hold_for.begin(), o.queue.hold_for.end(), is_meant)) jobs.insert(number);
    }
  }
  Words terms;
  for (const uint32_t job : jobs) terms.push_back("afterany:" + std::to_string(job));
  if (!o.queue.hold_for_array.empty()) terms.push_back("aftercorr:" + o.queue.hold_for_array);
  if (!terms.empty()) o.spec.dependency = base::join(terms, ",");
  return {};
}

}  // namespace gw::cmds::queue
