// What is said of jobs that have ended, as long as they are in memory and after.
#include "ctld/core/api/amend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ctld_core/world.h"

namespace gw::ctld::testing {
namespace {

using model::JobState;
using ::testing::HasSubstr;

constexpr uint32_t kJobsOwner = 1000, kSomebodyElse = 1001;

wire::ApiRequest remark(JobId id, const std::string& comment, uint32_t code, uint32_t signo = 0) {
  wire::ApiRequest r;
  wire::AmendJobRequest& said = *r.mutable_amend_job();
  said.set_id(id.value);
  said.set_comment(comment);
  said.set_derived_code(code);
  said.set_derived_signo(signo);
  return r;
}

/// What the row of a job says: "comment, 3:0".
std::string said_of(World& w, JobId id) {
  const store::JobRow& row = w.store.ended.at(id);
  wire::JobSpec spec;
  wire::JobStatus status;
  EXPECT_TRUE(spec.ParseFromString(row.spec) && status.ParseFromString(row.status));
  return fmt::format("{}, {}:{}", spec.comment(), status.derived_code(), status.derived_signo());
}

JobId ended_job(World& w) {
  const JobId id = w.submit(kJobsOwner, gang(1));
  w.schedule();
  w.started("n0", id);
  w.exited("n0", id, 0);
  w.done("n0", id);
  EXPECT_EQ(w.state(id), JobState::kCompleted);
  return id;
}

/// As the shell does it; the answer.
wire::ApiReply fetch_for(World& w, uint32_t uid) {
  const FetchEnded fetch = w.fetched.back();
  w.core->on_ended_job(w.now, fetch.conn, World::user(uid), fetch.request, w.store.ended.at(fetch.job));
  w.pump();
  return w.replies[fetch.conn].back();
}

TEST(Amend, OfAJobInMemoryItsRowIsWrittenAnew) {
  World w(1);
  w.connect_all();
  const JobId waits = w.submit(kJobsOwner, gang(1, 8));
  EXPECT_THAT(w.ask(kJobsOwner, remark(waits, "x", 1)).error().what(), HasSubstr("has not ended"));
  w.cancel(kJobsOwner, waits);
  const JobId id = ended_job(w);
  EXPECT_THAT(w.ask(kSomebodyElse, remark(id, "x", 1)).error().what(), HasSubstr("belongs to"));
  EXPECT_EQ(said_of(w, id), ", 0:0");
  EXPECT_TRUE(w.ask(kJobsOwner, remark(id, "lost a disk", 3)).has_ok());
  EXPECT_EQ(said_of(w, id), "lost a disk, 3:0");
  w.restart();
  ASSERT_TRUE(w.restored);
  EXPECT_EQ(w.job(id).spec.comment, "lost a disk");
  EXPECT_EQ(w.job(id).derived_exit.code, 3);
  EXPECT_EQ(w.state(id), JobState::kCompleted) << "nothing else has changed";
}

TEST(Amend, OfAForgottenOneTheRowIsFetched) {
  World w(1);
  w.connect_all();
  const JobId id = ended_job(w);
  w.tick(w.settings.min_job_age + base::seconds(1));
  ASSERT_FALSE(w.core->jobs().contains(id));
  const store::JobRow before = w.store.ended.at(id);
  w.ask(kSomebodyElse, remark(id, "x", 1));
  ASSERT_EQ(w.fetched.size(), 1u);
  EXPECT_THAT(fetch_for(w, kSomebodyElse).error().what(), HasSubstr("belongs to"));
  EXPECT_EQ(said_of(w, id), ", 0:0");
  w.ask(kJobsOwner, remark(id, "killed by hand", 0, 9));
  EXPECT_TRUE(fetch_for(w, kJobsOwner).has_ok());
  EXPECT_EQ(said_of(w, id), "killed by hand, 0:9");
  wire::ApiRequest comment = remark(id, "by its administrator", 0);
  comment.mutable_amend_job()->clear_derived_code();
  w.ask(0, comment);
  EXPECT_TRUE(fetch_for(w, 0).has_ok());
  EXPECT_EQ(said_of(w, id), "by its administrator, 0:9") << "what is not said stays";
  const store::JobRow& after = w.store.ended.at(id);
  EXPECT_EQ(after.ended, before.ended);
  EXPECT_EQ(after.nodes, before.nodes);
  EXPECT_EQ(after.state, before.state);
}

TEST(Amend, WhatCannotBeWrittenIsRefused) {
  World w(1);
  w.connect_all();
  const JobId id = ended_job(w);
  w.tick(w.settings.min_job_age + base::seconds(1));
  w.ask(kJobsOwner, remark(id, "x", 1));
  w.core->on_store_state("disk full");
  EXPECT_THAT(fetch_for(w, kJobsOwner).error().what(), HasSubstr("cannot write its state"));
  w.core->on_store_state("");
  store::JobRow damaged = w.store.ended.at(id);
  damaged.spec = "\xff\xff";
  w.core->on_ended_job(w.now, w.fetched.back().conn, World::user(kJobsOwner), w.fetched.back().request, damaged);
  w.pump();
  EXPECT_THAT(w.replies[w.fetched.back().conn].back().error().what(), HasSubstr("is damaged"));
  EXPECT_EQ(said_of(w, id), ", 0:0");
}

TEST(Amend, WhatWasSaidIsTakenBack) {
  World w(1);
  w.connect_all();
  const JobId id = ended_job(w), other = ended_job(w);
  EXPECT_TRUE(w.ask(kJobsOwner, remark(other, "x", 5, 9)).has_ok());
  EXPECT_TRUE(w.ask(kJobsOwner, remark(other, "", 0)).has_ok());
  EXPECT_EQ(said_of(w, other), ", 0:0");
  w.tick(w.settings.min_job_age + base::seconds(1));
  for (const wire::ApiRequest& r : {remark(id, "x", 5, 9), remark(id, "", 0)}) {
    w.ask(kJobsOwner, r);
    EXPECT_TRUE(fetch_for(w, kJobsOwner).has_ok());
  }
  EXPECT_EQ(said_of(w, id), ", 0:0");
  // It is read again, as any row of an ended job is, where they are remembered for longer now.
  w.settings.min_job_age = base::hours(24);
  w.restart();
  ASSERT_TRUE(w.restored);
  EXPECT_EQ(w.job(id).spec.comment, "");
  EXPECT_TRUE(w.store.held.empty());
}

TEST(Amend, TwoAtOnceAreBothKept) {
  World w(1);
  w.connect_all();
  const JobId id = ended_job(w);
  w.tick(w.settings.min_job_age + base::seconds(1));
  wire::ApiRequest comment = remark(id, "mine", 0), code = remark(id, "", 5);
  comment.mutable_amend_job()->clear_derived_code();
  code.mutable_amend_job()->clear_comment();
  w.ask(kJobsOwner, comment);
  w.ask(kJobsOwner, code);
  const store::JobRow row = w.store.ended.at(id);  // which both have seen
  for (const FetchEnded& fetch : std::vector(w.fetched))
    w.core->on_ended_job(w.now, fetch.conn, World::user(kJobsOwner), fetch.request, row);
  w.pump();
  EXPECT_EQ(said_of(w, id), "mine, 5:0");
}

TEST(Amend, WhatIsOnlyAskedForChangesNothing) {
  World w(1);
  w.connect_all();
  const JobId id = ended_job(w);
  wire::ApiRequest ask = remark(id, "x", 1);
  ask.mutable_amend_job()->set_check_only(true);
  EXPECT_TRUE(w.ask(kJobsOwner, ask).has_ok());
  EXPECT_THAT(w.ask(kSomebodyElse, ask).error().what(), HasSubstr("belongs to"));
  w.tick(w.settings.min_job_age + base::seconds(1));
  w.ask(kJobsOwner, ask);
  EXPECT_TRUE(fetch_for(w, kJobsOwner).has_ok());
  EXPECT_EQ(said_of(w, id), ", 0:0");
}

}  // namespace
}  // namespace gw::ctld::testing
