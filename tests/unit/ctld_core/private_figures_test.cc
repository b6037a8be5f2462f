// What a history says of preemptions where others' jobs or their use are private.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/qos.h"
#include "world.h"

namespace gw::ctld {
namespace {

using namespace testing;
using ::testing::HasSubstr;

/// What a user is told of the history of a job, by which another one was preempted.
std::string figures_told(uint32_t uid, const model::PrivateData& hidden) {
  Settings settings;
  settings.private_data = hidden;
  World w(1, settings);
  w.connect_all();
  const JobId mine = w.submit(1000, gang(1)), others = w.submit(1001, gang(1));
  wire::ApiReply reply;
  wire::ShowJobReply& shown = *reply.mutable_show_job();
  wire::ApiRequest request;
  request.mutable_show_job()->set_id(mine.value);
  *shown.mutable_job() = w.ask(0, request).show_job().job();
  wire::HistoryEvent& event = *shown.add_history();
  event.set_kind(std::string(model::kByQuotas));
  event.set_text("preempted for job " + others.text() + ": it asked for 8 gpu; QOS a held 0 gpu");
  w.core->privacy().keep(World::user(uid), reply);
  return reply.show_job().history(0).text();
}

TEST(PrivateFigures, WhatOthersAskForIsToldToNobodyWhoMayNotSeeTheirJobs) {
  constexpr const char* kHidden = "the figures are private";
  EXPECT_EQ(figures_told(1000, {.jobs = true}), kHidden);
  EXPECT_EQ(figures_told(1000, {.usage = true}), kHidden);
  EXPECT_EQ(figures_told(1000, {.users = true}), kHidden);
  EXPECT_THAT(figures_told(1000, {}), HasSubstr("8 gpu"));
  EXPECT_THAT(figures_told(1000, {.nodes = true}), HasSubstr("8 gpu"));
  EXPECT_THAT(figures_told(0, {.jobs = true, .usage = true}), HasSubstr("8 gpu"));
}

}  // namespace
}  // namespace gw::ctld
