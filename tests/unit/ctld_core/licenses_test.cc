// Licences at the controller: what may be asked for, what changes, what is shown of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ctld_core/world.h"

namespace gw::ctld::testing {
namespace {

using model::JobState;
using ::testing::HasSubstr;

Settings with_licenses() {
  Settings settings;
  settings.policy.licenses = {{"ansys", 1}, {"matlab", 4}};
  return settings;
}

struct Office : World {
  Office() : World(2, with_licenses()) { connect_all(); }
  wire::ApiReply enter(const std::string& licenses) {
    wire::ApiRequest r = submission(gang(1));
    r.mutable_submit()->mutable_spec()->set_licenses(licenses);
    return ask(kAlice, r);
  }
  JobId entered(const std::string& licenses) {
    const wire::ApiReply reply = enter(licenses);
    EXPECT_FALSE(reply.has_error()) << reply.error().what();
    return JobId(reply.submit().job_id());
  }
  wire::ApiReply update(JobId id, const std::string& licenses) {
    wire::ApiRequest r;
    r.mutable_update_job()->add_ids(id.value);
    r.mutable_update_job()->set_licenses(licenses);
    return ask(kAlice, r);
  }
  /// "ansys:0/1,matlab:3/4"
  std::string shown() {
    wire::ApiRequest r;
    r.mutable_show_config();
    const wire::ApiReply reply = ask(kAlice, r);
    std::string out;
    for (const wire::LicenseUse& one : reply.show_config().licenses())
      out +=
          (out.empty() ? "" : ",") + one.name() + ":" + std::to_string(one.used()) + "/" + std::to_string(one.total());
    return out;
  }
};

TEST(Licenses, WhatTheClusterHasNotIsRefused) {
  Office w;
  const std::pair<const char*, const char*> kCases[] = {{"matlap", "the cluster has no licence \"matlap\""},
                                                        {"matlab:5", "5 of matlab asked; the cluster has 4"},
                                                        {"matlab:3,matlab:2", "5 of matlab asked; the cluster has 4"},
                                                        {"matlab:x", "--licenses: matlab"},
                                                        {"matlab|ansys", "is not NAME[:COUNT]"},
                                                        {"matlab:1000001", "--licenses: matlab"},
                                                        {",", "is not NAME[:COUNT]"}};
  for (const auto& [asked, why] : kCases) {
    const wire::ApiReply reply = w.enter(asked);
    ASSERT_TRUE(reply.has_error()) << asked;
    EXPECT_THAT(reply.error().what(), HasSubstr(why));
    EXPECT_EQ(reply.error().sentence(), "Invalid license specification") << asked;
  }
  EXPECT_THAT(w.enter("matlap").error().hint(), HasSubstr("matlab"));
  EXPECT_EQ(w.job(w.entered("matlab=2;ansys:0,matlab")).spec.licenses, "matlab:3");
}

TEST(Licenses, OfAllComponentsTogetherMustBeThere) {
  Office w;
  for (const auto& [second, is_refused] : {std::pair("matlab:1,ansys", false), std::pair("matlab:2", true)}) {
    wire::ApiRequest r = World::submission(gang(1));
    wire::JobSpec& leader = *r.mutable_submit()->mutable_spec();
    leader.set_licenses("matlab:3");
    wire::JobSpec& component = *r.mutable_submit()->add_components();
    component = leader;
    component.set_licenses(second);
    const wire::ApiReply reply = w.ask(kAlice, r);
    EXPECT_EQ(reply.has_error(), is_refused) << reply.error().what();
    if (is_refused) EXPECT_THAT(reply.error().what(), HasSubstr("5 of matlab asked"));
  }
  w.schedule();
  EXPECT_EQ(w.shown(), "ansys:1/1,matlab:4/4");
}

TEST(Licenses, ThatNobodyCountsAreLeftOutWithAWarning) {
  World w(1);
  w.connect_all();
  wire::ApiRequest r = World::submission(gang(1));
  r.mutable_submit()->mutable_spec()->set_licenses("matlab:2");
  const wire::ApiReply reply = w.ask(kAlice, r);
  ASSERT_FALSE(reply.has_error()) << reply.error().what();
  ASSERT_EQ(reply.submit().warnings_size(), 1);
  EXPECT_THAT(reply.submit().warnings(0), HasSubstr("left out: --licenses"));
  EXPECT_EQ(w.job(JobId(reply.submit().job_id())).spec.licenses, "");
}

TEST(Licenses, AreHeldWhileAJobRunsAndShown) {
  Office w;
  const JobId first = w.entered("matlab:3"), second = w.entered("matlab:2,ansys");
  EXPECT_EQ(w.shown(), "ansys:0/1,matlab:0/4");
  w.schedule();
  EXPECT_EQ(w.job(first).state, JobState::kConfiguring);
  EXPECT_EQ(w.job(second).state, JobState::kPending);
  EXPECT_EQ(w.shown(), "ansys:0/1,matlab:3/4");
  w.started("n0", first);
  w.exited("n0", first, 0);
  w.done("n0", first);
  w.schedule();
  EXPECT_EQ(w.job(second).state, JobState::kConfiguring);
  EXPECT_EQ(w.shown(), "ansys:1/1,matlab:2/4");
  w.restart();
  EXPECT_EQ(w.shown(), "ansys:1/1,matlab:2/4");
}

TEST(Licenses, ThatAreGoneKeepNothingElseFromChanging) {
  Office w;
  wire::ApiRequest held = World::submission(gang(1));
  held.mutable_submit()->mutable_spec()->set_licenses("matlab:4");
  held.mutable_submit()->mutable_spec()->set_hold_user(true);
  const JobId id(w.ask(kAlice, held).submit().job_id());
  Settings fewer = w.settings;
  fewer.policy.licenses = {};
  w.core->on_reconfigured(w.now, fewer, {}, {}, {});
  w.pump();
  wire::ApiRequest r;
  r.mutable_update_job()->add_ids(id.value);
  r.mutable_update_job()->set_min_nodes(2);
  EXPECT_EQ(w.ask(kAlice, r).jobs().faults_size(), 0);
  EXPECT_EQ(w.job(id).spec.request.min_nodes, 2u);
  EXPECT_THAT(w.update(id, "matlab:3").jobs().faults(0).error().what(), HasSubstr("no licence \"matlab\""));
}

TEST(Licenses, OfAllComponentsTogetherChange) {
  Office w;
  wire::ApiRequest r = World::submission(gang(1));
  wire::JobSpec& leader = *r.mutable_submit()->mutable_spec();
  leader.set_licenses("matlab:3");
  leader.set_hold_user(true);
  *r.mutable_submit()->add_components() = leader;
  r.mutable_submit()->mutable_components(0)->set_licenses("matlab:1");
  const JobId id(w.ask(kAlice, r).submit().job_id());
  EXPECT_THAT(w.update(id, "matlab:4").jobs().faults(0).error().what(), HasSubstr("5 of matlab asked"));
  EXPECT_EQ(w.update(id, "matlab:2").jobs().faults_size(), 0);
}

TEST(Licenses, ChangeOnlyWhileTheJobWaits) {
  Office w;
  const JobId first = w.entered("matlab:4"), second = w.entered("matlab:1");
  w.schedule();
  EXPECT_THAT(w.update(first, "").jobs().faults(0).error().what(), HasSubstr("is not pending"));
  EXPECT_THAT(w.update(second, "matlab:9").jobs().faults(0).error().what(), HasSubstr("the cluster has 4"));
  EXPECT_EQ(w.job(second).state, JobState::kPending);
  EXPECT_EQ(w.update(second, "").jobs().faults_size(), 0);
  w.schedule();
  EXPECT_EQ(w.job(second).state, JobState::kConfiguring);
}

}  // namespace
}  // namespace gw::ctld::testing
