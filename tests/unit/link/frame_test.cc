// Frames: round trips in any cut, and hostile lengths.
#include "wire/frame.h"

#include <gtest/gtest.h>

namespace gw::wire {
namespace {

std::string frame(std::string_view payload) {
  std::string out;
  append_frame(out, payload);
  return out;
}

TEST(Frame, LengthIsLittleEndian) {
  EXPECT_EQ(frame("abc"), std::string("\x03\0\0\0abc", 7));
  EXPECT_EQ(frame_header(0x010203), std::string("\x03\x02\x01\0", 4));
}

TEST(Frame, EveryCutGivesTheSameFrames) {
  const std::vector<std::string> payloads = {"", "a", std::string(300, 'b'), "", "tail"};
  std::string bytes;
  for (const auto& p : payloads) append_frame(bytes, p);
  for (size_t step = 1; step <= bytes.size(); ++step) {
    FrameDecoder decoder(kMaxHandshakeFrame);
    std::vector<std::string> got;
    for (size_t at = 0; at < bytes.size(); at += step) {
      decoder.feed(std::string_view(bytes).substr(at, step));
      for (auto next = decoder.next(); *next; next = decoder.next()) got.push_back(**next);
    }
    ASSERT_EQ(got, payloads) << "step " << step;
    EXPECT_EQ(decoder.buffered_bytes(), 0u);
  }
}

TEST(Frame, ViewsOfSeveralFramesAreGoodTogether) {
  FrameDecoder decoder(100);
  decoder.feed(frame("one") + frame("two") + frame("three").substr(0, 6));
  const auto one = *decoder.next_view(), two = *decoder.next_view();
  EXPECT_FALSE(*decoder.next_view());
  EXPECT_EQ(one, "one");
  EXPECT_EQ(two, "two");
  decoder.give_back();  // not of what it holds
  decoder.feed(frame("three").substr(6));
  EXPECT_EQ(*decoder.next_view(), "three");
  decoder.give_back();
  decoder.feed(frame("four"));
  EXPECT_EQ(*decoder.next_view(), "four");
}

TEST(Frame, IncompleteIsNotAnError) {
  FrameDecoder decoder(100);
  decoder.feed("\x05");
  EXPECT_EQ(*decoder.next(), std::nullopt);
  decoder.feed(std::string_view("\0\0\0abcd", 7));
  EXPECT_EQ(*decoder.next(), std::nullopt);
  decoder.feed("e");
  EXPECT_EQ(**decoder.next(), "abcde");
}

TEST(Frame, OneGigabyteLengthIsRefusedOnSight) {
  FrameDecoder decoder(kMaxFrame);
  decoder.feed(std::string_view("\0\0\0\x40", 4));
  const auto refused = decoder.next();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::kProtocol);
  EXPECT_NE(refused.error().what.find("1073741824"), std::string::npos) << refused.error().what;
  EXPECT_NE(refused.error().what.find("16777216"), std::string::npos) << refused.error().what;
}

TEST(Frame, AfterARefusalNothingIsKeptOrReturned) {
  FrameDecoder decoder(10);
  decoder.feed("GET / HTTP/1.0\r\n\r\n");
  ASSERT_FALSE(decoder.next());
  decoder.feed(frame("fine"));
  EXPECT_FALSE(decoder.next());
  EXPECT_EQ(decoder.buffered_bytes(), 0u);
}

TEST(Frame, BoundIsInclusiveAndCanBeRaised) {
  FrameDecoder decoder(4);
  decoder.feed(frame("1234") + frame("12345"));
  EXPECT_EQ(**decoder.next(), "1234");
  decoder.set_max_bytes(5);
  EXPECT_EQ(**decoder.next(), "12345");
  decoder.feed(frame("123456"));
  EXPECT_FALSE(decoder.next());
}

}  // namespace
}  // namespace gw::wire
