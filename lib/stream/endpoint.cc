// Moving bytes between a session and its connection.
#include "stream/endpoint.h"

#include <utility>

namespace gw::stream {
namespace {

constexpr size_t kFill = 128 << 10;  // what is put into the socket's queue at once
constexpr size_t kKeepBytes = 4096;

}  // namespace

// What a closed session has still to say lives on in the stream.
Endpoint::~Endpoint() {
  session_.on_output({});
  if (!stream_) return;
  stream_->on_closed({});
  stream_->on_drained({});
  session_.is_closed() ? pump() : stream_->close("dropped");
}

void Endpoint::set_handler(std::shared_ptr<Handler> handler) {
  handler_ = std::move(handler);
  session_.set_handler(*handler_);
}

void Endpoint::attach(std::shared_ptr<io::Stream> stream, Pipe pipe) {
  drop_connection("another connection takes over");
  stream_ = std::move(stream);
  pipe_.emplace(std::move(pipe));
  const auto weak = weak_from_this();
  session_.on_output([this] { schedule_pump(); });
  stream_->on_closed([weak, raw = stream_.get()](const std::string& reason) {
    if (const auto self = weak.lock()) self->on_stream_closed(raw, reason);
  });
  stream_->on_data([weak](std::string_view bytes) {
    if (const auto self = weak.lock()) self->on_data(bytes);
  });
  stream_->on_drained([weak] {
    if (const auto self = weak.lock()) self->pump();
  });
  session_.connect();
  loop_.defer([weak, raw = stream_.get()] {  // what came together with the end of the handshake
    const auto self = weak.lock();
    if (self && self->stream_.get() == raw) self->on_data({});
  });
}

void Endpoint::dismiss(base::Error reason) {
  session_.close(std::move(reason));
  pump();
}

void Endpoint::drop_connection(const std::string& reason) {
  if (!stream_) return;
  session_.disconnect();
  const auto stream = std::exchange(stream_, nullptr);
  stream->on_closed({});
  stream->on_drained({});
  stream->close(reason);
}

void Endpoint::on_data(std::string_view bytes) {
  const auto guard = shared_from_this();
  const auto status = pipe_->feed(bytes, session_);
  if (!status && stream_) stream_->close(status.error().text());
  if (session_.is_closed()) schedule_pump();
}

// At the end of the round: what one round writes goes out together.
void Endpoint::schedule_pump() {
  if (is_pump_scheduled_ || !stream_) return;
  is_pump_scheduled_ = true;
  loop_.defer([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->is_pump_scheduled_ = false;
    self->pump();
  });
}

void Endpoint::pump() {
  if (!stream_ || stream_->pending_out_bytes() >= kFill) return;
  out_.clear();
  pipe_->fill(out_, kFill - stream_->pending_out_bytes(), session_);
  stream_->send(out_);
  if (out_.empty() && out_.capacity() > kKeepBytes) out_ = {};
  if (session_.is_closed()) stream_->close_after_flush("the session is closed");
}

void Endpoint::on_stream_closed(const io::Stream* stream, const std::string& reason) {
  if (stream != stream_.get()) return;
  const auto guard = shared_from_this();
  session_.disconnect();
  was_ended_by_peer_ = stream->was_ended_by_peer();
  stream_.reset();
  out_ = {};
  if (lost_fn_) lost_fn_(reason);
}

}  // namespace gw::stream
