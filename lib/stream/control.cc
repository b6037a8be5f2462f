// The bytes of control messages: the kind as u8 (its place in the variant, from 1), then its fields, little-endian.
#include "stream/control.h"

#include "auth/codec.h"

namespace gw::stream {
namespace {

using auth::Reader;
using auth::Writer;

void put(Writer& out, const WindowSize& m) { out.u16(m.rows).u16(m.columns); }
void put(Writer& out, const Signal& m) { out.u32(m.task).u8(m.number); }
void put(Writer& out, const TaskStarted& m) { out.u32(m.task).u32(m.pid); }
void put(Writer& out, const TaskEnded& m) { out.u32(m.task).u8(m.exit_code).u8(m.signal); }
void put(Writer& out, const StepState& m) {
  out.u8(static_cast<uint8_t>(m.phase)).text(std::string_view(m.text).substr(0, kMaxStateText));
}
void put(Writer& out, const Joined& m) { out.u32(m.tasks).u8(m.has_terminal ? 1 : 0).u16(m.rows).u16(m.columns); }

void get(Reader& in, WindowSize& m) {
  m.rows = in.u16();
  m.columns = in.u16();
}
void get(Reader& in, Signal& m) {
  m.task = in.u32();
  m.number = in.u8();
}
void get(Reader& in, TaskStarted& m) {
  m.task = in.u32();
  m.pid = in.u32();
}
void get(Reader& in, TaskEnded& m) {
  m.task = in.u32();
  m.exit_code = in.u8();
  m.signal = in.u8();
}
void get(Reader& in, StepState& m) {
  m.phase = static_cast<StepState::Phase>(in.u8());
  m.text = in.text();
}
void get(Reader& in, Joined& m) {
  m.tasks = in.u32();
  m.has_terminal = in.u8() != 0;
  m.rows = in.u16();
  m.columns = in.u16();
}

bool is_valid(const WindowSize&) { return true; }
bool is_valid(const Signal& m) { return m.number >= 1 && m.number <= 64; }
bool is_valid(const TaskStarted&) { return true; }
bool is_valid(const TaskEnded& m) { return m.signal <= 64 && (m.signal == 0 || m.exit_code == 0); }
bool is_valid(const Joined&) { return true; }
bool is_valid(const StepState& m) {
  return m.phase >= StepState::Phase::kStarting && m.phase <= StepState::Phase::kEnded &&
         m.text.size() <= kMaxStateText;
}

template <size_t index = 0>
bool read_kind(size_t kind, Reader& in, Control& out) {
  if constexpr (index == std::variant_size_v<Control>) {
    return false;
  } else {
    if (kind != index) return read_kind<index + 1>(kind, in, out);
    auto& m = out.emplace<index>();
    get(in, m);
    return in.is_complete() && is_valid(m);
  }
}

}  // namespace

Role sender_of(const Control& control) {
  return std::holds_alternative<WindowSize>(control) || std::holds_alternative<Signal>(control) ? Role::kClient
                                                                                                : Role::kShepherd;
}

std::string encode_control(const Control& control) {
  Writer out;
  out.u8(static_cast<uint8_t>(control.index() + 1));
  std::visit([&](const auto& m) { put(out, m); }, control);
  return out.take();
}

base::Result<Control> decode_control(std::string_view bytes) {
  Reader in(bytes);
  const size_t kind = in.u8();
  Control control;
  if (kind == 0 || !read_kind(kind - 1, in, control)) {
    return base::fail(base::ErrorCode::kProtocol, "a control message of a kind or with values that are not known");
  }
  return control;
}

}  // namespace gw::stream
