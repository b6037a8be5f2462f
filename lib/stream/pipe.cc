// One session message is one sealed message is one frame.
#include "stream/pipe.h"

namespace gw::stream {

Pipe::Pipe(auth::Session secure, wire::FrameDecoder decoder)
    : secure_(std::move(secure)), decoder_(std::move(decoder)) {
  decoder_.set_max_bytes(kMaxSessionMessage + auth::kSealOverhead);
}

base::Status Pipe::feed(std::string_view bytes, Session& session) {
  decoder_.feed(bytes);
  while (!session.is_closed()) {
    GW_TRY(frame, decoder_.next());
    if (!frame) return {};
    GW_TRY(opened, secure_.stream.open(*frame));
    session.receive(opened.plain);
  }
  return {};
}

void Pipe::fill(std::string& out, size_t enough, Session& session) {
  while (out.size() < enough && session.pop(plain_)) {
    out += wire::frame_header(plain_.size() + auth::kSealOverhead);
    secure_.stream.seal_to(out, plain_);
  }
  if (plain_.capacity() > 4096 && out.empty()) plain_ = {};  // idle: give the room for a chunk back
}

}  // namespace gw::stream
