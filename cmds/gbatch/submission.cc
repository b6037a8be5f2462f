// See submission.h.
#include "cmds/gbatch/submission.h"

#include <fmt/format.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/counted.h"
#include "base/text.h"
#include "client/show/array_view.h"
#include "client/show/display.h"
#include "client/show/job_view.h"
#include "cmds/request/slurm_forms.h"
#include "cmds/shared/last_words.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

using client::kExitFailed;
using client::kExitOk;
using client::Program;

base::Result<std::string> current_directory() {
  char path[PATH_MAX];
  if (::getcwd(path, sizeof path) == nullptr)
    return base::fail_errno("the current directory cannot be found", errno, "change to another, or use --chdir");
  return std::string(path);
}

base::Status fill_launch(const Program& program, BatchOptions& o, const Submission& s) {
  model::Launch& l = o.spec.launch;
  if (!o.chdir.starts_with('/')) {
    GW_TRY(here, current_directory());
    o.chdir = o.chdir.empty() ? here : here + "/" + o.chdir;
  }
  l.work_dir = o.chdir;
  l.args = s.script_args;
  l.umask = present_umask();
  std::map<std::string, uint64_t> limits = present_limits();
  GW_TRY_STATUS(keep_propagated(o.slurm.propagate, limits));
  l.limits = model::Limits(std::move(limits));
  l.slurm_names = program.is_slurm;
  l.command = s.script.path;
  o.spec.submit_host = host_name();
  o.spec.submit_line = s.line;
  if (o.spec.name.empty()) {
    const size_t slash = s.script.label.rfind('/');
    o.spec.name =
        s.script.label == "stdin" ? program.name : s.script.label.substr(slash == std::string::npos ? 0 : slash + 1);
  }
  return {};
}

/// Where and as what it runs, of each component.
base::Status complete_all(const Program& program, Submission& s, std::vector<std::string>& notes) {
  for (BatchOptions& o : s.components) {
    std::vector<std::string> unsaid;  // what is left out is the same for each
    if (auto done = complete(o, &o == &s.components.front() ? notes : unsaid); !done)
      return tl::unexpected(as_refused(program, "Batch job submission failed: ", done.error()));
    GW_TRY_STATUS(fill_launch(program, o, s));
  }
  return {};
}

}  // namespace

base::Result<wire::SubmitRequest> submit_request(const Program& program, Submission& s,
                                                 std::vector<std::string>& notes) {
  GW_TRY_STATUS(complete_all(program, s, notes));
  wire::SubmitRequest submit;
  for (const BatchOptions& o : s.components)
    *(&o == &s.components.front() ? submit.mutable_spec() : submit.add_components()) = wire::to_wire(o.spec);
  const BatchOptions& first = s.components.front();
  struct stat st {};
  if (::stat(first.spec.launch.work_dir.c_str(), &st) != 0)
    notes.push_back("work directory " + base::printable(first.spec.launch.work_dir) + " does not exist on this host");
  submit.set_script(s.script.bytes);
  submit.set_environment(s.environment);
  submit.set_test_only(first.test_only);
  if (first.array)
    *submit.mutable_array() = wire::to_wire(model::ArrayTasks{first.array->tasks, first.array->throttle, 0, 0, {}});
  return submit;
}

int exit_code_of(const Program& program, const wire::Job& job, bool quiet) {
  const wire::Outcome& o = job.status().ended().outcome();
  const model::JobState state = client::state_of(job);
  const uint32_t failed_tasks = job.status().tasks().failed();
  if (failed_tasks > 0 && !quiet)
    client::print_note(program, fmt::format("{} of the array did not complete; the worst of them:",
                                            base::counted(failed_tasks, "task")));
  if (state != model::JobState::kCompleted && !quiet) {
    const std::string detail = client::reason_detail(job);
    std::string how;
    if (o.exit_signo() > 0)
      how = fmt::format(" by signal {}", o.exit_signo());
    else if (o.exit_code() != 0)
      how = fmt::format(" with exit code {}", o.exit_code());
    client::print_note(program, fmt::format("job {} ended {}{}{}{}", client::shown_id(job), model::long_name(state),
                                            how, detail.empty() ? "" : ": ", base::printable(detail, 1000)));
  }
  if (o.exit_signo() > 0) return 128 + o.exit_signo();
  if (o.exit_code() != 0) return o.exit_code();
  return state == model::JobState::kCompleted && failed_tasks == 0 ? kExitOk : kExitFailed;
}

void explain_when_interrupted(const Program& program, uint32_t id) {
  const char prefix = program.is_slurm ? 's' : 'g';
  say_when_interrupted(
      program,
      fmt::format("no longer waiting; job {0} continues: {1}queue -j {0} shows it, {1}cancel {0} ends it", id, prefix));
}

namespace {

/// "job 7  PENDING  03:12  no place is free for it"
std::string progress_of(const wire::Job& job, base::Duration waited) {
  const std::string detail = client::reason_detail(job);
  const bool says_why = client::state_of(job) == model::JobState::kPending && !detail.empty();
  return fmt::format("job {}  {}  {}{}", client::shown_id(job), model::long_name(client::state_of(job)),
                     base::format_duration(waited, true), says_why ? "  " + base::printable(detail, 500) : "");
}

/// For who sits before a terminal: one line that changes, and is gone in the end. The cursor stands at its beginning,
/// so that whatever else is printed takes its place.
void show_progress(client::Connection& connection, uint32_t id) {
  constexpr size_t kUsualColumns = 80;
  const base::Time begun = base::SystemClock().now();
  while (true) {
    wire::ApiRequest request;
    request.mutable_show_job()->set_id(id);
    const auto reply = connection.call(std::move(request));
    if (!reply || model::is_end(client::state_of(reply->show_job().job()))) break;
    const std::string line = progress_of(reply->show_job().job(), base::SystemClock().now() - begun);
    const size_t columns = client::terminal_columns(STDERR_FILENO, kUsualColumns);
    fmt::print(stderr, "\r\x1b[K{}\r", client::cut_to_width(line, columns > 1 ? columns - 1 : columns));
    std::fflush(stderr);
    client::real_patience().sleep(base::seconds(1));
  }
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

bool is_before_a_screen() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

int wait_for(const Program& program, client::Connection& connection, uint32_t id, bool quiet) {
  if (!quiet && is_before_a_screen()) show_progress(connection, id);
  wire::ApiRequest request;
  request.mutable_wait_job()->set_id(id);
  auto reply = connection.call(std::move(request));
  if (!reply)
    return failed(program, {reply.error().code, fmt::format("waiting for job {}: {}", id, reply.error().what),
                            reply.error().hint});
  return exit_code_of(program, reply->wait_job().job(), quiet);
}

}  // namespace gw::cmds
