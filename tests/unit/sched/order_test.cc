// The orders: who is served next, and what multifactor's parts add up to.
#include <gtest/gtest.h>

#include <cmath>

#include "cluster_builder.h"
#include "sched/queue/orders.h"

namespace gw::sched {
namespace {

OrderContext context(Time now) {
  OrderContext c;
  c.now = now;
  c.size = {1000, 100, 10};
  return c;
}

double score(const Order& order, const PendingJob& job, const OrderContext& c) {
  return order.score(waiting_facts(job, c.now), c);
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
  EXPECT_GT(score(*order, a, context({})), score(*order, b, context({})));
  b.remaining = base::minutes(5);
  EXPECT_LT(score(*order, a, context({})), score(*order, b, context({})));
}

TEST(Order, LifoServesTheLatestSubmissionFirst) {
  const auto order = *make_order("lifo");
  PendingJob older = testing::pending(1, testing::tasks(1)), newer = older;
  older.submitted = Time{0} + base::hours(480'000);
  newer.submitted = older.submitted + base::seconds(1);
  EXPECT_GT(score(*order, newer, context({})), score(*order, older, context({})));
  EXPECT_LT(order->key(waiting_facts(newer, {})), order->key(waiting_facts(older, {})));
  older.nice = -1;  // raises it
  EXPECT_LT(score(*order, newer, context({})), score(*order, older, context({})));
  double sum = 0;
  for (const ScorePart& part : order->parts(waiting_facts(older, {}), context({}))) sum += part.product();
  EXPECT_DOUBLE_EQ(sum, score(*order, older, context({})));
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
  for (const ScorePart& part : order->parts(waiting_facts(job, {}), c)) {
    sum += part.product();
    products[part.name] = part.product();
  }
  EXPECT_DOUBLE_EQ(sum, score(*order, job, c));
  EXPECT_DOUBLE_EQ(products["age"], 25);                            // one hour of two
  EXPECT_DOUBLE_EQ(products["fair_share"], 100 * std::exp2(-1.5));  // three quarters of the use, half is even
  EXPECT_DOUBLE_EQ(products["size"], 10);                           // 10 of 100 GPUs, default weight 100
  EXPECT_DOUBLE_EQ(products["nice"], -3);
}

TEST(Order, UsersRankApartOnlyWhereTheirUseMatters) {
  EXPECT_TRUE((*make_order("multifactor"))->needs().users);
  EXPECT_FALSE((*make_order("multifactor", {{"fair_share", 0}}))->needs().users);
  EXPECT_FALSE((*make_order("fifo"))->needs().users);
}

}  // namespace
}  // namespace gw::sched
