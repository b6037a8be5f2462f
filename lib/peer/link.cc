// Messages in sealed chunks.
#include "peer/link.h"

#include <algorithm>
#include <utility>

namespace gw::peer {
namespace {

/// Of a message in one sealed frame; what does not fit follows in further ones.
constexpr size_t kChunk = 128 * 1024;
constexpr char kMore = 1, kLast = 0;  // the first byte of a chunk

}  // namespace

Link::Link(std::shared_ptr<io::Stream> stream, auth::SecureStream secure, wire::FrameDecoder decoder, uint32_t peer,
           size_t max_message)
    : stream_(std::move(stream)),
      secure_(std::move(secure)),
      decoder_(std::move(decoder)),
      peer_(peer),
      max_message_(max_message) {
  decoder_.set_max_bytes(1 + kChunk + auth::kSealOverhead);
}

std::shared_ptr<Link> Link::make(std::shared_ptr<io::Stream> stream, auth::SecureStream secure,
                                 wire::FrameDecoder decoder, uint32_t peer, size_t max_message) {
  const std::shared_ptr<Link> link(
      new Link(std::move(stream), std::move(secure), std::move(decoder), peer, max_message));
  link->stream_->on_closed([weak = link->weak_from_this()](const std::string& reason) {
    const auto self = weak.lock();
    if (self && self->closed_fn_) self->closed_fn_({base::ErrorCode::kUnavailable, reason, ""});
  });
  return link;
}

Link::~Link() { stream_->close("over"); }

void Link::start(MessageFn fn) {
  message_fn_ = std::move(fn);
  stream_->on_data([weak = weak_from_this()](std::string_view bytes) {
    if (const auto self = weak.lock()) self->on_bytes(bytes);
  });
  on_bytes({});
}

void Link::send(std::string_view message) {
  std::string frames, plain;
  do {
    const std::string_view piece = message.substr(0, kChunk);
    message.remove_prefix(piece.size());
    plain.assign(1, message.empty() ? kLast : kMore);
    plain += piece;
    frames += wire::frame_header(plain.size() + auth::kSealOverhead);
    secure_.seal_to(frames, plain);
  } while (!message.empty());
  stream_->send(frames);
}

void Link::on_bytes(std::string_view bytes) {
  decoder_.feed(bytes);
  while (!stream_->is_closed()) {
    const auto frame = decoder_.next();
    if (frame && !*frame) return;
    const base::Status done = frame ? on_chunk(**frame) : base::pass(frame);
    if (!done) stream_->close(done.error().text());
  }
}

base::Status Link::on_chunk(std::string_view sealed) {
  GW_TRY(opened, secure_.open(sealed));
  const std::string& plain = opened.plain;
  if (plain.empty()) return base::fail(base::ErrorCode::kProtocol, "a node sent an empty chunk");
  if (message_.size() + plain.size() - 1 > max_message_)
    return base::fail(base::ErrorCode::kProtocol,
                      "a message of another node is longer than " + std::to_string(max_message_) + " bytes");
  message_.append(plain, 1);
  if (plain.front() == kMore) return {};
  message_fn_(std::exchange(message_, {}));
  return {};
}

}  // namespace gw::peer
