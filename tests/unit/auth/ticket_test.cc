// Tickets and the handshake that they are for: what is let in, and all that is not.
#include "auth/ticket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "auth/ticket_handshake.h"

namespace gw::auth {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;
constexpr base::Time kNow{1'800'000'000'000'000};

Ticket sample(const Bytes32& client_key) {
  Ticket t;
  t.rights = Rights::kFull;
  t.uid = 1000;
  t.gid = 100;
  t.job = 7;
  t.step = 2;
  t.attempt = 3;
  t.generation = 4;
  t.expiry = kNow + kTicketLife;
  t.client_key = client_key;
  t.nonce = random_nonce();
  return t;
}

/// A controller's key, a shepherd with its gate, and a client with its key.
struct World {
  SigningKey controller;
  KeyPair shepherd;
  KeyPair client;
  TicketMemory memory;
  TicketGate gate{shepherd, controller.public_key(), {1000, 7, 2, 3, 4}, memory, {1, 2}};
  Ticket ticket = sample(client.public_key());

  std::string signed_ticket() const { return sign_ticket(controller, ticket); }
  base::Result<std::string> hello(const KeyPair& bearer) const {
    TicketClientHandshake h(bearer, shepherd.public_key(), {1, 2});
    return h.hello(signed_ticket());
  }
  /// What the shepherd says to a hello made with the present ticket by `bearer`.
  base::Error refused(const KeyPair& bearer, base::Time now = kNow) {
    const auto answer = TicketServerHandshake(gate).on_hello(*hello(bearer), now);
    EXPECT_FALSE(answer);
    return answer ? base::Error{} : answer.error();
  }
  base::Error refused() { return refused(client); }
};

struct Outcome {
  base::Result<Session> client = base::invalid("not reached");
  base::Result<Session> shepherd = base::invalid("not reached");
  Ticket ticket;
  bool is_agreed() const { return client && shepherd; }
};
using Meddle = std::function<void(int message, std::string& bytes)>;

Outcome shake(
    World& w, const Meddle& meddle = [](int, std::string&) {}) {
  Outcome o;
  TicketClientHandshake client(w.client, w.shepherd.public_key(), {1, 2});
  TicketServerHandshake shepherd(w.gate);
  std::string hello = *client.hello(w.signed_ticket());
  meddle(0, hello);
  auto answer = shepherd.on_hello(hello, kNow);
  if (!answer) return o;
  meddle(1, *answer);
  auto done = client.on_answer(*answer);
  if (!done) return o;
  o.client = std::move(done->session);
  meddle(2, done->finish);
  o.shepherd = shepherd.on_finish(done->finish);
  o.ticket = shepherd.ticket();
  return o;
}

TEST(Ticket, CarriesWhatWasSigned) {
  const SigningKey controller;
  const Ticket t = sample(random_bytes32());
  const std::string bytes = sign_ticket(controller, t);
  EXPECT_EQ(bytes.size(), kTicketBytes);
  EXPECT_EQ(*verify_ticket(controller.public_key(), kNow, bytes), t);
}

TEST(Ticket, IsRefusedAfterItsExpiry) {
  const SigningKey controller;
  const std::string bytes = sign_ticket(controller, sample(random_bytes32()));
  const auto late = verify_ticket(controller.public_key(), kNow + kTicketLife, bytes);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kDenied);
  EXPECT_THAT(late.error().what, HasSubstr("expired"));
}

TEST(Ticket, OfAnotherControllerIsRefused) {
  const std::string bytes = sign_ticket(SigningKey(), sample(random_bytes32()));
  EXPECT_FALSE(verify_ticket(SigningKey().public_key(), kNow, bytes));
}

TEST(Ticket, EveryFlippedBitAndEveryOtherLengthIsRefused) {
  const SigningKey controller;
  const std::string good = sign_ticket(controller, sample(random_bytes32()));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
    EXPECT_FALSE(verify_ticket(controller.public_key(), kNow, bad)) << i;
    EXPECT_FALSE(verify_ticket(controller.public_key(), kNow, good.substr(0, i))) << i;
  }
  EXPECT_FALSE(verify_ticket(controller.public_key(), kNow, good + '\0'));
}

TEST(Ticket, WithUnknownRightsIsRefusedThoughSigned) {
  const SigningKey controller;
  Ticket t = sample(random_bytes32());
  t.rights = static_cast<Rights>(9);
  EXPECT_FALSE(verify_ticket(controller.public_key(), kNow, sign_ticket(controller, t)));
}

TEST(SigningKey, IsTheSameAfterTheFile) {
  const SigningKey key;
  const auto again = SigningKey::parse(key.secret_text());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->public_key(), key.public_key());
  EXPECT_EQ(again->sign("text"), key.sign("text"));
  const std::string text = key.secret_text();
  for (const std::string& bad :
       {std::string(), text.substr(1), text + "\n", text.substr(0, 40), "x" + text.substr(1)}) {
    EXPECT_FALSE(SigningKey::parse(bad)) << bad.size();
  }
  std::string bad = text;
  bad[text.size() - 3] = 'x';
  EXPECT_FALSE(SigningKey::parse(bad));
}

TEST(TicketMemory, LetsEachInOnce) {
  TicketMemory memory;
  const Ticket a = sample({}), b = sample({});
  EXPECT_TRUE(memory.use(a, kNow));
  EXPECT_TRUE(memory.use(b, kNow));
  EXPECT_FALSE(memory.use(a, kNow));
  EXPECT_FALSE(memory.use(a, kNow + kTicketLife - base::microseconds(1)));
}

TEST(TicketMemory, ForgetsAfterTheExpiryAndIsNotFooledByAClockThatGoesBack) {
  TicketMemory memory;
  const Ticket old = sample({});
  EXPECT_TRUE(memory.use(old, kNow));
  Ticket later = sample({});
  later.expiry = kNow + kTicketLife * 3;
  EXPECT_TRUE(memory.use(later, kNow + kTicketLife * 2));
  EXPECT_EQ(memory.size(), 1u);
  EXPECT_FALSE(memory.use(old, kNow));
}

TEST(TicketMemory, RefusesWhenFullAndRecovers) {
  TicketMemory memory(2);
  EXPECT_TRUE(memory.use(sample({}), kNow));
  EXPECT_TRUE(memory.use(sample({}), kNow));
  const auto refused = memory.use(sample({}), kNow);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(memory.size(), 2u);
  Ticket later = sample({});
  later.expiry = kNow + kTicketLife * 3;
  EXPECT_TRUE(memory.use(later, kNow + kTicketLife * 2));
}

TEST(TicketHandshake, BothSidesAgreeAndTalk) {
  World w;
  Outcome o = shake(w);
  ASSERT_TRUE(o.is_agreed());
  EXPECT_EQ(o.ticket, w.ticket);
  EXPECT_EQ(o.shepherd->version, 2);
  EXPECT_EQ(o.shepherd->stream.open(o.client->stream.seal("up"))->plain, "up");
  EXPECT_EQ(o.client->stream.open(o.shepherd->stream.seal("down"))->plain, "down");
}

TEST(TicketHandshake, EveryFlippedByteAndEveryCutEndsIt) {
  World good;
  size_t lengths[3] = {};
  ASSERT_TRUE(shake(good, [&](int m, std::string& bytes) { lengths[m] = bytes.size(); }).is_agreed());
  for (int message = 0; message < 3; ++message) {
    for (size_t i = 0; i < lengths[message]; ++i) {
      World w;
      const auto flip = [&](int m, std::string& bytes) {
        if (m == message) bytes[i] = static_cast<char>(bytes[i] ^ (1 << i % 8));
      };
      EXPECT_FALSE(shake(w, flip).is_agreed()) << message << " " << i;
      if (message == 0) {
        EXPECT_EQ(w.memory.size(), 0u) << "a ticket was spent by a hello that was changed, at " << i;
      }
    }
    for (const size_t length :
         {size_t{0}, size_t{1}, lengths[message] / 2, lengths[message] - 1, lengths[message] + 1}) {
      World w;
      EXPECT_FALSE(shake(w, [&](int m, std::string& b) {
                     if (m == message) b.resize(length);
                   }).is_agreed());
    }
  }
}

TEST(TicketHandshake, ATicketLetsInOnce) {
  World w;
  EXPECT_TRUE(shake(w).is_agreed());
  EXPECT_THAT(w.refused().what, HasSubstr("used before"));
}

TEST(TicketHandshake, ACopiedTicketLetsNobodyInAndLocksNobodyOut) {
  World w;
  const KeyPair thief;
  EXPECT_THAT(w.refused(thief).what, HasSubstr("another key"));
  EXPECT_TRUE(shake(w).is_agreed());
}

TEST(TicketHandshake, TicketsForOthersAreRefused) {
  const std::pair<uint32_t Ticket::*, const char*> fields[] = {{&Ticket::uid, "another user"},
                                                               {&Ticket::job, "another step"},
                                                               {&Ticket::step, "another step"},
                                                               {&Ticket::attempt, "another run"}};
  for (const auto& [field, what] : fields) {
    World w;
    w.ticket.*field += 1;
    EXPECT_THAT(w.refused().what, HasSubstr(what));
    EXPECT_EQ(w.memory.size(), 0u);
  }
}

TEST(TicketHandshake, AGenerationBeforeTheStepsIsRefusedALaterOneIsNot) {
  World w;
  w.ticket.generation = 3;
  EXPECT_THAT(w.refused().what, HasSubstr("older"));
  w.ticket.generation = 5;
  EXPECT_TRUE(shake(w).is_agreed());
}

TEST(TicketHandshake, ExpiredOrForgedIsRefused) {
  World w;
  EXPECT_THAT(w.refused(w.client, w.ticket.expiry).what, HasSubstr("expired"));
  w.gate.controller_key = SigningKey().public_key();
  EXPECT_THAT(w.refused().what, HasSubstr("not signed"));
}

TEST(TicketHandshake, AnotherShepherdCanNeitherReadNorAnswer) {
  World w, other;
  const auto hello = w.hello(w.client);
  EXPECT_FALSE(TicketServerHandshake(other.gate).on_hello(*hello, kNow));
  // One that somehow got a valid answer of its own cannot pass for the shepherd that was named.
  TicketClientHandshake client(w.client, other.shepherd.public_key(), {1, 2});
  const auto fooled = client.hello(w.signed_ticket());
  ASSERT_TRUE(fooled);
  EXPECT_FALSE(TicketServerHandshake(w.gate).on_hello(*fooled, kNow));
}

TEST(TicketHandshake, ARecordingOfTheClientGetsNoSession) {
  World w;
  std::string recorded_hello, recorded_finish;
  ASSERT_TRUE(shake(w, [&](int m, std::string& bytes) {
                if (m == 0) recorded_hello = bytes;
                if (m == 2) recorded_finish = bytes;
              }).is_agreed());
  TicketMemory fresh;  // as after a loss of all memory
  const TicketGate gate{w.shepherd, w.controller.public_key(), w.gate.step, fresh, {1, 2}};
  TicketServerHandshake again(gate);
  ASSERT_TRUE(again.on_hello(recorded_hello, kNow));
  EXPECT_FALSE(again.on_finish(recorded_finish));
}

TEST(TicketHandshake, ARefusalReachesTheClientWithItsReason) {
  World w;
  TicketClientHandshake client(w.client, w.shepherd.public_key(), {1, 2});
  ASSERT_TRUE(client.hello(w.signed_ticket()));
  const auto done = client.on_answer(refusal({ErrorCode::kConflict, "the step has ended", "see gqueue"}));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kConflict);
  EXPECT_EQ(done.error().text(), "the step has ended (see gqueue)");
}

TEST(TicketHandshake, NoCommonVersionIsSaid) {
  World w;
  TicketClientHandshake client(w.client, w.shepherd.public_key(), {3, 4});
  const auto answer = TicketServerHandshake(w.gate).on_hello(*client.hello(w.signed_ticket()), kNow);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().what, HasSubstr("no common protocol version"));
}

}  // namespace
}  // namespace gw::auth
