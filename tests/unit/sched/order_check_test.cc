// The checker of orders: those that come with the scheduler pass, and each thing that an order must not do is found.
#include "sched/queue/order_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace gw::sched {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(OrderCheck, TheSchedulersOwnPass) {
  for (const std::string& name : order_names()) EXPECT_THAT(check_order(**make_order(name)), IsEmpty()) << name;
  const auto las2d = *make_order("las2d", {{"queue_1", 1}, {"queue_2", 10}, {"queue_3", 100}, {"promote", 3}});
  const auto gittins = *make_order("gittins", {{"queue_1", 1}, {"queue_2", 10}, {"promote", 3}});
  EXPECT_THAT(check_order(*gittins), IsEmpty());
  EXPECT_THAT(check_order(*las2d), IsEmpty());
  const auto priority = *make_order("priority", {{"preemption", 0}});
  EXPECT_THAT(check_order(*priority), IsEmpty());
}

TEST(OrderCheck, AFactorThatIsFullSoonIsNoFault) {
  EXPECT_THAT(check_order(**make_order("multifactor", {{"max_age_hours", 2}})), IsEmpty());
}

/// By submission, and does nothing wrong; the tests below spoil one thing each.
class Plain : public Order {
 public:
  std::string_view name() const override { return "plain"; }
  double score(const JobFacts& facts, const OrderContext&) const override { return -key(facts); }
  double key(const JobFacts& facts) const override { return static_cast<double>(facts.job.submitted.us); }
};

TEST(OrderCheck, ABoringOrderPasses) { EXPECT_THAT(check_order(Plain()), IsEmpty()); }

TEST(OrderCheck, NumbersThatAreNone) {
  struct Divides final : Plain {
    double score(const JobFacts& facts, const OrderContext&) const override {
      return 1 / static_cast<double>(facts.attained.us);
    }
    double key(const JobFacts& facts) const override { return facts.asked > 32 ? NAN : 0; }
  };
  EXPECT_THAT(check_order(Divides()),
              ::testing::IsSupersetOf({::testing::Matcher<std::string>(StartsWith("key() is no")),
                                       ::testing::Matcher<std::string>(StartsWith("score() is no"))}));
}

TEST(OrderCheck, AScoreWithAMindOfItsOwn) {
  struct Counts final : Plain {
    mutable int calls = 0;
    double score(const JobFacts& facts, const OrderContext&) const override { return ++calls - 1e30 * key(facts); }
    double key(const JobFacts&) const override { return 0; }
  };
  EXPECT_THAT(check_order(Counts()), ::testing::Contains(StartsWith("score() differs for the same job and time: ")));
}

TEST(OrderCheck, PartsThatDoNotAddUp) {
  struct Forgets final : Plain {
    std::vector<ScorePart> parts(const JobFacts&, const OrderContext&) const override { return {{"age", 1, 2}}; }
  };
  EXPECT_THAT(check_order(Forgets()), ElementsAre(StartsWith("parts() do not add up to the score: 2 and -")));
}

TEST(OrderCheck, AChangeThatIsNotToCome) {
  struct Restless final : Plain {
    Time next_change(const JobFacts& facts) const override { return facts.now; }
  };
  EXPECT_THAT(check_order(Restless()), ElementsAre(StartsWith("next_change() is not to come: ")));
}

TEST(OrderCheck, AKeyThatSaysOtherwiseThanTheScore) {
  struct Turned final : Plain {
    double score(const JobFacts& facts, const OrderContext&) const override { return key(facts); }
  };
  EXPECT_THAT(check_order(Turned()), ElementsAre(StartsWith("key() and score() disagree about two jobs of a class: ")));
}

TEST(OrderCheck, ARankThatSlides) {
  struct Ages final : Plain {  // by how many times as long it has waited as it asks for
    double key(const JobFacts& facts) const override {
      return -static_cast<double>((facts.now - facts.job.eligible).us) / (1 + static_cast<double>(facts.attained.us));
    }
  };
  EXPECT_THAT(check_order(Ages()), ElementsAre(StartsWith("key() changes before next_change(): ")));
}

struct Takes : Plain {
  bool is_preemptive() const override { return true; }
};

TEST(OrderCheck, AVictimThatIsServedFirstAgain) {
  struct Unjust final : Takes {
    Yields yields(const JobFacts&, const JobFacts&) const override { return Yields::kAtQuantum; }
  };
  EXPECT_THAT(check_order(Unjust()), ElementsAre(StartsWith("who yields is served before whom it yields to: ")));
}

TEST(OrderCheck, TwoThatTakeTurnsAtOnce) {
  struct Endless final : Takes {
    double key(const JobFacts&) const override { return 0; }
    Yields yields(const JobFacts&, const JobFacts&) const override { return Yields::kNow; }
  };
  EXPECT_THAT(check_order(Endless()), ElementsAre(StartsWith("who yields gets its place back at once: ")));
}

TEST(OrderCheck, ARightThatComesUnannounced) {
  struct Sudden final : Takes {
    double key(const JobFacts& facts) const override { return static_cast<double>(facts.attained.us > 0); }
    Yields yields(const JobFacts& running, const JobFacts& waiting) const override {
      return running.attained > base::hours(100) && waiting.attained.us == 0 ? Yields::kAtQuantum : Yields::kNo;
    }
  };
  EXPECT_THAT(check_order(Sudden()), ElementsAre(StartsWith("yields() changes before next_change(): ")));
}

}  // namespace
}  // namespace gw::sched
