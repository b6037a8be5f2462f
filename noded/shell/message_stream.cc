// Protobuf messages in frames over a stream: the implementation.
// Invariants: see message_stream.h.
#include "noded/shell/message_stream.h"

#include "noded/step/state/channel.h"

namespace gw::noded {

base::Result<std::shared_ptr<MessageStream>> MessageStream::connect(io::Loop& loop, const std::string& path,
                                                                    PayloadFn on_payload, ClosedFn on_closed) {
  GW_TRY(fd, step::connect_to(path));
  std::shared_ptr<MessageStream> stream(new MessageStream(std::move(on_payload), std::move(on_closed)));
  stream->stream_ = io::Stream::adopt(loop, io::Fd(fd.release()));
  MessageStream* self = stream.get();
  stream->stream_->on_data([self](std::string_view bytes) { self->on_data(bytes); });
  stream->stream_->on_closed([self](const std::string&) {
    const auto alive = self->shared_from_this();  // the callback may drop us
    if (self->closed_fn_) self->closed_fn_();
  });
  return stream;
}

MessageStream::~MessageStream() {
  if (!stream_ || stream_->is_closed()) return;
  stream_->on_data([](std::string_view) {});
  stream_->on_closed({});
  stream_->close_after_flush("done");
}

void MessageStream::send_payload(const std::string& payload) {
  std::string frame;
  wire::append_frame(frame, payload);
  stream_->send(frame);
}

void MessageStream::on_data(std::string_view bytes) {
  const auto alive = shared_from_this();
  decoder_.feed(bytes);
  for (;;) {
    auto payload = decoder_.next();
    if (!payload) return stream_->close(payload.error().text());
    if (!*payload) return;
    payload_fn_(**payload);
  }
}

}  // namespace gw::noded
