// Scripts of gbatch.
#include "cmds/request/batch_script.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "base/time.h"
#include "io/fd.h"
#include "model/outlook.h"

namespace gw::cmds {
namespace {

using base::invalid;

base::Result<std::string> read_all(int fd, const std::string& label) {
  std::string bytes;
  char buffer[64 * 1024];
  while (true) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::fail_errno("Unable to read batch script " + base::printable(label), errno);
    if (n == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(n));
    if (bytes.size() > kMaxScript) return bytes;  // check_script refuses it
  }
}

/// The operand itself, or where PATH has it.
std::string find_script(const std::string& operand) {
  if (operand.find('/') != std::string::npos || ::access(operand.c_str(), F_OK) == 0) return operand;
  const char* path = std::getenv("PATH");
  for (const std::string& dir : base::split(path == nullptr ? "" : path, ':')) {
    const std::string candidate = dir + "/" + operand;
    if (!dir.empty() && ::access(candidate.c_str(), R_OK) == 0) return candidate;
  }
  return operand;
}

std::string absolute(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string text = real;
  std::free(real);
  return text;
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos; }

}  // namespace

base::Result<Script> load_script(const std::string& operand) {
  if (operand.empty() || operand == "-" || operand == "/dev/stdin") {
    GW_TRY(bytes, read_all(STDIN_FILENO, "stdin"));
    return Script{std::move(bytes), {}, "stdin"};
  }
  const std::string path = find_script(operand);
  const io::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return base::fail_errno("Unable to open file " + base::printable(path), errno);
  struct stat st {};
  if (::fstat(fd.get(), &st) == 0 && S_ISDIR(st.st_mode))
    return invalid("Unable to open file " + base::printable(path) + ": it is a directory");
  if (::fcntl(fd.get(), F_SETFL, 0) != 0)
    return base::fail_errno("Unable to read batch script " + base::printable(path), errno);
  GW_TRY(bytes, read_all(fd.get(), path));
  return Script{std::move(bytes), absolute(path), path};
}

Script wrapped_script(const std::string& command) {
  return {"#!/bin/sh\n# This script was made from --wrap.\n\n" + command + "\n", {}, "wrap"};
}

base::Status check_script(std::string_view bytes) {
  if (bytes.empty()) return invalid("Batch script is empty!", "name a script, or use --wrap=COMMAND");
  if (bytes.size() > kMaxScript)
    return invalid("Batch script is larger than " + std::to_string(kMaxScript >> 20) + " MiB",
                   "keep data out of the script");
  if (is_blank(bytes)) return invalid("Batch script contains only whitespace!");
  if (bytes.find('\0') != std::string_view::npos)
    return invalid("Batch script contains NUL characters: it looks like a program or data file",
                   "submit programs with --wrap");
  if (!bytes.starts_with("#!"))
    return invalid(
        "This does not look like a batch script: the first line must start with #! followed by the path to an "
        "interpreter",
        "for instance: #!/bin/sh");
  if (bytes.find("\r\n") != std::string_view::npos)
    return invalid("Batch script contains DOS line breaks (\\r\\n) instead of expected UNIX line breaks (\\n)",
                   "convert it with: sed -i 's/\\r$//' SCRIPT");
  return {};
}

namespace {

/// What is said of a job that would not start now.
std::string later_text(const wire::SubmitReply& reply) {
  const wire::Outlook& o = reply.outlook();
  const std::string at = o.start_us() == 0 ? "" : base::format_time({o.start_us()});
  // Without names where nodes are private.
  const std::string on = o.nodes().empty() ? "" : fmt::format("{} in partition {}", o.nodes(), o.partition());
  switch (static_cast<model::When>(o.when())) {
    case model::When::kPlanned:
      return fmt::format("would wait until {} at the latest{}: {}", at, on.empty() ? "" : ", for " + on,
                         reply.test_verdict());
    case model::When::kOnceOthersLeft:
      return fmt::format("would start by {}{}, once {} job{} left for it", at, on.empty() ? "" : " on " + on,
                         o.victims_size() + o.victims_more(),
                         o.victims_size() + o.victims_more() == 1 ? " has" : "s have");
    case model::When::kNever:
      return "would be ended at once: its deadline cannot be met";
    default:
      return o.room_at_us() == 0 ? "would wait, nobody knows how long: " + reply.test_verdict()
                                 : fmt::format("would wait until {} at the latest for its limits: {}",
                                               base::format_time({o.room_at_us()}), reply.test_verdict());
  }
}

/// By how long jobs here really run; empty: that is not foreseen.
std::string range_text(const wire::SubmitReply& reply) {
  if (!reply.has_start_range()) return {};
  const wire::StartRange& range = reply.start_range();
  const std::string low = base::format_time({range.low_us()});
  const std::string when = range.high_us() == 0
                               ? "after " + low
                               : fmt::format("between {} and {}", low, base::format_time({range.high_us()}));
  const std::string likely = range.likely_us() == 0 ? "" : ", most likely at " + base::format_time({range.likely_us()});
  return fmt::format(
      "By how long jobs here really run, and if nobody else submits anything that goes before it, it would start {}{}",
      when, likely);
}

std::string preempted_text(const wire::Outlook& o) {
  std::vector<std::string> ids;
  constexpr int kMost = 16;
  for (int i = 0; i < std::min(o.victims_size(), kMost); ++i) ids.push_back(std::to_string(o.victims(i)));
  const uint32_t more = o.victims_more() + static_cast<uint32_t>(std::max(o.victims_size() - kMost, 0));
  if (more > 0) ids.push_back(fmt::format("{} {}", more, ids.empty() ? "of others" : "more"));
  return ids.empty() ? "" : "; preempted for it: " + base::join(ids, ", ");
}

}  // namespace

int print_verdict(const client::Program& program, const wire::SubmitReply& reply) {
  const std::string start = base::format_time({reply.estimated_start_us()});
  const auto when = static_cast<model::When>(reply.outlook().when());
  if (program.is_slurm)
    for (const wire::TestedStart& one : reply.test_starts())
      client::print_note(program, fmt::format("Job {} to start at {} using {} processors on nodes {} in partition {}",
                                              one.job_id(), start, one.cpus(), one.nodes(), one.partition()));
  if (!program.is_slurm || reply.test_starts().empty())
    client::print_note(program, (when == model::When::kNow ? reply.test_verdict() : later_text(reply)) +
                                    preempted_text(reply.outlook()));
  if (const std::string range = range_text(reply); !program.is_slurm && !range.empty())
    client::print_note(program, range);
  if (when == model::When::kNever) return client::kExitFailed;
  return program.is_slurm || when == model::When::kNow ? client::kExitOk : kExitLater;
}

base::Error as_refused(const client::Program& program, std::string_view prefix, base::Error error) {
  if (!program.is_slurm || error.sentence.empty()) return error;
  error.what = std::string(prefix) + client::said(program, error);
  error.sentence.clear();
  return error;
}

}  // namespace gw::cmds
