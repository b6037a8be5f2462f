// Rate models: how fast a job gets on by its size, and beside others on a GPU.
#include "sched/policy/rate_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace gw::sched {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

double rate(std::string_view model, const RateFacts& job, const std::vector<RateFacts>& beside = {}) {
  return rate_of(**make_rate_model(model), job, beside);
}

RateFacts of_size(uint32_t tasks, uint32_t full, uint32_t scaling = 100) { return {tasks, full, scaling}; }
RateFacts with_stages(double storage, double cpu, double gpu, double network) {
  return {1, 1, 100, {storage, cpu, gpu, network}};
}

TEST(RateModels, AreThese) {
  EXPECT_THAT(rate_model_names(), ElementsAre("alike", "interleave", "scaling"));
  EXPECT_THAT(make_rate_model("scalling").error().text(), HasSubstr("did you mean \"scaling\"?"));
  EXPECT_THAT(make_rate_model("alike", {{"x", 1}}).error().text(), HasSubstr("no weights, but got x"));
  for (const std::string& name : rate_model_names()) {
    EXPECT_EQ((*make_rate_model(name))->name(), name);
    EXPECT_DOUBLE_EQ(rate(name, of_size(8, 8)), 1) << name;
    EXPECT_DOUBLE_EQ(rate(name, with_stages(2, 1, 6, 1)), 1) << name;
  }
}

TEST(RateModels, OfSizeIsByHowAGangScales) {
  EXPECT_DOUBLE_EQ(rate("scaling", of_size(2, 8)), 0.25);
  EXPECT_DOUBLE_EQ(rate("scaling", of_size(2, 8, 50)), 0.5);
  EXPECT_DOUBLE_EQ(rate("scaling", of_size(2, 8, 0)), 1);
  EXPECT_DOUBLE_EQ(rate("interleave", of_size(2, 8)), 0.25);
  EXPECT_DOUBLE_EQ(rate("alike", of_size(2, 8)), 1);
}

/// Two whose stages fit into each other lose nothing; two that compute all the time take turns.
TEST(RateModels, InterleavedStagesHideBehindEachOther) {
  const RateFacts reads = with_stages(5, 0, 5, 0), computes = with_stages(0, 0, 10, 0);
  EXPECT_DOUBLE_EQ(rate("interleave", reads, {reads}), 1) << "one reads while the other computes";
  EXPECT_DOUBLE_EQ(rate("interleave", computes, {computes}), 0.5);
  EXPECT_DOUBLE_EQ(rate("interleave", reads, {computes}), 10.0 / 15) << "the better of the two ways round";
  EXPECT_DOUBLE_EQ(rate("interleave", computes, {reads}), 10.0 / 15);
  EXPECT_DOUBLE_EQ(rate("interleave", with_stages(1, 1, 1, 1),
                        {with_stages(1, 1, 1, 1), with_stages(1, 1, 1, 1), with_stages(1, 1, 1, 1)}),
                   1);
  EXPECT_DOUBLE_EQ(rate("interleave", computes, {of_size(1, 1)}), 1) << "of whom nothing is known";
  EXPECT_DOUBLE_EQ(rate("interleave", computes, {computes, computes, computes, computes}), 0.2);
}

class Wild final : public RateModel {
 public:
  explicit Wild(double rate) : rate_(rate) {}
  std::string_view name() const override { return "wild"; }
  double rate(const RateFacts&, const std::vector<RateFacts>&) const override { return rate_; }

 private:
  double rate_;
};

TEST(RateModels, WhatIsNoRateIsKeptToOne) {
  EXPECT_EQ(rate_of(Wild(std::nan("")), {}, {}), 1);
  EXPECT_EQ(rate_of(Wild(HUGE_VAL), {}, {}), 1);
  EXPECT_EQ(rate_of(Wild(-3), {}, {}), 1e-3);
  EXPECT_EQ(rate_of(Wild(1e9), {}, {}), 1e3);
}

}  // namespace
}  // namespace gw::sched
