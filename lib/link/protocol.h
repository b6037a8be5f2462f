// What both ends of a link agree on beside the handshake: versions and sizes.
#pragma once

#include <cstddef>

#include "auth/handshake.h"
#include "auth/secure_stream.h"
#include "wire/frame.h"

namespace gw::link {

/// Protocol versions that this build speaks; the previous one is kept so that shepherds and daemons can be updated in
/// turn.
constexpr auth::VersionRange kProtocolVersions{1, 1};
/// Longest message of a link, in bytes.
constexpr size_t kMaxMessage = wire::kMaxFrame - auth::kSealOverhead;
/// Longest reason that is told to the other side when a link is closed, in bytes.
constexpr size_t kMaxReason = 1000;

/// One sealed message as a frame.
inline std::string sealed_frame(auth::SecureStream& stream, std::string_view message, bool final = false) {
  const size_t sealed = message.size() + auth::kSealOverhead;
  std::string frame;
  frame.reserve(wire::kFrameHeader + sealed);
  frame += wire::frame_header(sealed);
  stream.seal_to(frame, message, final);
  return frame;
}

}  // namespace gw::link
