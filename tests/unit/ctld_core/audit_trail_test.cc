// The audit: what administrators and operators do to what is not their own, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ctld/core/shared/sight.h"
#include "tests/unit/ctld_core/world.h"

namespace gw::ctld {
namespace {

using testing::gang;
using testing::kAlice;
using testing::World;

struct Watched : World {
  Watched() : World(3) {
    on_effects = [this](const Effects& effects) {
      for (const Outgoing& out : effects.out)
        if (const auto* line = std::get_if<Audited>(&out)) lines.push_back(line->text);
    };
    connect_all();
    store.audit.clear();
  }
  std::vector<std::string> lines;
};

TEST(AuditTrail, OneRequestToManyIsOneLine) {
  Watched w;
  std::vector<JobId> jobs;
  for (int i = 0; i < 30; ++i) jobs.push_back(w.submit(kAlice, gang(1)));
  wire::ApiRequest r;
  for (const JobId id : jobs) r.mutable_cancel()->mutable_filter()->add_ids(id.value);
  w.ask(0, r);
  ASSERT_EQ(w.store.audit.size(), 1U);
  const store::Audit& line = w.store.audit.front();
  EXPECT_EQ(line.kind, "cancelled");
  EXPECT_EQ(line.uid, 0U);
  EXPECT_TRUE(line.object.starts_with("job 1 of user1001, job 2 of user1001, ")) << line.object;
  EXPECT_TRUE(line.object.ends_with(" and 10 more")) << line.object;
  ASSERT_EQ(w.lines.size(), 1U);
  EXPECT_TRUE(w.lines[0].starts_with("audit=cancelled uid=0 object=\"job 1 of user1001, ")) << w.lines[0];
}

TEST(AuditTrail, WhatOneDoesToOnesOwnIsNotInIt) {
  Watched w;
  const JobId id = w.submit(kAlice, gang(1));
  w.cancel(kAlice, id);
  w.cancel(1002, w.submit(1002, gang(1)));
  EXPECT_TRUE(w.store.audit.empty());
}

TEST(AuditTrail, RefusalsAreInItUpToABound) {
  Watched w;
  const JobId id = w.submit(kAlice, gang(1));
  for (int i = 0; i < 500; ++i) w.cancel(1002, id);
  EXPECT_EQ(w.store.audit.size(), 201U) << "whoever tries on and on fills no disk";
  EXPECT_TRUE(w.store.audit.back().text.ends_with("; what else is refused is not written down for now"));
  EXPECT_TRUE(w.store.audit.front().is_refusal);
  EXPECT_EQ(w.store.audit.front().text, "access denied to job 1: it belongs to user1001");
  wire::ApiRequest r;
  r.mutable_update_node()->add_names("n0");
  w.ask(1003, r);
  EXPECT_EQ(w.store.audit.size(), 202U) << "somebody else's are in it all the same";
  w.now = w.now + base::hours(1);
  for (int i = 0; i < 100; ++i) w.cancel(1002, id);
  EXPECT_EQ(w.store.audit.size(), 302U) << "an hour later they are written down again";
}

TEST(AuditTrail, EveryDeedToSomebodyElsesJobIsInIt) {
  Watched w;
  const auto act = [&](JobId id, wire::JobAction action) {
    wire::ApiRequest r;
    r.mutable_job_action()->add_ids(id.value);
    r.mutable_job_action()->set_action(action);
    w.ask(0, r);
  };
  const JobId id = w.submit(kAlice, gang(1)), held = w.submit(kAlice, gang(1));
  w.schedule();
  w.prepared("n0", id);
  w.started("n0", id);
  act(id, wire::kSuspend);
  act(id, wire::kResume);
  act(id, wire::kRequeue);
  act(held, wire::kRequeueHold);
  act(held, wire::kHold);
  act(held, wire::kRelease);
  wire::ApiRequest all;
  all.mutable_take_snapshot();
  w.ask(0, all);
  all.mutable_backup()->set_path("/x/y");
  w.ask(0, all);
  std::vector<std::string> kinds;
  for (const store::Audit& line : w.store.audit) kinds.push_back(line.kind);
  EXPECT_THAT(kinds, ::testing::IsSupersetOf({"suspended", "resumed", "requeued", "take_snapshot", "backup"}));
  EXPECT_EQ(w.store.audit.back().text, "to /x/y");
}

TEST(AuditTrail, ManyChangesOfOneRequestAreOneLine) {
  Watched w;
  wire::ApiRequest tree;
  for (int i = 0; i < 100; ++i) {
    wire::QuotaChange& change = *tree.mutable_change_quotas()->add_changes();
    change.set_what(wire::QuotaChange::kAdd);
    change.set_name("q" + std::to_string(i));
  }
  ASSERT_FALSE(w.ask(0, tree).has_error());
  ASSERT_EQ(w.store.audit.size(), 1U);
  EXPECT_TRUE(w.store.audit[0].text.ends_with(" and 80 more")) << w.store.audit[0].text;
}

/// The answer says that there is no such job; the audit knows better.
TEST(AuditTrail, TriesOnHiddenJobsAreRefusals) {
  Watched w;
  const JobId id = w.submit(kAlice, gang(1));
  w.settings.private_data = {.jobs = true};
  w.restart();
  w.store.audit.clear();
  w.cancel(1002, id);
  w.cancel(1002, JobId(999));
  ASSERT_EQ(w.store.audit.size(), 1U);
  EXPECT_TRUE(w.store.audit[0].is_refusal);
  EXPECT_EQ(w.store.audit[0].text, "job 1 is somebody else's");
}

TEST(AuditTrail, WhatWasChangedOfAJobIsSaid) {
  Watched w;
  const JobId id = w.submit(kAlice, gang(1));
  wire::ApiRequest r;
  r.mutable_update_job()->add_ids(id.value);
  r.mutable_update_job()->set_time_limit_us(base::minutes(7).us);
  r.mutable_update_job()->set_priority(5);
  r.mutable_update_job()->set_comment("hush");
  w.ask(0, r);
  ASSERT_EQ(w.store.audit.size(), 1U);
  const std::string& text = w.store.audit.front().text;
  EXPECT_NE(text.find("-> 00:07:00"), std::string::npos) << text;
  EXPECT_NE(text.find("Priority 0 -> 5"), std::string::npos) << text;
  EXPECT_NE(text.find("Comment"), std::string::npos) << text;
  EXPECT_EQ(text.find("hush"), std::string::npos) << text;
}

TEST(Sight, TextsLoseNumbersAndNamesOfOthers) {
  World w(1);
  const JobId own = w.submit(kAlice, gang(1)), other = w.submit(1002, gang(1));
  w.settings.private_data = {.jobs = true, .users = true};
  w.restart();
  const auto text = [&](uint32_t uid, const std::string& said) {
    // A mail is a text that its owner gets: the words are made there as for answers.
    wire::ApiReply reply;
    wire::ShowJobReply& show = *reply.mutable_show_job();
    show.mutable_job()->mutable_spec()->set_uid(uid);
    wire::HistoryEvent& event = *show.add_history();
    event.set_text(said);
    event.set_uid(0);
    w.core->privacy().keep(World::user(uid), reply);
    return reply.show_job().history(0).text();
  };
  const std::string mine = own.text(), theirs = other.text();
  EXPECT_EQ(text(kAlice, "preempted for job " + theirs + " (rule 5 of the quotas)"),
            "preempted for a job of somebody else (rule 5 of the quotas)");
  EXPECT_EQ(text(kAlice, "job " + mine + " for job " + theirs), "job " + mine + " for a job of somebody else");
  EXPECT_EQ(text(kAlice, "job 999 is gone"), "a job of somebody else is gone") << "nobody knows whose it was";
  EXPECT_EQ(text(kAlice, "by root: disk"), "by somebody else: disk");
  EXPECT_EQ(text(kAlice, "by user1001, without grace"), "by user1001, without grace");
  EXPECT_EQ(text(kAlice, "nearby things, job of mine, job "), "nearby things, job of mine, job ");
  EXPECT_EQ(text(0, "by root for job " + theirs), "by root for job " + theirs) << "an administrator sees all";
}

/// `group`: operator of everything; alice of `a` and what is below it.
TEST(Sight, OperatorsSeeTheJobsOfTheirQos) {
  World w(2);
  w.settings.private_data = {.jobs = true};
  w.restart();
  w.connect_all();
  wire::ApiRequest tree;
  const auto add = [&](const std::string& name, const std::string& parent, const std::string& operator_name) {
    wire::QuotaChange& change = *tree.mutable_change_quotas()->add_changes();
    change.set_what(wire::QuotaChange::kAdd);
    change.set_name(name);
    change.mutable_qos()->set_parent(parent);
    if (!operator_name.empty()) change.mutable_qos()->mutable_operators()->add_add(operator_name);
  };
  add("a", "", "user1001");
  add("a1", "a", "");
  add("b", "", "");
  ASSERT_FALSE(w.ask(0, tree).has_error());
  std::map<std::string, JobId> jobs;
  for (const char* qos : {"a", "a1", "b"}) {
    wire::ApiRequest r = World::submission(gang(1));
    r.mutable_submit()->mutable_spec()->set_qos(qos);
    jobs[qos] = JobId(w.ask(1002, r).submit().job_id());
  }
  w.submit(1002, gang(1));
  const auto seen_by = [&w](uint32_t uid) {
    wire::ApiRequest r;
    r.mutable_list_jobs();
    const wire::ApiReply reply = w.ask(uid, r);
    uint32_t hidden = 0;
    for (const uint32_t count : reply.list_jobs().hidden()) hidden += count;
    return std::pair(reply.list_jobs().jobs_size(), hidden);
  };
  EXPECT_EQ(seen_by(kAlice), std::pair(2, 2U));
  EXPECT_EQ(seen_by(1002), std::pair(4, 0U));
  EXPECT_EQ(seen_by(1003), std::pair(0, 4U));
  wire::ApiRequest root;
  wire::QuotaChange& change = *root.mutable_change_quotas()->add_changes();
  change.set_what(wire::QuotaChange::kModify);
  change.set_name(std::string(model::kRootQos));
  change.mutable_qos()->mutable_operators()->add_add("user1003");
  ASSERT_FALSE(w.ask(0, root).has_error());
  EXPECT_EQ(seen_by(1003), std::pair(4, 0U)) << "also those at the QOS that is in no tree";
  EXPECT_TRUE(w.cancel(kAlice, jobs["b"]).cancel().faults(0).error().what().find("user") == std::string::npos);
  EXPECT_EQ(w.cancel(kAlice, jobs["a1"]).cancel().done_size(), 1);
}

}  // namespace
}  // namespace gw::ctld
