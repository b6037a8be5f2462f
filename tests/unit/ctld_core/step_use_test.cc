// What running steps use: asked of their nodes, answered once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ctld_core/world.h"

namespace gw::ctld::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// An allocation on some nodes, with a step on all of them.
class UseWorld : public World {
 public:
  explicit UseWorld(uint32_t nodes, bool has_script = false) : World(nodes), owner(++last_conn) {
    connect_all();
    wire::ApiRequest request = submission(gang(nodes, 4));
    if (!has_script) {
      request.mutable_submit()->clear_script();
      request.mutable_submit()->mutable_spec()->set_kind(static_cast<uint32_t>(model::JobKind::kAllocation));
      request.mutable_submit()->mutable_spec()->set_attended(true);
      request.mutable_submit()->mutable_spec()->set_not_preemptible(true);
    }
    send(owner, kAlice, request);
    id = JobId(replies[owner].back().submit().job_id());
    schedule();
    for (const auto& share : job(id).placed()->allocation.shares) prepared(share.name, id);
  }
  void send(ConnId c, uint32_t uid, wire::ApiRequest request) {
    request.set_id(7);
    core->on_request(now, c, user(uid), request);
    pump();
  }
  void begin_step(uint32_t nodes) {
    wire::ApiRequest r;
    r.mutable_create_step()->set_job_id(id.value);
    r.mutable_create_step()->set_client_key(std::string(32, 'a'));
    r.mutable_create_step()->mutable_step()->set_tasks(nodes);
    send(++last_conn, kAlice, r);
    for (const auto& share : job(id).placed()->allocation.shares) {
      wire::NodeToController m;
      m.mutable_prepared()->set_job(id.value);
      m.mutable_prepared()->set_attempt(job(id).attempt);
      m.mutable_prepared()->set_step(1);
      m.mutable_prepared()->set_address("[::]:4711");
      m.mutable_prepared()->set_key(std::string(32, 'k'));
      say(share.name, m);
    }
  }
  ConnId ask_use(const std::vector<uint32_t>& steps, uint32_t uid = kAlice) {
    wire::ApiRequest r;
    r.mutable_step_usage()->set_job_id(id.value);
    for (const uint32_t step : steps) r.mutable_step_usage()->add_steps(step);
    send(++last_conn, uid, r);
    return last_conn;
  }
  /// The node answers what it was asked last, with so much memory.
  void answer(const std::string& node, uint64_t mem) {
    const auto* query = last(node, wire::ControllerToNode::kUsageQuery);
    ASSERT_NE(query, nullptr);
    wire::NodeToController m;
    wire::Usage& told = *m.mutable_usage();
    told.set_id(query->usage_query().id());
    told.set_job(query->usage_query().job());
    told.set_attempt(query->usage_query().attempt());
    told.set_step(query->usage_query().step());
    told.mutable_usage()->set_mem(mem);
    say(node, m);
  }
  wire::StepUsageReply reply_to(ConnId c) {
    return replies[c].empty() ? wire::StepUsageReply() : replies[c].back().step_usage();
  }

  ConnId owner;
  JobId id;
};

TEST(StepUse, IsAnsweredWhenAllNodesHaveSaidIt) {
  UseWorld w(2);
  w.begin_step(2);
  const ConnId asked = w.ask_use({1});
  EXPECT_EQ(w.last("n1", wire::ControllerToNode::kUsageQuery)->usage_query().step(), 1u);
  EXPECT_EQ(w.last("n1", wire::ControllerToNode::kUsageQuery)->usage_query().gpus(), "0-3");
  w.answer("n1", 10);
  w.answer("n1", 11);  // said again it changes nothing
  EXPECT_TRUE(w.replies[asked].empty());
  w.answer("n0", 20);
  ASSERT_EQ(w.replies[asked].size(), 1u);
  const wire::StepUsageReply reply = w.reply_to(asked);
  ASSERT_EQ(reply.steps_size(), 1);
  ASSERT_EQ(reply.steps(0).nodes_size(), 2);
  EXPECT_EQ(reply.steps(0).nodes(0).node(), "n1");
  EXPECT_EQ(reply.steps(0).nodes(0).mem(), 10u);
  EXPECT_EQ(reply.steps(0).silent_size(), 0);
  w.answer("n0", 20);
  w.tick(base::seconds(10));
  EXPECT_EQ(w.replies[asked].size(), 1u) << "once";
}

TEST(StepUse, NamesNodesThatAreSilent) {
  UseWorld w(3);
  w.begin_step(3);
  w.cut("n2");
  const ConnId asked = w.ask_use({1});
  w.answer("n0", 10);
  w.tick(base::seconds(1));
  EXPECT_TRUE(w.replies[asked].empty());
  w.tick(base::seconds(5));
  const wire::StepUsageReply reply = w.reply_to(asked);
  ASSERT_EQ(reply.steps_size(), 1);
  EXPECT_EQ(reply.steps(0).nodes_size(), 1);
  EXPECT_THAT(reply.steps(0).silent(), ElementsAre("n1", "n2"));
}

TEST(StepUse, WaitsForNobodyWhoIsOutOfReach) {
  UseWorld w(2);
  w.begin_step(2);
  w.cut("n1");
  const ConnId asked = w.ask_use({1});
  w.answer("n0", 10);
  EXPECT_THAT(w.reply_to(asked).steps(0).silent(), ElementsAre("n1"));
}

TEST(StepUse, OfAJobIsThatOfItsOwnRunAndAllSteps) {
  UseWorld allocation(2);
  allocation.begin_step(2);
  const ConnId asked = allocation.ask_use({});
  int queries = 0;
  for (const auto& m : allocation.to_node[allocation.links.at("n1")]) queries += m.has_usage_query() ? 1 : 0;
  EXPECT_EQ(queries, 2);
  allocation.tick(base::seconds(5));
  ASSERT_EQ(allocation.reply_to(asked).steps_size(), 2);
  EXPECT_FALSE(allocation.reply_to(asked).steps(0).has_script());

  UseWorld script(2, true);
  const ConnId of_script = script.ask_use({0});
  EXPECT_EQ(script.last("n1", wire::ControllerToNode::kUsageQuery), nullptr) << "it runs on the first node";
  script.answer("n0", 5);
  EXPECT_TRUE(script.reply_to(of_script).steps(0).has_script());
}

TEST(StepUse, IsForOwnersAndOperatorsAndBounded) {
  UseWorld w(1);
  w.begin_step(1);
  EXPECT_THAT(w.replies[w.ask_use({}, 1002)].back().error().what(), HasSubstr("denied"));
  EXPECT_TRUE(w.replies[w.ask_use({}, 0)].empty()) << "administrators wait for the nodes";
  wire::ApiRequest r;
  r.mutable_step_usage()->set_job_id(w.id.value);
  const ConnId many = ++w.last_conn;
  for (int i = 0; i < 17; ++i) w.send(many, kAlice, r);
  ASSERT_EQ(w.replies[many].size(), 1u);
  EXPECT_THAT(w.replies[many].back().error().what(), HasSubstr("too many"));
  w.core->on_client_gone(w.now, many);
  w.tick(base::seconds(5));
  EXPECT_EQ(w.replies[many].size(), 1u) << "who has gone is not answered";
  r.mutable_step_usage()->set_job_id(999);
  EXPECT_TRUE(w.ask(kAlice, r).has_error());
}

}  // namespace
}  // namespace gw::ctld::testing
