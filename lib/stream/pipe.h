// A session on one encrypted connection: bytes as they come from the socket, bytes as they go to it. Sans-I/O.
// Invariant: what is broken on the way (a seal, a length) ends the connection and never the session, which continues
// with the next one; what the other end's program does wrong ends the session.
#pragma once

#include <string>
#include <string_view>

#include "auth/handshake.h"
#include "base/result.h"
#include "stream/session.h"
#include "wire/frame.h"

namespace gw::stream {

class Pipe {
 public:
  /// `decoder` may hold bytes that came with the handshake: call feed({}) for them.
  Pipe(auth::Session secure, wire::FrameDecoder decoder);
  /// Hands over what has arrived. Errors: this connection is of no more use.
  base::Status feed(std::string_view bytes, Session& session);
  /// Appends what the session has to send, until `out` holds at least `enough` bytes.
  void fill(std::string& out, size_t enough, Session& session);

 private:
  auth::Session secure_;
  wire::FrameDecoder decoder_;
  std::string plain_;
};

}  // namespace gw::stream
