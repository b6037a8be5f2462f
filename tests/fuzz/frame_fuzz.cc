// Frames: a stream gives the same payloads however it is cut, and an over-long frame is refused before it is held.
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutate.h"
#include "wire/frame.h"

namespace gw::fuzz {
namespace {

constexpr size_t kBounds[] = {0, 16, 300, wire::kMaxHandshakeFrame};

struct Decoded {
  std::vector<std::string> payloads;
  bool is_refused = false;
  bool operator==(const Decoded&) const = default;
};

void drain(wire::FrameDecoder& decoder, Decoded& out) {
  for (;;) {
    auto frame = decoder.next();
    out.is_refused = !frame.has_value();
    if (!frame || !*frame) return;
    out.payloads.push_back(std::move(**frame));
  }
}

Decoded at_once(std::string_view stream, size_t bound) {
  Decoded out;
  wire::FrameDecoder decoder(bound);
  decoder.feed(stream);
  drain(decoder, out);
  return out;
}

Decoded in_pieces(std::string_view stream, size_t bound, uint64_t cuts) {
  Decoded out;
  wire::FrameDecoder decoder(bound);
  Dice dice(cuts);
  while (!stream.empty()) {
    const std::string_view piece = stream.substr(0, 1 + dice.below(40));
    stream.remove_prefix(piece.size());
    decoder.feed(piece);
    drain(decoder, out);
    FUZZ_CHECK(decoder.buffered_bytes() < wire::kFrameHeader + bound + piece.size());
  }
  return out;
}

bool run(std::string_view input) {
  Input in(input);
  const size_t bound = kBounds[in.u8() % std::size(kBounds)];
  const uint64_t cuts = in.u16();
  const std::string stream(in.rest());
  const Decoded decoded = at_once(stream, bound);
  FUZZ_CHECK(decoded == in_pieces(stream, bound, cuts));
  std::string again;
  for (const std::string& payload : decoded.payloads) {
    FUZZ_CHECK(payload.size() <= bound);
    wire::append_frame(again, payload);
  }
  FUZZ_CHECK(stream.starts_with(again));
  return !decoded.is_refused;
}

std::vector<std::string> made_inputs() {
  std::string frames("\2\0\0", 3);
  for (const char* payload : {"", "one", "a longer payload"}) wire::append_frame(frames, payload);
  return {frames, frames.substr(0, frames.size() - 5)};
}

GW_FUZZ_TARGET("frame", run, made_inputs);

}  // namespace
}  // namespace gw::fuzz
