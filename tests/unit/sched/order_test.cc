// The orders: who is served next, and what multifactor's parts add up to.
#include "sched/queue/order.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cluster_builder.h"

namespace gw::sched {
namespace {

OrderContext context(Time now) {
  OrderContext c;
  c.now = now;
  c.size = {1000, 100, 10};
  return c;
}

TEST(Order, UnknownNamesAndWeightsAreRefusedWithAHint) {
  const auto order = make_order("fifo_skp");
  ASSERT_FALSE(order);
  EXPECT_NE(order.error().text().find("fifo_skip"), std::string::npos);
  const auto weight = make_order("multifactor", {{"fairshare", 1}});
  ASSERT_FALSE(weight);
  EXPECT_NE(weight.error().text().find("fair_share"), std::string::npos);
}

TEST(Order, NamesAreTheirOwn) {
  for (const std::string& name : order_names()) EXPECT_EQ((*make_order(name))->name(), name);
}

TEST(Order, ShortestPrefersTheKnownRemainingTimeOverTheLimit) {
  const auto order = *make_order("shortest");
  PendingJob a = testing::pending(1, testing::tasks(1)), b = a;
  a.time_limit = base::minutes(10);
  b.time_limit = base::minutes(60);
  EXPECT_GT(order->score(a, context({})), order->score(b, context({})));
  b.remaining = base::minutes(5);
  EXPECT_LT(order->score(a, context({})), order->score(b, context({})));
}

TEST(Order, LifoServesTheLatestSubmissionFirst) {
  const auto order = *make_order("lifo");
  PendingJob older = testing::pending(1, testing::tasks(1)), newer = older;
  older.submitted = Time{0} + base::hours(480'000);
  newer.submitted = older.submitted + base::seconds(1);
  EXPECT_GT(order->score(newer, context({})), order->score(older, context({})));
  EXPECT_LT(order->key(newer), order->key(older));
  older.nice = -1;  // raises it
  EXPECT_LT(order->score(newer, context({})), order->score(older, context({})));
  double sum = 0;
  for (const ScorePart& part : order->parts(older, context({}))) sum += part.product();
  EXPECT_DOUBLE_EQ(sum, order->score(older, context({})));
}

TEST(Order, MultifactorIsTheSumOfItsParts) {
  const auto order = *make_order("multifactor", {{"age", 50}, {"max_age_hours", 2}, {"fair_share", 100}});
  PendingJob job = testing::pending(1, testing::gang(2, 5));
  job.uid = 7;
  job.nice = 3;
  job.eligible = Time{0} + base::hours(10);
  OrderContext c = context(Time{0} + base::hours(11));
  const std::map<uint32_t, double> usage = {{7, 300}, {8, 100}};
  c.usage = &usage;
  c.total_usage = 400;
  double sum = 0;
  std::map<std::string, double> products;
  for (const ScorePart& part : order->parts(job, c)) {
    sum += part.product();
    products[part.name] = part.product();
  }
  EXPECT_DOUBLE_EQ(sum, order->score(job, c));
  EXPECT_DOUBLE_EQ(products["age"], 25);                            // one hour of two
  EXPECT_DOUBLE_EQ(products["fair_share"], 100 * std::exp2(-1.5));  // three quarters of the use, half is even
  EXPECT_DOUBLE_EQ(products["size"], 10);                           // 10 of 100 GPUs, default weight 100
  EXPECT_DOUBLE_EQ(products["nice"], -3);
}

TEST(Order, UsersRankApartOnlyWhereTheirUseMatters) {
  EXPECT_TRUE((*make_order("multifactor"))->looks_at_users());
  EXPECT_FALSE((*make_order("multifactor", {{"fair_share", 0}}))->looks_at_users());
  EXPECT_FALSE((*make_order("fifo"))->looks_at_users());
}

}  // namespace
}  // namespace gw::sched
