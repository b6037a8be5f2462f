// gcontrol snapshot [FILE].
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "base/text.h"
#include "cmds/gcontrol/control_verbs.h"
#include "io/fd.h"

namespace gw::cmds {
namespace {

std::string default_path() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  char text[32];
  const size_t n = std::strftime(text, sizeof text, "%Y%m%dT%H%M%S", &local);
  return fmt::format("gangway-{}.snapshot", std::string_view(text, n));
}

base::Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::fail_errno("cannot write the snapshot", errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

/// It shows what everybody's jobs ask for, so only its owner may read it.
base::Result<size_t> write_file(const std::string& path, const wire::SnapshotReply& reply) {
  const io::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd)
    return base::fail_errno("cannot make " + base::printable(path), errno,
                            errno == EEXIST ? "name a file that does not exist" : "");
  size_t bytes = 0;
  base::Status done;
  for (const std::string& piece : reply.pieces()) {
    if (done) done = write_all(fd.get(), piece);
    bytes += piece.size();
  }
  if (done && ::fsync(fd.get()) != 0) done = base::fail_errno("cannot write the snapshot", errno);
  if (done) return bytes;
  ::unlink(path.c_str());
  return tl::unexpected(done.error());
}

}  // namespace

int control_snapshot(const client::Program& program, const ControlOptions& o, Args words) {
  if (words.size() > 1) return refuse_operand(program, words[1], "snapshot takes one FILE, or - for standard output");
  wire::ApiRequest request;
  request.mutable_take_snapshot();
  const auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  const std::string path = words.empty() ? default_path() : words[0];
  if (path == "-") {
    for (const std::string& piece : reply->snapshot().pieces())
      if (const int code = printed(piece); code != client::kExitOk) return code;
    return client::kExitOk;
  }
  const auto bytes = write_file(path, reply->snapshot());
  if (!bytes) return failed(program, bytes.error());
  return o.quiet ? client::kExitOk : printed(fmt::format("{}: {} bytes\n", path, *bytes));
}

}  // namespace gw::cmds
