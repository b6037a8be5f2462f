// Sessions over loopback: whole streams through cuts, readers that are slow, and peers that are not what they should
// be.
#include "tests/unit/stream/loopback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gw::stream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Loopback, SixtyFourMegabytesEachWayArriveWholeThroughCuts) {
  constexpr uint64_t kBytes = 64 << 20;
  Shepherd shepherd;
  shepherd.prepare = [](Program& p) { p.to_send = kBytes; };
  Visitor visitor(shepherd);
  visitor.program->to_send = kBytes;
  uint64_t next_cut = 5 << 20;
  int cuts = 0;
  visitor.program->on_progress = [&] {
    if (visitor.program->received < next_cut) return;
    next_cut += 20 << 20;
    shepherd.loop.defer([&, is_ours = ++cuts % 2 == 0] {
      is_ours ? visitor.client.drop_connection() : shepherd.server->drop_connections();
    });
  };
  visitor.start();
  ASSERT_TRUE(shepherd.wait([&] {
    return visitor.program->has_ended && visitor.program->is_settled && !shepherd.programs.empty() &&
           shepherd.programs[0]->has_ended && shepherd.programs[0]->is_settled;
  })) << visitor.last_problem;
  EXPECT_EQ(shepherd.programs.size(), 1u);
  EXPECT_TRUE(visitor.program->is_intact && shepherd.programs[0]->is_intact);
  EXPECT_EQ(visitor.program->received, kBytes);
  EXPECT_EQ(shepherd.programs[0]->received, kBytes);
  EXPECT_EQ(cuts, 3);
  EXPECT_EQ(visitor.connections, 4);
  EXPECT_EQ(visitor.tickets, 4);
}

TEST(Loopback, AClientThatDiesIsWaitedForLessLong) {
  ServerOptions options;
  options.reconnect_limit = base::hours(1);
  options.abandoned_limit = base::milliseconds(1);
  Shepherd shepherd(options);
  auto visitor = std::make_unique<Visitor>(shepherd);
  visitor->start();
  ASSERT_TRUE(shepherd.wait([&] { return visitor->connections == 1 && !shepherd.programs.empty(); }));
  visitor.reset();
  ASSERT_TRUE(shepherd.wait([&] { return shepherd.programs[0]->is_closed; }));
  EXPECT_EQ(shepherd.programs[0]->reason, "the client did not come back");
  EXPECT_EQ(shepherd.server->sessions(), 0u);
}

TEST(Loopback, AReaderThatStopsStopsTheWriterAndFillsNoMemory) {
  constexpr uint64_t kBytes = 16 << 20;
  constexpr size_t kTaken = 100'000;
  Shepherd shepherd;
  shepherd.prepare = [](Program& p) { p.to_send = kBytes; };
  Visitor visitor(shepherd);
  visitor.program->appetite = kTaken;
  visitor.start();
  ASSERT_TRUE(
      shepherd.wait([&] { return visitor.program->appetite == 0 && shepherd.programs[0]->session->room(1) == 0; }));
  Program& writer = *shepherd.programs[0];
  for (int round = 0; round < 100; ++round) {
    bool is_done = false;
    shepherd.loop.defer([&] { is_done = true; });
    ASSERT_TRUE(shepherd.wait([&] { return is_done; }));
  }
  EXPECT_LE(writer.sent, kTaken + (512 << 10));
  EXPECT_LE(writer.session->memory_bytes(), 512u << 10);
  EXPECT_LE(visitor.client.session().memory_bytes(), 512u << 10);
  visitor.program->appetite = SIZE_MAX;
  visitor.client.session().pull(1);
  ASSERT_TRUE(shepherd.wait([&] { return visitor.program->has_ended && writer.is_settled; }));
  EXPECT_TRUE(visitor.program->is_intact);
  EXPECT_EQ(visitor.program->received, kBytes);
  EXPECT_EQ(writer.session->memory_bytes(), 0u);
}

TEST(Loopback, ControlMessagesAndTheReasonOfTheEndArrive) {
  Shepherd shepherd;
  Visitor visitor(shepherd);
  EXPECT_TRUE(visitor.client.session().send_control(WindowSize{24, 80}));
  visitor.start();
  ASSERT_TRUE(shepherd.wait([&] { return !shepherd.programs.empty() && shepherd.programs[0]->controls.size() == 1; }));
  Program& program = *shepherd.programs[0];
  EXPECT_THAT(program.controls, ElementsAre(Control(WindowSize{24, 80})));
  EXPECT_TRUE(program.session->send_control(TaskEnded{0, 3, 0}));
  ASSERT_TRUE(shepherd.wait([&] { return program.is_settled; }));
  EXPECT_THAT(visitor.program->controls, ElementsAre(Control(TaskEnded{0, 3, 0})));
  program.session->close({base::ErrorCode::kUnavailable, "the step has ended", ""});
  ASSERT_TRUE(shepherd.wait([&] { return visitor.program->is_closed && shepherd.server->sessions() == 0; }));
  EXPECT_EQ(visitor.program->reason, "the step has ended");
}

TEST(Loopback, AUsedTicketIsRefusedAlsoToItsOwner) {
  Shepherd shepherd;
  std::string only;
  const auth::KeyPair* key = nullptr;
  Visitor visitor(shepherd, [&](const Client::TicketFn& give) {
    if (only.empty()) only = shepherd.signed_ticket(*key);
    give(only);
  });
  key = &visitor.key;
  visitor.start();
  ASSERT_TRUE(shepherd.wait([&] { return visitor.connections == 1; }));
  visitor.client.drop_connection();
  ASSERT_TRUE(shepherd.wait([&] { return visitor.program->is_closed; }));
  EXPECT_THAT(visitor.program->reason, HasSubstr("used before"));
}

TEST(Loopback, ATicketOfAnotherUserOrKeyLetsNobodyIn) {
  Shepherd shepherd;
  auth::Ticket ticket;
  Visitor other_user(shepherd, [&](const Client::TicketFn& give) {
    ticket = shepherd.ticket(other_user.key);
    ticket.uid = 1001;
    give(sign_ticket(shepherd.controller, ticket));
  });
  Visitor thief(shepherd, [&](const Client::TicketFn& give) { give(shepherd.signed_ticket(other_user.key)); });
  other_user.start();
  thief.start();
  ASSERT_TRUE(shepherd.wait([&] { return other_user.program->is_closed && thief.program->is_closed; }));
  EXPECT_THAT(other_user.program->reason, HasSubstr("another user"));
  EXPECT_THAT(thief.program->reason, HasSubstr("another key"));
  EXPECT_EQ(shepherd.server->sessions(), 0u);
}

TEST(Loopback, AControllerThatIsAwayForAMomentIsAskedAgain) {
  Shepherd shepherd;
  int asked = 0;
  Visitor visitor(shepherd, [&](const Client::TicketFn& give) {
    if (++asked < 3) return give(base::fail(base::ErrorCode::kUnavailable, "no controller"));
    give(shepherd.signed_ticket(visitor.key));
  });
  visitor.start();
  ASSERT_TRUE(shepherd.wait([&] { return visitor.connections == 1; }));
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(visitor.last_problem, "no controller");
}

TEST(Loopback, AClientGivesUpWhenItsPatienceEnds) {
  Shepherd shepherd;
  ClientOptions options = shepherd.client_options();
  options.patience = {};
  shepherd.server.reset();
  Visitor visitor(shepherd, options);
  visitor.start();
  ASSERT_TRUE(shepherd.wait([&] { return visitor.program->is_closed; }));
  EXPECT_THAT(visitor.program->reason, HasSubstr("gave up connecting"));
}

TEST(Loopback, AClientThatDoesNotComeBackIsForgotten) {
  ServerOptions options;
  options.reconnect_limit = {};
  Shepherd shepherd(options);
  {
    Visitor visitor(shepherd);
    visitor.start();
    ASSERT_TRUE(shepherd.wait([&] { return visitor.connections == 1 && shepherd.server->sessions() == 1; }));
  }
  ASSERT_TRUE(shepherd.wait([&] { return shepherd.programs[0]->is_closed && shepherd.server->sessions() == 0; }));
  EXPECT_THAT(shepherd.programs[0]->reason, HasSubstr("did not come back"));
}

TEST(Loopback, MoreClientsThanAllowedAreToldSo) {
  ServerOptions options;
  options.max_sessions = 1;
  Shepherd shepherd(options);
  Visitor first(shepherd);
  first.start();
  ASSERT_TRUE(shepherd.wait([&] { return shepherd.server->sessions() == 1; }));
  Visitor second(shepherd);
  second.start();
  ASSERT_TRUE(shepherd.wait([&] { return second.program->is_closed; }));
  EXPECT_THAT(second.program->reason, HasSubstr("too many clients"));
  EXPECT_FALSE(first.program->is_closed);
}

TEST(Loopback, ASessionThatHasEndedSaysSoToAClientThatComesBack) {
  Shepherd shepherd;
  ClientOptions options = shepherd.client_options();
  Visitor visitor(shepherd, options);
  visitor.start();
  ASSERT_TRUE(shepherd.wait([&] { return visitor.connections == 1 && shepherd.server->sessions() == 1; }));
  shepherd.server->drop_connections();
  shepherd.programs[0]->session->close({base::ErrorCode::kConflict, "the step was cancelled", ""});
  ASSERT_TRUE(shepherd.wait([&] { return visitor.program->is_closed; }));
  EXPECT_EQ(visitor.program->reason, "the step was cancelled");
}

TEST(Loopback, AnEndedSessionMakesWayForANewClient) {
  ServerOptions options;
  options.max_sessions = 1;
  Shepherd shepherd(options);
  {
    Visitor first(shepherd);
    first.start();
    ASSERT_TRUE(shepherd.wait([&] { return first.connections == 1 && shepherd.server->sessions() == 1; }));
    shepherd.server->drop_connections();
  }
  shepherd.programs[0]->session->close({base::ErrorCode::kConflict, "not needed any more", ""});
  Visitor second(shepherd);
  second.start();
  ASSERT_TRUE(shepherd.wait([&] { return shepherd.programs.size() == 2; }));
}

/// A connection that says what it likes.
struct Stranger {
  io::DialHandle dialing;
  std::shared_ptr<io::Stream> stream;
  bool is_closed = false;
  std::string answer;

  Stranger(Shepherd& shepherd, std::string says) {
    io::DialOptions options;
    options.address = shepherd.server->bound_address();
    dialing = io::dial(shepherd.loop, options, [this, says](auto result) {
      ASSERT_TRUE(result);
      stream = *result;
      stream->on_data([this](std::string_view bytes) { answer += bytes; });
      stream->on_closed([this](const std::string&) { is_closed = true; });
      stream->send(says);
    });
  }
};

TEST(Loopback, StrangersAreShownTheDoorAndKeepNobodyOut) {
  ServerOptions options;
  options.max_unproved = 4;
  Shepherd shepherd(options);
  Stranger garbage(shepherd, "GET / HTTP/1.0\r\n\r\n");
  Stranger framed(shepherd, std::string("\x03\0\0\0abc", 7));
  ASSERT_TRUE(shepherd.wait([&] { return garbage.is_closed && framed.is_closed; }));
  EXPECT_THAT(framed.answer, HasSubstr("not that of a Gangway command"));
  std::vector<std::unique_ptr<Stranger>> silent;
  for (int i = 0; i < 10; ++i) silent.push_back(std::make_unique<Stranger>(shepherd, ""));
  ASSERT_TRUE(shepherd.wait([&] { return silent[5]->is_closed; }));
  EXPECT_LE(shepherd.server->unproved(), 4u);
  Visitor visitor(shepherd);
  visitor.start();
  ASSERT_TRUE(shepherd.wait([&] { return visitor.connections == 1; }));
  EXPECT_EQ(visitor.tickets, 1);
}

}  // namespace
}  // namespace gw::stream
