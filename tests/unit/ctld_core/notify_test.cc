// A line for the people of a job reaches whoever reads what it says, and nobody else.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/unit/ctld_core/step_world.h"

namespace gw::ctld {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

wire::ApiRequest notice(JobId id, const std::string& text = "mind the gap") {
  wire::ApiRequest r;
  r.mutable_notify_job()->set_id(id.value);
  r.mutable_notify_job()->set_text(text);
  return r;
}

/// The lines that a node got, as "STEP+1 TEXT".
std::vector<std::string> lines_at(StepWorld& w, const std::string& node) {
  std::vector<std::string> lines;
  for (const auto& m : w.to_node[w.links.at(node)])
    if (m.has_notice()) lines.push_back(std::to_string(m.notice().step()) + " " + m.notice().text());
  return lines;
}

wire::ApiRequest wait(JobId id, bool notices, bool until_started = false) {
  wire::ApiRequest r;
  r.mutable_wait_job()->set_id(id.value);
  r.mutable_wait_job()->set_notices(notices);
  r.mutable_wait_job()->set_until_started(until_started);
  return r;
}

TEST(Notify, AScriptAndEachStepGetItOnce) {
  StepWorld w(2, model::JobKind::kBatch);
  w.run();
  w.begin('a', 2, 2);
  EXPECT_TRUE(w.ask(kAlice, notice(w.id)).has_ok());
  EXPECT_THAT(lines_at(w, "n0"), ElementsAre("0 mind the gap", "1 mind the gap"));
  EXPECT_THAT(lines_at(w, "n1"), ElementsAre()) << "a step has one client, however many nodes it has";
}

TEST(Notify, WhoWaitsGetsItIfItSaysSoAndWaitsOn) {
  StepWorld w(1);
  w.run();
  const ConnId takes = ++w.last_conn, silent = ++w.last_conn;
  w.ask_on(takes, kAlice, wait(w.id, true));
  w.ask_on(silent, kAlice, wait(w.id, false));
  EXPECT_TRUE(w.ask(0, notice(w.id)).has_ok());
  ASSERT_EQ(w.replies[takes].size(), 1U);
  EXPECT_EQ(w.replies[takes][0].wait_job().notice(), "mind the gap");
  EXPECT_EQ(w.replies[takes][0].wait_job().job().id(), w.id.value);
  EXPECT_EQ(w.replies[silent].size(), 0U);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(w.ask(0, notice(w.id, std::to_string(i))).has_ok()) << "it will wait again";
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(w.ask_on(takes, kAlice, wait(w.id, true)).wait_job().notice(), std::to_string(i));
  EXPECT_FALSE(w.ask_on(takes, kAlice, wait(w.id, true)).has_wait_job()) << "it waits";
  EXPECT_EQ(w.replies[takes].size(), 9U);
  w.cancel(kAlice, w.id);
  w.done("n0", w.id);
  EXPECT_EQ(w.replies[silent].size(), 1U);
  EXPECT_EQ(w.replies[silent].back().wait_job().notice(), "");
  EXPECT_EQ(w.replies[takes].back().wait_job().notice(), "");
}

TEST(Notify, OneThatIsInLineHasAReaderInItsClientAlone) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  EXPECT_THAT(w.ask(1000, notice(id)).error().what(), HasSubstr("which is PENDING"));
  const ConnId conn = w.last_conn + 1;
  w.ask(1000, wait(id, true, true));
  EXPECT_TRUE(w.ask(1000, notice(id)).has_ok());
  ASSERT_EQ(w.replies[conn].size(), 1U);
  EXPECT_EQ(w.replies[conn][0].wait_job().notice(), "mind the gap");
}

TEST(Notify, WhatIsKeptForAClientCountsAsItsWaits) {
  World w(1);
  w.connect_all();
  const ConnId conn = w.last_conn + 1000;
  const auto ask = [&w, conn](const wire::ApiRequest& request) {
    const size_t before = w.replies[conn].size();
    w.core->on_request(w.now, conn, World::user(1000), request);
    w.pump();
    return w.replies[conn].size() == before ? wire::ApiReply() : w.replies[conn].back();
  };
  for (int i = 0; i < 100; ++i) {
    const JobId id = w.submit(1000, gang(1));
    EXPECT_FALSE(ask(wait(id, true)).has_error());
    EXPECT_TRUE(w.ask(1000, notice(id)).has_ok());
  }
  EXPECT_THAT(ask(wait(w.submit(1000, gang(1)), true)).error().what(), HasSubstr("waits for 100 jobs"));
}

TEST(Notify, AClientThatHasGoneIsNotKept) {
  StepWorld w(1);
  w.run();
  const ConnId conn = ++w.last_conn;
  w.ask_on(conn, kAlice, wait(w.id, true));
  EXPECT_TRUE(w.ask(kAlice, notice(w.id)).has_ok());
  w.core->on_client_gone(w.now, conn);
  EXPECT_THAT(w.ask(kAlice, notice(w.id)).error().what(), HasSubstr("nobody would read"));
}

TEST(Notify, ANodeThatIsAwayHearsNothing) {
  StepWorld w(1, model::JobKind::kBatch);
  w.run();
  w.cut("n0");
  EXPECT_THAT(w.ask(kAlice, notice(w.id)).error().what(), HasSubstr("nobody would read"));
}

TEST(Notify, IsForOnesOwnJobsAndSaysSomething) {
  StepWorld w(1, model::JobKind::kBatch);
  w.run();
  EXPECT_THAT(w.ask(1002, notice(w.id)).error().what(), HasSubstr("access denied"));
  EXPECT_THAT(w.ask(kAlice, notice(w.id, "")).error().what(), HasSubstr("empty"));
  EXPECT_THAT(w.ask(kAlice, notice(JobId(999))).error().what(), HasSubstr("999"));
  EXPECT_THAT(w.ask(kAlice, notice(w.id, std::string(1001, 'x'))).error().what(), HasSubstr("message to a job"));
  EXPECT_THAT(lines_at(w, "n0"), ElementsAre());
  EXPECT_TRUE(w.ask(kAlice, notice(w.id, std::string(1000, 'x'))).has_ok());
}

TEST(NodeLoad, IsWhatTheNodeSaidLastWhileItIsThere) {
  World w(2);
  w.connect_all();
  const auto node = [&w](int i) {
    return w
        .ask(1000,
             [] {
               wire::ApiRequest r;
               r.mutable_list_nodes();
               return r;
             }())
        .list_nodes()
        .nodes(i);
  };
  EXPECT_FALSE(node(0).has_load_centi());
  wire::NodeToController beat;
  beat.mutable_heartbeat()->set_load_centi(253);
  beat.mutable_heartbeat()->set_free_mem_mb(1024);
  w.say("n0", beat);
  EXPECT_EQ(node(0).load_centi(), 253U);
  EXPECT_EQ(node(0).free_mem_mb(), 1024U);
  EXPECT_FALSE(node(1).has_free_mem_mb());
  w.cut("n0");
  EXPECT_FALSE(node(0).has_load_centi());
  w.connect_all();
  EXPECT_FALSE(node(0).has_load_centi()) << "that was before";
}

}  // namespace
}  // namespace gw::ctld
