// Encoding and decoding of a session's messages: the kind as u8, then its fields, little-endian.
#include "stream/message.h"

#include "auth/codec.h"
#include "base/text.h"
#include "stream/control.h"

namespace gw::stream {
namespace {

using auth::Reader;
using auth::Writer;
using base::ErrorCode;
using base::Result;

enum class Kind : uint8_t {
  kResume = 1,
  kData = 2,
  kEnd = 3,
  kCredit = 4,
  kControl = 5,
  kControlAck = 6,
  kClose = 7,
};
constexpr uint8_t kEndTaken = 1;
constexpr uint8_t kUnwanted = 2;
constexpr size_t kCreditBytes = 4 + 8 + 4 + 1;
constexpr size_t kResumeChannelBytes = kCreditBytes + 8;
static_assert(1 + 3 * 8 + 4 + 4 + kMaxChannels * kResumeChannelBytes <= kMaxSessionMessage);

Writer begin(Kind kind) {
  Writer out;
  out.u8(static_cast<uint8_t>(kind));
  return out;
}

void put(Writer& out, const Credit& c) {
  const int flags = (c.is_end_taken ? kEndTaken : 0) | (c.is_unwanted ? kUnwanted : 0);
  out.u32(c.channel).u64(c.taken).u32(c.window).u8(static_cast<uint8_t>(flags));
}

/// False for flags that are not known.
bool get(Reader& in, Credit& c) {
  c.channel = in.u32();
  c.taken = in.u64();
  c.window = in.u32();
  const uint8_t flags = in.u8();
  c.is_end_taken = flags & kEndTaken;
  c.is_unwanted = flags & kUnwanted;
  return (flags & ~(kEndTaken | kUnwanted)) == 0;
}

tl::unexpected<base::Error> malformed(std::string_view what) {
  return base::fail(ErrorCode::kProtocol, "a malformed message: " + std::string(what));
}

template <typename T>
Result<Message> whole(const Reader& in, T message, std::string_view what) {
  if (!in.is_complete()) return malformed(what);
  return Message(std::move(message));
}

Result<Message> decode_resume(Reader in) {
  Resume m;
  m.own_id = in.u64();
  m.peer_id = in.u64();
  m.replay_bytes = in.u32();
  m.next_control = in.u64();
  const uint32_t count = in.u32();
  if (!in.is_ok() || m.own_id == 0 || count > kMaxChannels) return malformed("resumption");
  auto entries = in.rest();
  if (entries.size() != count * kResumeChannelBytes) return malformed("resumption");
  m.channels.resize(count);
  Reader list(entries);
  for (auto& entry : m.channels) {
    if (!get(list, entry.credit)) return malformed("flags of a channel");
    entry.received = list.u64();
  }
  return Message(std::move(m));
}

Result<Message> decode_data(Reader in) {
  Data m;
  m.channel = in.u32();
  m.offset = in.u64();
  m.bytes = in.rest();
  if (!in.is_ok() || m.bytes.empty() || m.bytes.size() > kMaxChunk) return malformed("data");
  return Message(m);
}

Result<Message> decode_credit(Reader in) {
  Credit m;
  if (!get(in, m)) return malformed("flags of a channel");
  return whole(in, m, "credit");
}

Result<Message> decode_close(Reader in) {
  const auto reason = in.text();
  if (!in.is_complete() || reason.size() > kMaxCloseReason) return malformed("end of the session");
  return Message(Close{base::printable(reason, kMaxCloseReason)});
}

}  // namespace

std::string encode(const Resume& m) {
  Writer out = begin(Kind::kResume);
  out.u64(m.own_id).u64(m.peer_id).u32(m.replay_bytes).u64(m.next_control);
  out.u32(static_cast<uint32_t>(m.channels.size()));
  for (const auto& entry : m.channels) {
    put(out, entry.credit);
    out.u64(entry.received);
  }
  return out.take();
}
std::string encode(const End& m) { return begin(Kind::kEnd).u32(m.channel).u64(m.offset).take(); }
std::string encode(const Credit& m) {
  Writer out = begin(Kind::kCredit);
  put(out, m);
  return out.take();
}
std::string encode(const ControlMessage& m) { return begin(Kind::kControl).u64(m.number).raw(m.body).take(); }
std::string encode(const ControlAck& m) { return begin(Kind::kControlAck).u64(m.next).take(); }
std::string encode(const Close& m) {
  return begin(Kind::kClose).text(std::string_view(m.reason).substr(0, kMaxCloseReason)).take();
}
std::string encode_data_header(ChannelId channel, uint64_t offset) {
  return begin(Kind::kData).u32(channel).u64(offset).take();
}

Result<Message> decode(std::string_view bytes) {
  Reader in(bytes);
  const auto kind = static_cast<Kind>(in.u8());
  switch (kind) {
    case Kind::kResume:
      return decode_resume(in);
    case Kind::kData:
      return decode_data(in);
    case Kind::kEnd: {
      const ChannelId channel = in.u32();
      const End m{channel, in.u64()};
      return whole(in, m, "end");
    }
    case Kind::kCredit:
      return decode_credit(in);
    case Kind::kControl: {
      const uint64_t number = in.u64();
      const ControlMessage m{number, in.rest()};
      if (m.body.size() > kMaxControl) return malformed("control");
      return whole(in, m, "control");
    }
    case Kind::kControlAck: {
      const ControlAck m{in.u64()};
      return whole(in, m, "acknowledgement");
    }
    case Kind::kClose:
      return decode_close(in);
  }
  return malformed("unknown kind");
}

}  // namespace gw::stream
