// Sealed messages: whatever somebody on the way does to them is noticed.
#include "auth/secure_stream.h"

#include <gtest/gtest.h>

#include "auth/crypto.h"

namespace gw::auth {
namespace {

struct Ends {
  SecureStream a, b;
};

Ends make_ends() {
  SessionKey to_b, to_a;
  to_b.bytes = random_bytes32();
  to_a.bytes = random_bytes32();
  Ends ends{SecureStream(to_b, to_a), SecureStream(to_a, to_b)};
  const auto header = [](const SecureStream& s) {
    return std::string(reinterpret_cast<const char*>(s.header().data()), s.header().size());
  };
  EXPECT_TRUE(ends.a.set_peer_header(header(ends.b)));
  EXPECT_TRUE(ends.b.set_peer_header(header(ends.a)));
  return ends;
}

TEST(SecureStream, CarriesMessagesBothWays) {
  auto [a, b] = make_ends();
  for (const std::string message : {"", "one", "two"}) {
    const auto there = b.open(a.seal(message));
    ASSERT_TRUE(there);
    EXPECT_EQ(there->plain, message);
    EXPECT_FALSE(there->final);
    EXPECT_EQ(a.open(b.seal(message))->plain, message);
  }
  EXPECT_EQ(a.seal("12345").size(), 5 + kSealOverhead);
}

TEST(SecureStream, OpensIntoWhatHeldTheMessageBefore) {
  auto [a, b] = make_ends();
  std::string plain;
  for (const std::string message : {"a long message", "short", "", "longer again"}) {
    EXPECT_FALSE(*b.open_into(plain, a.seal(message)));
    EXPECT_EQ(plain, message);
  }
  EXPECT_TRUE(*b.open_into(plain, a.seal("last", true)));
  EXPECT_EQ(plain, "last");
  EXPECT_FALSE(b.open_into(plain, a.seal("after the last")).has_value());
}

TEST(SecureStream, HidesThePlainText) {
  auto [a, b] = make_ends();
  EXPECT_EQ(a.seal("top secret text").find("secret"), std::string::npos);
}

TEST(SecureStream, AnyChangedBitIsNoticed) {
  const std::string plain = "run this";
  for (size_t bit = 0; bit < (plain.size() + kSealOverhead) * 8; ++bit) {
    auto [a, b] = make_ends();
    std::string sealed = a.seal(plain);
    sealed[bit / 8] = static_cast<char>(sealed[bit / 8] ^ 1 << bit % 8);
    ASSERT_FALSE(b.open(sealed)) << "bit " << bit;
  }
}

TEST(SecureStream, CutAndExtendedMessagesAreNoticed) {
  for (const size_t cut : {size_t{0}, size_t{1}, kSealOverhead - 1, kSealOverhead, kSealOverhead + 3}) {
    auto [a, b] = make_ends();
    EXPECT_FALSE(b.open(a.seal("message").substr(0, cut))) << cut;
  }
  auto [a, b] = make_ends();
  EXPECT_FALSE(b.open(a.seal("message") + "x"));
}

TEST(SecureStream, RepeatedReorderedAndMissingMessagesAreNoticed) {
  {
    auto [a, b] = make_ends();
    const auto first = a.seal("first");
    ASSERT_TRUE(b.open(first));
    EXPECT_FALSE(b.open(first)) << "repeated";
  }
  {
    auto [a, b] = make_ends();
    a.seal("first");
    EXPECT_FALSE(b.open(a.seal("second"))) << "first one missing";
  }
  {
    auto [a, b] = make_ends();
    EXPECT_FALSE(a.open(a.seal("first"))) << "sent back to its sender";
  }
}

TEST(SecureStream, AfterAnErrorOrAFinalMessageNothingOpens) {
  auto [a, b] = make_ends();
  const auto good = a.seal("good");
  EXPECT_FALSE(b.open("bad bad bad bad bad bad"));
  EXPECT_FALSE(b.open(good));
  auto [c, d] = make_ends();
  const auto last = d.open(c.seal("bye", true));
  ASSERT_TRUE(last);
  EXPECT_TRUE(last->final);
  EXPECT_FALSE(d.open(c.seal("more")));
}

TEST(SecureStream, SurvivesBeingMoved) {
  auto [a, b] = make_ends();
  ASSERT_TRUE(b.open(a.seal("before")));
  SecureStream moved_a = std::move(a);
  SecureStream moved_b = std::move(b);
  EXPECT_EQ(moved_b.open(moved_a.seal("after"))->plain, "after");
}

}  // namespace
}  // namespace gw::auth
