// Who makes a Mesh be wanted, and that nothing is lost on the way to it.
#include "peer/doorkeeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "io/address.h"
#include "peer/mesh.h"
#include "wire/frame.h"

namespace gw::peer {
namespace {

using ::testing::ElementsAre;

class Door : public ::testing::Test {
 protected:
  io::Loop loop;
  io::Fd listener;
  std::string address;
  int peers = 0;
  std::optional<Doorkeeper> door;
  std::vector<std::shared_ptr<io::Stream>> strangers;
  std::vector<io::DialHandle> dials;
  int closed = 0;

  Door() {
    io::ListenOptions options;
    options.address = "127.0.0.1:0";
    listener = std::move(*io::Listener::make_socket(options));
    address = io::local_address(listener.get()).text();
    door.emplace(loop, listener.get(), identity(1), [this] { ++peers; });
  }
  static Identity identity(uint32_t self, unsigned char first = 1) {
    Identity one;
    one.secret.bytes.fill(first);
    one.purpose = "test";
    one.self = self;
    one.nodes = 3;
    return one;
  }
  std::unique_ptr<Mesh> mesh(uint32_t self, io::Fd with, std::vector<std::string>& messages) {
    MeshOptions options;
    options.identity = identity(self);
    options.listen = "127.0.0.1:0";
    options.listener = std::move(with);
    auto opened = Mesh::open(
        loop, std::move(options),
        [&messages](uint32_t from, const std::string& m) { messages.push_back(std::to_string(from) + ":" + m); },
        [](uint32_t, const base::Error&) {});
    EXPECT_TRUE(opened && (*opened)->set_addresses({"127.0.0.1:1", address, "127.0.0.1:1"}));
    return std::move(*opened);
  }
  void visit(const std::string& bytes) {
    dials.push_back(io::dial(loop, {address, {}}, [this, bytes](base::Result<std::shared_ptr<io::Stream>> stream) {
      ASSERT_TRUE(stream);
      strangers.push_back(*stream);
      (*stream)->on_closed([this](const std::string&) { ++closed; });
      (*stream)->on_data([](std::string_view) {});
      (*stream)->send(bytes);
    }));
  }
  bool wait(const std::function<bool()>& done) { return loop.run_until(done, base::seconds(30)); }
};

TEST_F(Door, StrangersAreClosedAndWakeNobody) {
  visit("GET / HTTP/1.0\r\n\r\n" + std::string(1000, 'x'));
  std::string guess;
  wire::append_frame(guess, DialerHandshake(identity(0, 2), 1).hello());
  visit(guess);
  std::string for_another;
  wire::append_frame(for_another, DialerHandshake(identity(0), 2).hello());
  visit(for_another);
  EXPECT_TRUE(wait([this] { return closed == 3; }));
  EXPECT_EQ(peers, 0);
}

TEST_F(Door, OneWhoClosesEarlyWakesNobody) {
  visit("x");
  ASSERT_TRUE(wait([this] { return strangers.size() == 1; }));
  strangers[0]->close_after_flush("over");
  std::vector<std::string> messages;
  const auto dialer = mesh(0, {}, messages);
  dialer->send(1, "here");
  EXPECT_TRUE(wait([this] { return peers > 0; }));
  EXPECT_TRUE(wait([this] { return door->hand_over().size() == 1; })) << "the stranger is gone";
  EXPECT_EQ(peers, 1);
}

TEST_F(Door, WhoSaysNothingTakesABoundedPlace) {
  for (int i = 0; i < 80; ++i) visit("x");
  EXPECT_TRUE(wait([this] { return closed >= 16; }));
  EXPECT_LE(door->hand_over().size(), 64u);
  EXPECT_EQ(peers, 0);
}

TEST_F(Door, ANodeIsHandedOverWithAllThatItSaid) {
  std::vector<std::string> at_0, at_1;
  const auto dialer = mesh(0, {}, at_0);
  dialer->send(1, "first");
  dialer->send(1, "second");
  ASSERT_TRUE(wait([this] { return peers == 1; }));
  std::vector<io::Fd> came;
  for (const int fd : door->hand_over()) came.emplace_back(::dup(fd));
  door.reset();
  EXPECT_EQ(came.size(), 1u);
  const auto answerer = mesh(1, std::move(listener), at_1);
  for (io::Fd& fd : came) answerer->adopt(std::move(fd));
  ASSERT_TRUE(wait([&] { return at_1.size() == 2; }));
  EXPECT_THAT(at_1, ElementsAre("0:first", "0:second"));
  answerer->send(0, "back");
  ASSERT_TRUE(wait([&] { return at_0.size() == 1; }));
}

}  // namespace
}  // namespace gw::peer
