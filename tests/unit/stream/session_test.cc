// The session's core: order, credit, ends, resumption, control messages, and what it does with a peer that breaks
// rules.
#include "stream/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/stream/ends.h"

namespace gw::stream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ChannelId kIn = 0, kOut = 1;

TEST(Session, BytesEndsAndControlMessagesArriveInOrder) {
  Pair p;
  p.open(kOut, kIn);
  p.connect();
  EXPECT_EQ(p.shepherd.session.write(kOut, "hello "), 6u);
  EXPECT_TRUE(p.shepherd.session.send_control(TaskStarted{0, 4711}));
  EXPECT_EQ(p.shepherd.session.write(kOut, "world"), 5u);
  p.shepherd.session.end(kOut);
  EXPECT_EQ(p.client.session.write(kIn, "typed"), 5u);
  EXPECT_TRUE(p.client.session.send_control(WindowSize{24, 80}));
  EXPECT_TRUE(p.client.session.send_control(Signal{kAllTasks, 2}));
  p.run();
  EXPECT_EQ(p.client.received[kOut], "hello world");
  EXPECT_TRUE(p.client.ended.contains(kOut));
  EXPECT_THAT(p.client.controls, ElementsAre(Control(TaskStarted{0, 4711})));
  EXPECT_EQ(p.shepherd.received[kIn], "typed");
  EXPECT_THAT(p.shepherd.controls, ElementsAre(Control(WindowSize{24, 80}), Control(Signal{kAllTasks, 2})));
  EXPECT_TRUE(p.shepherd.session.is_settled());
  EXPECT_EQ(p.shepherd.settled, 1);
}

TEST(Session, AReaderThatTakesNothingStopsTheWriter) {
  Pair p({.window_bytes = 1000, .replay_bytes = 700});
  p.open(kOut, kIn);
  p.client.appetite = 0;
  p.connect();
  const std::string text(5000, 'x');
  EXPECT_EQ(p.shepherd.session.write(kOut, text), 700u);
  p.run();
  EXPECT_EQ(p.shepherd.session.write(kOut, text), 0u);
  EXPECT_EQ(p.shepherd.session.room(kOut), 0u);
  EXPECT_EQ(p.shepherd.writable, 0);
  EXPECT_LE(p.client.session.memory_bytes(), 2048u);
  EXPECT_LE(p.shepherd.session.memory_bytes(), 2048u);
  p.client.appetite = SIZE_MAX;
  p.client.session.pull(kOut);
  p.run();
  EXPECT_EQ(p.client.received[kOut].size(), 700u);
  EXPECT_EQ(p.shepherd.writable, 1);
  EXPECT_EQ(p.shepherd.session.memory_bytes() + p.client.session.memory_bytes(), 0u);
}

TEST(Session, SlowChannelsDoNotStopOthers) {
  Pair p({.window_bytes = 100, .replay_bytes = 100});
  p.open(kOut, kIn);
  p.open(2, 3);
  p.client.appetite_of[kOut] = 0;
  p.connect();
  p.shepherd.session.write(kOut, std::string(100, 'a'));
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(p.shepherd.session.write(2, std::string(100, 'b')), 100u);
    p.run();
  }
  EXPECT_EQ(p.client.received[2].size(), 5000u);
}

TEST(Session, WhatIsNotTakenIsSentAgainOnTheNextConnection) {
  Pair p;
  p.open(kOut, kIn);
  p.connect();
  p.shepherd.session.write(kOut, "first ");
  EXPECT_TRUE(p.shepherd.session.send_control(TaskStarted{1, 2}));
  p.run();
  p.shepherd.session.write(kOut, "lost on its way ");
  EXPECT_TRUE(p.shepherd.session.send_control(TaskEnded{1, 3, 0}));
  std::string message;
  while (p.shepherd.session.pop(message)) {
  }
  p.cut();
  p.shepherd.session.write(kOut, "and last");
  p.shepherd.session.end(kOut);
  EXPECT_FALSE(p.shepherd.session.pop(message));
  p.connect();
  p.run();
  EXPECT_EQ(p.client.received[kOut], "first lost on its way and last");
  EXPECT_THAT(p.client.controls, ElementsAre(Control(TaskStarted{1, 2}), Control(TaskEnded{1, 3, 0})));
  EXPECT_EQ(p.client.ended.count(kOut), 1u);
  EXPECT_TRUE(p.shepherd.session.is_settled());
}

TEST(Session, WhatWasReceivedAndNotTakenIsNotSentAgain) {
  Pair p;
  p.open(kOut, kIn);
  p.client.appetite = 4;
  p.connect();
  p.shepherd.session.write(kOut, "taken and held");
  p.run();
  p.cut();
  p.shepherd.session.write(kOut, " and new");
  p.connect();
  p.run();
  EXPECT_EQ(p.client.close_reason, "");
  p.client.appetite = SIZE_MAX;
  p.client.session.pull(kOut);
  p.run();
  EXPECT_EQ(p.client.received[kOut], "taken and held and new");
}

TEST(Session, AnEndIsSettledOnlyWhenEverythingWasTaken) {
  Pair p;
  p.open(kOut, kIn);
  p.client.appetite = 3;
  p.connect();
  p.shepherd.session.write(kOut, "four");
  p.shepherd.session.end(kOut);
  p.run();
  EXPECT_FALSE(p.shepherd.session.is_settled());
  EXPECT_FALSE(p.client.ended.contains(kOut));
  p.client.session.pull(kOut);
  p.run();
  EXPECT_TRUE(p.client.ended.contains(kOut));
  EXPECT_TRUE(p.shepherd.session.is_settled());
}

TEST(Session, AChannelThatNobodyWantsSwallowsWhatIsWritten) {
  Pair p({.window_bytes = 100, .replay_bytes = 100});
  p.open(kOut, kIn);
  p.client.appetite = 0;
  p.connect();
  p.shepherd.session.write(kOut, std::string(200, 'x'));
  p.run();
  p.client.session.refuse(kOut);
  p.run();
  EXPECT_TRUE(p.shepherd.session.is_unwanted(kOut));
  EXPECT_EQ(p.shepherd.writable, 1);
  EXPECT_EQ(p.shepherd.session.write(kOut, std::string(5000, 'y')), 5000u);
  p.cut();
  p.connect();
  p.run();
  p.shepherd.session.end(kOut);
  EXPECT_TRUE(p.shepherd.session.is_settled());
  EXPECT_FALSE(p.shepherd.closed || p.client.closed);
}

TEST(Session, ChannelsMayBeOpenedOnALivingConnectionInAnyOrder) {
  Pair p;
  p.open(kOut, kIn);
  p.connect();
  p.run();
  EXPECT_TRUE(p.client.session.open_receive(7));
  p.run();
  EXPECT_TRUE(p.shepherd.session.open_send(7));
  p.shepherd.session.write(7, "seven");
  EXPECT_TRUE(p.shepherd.session.open_send(8));
  p.shepherd.session.write(8, "eight");
  p.run();
  EXPECT_TRUE(p.client.session.open_receive(8));
  p.run();
  EXPECT_EQ(p.client.received[7], "seven");
  EXPECT_EQ(p.client.received[8], "eight");
  EXPECT_FALSE(p.client.session.open_receive(8));
  EXPECT_FALSE(p.shepherd.session.open_send(8));
}

TEST(Session, TooManyControlMessagesAreRefusedNotKept) {
  Pair p({.max_control_bytes = 100});
  p.connect();
  int sent = 0;
  while (p.client.session.send_control(WindowSize{1, 2})) ++sent;
  EXPECT_EQ(sent, 20);
  p.run();
  EXPECT_EQ(p.shepherd.controls.size(), 20u);
  EXPECT_TRUE(p.client.session.send_control(WindowSize{1, 2}));
}

TEST(Session, AWatcherThatSendsASignalIsPutOut) {
  Pair p({.may_control = false});
  p.connect();
  EXPECT_TRUE(p.client.session.send_control(Signal{0, 9}));
  p.run();
  EXPECT_TRUE(p.shepherd.controls.empty());
  EXPECT_THAT(p.client.close_reason, HasSubstr("lets you watch"));
}

TEST(Session, TheReasonOfAnEndReachesTheOtherSide) {
  Pair p;
  p.connect();
  p.run();
  p.shepherd.session.close({base::ErrorCode::kUnavailable, "the step has ended", ""});
  p.run();
  EXPECT_EQ(p.client.close_reason, "the step has ended");
  EXPECT_TRUE(p.client.session.is_closed());
  EXPECT_FALSE(p.client.session.send_control(WindowSize{1, 2}));
}

TEST(Session, AnEndThatForgotTheSessionIsNoticed) {
  Pair p;
  p.open(kOut, kIn);
  p.connect();
  p.run();
  p.cut();
  Party other({.role = Role::kShepherd, .own_id = 99});
  other.session.connect();
  p.client.session.connect();
  std::string message;
  ASSERT_TRUE(other.session.pop(message));
  p.client.session.receive(message);
  EXPECT_THAT(p.client.close_reason, HasSubstr("has lost what it knew"));
}

/// A client that is connected to a peer under the test's control, and receives channel 1, sends channel 0.
struct Hostile {
  Party client{{.role = Role::kClient, .own_id = 1, .window_bytes = 100, .replay_bytes = 100}};
  Hostile() {
    EXPECT_TRUE(client.session.open_receive(kOut));
    EXPECT_TRUE(client.session.open_send(kIn));
    client.session.write(kIn, "0123456789");
    client.session.connect();
  }
  void drain() {
    std::string message;
    while (client.session.pop(message)) {
    }
  }
  std::string says(const std::string& message) {
    client.session.receive(message);
    drain();
    return client.close_reason;
  }
  static std::string resume(std::vector<Resume::Channel> channels = {}, uint64_t controls = 0) {
    return encode(Resume{5, 1, 100, controls, std::move(channels)});
  }
  static std::string data(ChannelId id, uint64_t offset, size_t n) {
    return encode_data_header(id, offset) + std::string(n, 'x');
  }
  Hostile& ready() {
    EXPECT_EQ(says(resume({{Credit{kIn, 0, 100, false, false}, 0}})), "");
    return *this;
  }
};

TEST(SessionPeer, ThatBreaksRulesIsClosedWithAReason) {
  const std::string d = Hostile::data(kOut, 0, 10);
  EXPECT_THAT(Hostile().says(""), HasSubstr("malformed"));
  EXPECT_THAT(Hostile().says(d), HasSubstr("before the resumption"));
  EXPECT_THAT(Hostile().ready().says(Hostile::resume()), HasSubstr("twice"));
  EXPECT_THAT(Hostile().says(encode(Resume{5, 77, 0, 0, {}})), HasSubstr("another session"));
  EXPECT_THAT(Hostile().says(Hostile::resume({}, 1)), HasSubstr("control"));
  EXPECT_THAT(Hostile().says(Hostile::resume({{Credit{kIn, 0, 100, false, false}, 1}})), HasSubstr("nothing was sent"));
  EXPECT_THAT(Hostile().ready().says(Hostile::data(2, 0, 1)), HasSubstr("not asked for"));
  EXPECT_THAT(Hostile().ready().says(Hostile::data(kOut, 1, 1)), HasSubstr("missing"));
  EXPECT_THAT(Hostile().ready().says(Hostile::data(kOut, 0, 101)), HasSubstr("more bytes"));
  EXPECT_THAT(Hostile().ready().says(Hostile::data(kOut, 0, 0)), HasSubstr("malformed"));
  EXPECT_THAT(Hostile().ready().says(encode(End{kOut, 1})), HasSubstr("end"));
  EXPECT_THAT(Hostile().ready().says(encode(Credit{kIn, 11, 100, false, false})), HasSubstr("was not sent"));
  EXPECT_THAT(Hostile().ready().says(encode(Credit{kIn, 10, 100, true, false})), HasSubstr("end that was not"));
  EXPECT_THAT(Hostile().ready().says(encode(ControlAck{1})), HasSubstr("control"));
  EXPECT_THAT(Hostile().ready().says(encode(ControlMessage{1, encode_control(TaskStarted{})})), HasSubstr("missing"));
  EXPECT_THAT(Hostile().ready().says(encode(ControlMessage{0, encode_control(Signal{0, 9})})), HasSubstr("wrong side"));
  EXPECT_THAT(Hostile().ready().says(encode(ControlMessage{0, "?"})), HasSubstr("not known"));
  Hostile again;
  const std::string first = encode(ControlMessage{0, encode_control(TaskStarted{})});
  EXPECT_EQ(again.ready().says(first), "");
  EXPECT_THAT(again.says(first), HasSubstr("came twice"));
  Hostile taken;
  taken.ready().says(encode(Credit{kIn, 8, 100, false, false}));
  EXPECT_THAT(taken.says(encode(Credit{kIn, 7, 100, false, false})), HasSubstr("back"));
  Hostile ended;
  ended.ready().says(encode(End{kOut, 0}));
  EXPECT_THAT(ended.says(d), HasSubstr("after its end"));
}

TEST(SessionPeer, ThatAcknowledgesWhatThisConnectionHasNotCarriedYetIsClosed) {
  for (const std::string& lie : {encode(Credit{kIn, 10, 100, false, false}), encode(ControlAck{1})}) {
    Hostile h;
    EXPECT_TRUE(h.client.session.send_control(WindowSize{1, 2}));
    h.ready();
    h.client.session.connect();
    h.client.session.receive(Hostile::resume({{Credit{kIn, 0, 100, false, false}, 0}}));
    h.client.session.receive(lie);
    h.drain();
    EXPECT_THAT(h.client.close_reason, HasSubstr("not sent"));
  }
}

TEST(SessionPeer, ThatAsksForEveryChannelIsStopped) {
  Hostile h;
  h.ready();
  for (ChannelId id = 0; id < kMaxChannels; ++id) h.says(encode(Credit{id, 0, UINT32_MAX, false, false}));
  EXPECT_EQ(h.client.close_reason, "");
  EXPECT_THAT(h.says(encode(Credit{kMaxChannels, 0, 1, false, false})), HasSubstr("too many"));
}

TEST(Control, SurvivesItsEncodingAndNothingElseDecodes) {
  const Control all[] = {WindowSize{50, 132},
                         Signal{3, 15},
                         TaskStarted{1, 99},
                         TaskEnded{1, 0, 9},
                         StepState{StepState::Phase::kEnding, "being preempted"},
                         Joined{3, true, 50, 132}};
  for (const Control& control : all) {
    const std::string bytes = encode_control(control);
    EXPECT_EQ(*decode_control(bytes), control);
    for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(decode_control(bytes.substr(0, n)));
    EXPECT_FALSE(decode_control(bytes + "x"));
  }
  EXPECT_FALSE(decode_control(encode_control(Signal{0, 65})));
  EXPECT_FALSE(decode_control("\x09"));
}

TEST(ByteQueue, HoldsWhatWasAppendedAndNotDropped) {
  ByteQueue q;
  std::string all, out;
  for (int i = 0; i < 3000; ++i) {
    const std::string piece(static_cast<size_t>(i % 97), static_cast<char>('a' + i % 26));
    q.append(piece);
    all += piece;
    if (i % 7 == 0) q.drop_to(q.begin() + q.size() / 3);
    out.clear();
    q.copy(q.begin(), q.size(), out);
    ASSERT_EQ(out, all.substr(q.begin()));
    ASSERT_TRUE(q.empty() || all.substr(q.begin()).starts_with(q.front()));
  }
  q.drop_to(q.end() + 5);
  EXPECT_EQ(q.capacity(), 0u);
  EXPECT_EQ(q.begin(), all.size() + 5);
}

}  // namespace
}  // namespace gw::stream
