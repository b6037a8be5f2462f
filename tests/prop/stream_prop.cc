// A session over connections that are cut anywhere, carry bytes in any pieces, and lose what was on its way; with
// programs that write, stop reading and continue at any moment. Whatever happens: each byte, end and control message
// arrives exactly once and in order, memory stays bounded, and once the trouble is over it comes to an end.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <optional>

#include "stream/pipe.h"
#include "tests/unit/stream/ends.h"

namespace gw::stream {
namespace {

constexpr uint32_t kWindow = 300, kReplay = 200;
constexpr size_t kMaxControls = 60;

auth::SessionKey key_of(unsigned char byte) {
  auth::SessionKey key;
  key.bytes.fill(byte);
  return key;
}

/// The two encrypted ends of one connection, and what is on its way from each.
struct Connection {
  std::array<std::optional<Pipe>, 2> pipes;
  std::array<std::string, 2> on_way;

  Connection() {
    auth::SecureStream a(key_of(1), key_of(2)), b(key_of(2), key_of(1));
    const auto header = [](const auth::SecureStream& s) {
      return std::string(reinterpret_cast<const char*>(s.header().data()), s.header().size());
    };
    const std::string of_a = header(a), of_b = header(b);
    RC_ASSERT(a.set_peer_header(of_b) && b.set_peer_header(of_a));
    pipes[0].emplace(auth::Session{std::move(a), 1}, wire::FrameDecoder(1000));
    pipes[1].emplace(auth::Session{std::move(b), 1}, wire::FrameDecoder(1000));
  }
};

/// What a channel should carry: its sender, and what was written.
struct Written {
  size_t from = 0;
  std::string bytes;
  bool has_ended = false;
};

class World {
 public:
  World() {
    pair_.open(1, 0);
    pair_.open(2, 3);
    written_ = {{0, {1, "", false}}, {1, {0, "", false}}, {2, {0, "", false}}, {3, {1, "", false}}};
  }

  void act(uint32_t n) {
    const uint32_t what = n % 32, arg = n / 32;
    if (what < 8) {
      write(arg);
    } else if (what < 14) {
      fill(arg % 2, 1 + arg / 2 % 600);
    } else if (what < 24) {
      deliver(arg % 2, arg / 2);
    } else if (what < 27) {
      be_hungry(arg);
    } else if (what < 29) {
      send_control(arg);
    } else if (what == 29) {
      end(arg);
    } else {
      what == 30 ? lose(arg % 2) : reconnect();
    }
    check();
  }

  void finish() {
    reconnect();
    for (Party* party : parties_) party->appetite = SIZE_MAX;
    run_dry();
    // Nobody is stuck: more than any window goes through each channel that has not ended.
    for (int round = 0; round < 20; ++round) {
      for (auto& [id, channel] : written_) {
        if (channel.has_ended) continue;
        RC_ASSERT(parties_[channel.from]->session.room(id) > 0u);
        write(id + 4 * 299);
      }
      run_dry();
    }
    for (uint32_t id = 0; id < 4; ++id) end_channel(id);
    run_dry();
    for (const auto& [id, channel] : written_) {
      RC_ASSERT(parties_[1 - channel.from]->received[id] == channel.bytes);
      RC_ASSERT(parties_[1 - channel.from]->ended.count(id) == 1u);
    }
    for (size_t side : {0, 1}) {
      RC_ASSERT(parties_[1 - side]->controls == sent_controls_[side]);
      RC_ASSERT(parties_[side]->session.is_settled());
      RC_ASSERT(parties_[side]->session.memory_bytes() == 0u);
    }
  }

 private:
  Pair pair_{{.window_bytes = kWindow, .replay_bytes = kReplay}};
  std::array<Party*, 2> parties_{&pair_.shepherd, &pair_.client};
  std::map<ChannelId, Written> written_;
  std::array<std::vector<Control>, 2> sent_controls_;
  std::optional<Connection> connection_;
  std::array<bool, 2> is_up_{};
  uint32_t next_byte_ = 0;

  /// Until nobody has anything to say. Each round carries something, what there is to carry is bounded, and so is the
  /// number of rounds.
  void run_dry() {
    size_t moved = 1;
    for (int round = 0; moved > 0; ++round) {
      RC_ASSERT(round < 1000);
      moved = 0;
      for (Party* party : parties_) pull_all(*party);
      for (size_t side : {0, 1}) {
        fill(side, 1 << 16);
        moved += connection_->on_way[side].size();
        deliver(side, UINT32_MAX);
      }
      check();
    }
  }
  void write(uint32_t arg) {
    const ChannelId id = arg % 4;
    Written& channel = written_[id];
    if (channel.has_ended) return;
    std::string bytes;
    for (uint32_t i = 0; i < 1 + arg / 4 % 300; ++i) bytes += static_cast<char>(next_byte_++ % 253);
    channel.bytes += bytes.substr(0, parties_[channel.from]->session.write(id, bytes));
  }
  void end(uint32_t arg) {
    if (arg / 4 % 4 == 0) end_channel(arg % 4);
  }
  void end_channel(ChannelId id) {
    written_[id].has_ended = true;
    parties_[written_[id].from]->session.end(id);
  }
  void send_control(uint32_t arg) {
    const size_t side = arg % 2;
    if (sent_controls_[side].size() >= kMaxControls) return;
    const Control control =
        side == 0 ? Control(TaskStarted{arg, 1}) : Control(WindowSize{1, static_cast<uint16_t>(arg)});
    if (parties_[side]->session.send_control(control)) sent_controls_[side].push_back(control);
  }
  void be_hungry(uint32_t arg) {
    Party& party = *parties_[arg % 2];
    party.appetite = arg / 2 % 4 == 0 ? SIZE_MAX : arg / 8 % 100;
    pull_all(party);
  }
  static void pull_all(Party& party) {
    for (ChannelId id = 0; id < 4; ++id) party.session.pull(id);
  }
  void fill(size_t side, size_t enough) {
    if (!is_up_[side]) return;
    std::string out;
    connection_->pipes[side]->fill(out, enough, parties_[side]->session);
    connection_->on_way[side] += out;
  }
  /// Some of what `side` has sent reaches the other one, which may not know yet that `side` is gone.
  void deliver(size_t side, uint32_t arg) {
    if (!connection_ || !is_up_[1 - side]) return;
    std::string& bytes = connection_->on_way[side];
    const std::string piece = bytes.substr(0, arg == UINT32_MAX ? bytes.size() : arg % (bytes.size() + 1));
    bytes.erase(0, piece.size());
    RC_ASSERT(connection_->pipes[1 - side]->feed(piece, parties_[1 - side]->session));
  }
  /// One side notices that the connection is gone; nothing more comes from it.
  void lose(size_t side) {
    if (!is_up_[side]) return;
    is_up_[side] = false;
    parties_[side]->session.disconnect();
  }
  void reconnect() {
    lose(0);
    lose(1);
    connection_.emplace();
    is_up_ = {true, true};
    for (Party* party : parties_) party->session.connect();
  }

  void check() {
    for (const Party* party : parties_) {
      RC_ASSERT(party->close_reason == "");
      RC_ASSERT(party->session.memory_bytes() <= 4 * 3 * std::max<size_t>(kWindow, 1024) + 2000);
    }
    for (const auto& [id, channel] : written_) {
      const std::string& got = parties_[1 - channel.from]->received[id];
      RC_ASSERT(channel.bytes.compare(0, got.size(), got) == 0);
    }
  }
};

RC_GTEST_PROP(Stream, EverythingArrivesOnceAndInOrderWhateverHappensToTheConnections, ()) {
  // Neither the length nor the steps are scaled to the size of the run: small ones would hardly ever lose a connection.
  const auto length = *rc::gen::resize(100, rc::gen::inRange<size_t>(0, 600));
  const auto step_of = rc::gen::resize(100, rc::gen::inRange<uint32_t>(0, 1 << 20));
  const auto steps = *rc::gen::container<std::vector<uint32_t>>(length, step_of);
  World world;
  for (const uint32_t step : steps) world.act(step);
  world.finish();
}

}  // namespace
}  // namespace gw::stream
