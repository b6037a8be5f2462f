// aftercorr: tasks of one array wait for those of another with the same index.
#include "ctld/core/jobs/corresponding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ctld_core/world.h"

namespace gw::ctld::testing {
namespace {

using model::JobState;
using model::WaitReason;

constexpr uint32_t kSubmitter = 1000;

wire::ApiRequest depending_array(const char* text, const std::string& dependency = {}, bool kill = false) {
  wire::ApiRequest r = World::submission(gang(1));
  const model::ArraySpec asked = model::parse_array(text).value();
  *r.mutable_submit()->mutable_array() = wire::to_wire(model::ArrayTasks{asked.tasks, asked.throttle, 0, 0, {}});
  r.mutable_submit()->mutable_spec()->set_dependency(dependency);
  r.mutable_submit()->mutable_spec()->set_kill_on_invalid_dependency(kill);
  return r;
}

JobId enter_one(World& w, const wire::ApiRequest& request) {
  const wire::ApiReply reply = w.ask(kSubmitter, request);
  EXPECT_FALSE(reply.has_error()) << reply.error().what();
  return JobId(reply.submit().job_id());
}

const ArrayTable::Array& array_state(World& w, JobId id) { return *w.core->arrays().find(id); }
JobId made_task(World& w, JobId id, uint32_t index) { return array_state(w, id).jobs.at(index); }
/// The parts that wait: "2-9, never 3,5".
std::string parts_left(World& w, JobId id) {
  std::string out;
  for (const auto& [part, tasks] : array_state(w, id).parts) {
    const auto* waiting = w.job(part).waiting();
    if (waiting == nullptr) continue;
    out += (out.empty() ? "" : ", ") + std::string(w.job(part).unmet.is_hopeless() ? "never " : "") + tasks.text();
  }
  return out;
}
std::string unmet_text(World& w, JobId id) { return model::format_dependency(w.job(id).unmet); }

void run_made(World& w, JobId id, int code = 0) {
  w.schedule();
  ASSERT_EQ(w.state(id), JobState::kConfiguring);
  const std::string node = w.job(id).placed()->allocation.shares.front().name;
  w.started(node, id);
  w.exited(node, id, code);
  w.done(node, id);
}

void act_on_tasks(World& w, wire::JobAction action, JobId array, const char* tasks) {
  wire::ApiRequest r;
  wire::TasksOfArray& named = *r.mutable_job_action()->add_tasks();
  named.set_array(array.value);
  r.mutable_job_action()->set_action(action);
  wire::to_wire(model::TaskSet::parse(tasks).value(), *named.mutable_tasks());
  EXPECT_FALSE(w.ask(kSubmitter, r).has_error());
}

void let_pass(World& w) {
  for (int i = 0; i < 12; ++i) w.tick(base::milliseconds(10));
}

TEST(AfterCorr, EachTaskWaitsForItsOwn) {
  World w(8);
  w.connect_all();
  const JobId a = enter_one(w, depending_array("0-2"));
  const JobId b = enter_one(w, depending_array("1-3", "aftercorr:" + a.text()));
  EXPECT_EQ(unmet_text(w, made_task(w, b, 1)), "afterok:" + a.text() + "_1(unfulfilled)");
  EXPECT_EQ(w.job(made_task(w, b, 1)).spec.dependency, "afterok:" + a.text() + "_1");
  EXPECT_EQ(w.job(made_task(w, b, 2)).waiting()->reason, WaitReason::kDependency);
  EXPECT_EQ(w.job(made_task(w, b, 3)).waiting()->reason, WaitReason::kNone) << "there is no task 3 of the other";
  run_made(w, made_task(w, a, 0));
  EXPECT_EQ(w.job(made_task(w, b, 1)).waiting()->reason, WaitReason::kDependency);
  run_made(w, made_task(w, a, 1));
  EXPECT_EQ(unmet_text(w, made_task(w, b, 1)), "(null)");
  EXPECT_EQ(w.job(made_task(w, b, 1)).waiting()->reason, WaitReason::kNone);
  run_made(w, made_task(w, a, 2), 3);
  EXPECT_EQ(w.job(made_task(w, b, 2)).waiting()->reason, WaitReason::kDependencyNeverSatisfied);
  run_made(w, made_task(w, b, 1));
  run_made(w, made_task(w, b, 3));
  EXPECT_EQ(array_state(w, b).completed, 2u);
}

TEST(AfterCorr, WithoutTasksOfTheSameIndexItIsAfterOk) {
  World w(8);
  w.connect_all();
  const JobId plain = w.submit(kSubmitter, gang(1));
  const JobId b = enter_one(w, depending_array("0-1", "aftercorr:" + plain.text()));
  EXPECT_EQ(unmet_text(w, b), "afterok:" + plain.text() + "(unfulfilled)");
  EXPECT_EQ(w.job(b).waiting()->reason, WaitReason::kDependency);
  const JobId a = enter_one(w, depending_array("0-1"));
  wire::ApiRequest r = World::submission(gang(1));
  r.mutable_submit()->mutable_spec()->set_dependency("aftercorr:" + a.text());
  EXPECT_EQ(unmet_text(w, enter_one(w, r)), "afterok:" + a.text() + "(unfulfilled)");
  const JobId any = enter_one(w, depending_array("0-1", "aftercorr:" + a.text() + "?afterok:" + plain.text()));
  EXPECT_EQ(unmet_text(w, any), "afterok:" + a.text() + "(unfulfilled)?afterok:" + plain.text() + "(unfulfilled)");
}

TEST(AfterCorr, WhatElseItWaitsForComesFirst) {
  World w(8);
  w.connect_all();
  const JobId plain = w.submit(kSubmitter, gang(1));
  const JobId a = enter_one(w, depending_array("0-1"));
  const JobId b = enter_one(w, depending_array("0-1", "aftercorr:" + a.text() + ",afterany:" + plain.text()));
  EXPECT_EQ(parts_left(w, b), "0-1");
  EXPECT_EQ(unmet_text(w, b), "aftercorr:" + a.text() + "_*(unfulfilled),afterany:" + plain.text() + "(unfulfilled)");
  run_made(w, plain);
  EXPECT_EQ(parts_left(w, b), "");
  EXPECT_EQ(unmet_text(w, made_task(w, b, 0)), "afterok:" + a.text() + "_0(unfulfilled)");
}

TEST(AfterCorr, ItsTasksAreMadeInTheirTurn) {
  World w(8);
  w.connect_all();
  const JobId a = enter_one(w, depending_array("0-1000000"));
  const JobId b = enter_one(w, depending_array("0-1000000", "aftercorr:" + a.text()));
  let_pass(w);
  EXPECT_LT(w.core->jobs().size(), 530u);
  EXPECT_EQ(parts_left(w, b), "256-1000000");
  run_made(w, made_task(w, a, 0));
  w.schedule();
  EXPECT_EQ(w.job(made_task(w, b, 0)).unmet.terms.size(), 0u);
}

// Tasks that are left of it are put aside as soon as they have no hope: the others may be forgotten before their turn.
TEST(AfterCorr, WhatHasFailedIsNotForgotten) {
  World w(8);
  w.connect_all();
  wire::ApiRequest held = depending_array("0-999");
  held.mutable_submit()->mutable_spec()->set_hold_user(true);
  const JobId a = enter_one(w, held);
  const JobId b = enter_one(w, depending_array("0-999", "aftercorr:" + a.text()));
  act_on_tasks(w, wire::kRelease, a, "500-999");
  let_pass(w);
  ASSERT_TRUE(array_state(w, a).jobs.contains(501));
  EXPECT_EQ(parts_left(w, b), "256-999");
  run_made(w, made_task(w, a, 500), 1);
  EXPECT_EQ(parts_left(w, b), "256-499,501-999, never 500");
  run_made(w, made_task(w, a, 501));
  run_made(w, made_task(w, a, 502), 1);
  EXPECT_EQ(parts_left(w, b), "256-499,501,503-999, never 500,502");
  run_made(w, made_task(w, a, 503), 1);
  EXPECT_EQ(parts_left(w, b), "256-499,501,504-999, never 500,502-503");
  const std::string before = w.core->fingerprint();
  w.restart();
  ASSERT_TRUE(w.restored);
  EXPECT_EQ(w.core->fingerprint(), before);
  EXPECT_EQ(parts_left(w, b), "256-499,501,504-999, never 500,502-503");
}

TEST(AfterCorr, WhatFailedBeforeCounts) {
  World w(8);
  w.connect_all();
  const JobId a = enter_one(w, depending_array("0-9"));
  for (const uint32_t index : {0u, 1u, 2u, 3u}) run_made(w, made_task(w, a, index), index == 1 || index == 2 ? 1 : 0);
  const JobId b = enter_one(w, depending_array("0-9%1", "aftercorr:" + a.text()));
  EXPECT_EQ(parts_left(w, b), "3-9, never 1-2");
  EXPECT_EQ(w.job(made_task(w, b, 0)).waiting()->reason, WaitReason::kNone);
}

TEST(AfterCorr, PartsThatAreCancelledTakeTheirsAlong) {
  World w(8);
  w.connect_all();
  const JobId a = enter_one(w, depending_array("0-999"));
  const JobId b = enter_one(w, depending_array("0-999:2", "aftercorr:" + a.text(), true));
  let_pass(w);
  wire::ApiRequest r;
  wire::TasksOfArray& named = *r.mutable_cancel()->mutable_filter()->add_tasks();
  named.set_array(a.value);
  wire::to_wire(model::TaskSet::parse("900-903").value(), *named.mutable_tasks());
  EXPECT_FALSE(w.ask(kSubmitter, r).has_error());
  let_pass(w);
  EXPECT_EQ(parts_left(w, b), "512-898:2,904-998:2") << "and those were killed, as was asked for";
  EXPECT_EQ(array_state(w, b).failed, 2u);
}

TEST(AfterCorr, WhatWaitsForEverIsInNobodysWay) {
  World w(8);
  w.connect_all();
  const JobId a = enter_one(w, depending_array("0-599"));
  const JobId b = enter_one(w, depending_array("0-599", "aftercorr:" + a.text()));
  let_pass(w);
  EXPECT_EQ(parts_left(w, b), "256-599");
  for (uint32_t index = 8; index < 256; ++index) EXPECT_FALSE(w.cancel(kSubmitter, made_task(w, a, index)).has_error());
  let_pass(w);
  EXPECT_EQ(parts_left(w, b), "504-599");
}

TEST(AfterCorr, SoManyArraysMayWaitForOne) {
  World w(8);
  w.connect_all();
  const JobId a = enter_one(w, depending_array("0-99"));
  JobId last;
  for (int i = 0; i < 16; ++i) last = enter_one(w, depending_array("0-999%1", "aftercorr:" + a.text()));
  const wire::ApiReply reply = w.ask(kSubmitter, depending_array("0-999%1", "aftercorr:" + a.text()));
  EXPECT_THAT(reply.error().what(), ::testing::HasSubstr("16 arrays wait for tasks of job " + a.text() + " already"));
  wire::ApiRequest again;
  again.mutable_update_job()->add_ids(last.value);
  again.mutable_update_job()->set_dependency("aftercorr:" + a.text() + ",after:" + a.text());
  EXPECT_EQ(w.ask(kSubmitter, again).jobs().done_size(), 1) << "one that is among them";
  EXPECT_FALSE(w.ask(kSubmitter, depending_array("0-9", "afterok:" + a.text())).has_error());
}

TEST(AfterCorr, MayBeTakenBack) {
  World w(8);
  w.connect_all();
  const JobId a = enter_one(w, depending_array("0-1"));
  wire::ApiRequest first = depending_array("0-1");
  first.mutable_submit()->mutable_spec()->set_hold_user(true);
  const JobId b = enter_one(w, first);
  wire::ApiRequest r;
  r.mutable_update_job()->add_ids(b.value);
  r.mutable_update_job()->set_dependency("aftercorr:" + a.text());
  EXPECT_FALSE(w.ask(kSubmitter, r).has_error());
  EXPECT_EQ(unmet_text(w, b), "aftercorr:" + a.text() + "_*(unfulfilled)");
  r.mutable_update_job()->set_dependency("");
  EXPECT_FALSE(w.ask(kSubmitter, r).has_error());
  EXPECT_EQ(unmet_text(w, b), "(null)");
}

}  // namespace
}  // namespace gw::ctld::testing
