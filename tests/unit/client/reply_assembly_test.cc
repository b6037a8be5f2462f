// Answers in pieces and fragments: whole, or an error.
#include "client/conn/reply_assembly.h"

#include <gtest/gtest.h>

#include "wire/fragments.h"

namespace gw::client {
namespace {

constexpr uint64_t kId = 9;

std::string piece(uint32_t number, bool more, uint32_t job) {
  wire::ApiReply reply;
  reply.set_id(kId);
  reply.set_piece(number);
  reply.set_more(more);
  reply.mutable_list_jobs()->add_jobs()->set_id(job);
  return reply.SerializeAsString();
}

base::Result<std::optional<wire::ApiReply>> take_all(const std::vector<std::string>& messages) {
  ReplyAssembly assembly(kId);
  base::Result<std::optional<wire::ApiReply>> last = std::optional<wire::ApiReply>();
  for (const std::string& message : messages) {
    last = assembly.take(message);
    if (!last || *last) return last;
  }
  return last;
}

TEST(ReplyAssembly, PiecesMakeOneList) {
  const auto whole = take_all({piece(1, true, 4), piece(2, true, 5), piece(3, false, 6)});
  ASSERT_TRUE(whole && *whole) << (whole ? "not whole" : whole.error().text());
  ASSERT_EQ((*whole)->list_jobs().jobs_size(), 3);
  EXPECT_EQ((*whole)->list_jobs().jobs(2).id(), 6u);
}

TEST(ReplyAssembly, APieceThatIsMissingOrComesTwiceIsAnError) {
  const std::vector<std::vector<std::string>> broken = {
      {piece(1, true, 4), piece(3, false, 6)},                     // one in the middle
      {piece(2, true, 5), piece(3, false, 6)},                     // the first
      {piece(1, true, 4), piece(1, true, 4), piece(2, false, 5)},  // twice
      {piece(0, true, 4), piece(0, false, 5)},                     // without numbers
      {piece(1, true, 4), piece(0, false, 5)},
  };
  for (const auto& messages : broken) {
    const auto outcome = take_all(messages);
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().code, base::ErrorCode::kProtocol);
    EXPECT_NE(outcome.error().what.find("not complete"), std::string::npos) << outcome.error().text();
  }
  // The last one is waited for.
  const auto waiting = take_all({piece(1, true, 4), piece(2, true, 5)});
  ASSERT_TRUE(waiting.has_value());
  EXPECT_FALSE(waiting->has_value());
}

TEST(ReplyAssembly, AnErrorInTheMiddleOfAListIsTheAnswer) {
  wire::ApiReply error;
  error.set_id(kId);
  error.mutable_error()->set_what("the disk is full");
  const auto outcome = take_all({piece(1, true, 4), error.SerializeAsString()});
  ASSERT_TRUE(outcome && *outcome);
  EXPECT_EQ((*outcome)->error().what(), "the disk is full");
  EXPECT_FALSE((*outcome)->has_list_jobs());
}

wire::ApiReply long_message() {
  wire::ApiReply reply;
  reply.set_id(kId);
  reply.set_piece(1);
  wire::Job& job = *reply.mutable_list_jobs()->add_jobs();
  job.set_id(7);
  job.mutable_spec()->set_comment(std::string(3 * wire::kFragmentBytes + 5, 'x'));
  return reply;
}

TEST(ReplyAssembly, AMessageThatIsTooLongForAFrameComesInFragments) {
  const std::string bytes = long_message().SerializeAsString();
  const auto frames = wire::in_frames(bytes, kId, 2 * wire::kFragmentBytes);
  ASSERT_EQ(frames.size(), 4u);
  for (const std::string& frame : frames) EXPECT_LT(frame.size(), 2 * wire::kFragmentBytes);
  const auto whole = take_all(frames);
  ASSERT_TRUE(whole && *whole);
  EXPECT_EQ((*whole)->list_jobs().jobs(0).spec().comment().size(), 3 * wire::kFragmentBytes + 5);
  // A short one is sent as it is.
  EXPECT_EQ(wire::in_frames("abc", kId, 3), std::vector<std::string>{"abc"});
}

TEST(ReplyAssembly, AFragmentThatIsMissingIsAnError) {
  const auto frames = wire::in_frames(long_message().SerializeAsString(), kId, 2 * wire::kFragmentBytes);
  for (size_t left_out = 0; left_out + 1 < frames.size(); ++left_out) {
    auto cut = frames;
    cut.erase(cut.begin() + static_cast<ptrdiff_t>(left_out));
    EXPECT_FALSE(take_all(cut).has_value()) << left_out;
  }
  // Another message in its place.
  auto replaced = frames;
  replaced.back() = piece(1, false, 4);
  EXPECT_FALSE(take_all(replaced).has_value());
}

TEST(ReplyAssembly, AnswersToOtherRequestsArePassedOver) {
  wire::ApiReply other;
  other.set_id(kId + 1);
  other.set_piece(7);
  const auto whole = take_all({piece(1, true, 4), other.SerializeAsString(), piece(2, false, 5)});
  ASSERT_TRUE(whole && *whole);
  EXPECT_EQ((*whole)->list_jobs().jobs_size(), 2);
}

TEST(ReplyAssembly, WhatCannotBeReadIsAnError) { EXPECT_FALSE(take_all({"\xff\xff\xff"}).has_value()); }

}  // namespace
}  // namespace gw::client
