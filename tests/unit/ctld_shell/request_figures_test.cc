// What is counted of requests: by kind and user, bounded, and from a moment on.
#include "ctld/shell/request_figures.h"

#include <gtest/gtest.h>

namespace gw::ctld {
namespace {

using Kind = wire::ApiRequest;

wire::ShowFiguresReply shown(const RequestFigures& figures, const PassReport& passes = {}) {
  wire::ShowFiguresReply out;
  figures.put(passes, out);
  return out;
}

TEST(RequestFigures, AreCountedByKindAndByUserTheLongestFirst) {
  RequestFigures figures;
  figures.count(Kind::kPing, 1000, base::microseconds(5), base::Time{1});
  figures.count(Kind::kListJobs, 1000, base::microseconds(40), base::Time{1});
  figures.count(Kind::kListJobs, 1001, base::microseconds(60), base::Time{1});
  const wire::ShowFiguresReply out = shown(figures);
  ASSERT_EQ(out.kinds_size(), 2);
  EXPECT_EQ(out.kinds(0).kind(), "list_jobs");
  EXPECT_EQ(out.kinds(0).number(), static_cast<uint32_t>(Kind::kListJobs));
  EXPECT_EQ(out.kinds(0).count(), 2U);
  EXPECT_EQ(out.kinds(0).took_us(), 100U);
  ASSERT_EQ(out.users_size(), 2);
  EXPECT_EQ(out.users(0).uid(), 1001U);
  EXPECT_EQ(out.users(1).count(), 2U);
}

TEST(RequestFigures, VeryManyUsersCountTogether) {
  RequestFigures figures;
  for (uint32_t uid = 0; uid < RequestFigures::kMostUsers + 50; ++uid)
    figures.count(Kind::kPing, uid, base::microseconds(uid == 7 ? 9 : 1), base::Time{1});
  figures.count(Kind::kPing, 7, base::microseconds(1), base::Time{1});  // known already
  const wire::ShowFiguresReply out = shown(figures);
  ASSERT_EQ(out.users_size(), static_cast<int>(RequestFigures::kMostUsers) + 1);
  EXPECT_EQ(out.users(0).uid(), RequestFigures::kOthers);
  EXPECT_EQ(out.users(0).count(), 50U);
  EXPECT_EQ(out.users(1).uid(), 7U);
  EXPECT_EQ(out.users(1).count(), 2U);
}

TEST(RequestFigures, BeginAnewTogetherWithThoseOfTheScheduler) {
  RequestFigures figures;
  figures.count(Kind::kPing, 1000, base::microseconds(5), base::Time{1});
  PassReport passes;
  passes.passes = 10;
  passes.all = base::microseconds(1'000);
  passes.backfilled = 3;
  EXPECT_EQ(shown(figures, passes).passes(), 10U);
  figures.reset(passes);
  passes.passes = 14;
  passes.all = base::microseconds(1'600);
  passes.backfilled = 5;
  passes.last = base::microseconds(200);
  const wire::ShowFiguresReply out = shown(figures, passes);
  EXPECT_EQ(out.kinds_size() + out.users_size(), 0);
  EXPECT_EQ(out.passes(), 4U);
  EXPECT_EQ(out.all_passes_us(), 600U);
  EXPECT_EQ(out.backfilled(), 2U);
  EXPECT_EQ(out.backfilled_ever(), 5U);
  EXPECT_EQ(out.last_pass_us(), 200U);
}

TEST(RequestFigures, TheSlowestAreKeptSlowestFirst) {
  RequestFigures figures;
  for (int i = 1; i <= 30; ++i)
    figures.count(Kind::kPing, static_cast<uint32_t>(i), base::microseconds(i * 7 % 31), base::Time{i});
  const wire::ShowFiguresReply out = shown(figures);
  ASSERT_EQ(out.slowest_size(), static_cast<int>(RequestFigures::kMostSlow));
  for (int i = 0; i < out.slowest_size(); ++i) EXPECT_EQ(out.slowest(i).took_us(), 30U - static_cast<uint32_t>(i));
  EXPECT_EQ(out.slowest(0).kind(), "ping");
  EXPECT_EQ(out.slowest(0).uid() * 7 % 31, 30U);
  EXPECT_EQ(out.slowest(0).at_us(), out.slowest(0).uid());
  figures.reset({});
  EXPECT_EQ(shown(figures).slowest_size(), 0);
}

}  // namespace
}  // namespace gw::ctld
