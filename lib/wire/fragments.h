// Answers that are too long for one frame, cut into fragments. Pure. client/conn/reply_assembly.h puts them together
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gw::wire {

/// Bytes of an answer that one fragment carries at most.
constexpr size_t kFragmentBytes = size_t{1} << 20;

/// The messages (each a serialised ApiReply) that carry `message`, a serialised ApiReply to request `id`: the message
/// itself if it has at most `frame_bytes`, else its fragments in order.
std::vector<std::string> in_frames(std::string message, uint64_t id, size_t frame_bytes);

}  // namespace gw::wire
