// Cutting of long answers. See fragments.h.
#include "wire/fragments.h"

#include <utility>

#include "wire/api.pb.h"

namespace gw::wire {

std::vector<std::string> in_frames(std::string message, uint64_t id, size_t frame_bytes) {
  std::vector<std::string> frames;
  if (message.size() <= frame_bytes) {
    frames.push_back(std::move(message));
    return frames;
  }
  const size_t count = (message.size() + kFragmentBytes - 1) / kFragmentBytes;
  for (size_t k = 0; k < count; ++k) {
    ApiReply fragment;
    fragment.set_id(id);
    fragment.set_fragment(message.substr(k * kFragmentBytes, kFragmentBytes));
    fragment.set_fragment_number(static_cast<uint32_t>(k + 1));
    fragment.set_fragment_count(static_cast<uint32_t>(count));
    frames.push_back(fragment.SerializeAsString());
  }
  return frames;
}

}  // namespace gw::wire
