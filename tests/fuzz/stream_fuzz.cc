// A session and a handshake against a peer that sends anything. An input is a mode and a sequence of messages.
// Messages of the peer may come before ours have gone out. Whatever comes, the session stays within its memory, says
// nothing that cannot be read, and ends with a reason if the peer broke a rule; the handshake lets nobody in.
#include "auth/ticket_handshake.h"
#include "stream/session.h"
#include "tests/fuzz/records.h"

namespace gw::fuzz {
namespace {

using namespace stream;

constexpr uint32_t kWindow = 4096;
constexpr base::Time kNow{1'800'000'000'000'000};

/// A program that takes all, some or nothing, as the input says.
struct Program : Handler {
  size_t appetite = SIZE_MAX;
  std::string reason;
  int closed = 0;

  size_t on_bytes(ChannelId, std::string_view bytes) override { return std::min(appetite, bytes.size()); }
  void on_end(ChannelId) override {}
  void on_writable(ChannelId) override {}
  void on_control(const Control&) override {}
  void on_closed(const base::Error& error) override {
    ++closed;
    check_error(error);
  }
};

void drain(Session& session) {
  std::string message;
  for (int n = 0; session.pop(message); ++n) {
    FUZZ_CHECK(decode(message));
    FUZZ_CHECK(message.size() <= kMaxSessionMessage);
    FUZZ_CHECK(n < 4096);
  }
}

void obey(const Record& record, Session& session, Program& program) {
  program.appetite = record.choice == 0 ? SIZE_MAX : record.choice - size_t{1};
  switch (record.kind % 8) {
    case 0:
      if (session.room(1) > 0 && !session.is_closed()) session.write(1, record.payload);
      break;
    case 1:
      session.connect();
      break;
    case 2:
      session.pull(0);
      break;
    default:
      session.receive(record.payload);
  }
}

bool run_session(Input in) {
  Program program;
  Session session({.role = Role::kShepherd, .own_id = 1, .window_bytes = kWindow, .replay_bytes = kWindow});
  session.set_handler(program);
  FUZZ_CHECK(session.open_receive(0) && session.open_send(1) && session.open_send(2));
  FUZZ_CHECK(session.write(1, "0123456789") == 10);
  FUZZ_CHECK(session.send_control(TaskStarted{0, 1}));
  session.connect();
  drain(session);
  while (!in.empty()) {
    const Record record = take_record(in);
    obey(record, session, program);
    if (record.kind < 128) drain(session);
    FUZZ_CHECK(session.memory_bytes() <= 3 * 3 * kWindow + 1000);
    FUZZ_CHECK(program.closed == (session.is_closed() ? 1 : 0));
  }
  return !session.is_closed() || session.close_reason().code == base::ErrorCode::kUnavailable;
}

bool run_handshake(Input in) {
  static const auth::KeyPair kOwn;
  auth::TicketMemory memory;
  const auth::TicketGate gate{kOwn, auth::Bytes32{}, {}, memory, {1, 1}};
  auth::TicketServerHandshake handshake(gate);
  const auto answer = handshake.on_hello(in.rest(), kNow);
  FUZZ_CHECK(!answer && memory.size() == 0);
  check_error(answer.error());
  return answer.error().code == base::ErrorCode::kDenied;  // got as far as its proofs
}

bool run(std::string_view input) {
  Input in(input);
  return in.u8() % 4 == 1 ? run_handshake(in) : run_session(in);
}

std::vector<std::string> made_inputs() {
  const auto sent = [](const std::string& message) { return make_record(3, 0, message); };
  const auto interrupts = [](const std::string& message) { return make_record(131, 0, message); };
  const std::string begin = std::string(1, '\0') + sent(encode(Resume{5, 1, 1000, 0, {{Credit{1, 0, 100}, 0}}}));
  const std::string data = encode_data_header(0, 0) + "typed";
  const std::string control = encode(ControlMessage{0, encode_control(WindowSize{24, 80})});
  const auth::KeyPair client, shepherd;
  auth::TicketClientHandshake hello(client, shepherd.public_key(), {1, 1});
  return {begin,
          begin + sent(data) + sent(encode(End{0, 5})) + sent(control) + sent(encode(ControlAck{1})),
          begin + make_record(3, 3, data) + make_record(2, 0) + sent(encode(Credit{1, 10, 100})),
          begin + sent(data) + make_record(1, 0) +
              sent(encode(Resume{5, 1, 1000, 1, {{Credit{1, 4, 100}, 8}, {Credit{2, 0, 9, false, true}, 0}}})),
          begin + make_record(1, 0) + sent(encode(Resume{5, 1, 1000, 0, {{Credit{1, 0, 9}, 0}}})) +
              sent(encode(Credit{1, 9, 100})) + sent(encode(ControlAck{1})) + make_record(0, 0, "more"),
          begin + make_record(1, 0) + interrupts(encode(Resume{5, 1, 1000, 0, {{Credit{1, 0, 9}, 0}}})) +
              interrupts(encode(Credit{1, 0, 90})) + interrupts(encode(ControlAck{0})) + make_record(2, 0),
          begin + sent(encode(Close{"done"})),
          "\1" + *hello.hello(std::string(auth::kTicketBytes, 't'))};
}

GW_FUZZ_TARGET("stream", run, made_inputs);

}  // namespace
}  // namespace gw::fuzz
