// gangway logs [-f] JOB: shows the file that a job's output goes to.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/text.h"
#include "cmds/gangway/shared/ask_controller.h"
#include "cmds/gangway/shared/verbs.h"
#include "cmds/shared/job_ids.h"
#include "model/job_state.h"
#include "model/output_path.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

using base::Result;
using base::Status;

const client::CommandDoc kDoc = {
    "show a job's output",
    "[OPTIONS] JOB",
    "Prints the file that the batch script's standard output goes to, as far as it can be read from this host. With -f "
    "it "
    "waits for a pending job to start, continues as the file grows, and ends when the job has ended.",
    {{"0", "done; with -f the job has ended"}, {"1", "no such job, not started, or the file cannot be read from here"}},
    {{"GANGWAY_CONF", "path of the configuration"}},
    {{"gangway logs -f 17", "follows job 17 to its end"}},
    {},
};

constexpr auto kLookEvery = std::chrono::milliseconds(200);
constexpr auto kAskEvery = std::chrono::seconds(1);

struct Source {
  std::string path;
  std::string node;
  model::JobState state = model::JobState::kPending;
  bool has_run() const { return !node.empty(); }
  bool is_over() const { return model::is_end(state); }
};

struct Options {
  bool follow = false;
  bool error = false;
};

std::string first_node(const wire::JobStatus& status) {
  const auto& shares = status.has_placed() ? status.placed().shares() : status.ended().shares();
  return shares.empty() ? "" : shares[0].node();
}

Source source_of(const wire::Job& job, bool want_error) {
  const wire::Launch& launch = job.spec().launch();
  Source source;
  source.node = first_node(job.status());
  source.state = static_cast<model::JobState>(job.status().state());
  model::PatternValues values;
  values.job_id = job.id();
  values.job_name = job.spec().name();
  values.user = job.spec().user();
  values.node = source.node;
  if (job.spec().has_array()) values.array = wire::from_wire(job.spec().array());
  std::string pattern = want_error ? launch.std_err() : "";
  if (pattern.empty()) pattern = launch.std_out();
  if (pattern.empty()) pattern = model::default_output(launch.slurm_names(), job.spec().has_array());
  source.path = model::resolve_job_path(pattern, launch.work_dir(), values);
  return source;
}

Result<Source> ask_source(const client::Program& program, uint32_t id, bool want_error) {
  wire::ApiRequest request;
  request.mutable_show_job()->set_id(id);
  GW_TRY(reply, ask_controller(program, request));
  const wire::Job& job = reply.show_job().job();
  if (job.spec().het_offset() != 0) return ask_source(program, job.spec().het_job(), want_error);
  return source_of(job, want_error);
}

base::Error unreadable(const Source& source, uint32_t id, int error) {
  return {base::ErrorCode::kNotFound,
          fmt::format("cannot read the output of job {}, {} as seen from node {}: {}", id, source.path, source.node,
                      strerror(error)),
          "if that path is not on a file system shared with this host, look on node " + source.node};
}

// Copies what is there to standard output.
Status copy_rest(int fd, const std::string& path) {
  std::array<char, 64 * 1024> buffer;
  for (;;) {
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::fail_errno("cannot read " + path, errno);
    if (n == 0) return {};
    if (!client::print_out({buffer.data(), static_cast<size_t>(n)})) {
      return base::fail_errno("cannot write to standard output", errno);
    }
  }
}

// Waits for the job to start; its file may come a moment later.
Result<Source> wait_started(const Invocation& call, uint32_t id, const Options& options) {
  bool is_told = false;
  for (;;) {
    GW_TRY(source, ask_source(call.program, id, options.error));
    const bool is_there = source.has_run() && access(source.path.c_str(), R_OK) == 0;
    if (is_there || source.is_over() || (!options.follow && source.has_run())) return source;
    if (source.has_run() && source.state == model::JobState::kRunning && errno != ENOENT) return source;
    if (!options.follow) {
      return base::fail(base::ErrorCode::kConflict, fmt::format("job {} has not started", id),
                        "-f waits for it to start");
    }
    if (!is_told && !source.has_run()) client::print_note(call.program, fmt::format("waiting for job {} to start", id));
    is_told = true;
    std::this_thread::sleep_for(kAskEvery);
  }
}

Status show(const Invocation& call, uint32_t id, const Options& options) {
  GW_TRY(source, wait_started(call, id, options));
  if (!source.has_run()) {
    return base::fail(base::ErrorCode::kConflict, fmt::format("job {} ended without having started", id));
  }
  const int fd = open(source.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return tl::unexpected(unreadable(source, id, errno));
  bool is_over = !options.follow || source.is_over();
  auto asked = std::chrono::steady_clock::now();
  Status status = copy_rest(fd, source.path);
  while (status && !is_over) {
    std::this_thread::sleep_for(kLookEvery);
    if (std::chrono::steady_clock::now() - asked >= kAskEvery) {
      const auto now = ask_source(call.program, id, options.error);
      if (!now) status = base::pass(now);
      is_over = now && now->is_over();
      asked = std::chrono::steady_clock::now();
    }
    if (status) status = copy_rest(fd, source.path);
  }
  close(fd);
  return status;
}

std::vector<client::Option> option_table(Options& o) {
  return {flag("follow", 'f', "wait for the start, and continue until the job ends", o.follow),
          flag("error", 'e', "the file of the error output (-e), where it has its own", o.error)};
}

}  // namespace

int logs_verb(const Invocation& call) {
  Options options;
  std::vector<std::string> operands;
  if (const auto code = parse_verb(call, kDoc, option_table(options), operands)) return *code;
  if (operands.size() != 1) return failed(call.program, {base::ErrorCode::kInvalid, "one job number is needed", ""});
  JobIds ids;
  if (const Status read = parse_job_ids(operands[0], ids); !read) return failed(call.program, read.error());
  const auto id = number_of(call.program, ids);
  if (!id) return failed(call.program, id.error());
  const Status status = show(call, *id, options);
  return status ? client::kExitOk : failed(call.program, status.error());
}

}  // namespace gw::cmds
