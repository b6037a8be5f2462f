// Standard input, output and error of a task.
#include "noded/step/start/streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "noded/step/proc/files.h"

namespace gw::noded::step {
namespace {

// Non-blocking while it opens: a FIFO without a reader would hold the job for ever, now it is ENXIO.
base::Result<proc::OwnedFd> open_path(const std::string& path, int flags, const char* what) {
  proc::OwnedFd fd(::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666));
  if (!fd) return base::fail_errno(std::string(what) + " " + base::printable(path), errno);
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
  return fd;
}

}  // namespace

base::Result<proc::OwnedFd> open_input(const std::string& path) { return open_path(path, O_RDONLY, "input path"); }

base::Result<proc::OwnedFd> open_output(const std::string& path, bool append) {
  const int flags = O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC);
  auto fd = open_path(path, flags, "output path");
  if (fd || fd.error().code != base::ErrorCode::kNotFound) return fd;
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return fd;
  if (const base::Status made = proc::make_dirs(path.substr(0, slash), 0777); !made)
    return base::fail(made.error().code,
                      "output path " + base::printable(path) + ": making its folder: " + made.error().what);
  return open_path(path, flags, "output path");
}

base::Status place_stream(int fd, int target) {
  if (::dup2(fd, target) == target) return {};
  return base::fail_errno("standard stream " + std::to_string(target), errno);
}

base::Status open_streams(const wire::StepSpec& spec) {
  GW_TRY(in, open_input(spec.std_in().empty() ? "/dev/null" : spec.std_in()));
  GW_TRY(out, open_output(spec.std_out().empty() ? "/dev/null" : spec.std_out(), spec.append()));
  proc::OwnedFd err;
  // One description for one file: two would overwrite each other.
  if (!spec.std_err().empty() && spec.std_err() != spec.std_out()) {
    GW_TRY(opened, open_output(spec.std_err(), spec.append()));
    err = std::move(opened);
  }
  GW_TRY_STATUS(place_stream(in.get(), STDIN_FILENO));
  GW_TRY_STATUS(place_stream(out.get(), STDOUT_FILENO));
  return place_stream(err ? err.get() : out.get(), STDERR_FILENO);
}

}  // namespace gw::noded::step
