// Pairs of connections.
#include "noded/pmix/relay.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "peer/local_user.h"

namespace gw::noded::pmix {
namespace {

constexpr size_t kMaxOut = 256 << 20;  // a part that libpmix sends at once
constexpr size_t kEnough = 1 << 20;    // from here on the other side is not read
constexpr base::Duration kRetry = base::milliseconds(100);

bool is_of_own_user(int fd) {
  const auto user = peer::user_at_other_end(fd);
  return user && *user == ::getuid();
}

void pass_on(const std::shared_ptr<io::Stream>& from, const std::shared_ptr<io::Stream>& to) {
  const std::weak_ptr<io::Stream> weak_from = from, weak_to = to;
  from->on_data([weak_from, weak_to](std::string_view bytes) {
    const auto target = weak_to.lock();
    if (!target) return;
    target->send(bytes);
    if (const auto source = weak_from.lock(); source && target->pending_out_bytes() > kEnough)
      source->set_reading(false);
  });
  to->on_drained([weak_from] {
    if (const auto source = weak_from.lock()) source->set_reading(true);
  });
}

}  // namespace

struct Relay::Pair {
  std::shared_ptr<io::Stream> client, server;
  io::DialHandle dial;
};

Relay::Relay(io::Loop& loop, io::Fd listener, uint16_t port)
    : loop_(loop), listener_(std::move(listener)), port_(port) {
  watch_ = loop_.watch_readable(listener_.get(), [this] { on_readable(); });
}

Relay::~Relay() {
  for (const auto& pair : pairs_)
    for (const auto& stream : {pair->client, pair->server})
      if (stream) stream->on_closed({});
}

void Relay::on_readable() {
  io::Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd) return add(std::move(fd));
  if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
  watch_.pause();  // there are no more descriptors
  retry_ = loop_.after(kRetry, [this] { watch_.resume(); });
}

void Relay::add(io::Fd fd) {
  if (!is_of_own_user(fd.get())) return;
  const auto pair = pairs_.emplace_back(std::make_shared<Pair>());
  pair->client = io::Stream::adopt(loop_, std::move(fd), kMaxOut);
  const std::weak_ptr<Pair> weak = pair;
  pair->client->on_closed([this, weak](const std::string&) {
    const auto gone = weak.lock();
    if (!gone) return;
    if (gone->server) gone->server->close_after_flush("over");
    pairs_.remove(gone);
  });
  io::DialOptions options;
  options.address = "127.0.0.1:" + std::to_string(port_);
  options.max_out_bytes = kMaxOut;
  pair->dial = io::dial(loop_, options, [this, weak](base::Result<std::shared_ptr<io::Stream>> server) {
    const auto found = weak.lock();
    if (!found) return;
    if (server) return join(found, std::move(*server));
    pairs_.remove(found);
  });
}

void Relay::join(const std::shared_ptr<Pair>& pair, std::shared_ptr<io::Stream> server) {
  pair->server = std::move(server);
  pair->server->on_closed([this, weak = std::weak_ptr<Pair>(pair)](const std::string&) {
    const auto gone = weak.lock();
    if (!gone) return;
    gone->client->close_after_flush("over");
    pairs_.remove(gone);
  });
  pass_on(pair->client, pair->server);
  pass_on(pair->server, pair->client);
}

}  // namespace gw::noded::pmix
