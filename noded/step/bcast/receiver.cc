// Receiving a file.
#include "noded/step/bcast/receiver.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "auth/hasher.h"
#include "base/text.h"
#include "io/loop.h"
#include "noded/step/bcast/destination.h"
#include "noded/step/proc/files.h"
#include "noded/step/state/listen_place.h"
#include "peer/mesh.h"
#include "wire/bcast.h"
#include "wire/frame.h"

namespace gw::noded::step {
namespace {

using base::Status;
using wire::BcastKind;

constexpr uint32_t kMostNodes = 100'000;
/// A child that fails says so itself, and its error is the better one.
constexpr base::Duration kAfterLoss = base::seconds(2);

struct Arguments {
  std::string path;
  uint32_t self = 0, nodes = 1, width = 1;
  std::string listen;
};

base::Result<Arguments> read_arguments(int count, char** words) {
  if (count != 5) return base::invalid("gstepd --receive-file PATH NODE NODES WIDTH ADDRESS is for gbcast");
  Arguments a;
  a.path = words[0];
  GW_TRY(self, base::parse_int(words[1], 0, kMostNodes, "node"));
  GW_TRY(nodes, base::parse_int(words[2], self + 1, kMostNodes, "nodes"));
  GW_TRY(width, base::parse_int(words[3], 1, kMostNodes, "width"));
  a.self = static_cast<uint32_t>(self);
  a.nodes = static_cast<uint32_t>(nodes);
  a.width = static_cast<uint32_t>(width);
  a.listen = words[4];
  if (a.path.empty() || a.path.front() != '/') return base::invalid("the destination is no absolute path");
  return a;
}

base::Result<auth::SessionKey> read_secret() {
  const char* text = std::getenv(wire::kBcastSecret);
  const std::string_view digits = text == nullptr ? "" : text;
  auth::SessionKey key;
  if (digits.size() != 2 * key.bytes.size() || digits.find_first_not_of("0123456789abcdef") != std::string_view::npos)
    return base::invalid("the secret of the copy is missing");
  for (size_t i = 0; i < key.bytes.size(); ++i)
    key.bytes[i] = static_cast<unsigned char>(std::stoul(std::string(digits.substr(2 * i, 2)), nullptr, 16));
  return key;
}

std::string frame_of(BcastKind kind, std::string_view rest = {}) {
  return std::string(1, static_cast<char>(kind)) += rest;
}

class Receiver {
 public:
  explicit Receiver(Arguments a) : a_(std::move(a)) {
    const uint64_t first = wire::first_bcast_child(a_.self, a_.width);
    for (uint64_t child = first; child < std::min<uint64_t>(first + a_.width, a_.nodes); ++child)
      children_.push_back({static_cast<uint32_t>(child)});
  }

  int run() {
    ::signal(SIGPIPE, SIG_IGN);
    for (const int signo : {SIGTERM, SIGINT, SIGHUP}) loop_.on_signal(signo, [this, signo] { leave(128 + signo); });
    if (const Status begun = begin(); !begun) fail(begun.error());
    if (!exit_code_) loop_.run();
    return exit_code_.value_or(EXIT_FAILURE);
  }

 private:
  struct Child {
    uint32_t node = 0;
    uint64_t taken = 0;  // frames of data
    bool is_done = false;
  };

  Arguments a_;
  io::Loop loop_;
  std::unique_ptr<peer::Mesh> mesh_;
  std::vector<Child> children_;
  io::Watch input_;
  wire::FrameDecoder decoder_{wire::kMaxBcastFrame};
  wire::BcastHeader header_;
  std::optional<Destination> file_;
  auth::Hasher hasher_;
  uint64_t frames_ = 0;        // of data, written here
  uint64_t acknowledged_ = 0;  // to the parent
  bool is_committed_ = false;
  bool is_done_sent_ = false;
  bool is_input_paused_ = false;
  std::optional<int> exit_code_;
  io::Timer loss_;

  bool is_fed_by_command() const { return wire::is_fed_by_command(a_.self, a_.width); }
  uint32_t parent() const { return wire::bcast_parent(a_.self, a_.width); }

  Status begin() {
    if (!is_fed_by_command() || !children_.empty()) GW_TRY_STATUS(open_mesh());
    if (!is_fed_by_command()) {
      const std::string line = std::to_string(a_.self) + " " + mesh_->address() + "\n";
      return proc::write_all(STDOUT_FILENO, line, "telling the address");
    }
    ::fcntl(STDIN_FILENO, F_SETFL, ::fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
    input_ = loop_.watch_readable(STDIN_FILENO, [this] { read_input(); });
    return {};
  }

  Status open_mesh() {
    GW_TRY(secret, read_secret());
    peer::MeshOptions options;
    options.identity = {secret, "gbcast", a_.self, a_.nodes};
    options.listen = a_.listen;
    options.max_message = wire::kMaxBcastFrame;
    auto mesh = peer::Mesh::open(
        loop_, std::move(options), [this](uint32_t from, const std::string& message) { on_message(from, message); },
        [this](uint32_t node, const base::Error& reason) { on_lost(node, reason); });
    if (!mesh) return tl::unexpected(name_ports_key(mesh.error()));
    mesh_ = std::move(*mesh);
    return {};
  }

  // --- from the command

  void read_input() {
    std::string bytes(256 << 10, '\0');
    const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return fail({base::ErrorCode::kUnavailable, "the copy was cut off", ""});
    decoder_.feed(std::string_view(bytes).substr(0, static_cast<size_t>(n)));
    take_frames();
  }

  void take_frames() {
    while (!exit_code_ && !is_committed_ && has_room()) {
      const auto frame = decoder_.next();
      if (!frame) return fail(frame.error());
      if (!*frame) break;
      take(**frame);
    }
    if (exit_code_ || is_committed_) return input_.cancel();
    if (is_input_paused_ == has_room()) has_room() ? input_.resume() : input_.pause();
    is_input_paused_ = !has_room();
  }

  // --- from other nodes

  void on_message(uint32_t from, const std::string& message) {
    if (exit_code_) return;
    const auto child = std::find_if(children_.begin(), children_.end(), [&](const Child& c) { return c.node == from; });
    if (child == children_.end()) {
      if (is_fed_by_command() || from != parent()) return;
      return take(message);
    }
    if (message.empty() || message.size() > 1) return;
    if (message[0] == static_cast<char>(BcastKind::kTaken)) ++child->taken;
    if (message[0] == static_cast<char>(BcastKind::kDone)) child->is_done = true;
    acknowledge();
    if (is_fed_by_command()) take_frames();
    finish_if_done();
  }

  void on_lost(uint32_t node, const base::Error& reason) {
    if (is_done_sent_ && node == parent()) return leave(EXIT_SUCCESS);
    const bool is_child = std::any_of(children_.begin(), children_.end(),
                                      [node](const Child& c) { return c.node == node && !c.is_done; });
    const bool is_needed = is_child || (!is_fed_by_command() && node == parent() && !is_committed_);
    if (!is_needed || exit_code_) return;
    const base::Error error{reason.code, "the node lost its connection to another one of the copy: " + reason.what, ""};
    loss_ = loop_.after(kAfterLoss, [this, error] { fail(error); });
  }

  /// What the slowest below has not taken yet fits into the window.
  bool has_room() const {
    return std::all_of(children_.begin(), children_.end(),
                       [this](const Child& c) { return frames_ - c.taken < wire::kBcastWindow; });
  }

  void acknowledge() {
    if (is_fed_by_command()) return;
    uint64_t taken = frames_;
    for (const Child& child : children_) taken = std::min(taken, child.taken);
    for (; acknowledged_ < taken; ++acknowledged_) mesh_->send(parent(), frame_of(BcastKind::kTaken));
  }

  // --- the file

  void take(std::string_view frame) {
    const Status taken = take_checked(frame);
    if (!taken) return fail(taken.error());
    acknowledge();
    finish_if_done();
  }

  Status take_checked(std::string_view frame) {
    if (frame.empty()) return base::fail(base::ErrorCode::kProtocol, "an empty frame came");
    const auto kind = static_cast<BcastKind>(frame.front());
    if (kind == BcastKind::kAbort) {
      pass_on(frame);
      leave(EXIT_FAILURE);
      return {};
    }
    if (kind == BcastKind::kHeader && !file_) return on_header(frame);
    if (!file_ || is_committed_) return base::fail(base::ErrorCode::kProtocol, "a frame came out of turn");
    if (kind == BcastKind::kData) return on_data(frame);
    if (kind == BcastKind::kEnd) return on_end(frame);
    return base::fail(base::ErrorCode::kProtocol, "a frame of an unknown kind came");
  }

  Status on_header(std::string_view frame) {
    const std::string_view body = frame.substr(1);
    if (!header_.ParseFromArray(body.data(), static_cast<int>(body.size())))
      return base::fail(base::ErrorCode::kProtocol, "the header cannot be read");
    const std::string& name = header_.name();
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos)
      return base::fail(base::ErrorCode::kProtocol, "the header names no file");
    if (mesh_) GW_TRY_STATUS(mesh_->set_addresses({header_.addresses().begin(), header_.addresses().end()}));
    GW_TRY(file, Destination::open(a_.path, header_));
    file_.emplace(std::move(file));
    pass_on(frame);
    return {};
  }

  Status on_data(std::string_view frame) {
    pass_on(frame);
    const std::string_view bytes = frame.substr(1);
    if (file_->written() + bytes.size() > header_.size())
      return base::fail(base::ErrorCode::kProtocol, "more bytes came than the file has");
    GW_TRY_STATUS(file_->write(bytes));
    hasher_.add(bytes);
    ++frames_;
    return {};
  }

  Status on_end(std::string_view frame) {
    if (file_->written() != header_.size() || !auth::equal_secret(frame.substr(1), auth::view(hasher_.finish())))
      return base::fail(base::ErrorCode::kProtocol,
                        base::printable(file_->path()) + ": what came is not what was sent: the checksum differs");
    pass_on(frame);
    GW_TRY_STATUS(file_->commit(header_));
    is_committed_ = true;
    return {};
  }

  void pass_on(std::string_view frame) {
    for (const Child& child : children_) mesh_->send(child.node, frame);
  }

  void finish_if_done() {
    if (!is_committed_ || exit_code_) return;
    if (!std::all_of(children_.begin(), children_.end(), [](const Child& c) { return c.is_done; })) return;
    if (is_fed_by_command()) return leave(EXIT_SUCCESS);
    if (std::exchange(is_done_sent_, true)) return;
    mesh_->send(parent(), frame_of(BcastKind::kDone));
    // The parent ends the connection when it has heard that; if it never does, the file is here all the same.
    loss_ = loop_.after(kAfterLoss, [this] { leave(EXIT_SUCCESS); });
  }

  void fail(const base::Error& error) {
    if (exit_code_) return;
    const char* node = std::getenv("SLURMD_NODENAME");
    std::fprintf(stderr, "gbcast: error: %s: %s\n", node == nullptr ? "?" : node, error.text().c_str());
    leave(EXIT_FAILURE);
  }

  void leave(int code) {
    if (!exit_code_) exit_code_ = code;
    file_.reset();
    loop_.stop();
  }
};

}  // namespace

int receive_file(int count, char** arguments) {
  auto read = read_arguments(count, arguments);
  if (!read) {
    std::fprintf(stderr, "%s\n", read.error().text().c_str());
    return 2;
  }
  return Receiver(std::move(*read)).run();
}

}  // namespace gw::noded::step
