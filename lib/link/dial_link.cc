// Dialing a link: connect, encode the credential, handshake.
#include "link/dial_link.h"

#include <fmt/format.h>

#include <optional>

#include "wire/frame.h"

namespace gw::link {

using base::Error;
using base::ErrorCode;

class LinkDialer : public std::enable_shared_from_this<LinkDialer> {
 public:
  LinkDialer(io::Loop& loop, AuthPool& pool, DialLinkOptions options, DialLinkFn fn)
      : loop_(loop),
        pool_(pool),
        options_(std::move(options)),
        fn_(std::move(fn)),
        handshake_(options_.receiver, options_.role, options_.versions) {}
  ~LinkDialer() {
    if (stream_) stream_->close("given up");
  }

  void start() {
    timer_ = loop_.after(options_.timeout, [this] { on_timeout(); });
    io::DialOptions dial{options_.address, options_.bind_host, options_.timeout, options_.max_out_bytes};
    dialing_ = io::dial(loop_, std::move(dial), [this](auto stream) { on_connected(std::move(stream)); });
  }

 private:
  io::Loop& loop_;
  AuthPool& pool_;
  DialLinkOptions options_;
  DialLinkFn fn_;
  auth::ClientHandshake handshake_;
  io::DialHandle dialing_;
  std::shared_ptr<io::Stream> stream_;
  wire::FrameDecoder decoder_{wire::kMaxHandshakeFrame};
  io::Timer timer_;
  bool has_sent_hello_ = false;

  void on_connected(base::Result<std::shared_ptr<io::Stream>> stream) {
    if (!stream) return fail(stream.error());
    stream_ = std::move(*stream);
    const auto weak = weak_from_this();
    stream_->on_closed([weak](const std::string& reason) {
      if (const auto self = weak.lock())
        self->fail({ErrorCode::kUnavailable, self->options_.address + ": " + reason, ""});
    });
    stream_->on_data([weak](std::string_view bytes) {
      if (const auto self = weak.lock()) self->on_data(bytes);
    });
    // Only now: a credential made for a server that is away would be wasted at every attempt.
    pool_.encode(handshake_.credential_payload(), options_.receiver_uid, weak,
                 [this](base::Result<std::string> credential) { on_credential(std::move(credential)); });
  }

  void on_credential(base::Result<std::string> credential) {
    if (!fn_) return;
    if (!credential) return fail(credential.error());
    std::string frame;
    wire::append_frame(frame, handshake_.hello(*credential));
    has_sent_hello_ = true;
    stream_->send(frame);
  }

  void on_data(std::string_view bytes) {
    decoder_.feed(bytes);
    auto frame = decoder_.next();
    if (!frame) return fail(frame.error());
    if (!*frame) return;
    auto done = handshake_.on_answer(**frame);
    if (!done) return fail(done.error());
    succeed(std::move(*done));
  }

  void succeed(auth::ClientHandshake::Done done) {
    const auto guard = shared_from_this();
    timer_.cancel();
    std::string frame;
    wire::append_frame(frame, done.finish);
    stream_->send(frame);
    Peer peer{options_.receiver_uid, UINT32_MAX,           options_.role,
              done.session.version,  stream_->peer_text(), stream_->peer_host()};
    const auto link = std::make_shared<SecureLink>(loop_, std::move(stream_), std::move(done.session), std::move(peer),
                                                   std::move(decoder_));
    if (const DialLinkFn fn = std::exchange(fn_, nullptr)) fn(link);
    link->start();
  }

  void on_timeout() {
    const char* what = !stream_ ? "no connection" : !has_sent_hello_ ? "no credential from munged" : "no answer";
    const bool is_munge = stream_ && !has_sent_hello_;
    fail({ErrorCode::kTimeout,
          fmt::format("{}: {} within {} ms", options_.address, what, options_.timeout.milliseconds()),
          is_munge ? "munged of this host hangs: systemctl restart munge" : ""});
  }

  void fail(Error error) {
    const auto guard = shared_from_this();
    timer_.cancel();
    dialing_.reset();
    if (stream_) stream_->close(error.what);
    stream_.reset();
    if (const DialLinkFn fn = std::exchange(fn_, nullptr)) fn(tl::unexpected(std::move(error)));
  }
};

LinkDialHandle dial_link(io::Loop& loop, AuthPool& pool, DialLinkOptions options, DialLinkFn fn) {
  auto dialer = std::make_shared<LinkDialer>(loop, pool, std::move(options), std::move(fn));
  dialer->start();
  return dialer;
}

}  // namespace gw::link
