// Arrays: one job until their tasks may start; how many wait and run, what is left after a restart, who depends on
// them.
#include "ctld/core/jobs/arrays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ctld_core/world.h"

namespace gw::ctld::testing {
namespace {

using model::JobState;
using model::WaitReason;
using ::testing::HasSubstr;

constexpr uint32_t kOwner = 1000;

wire::ApiRequest array_of(const char* text) {
  wire::ApiRequest r = World::submission(gang(1));
  const model::ArraySpec asked = model::parse_array(text).value();
  *r.mutable_submit()->mutable_array() = wire::to_wire(model::ArrayTasks{asked.tasks, asked.throttle, 0, 0, {}});
  return r;
}

JobId submit_array(World& w, const char* text) {
  const wire::ApiReply reply = w.ask(kOwner, array_of(text));
  EXPECT_FALSE(reply.has_error()) << reply.error().what();
  return JobId(reply.submit().job_id());
}

const ArrayTable::Array& array(World& w, JobId id) { return *w.core->arrays().find(id); }
/// What waits, part by part.
std::string tasks_left(World& w, JobId id) {
  std::string out;
  for (const auto& [part, tasks] : array(w, id).parts)
    if (w.job(part).waiting() != nullptr) out += (out.empty() ? "" : " | ") + tasks.text();
  return out;
}
JobId task(World& w, JobId id, uint32_t index) { return array(w, id).jobs.at(index); }

wire::Job shown(World& w, JobId id) {
  wire::ApiRequest r;
  r.mutable_list_jobs()->mutable_filter()->add_ids(id.value);
  return w.ask(kOwner, r).list_jobs().jobs(0);
}

/// On the only node.
void run_task(World& w, JobId id, int code = 0) {
  w.schedule();
  ASSERT_EQ(w.state(id), JobState::kConfiguring) << shown(w, id).status().waiting().detail();
  w.started("n0", id);
  w.exited("n0", id, code);
  w.done("n0", id);
}

TEST(Arrays, TasksAreJobsOfTheirOwnAndTheArrayIsTheLast) {
  World w(1);
  w.connect_all();
  const JobId id = submit_array(w, "1-7:3,20");
  EXPECT_EQ(tasks_left(w, id), "");
  EXPECT_EQ(array(w, id).jobs.size(), 4u);
  EXPECT_EQ(task(w, id, 1), JobId(2));
  EXPECT_EQ(task(w, id, 7), JobId(4));
  EXPECT_EQ(task(w, id, 20), id) << "as in Slurm";
  const model::ArrayPlace& place = *w.job(JobId(3)).spec.array;
  EXPECT_EQ(place, (model::ArrayPlace{id, 4, 4, 1, 20, 1}));
  EXPECT_EQ(w.store.jobs.size(), 4u);
  for (const uint32_t index : {1u, 4u, 7u, 20u}) run_task(w, task(w, id, index), index == 4 ? 3 : 0);
  EXPECT_EQ(w.job(task(w, id, 4)).state, JobState::kFailed);
  EXPECT_EQ(array(w, id).completed, 3u);
  EXPECT_EQ(array(w, id).failed, 1u);
  EXPECT_TRUE(array(w, id).is_over());
}

// What memory a million tasks take, and how long a submission does, is bounded by those that may start soon.
TEST(Arrays, AMillionTasksAreAFewJobs) {
  World w(1);
  w.connect_all();
  const JobId id = submit_array(w, "0-1000000");
  for (int i = 0; i < 20; ++i) w.tick(base::milliseconds(10));
  EXPECT_LT(w.core->jobs().size(), 260u);
  EXPECT_EQ(tasks_left(w, id), "257-1000000") << "one has been placed";
  EXPECT_EQ(array(w, id).waiting, 256u);
  EXPECT_EQ(shown(w, id).status().tasks().left(0).first(), 257u);
  EXPECT_EQ(shown(w, id).status().waiting().reason(), static_cast<uint32_t>(WaitReason::kPriority));
  EXPECT_EQ(shown(w, id).status().waiting().detail(), "its next 256 tasks wait before the scheduler");
  run_task(w, task(w, id, 0));
  w.tick(base::milliseconds(10));
  EXPECT_EQ(tasks_left(w, id), "258-1000000");
}

TEST(Arrays, TheThrottleHolds) {
  World w(4);
  w.connect_all();
  const JobId id = submit_array(w, "0-9%2");
  w.schedule();
  EXPECT_EQ(array(w, id).live, 2u);
  EXPECT_EQ(array(w, id).waiting, 0u);
  EXPECT_EQ(shown(w, id).status().waiting().reason(), static_cast<uint32_t>(WaitReason::kArrayTaskLimit));
  EXPECT_EQ(shown(w, id).status().waiting().detail(), "2 of its tasks may run at once");
  const JobId first = task(w, id, 0);
  const std::string node = w.job(first).placed()->allocation.shares.front().name;
  w.started(node, first);
  w.exited(node, first, 0);
  w.done(node, first);
  w.schedule();
  EXPECT_EQ(array(w, id).live, 2u);
  EXPECT_EQ(tasks_left(w, id), "3-9");
}

TEST(Arrays, WhatIsLeftIsThereAfterARestart) {
  World w(1);
  w.connect_all();
  const JobId id = submit_array(w, "0-999%5");
  run_task(w, task(w, id, 0), 1);
  w.schedule();
  const std::string before = w.core->fingerprint();
  w.restart();
  ASSERT_TRUE(w.restored);
  EXPECT_EQ(w.core->fingerprint(), before);
  EXPECT_EQ(tasks_left(w, id), "6-999");
  EXPECT_EQ(array(w, id).live, 5u);
  EXPECT_EQ(array(w, id).failed, 1u);
  EXPECT_EQ(array(w, id).throttle, 5u);
}

TEST(Arrays, WhatWasMadeIsNotMadeAgain) {
  World w(1);
  w.connect_all();
  const JobId id = submit_array(w, "0-999");
  for (int i = 0; i < 10; ++i) w.tick(base::milliseconds(10));
  const std::string before = tasks_left(w, id);
  EXPECT_EQ(before, "257-999");
  w.restart();
  EXPECT_EQ(tasks_left(w, id), before);
}

TEST(Arrays, CancelledItEndsWithAllItsTasks) {
  World w(1);
  w.connect_all();
  const JobId id = submit_array(w, "0-999%3");
  w.schedule();
  const JobId runs = task(w, id, 0), waits = task(w, id, 1);
  EXPECT_FALSE(w.cancel(kOwner, waits).has_error());
  EXPECT_EQ(w.state(waits), JobState::kCancelled) << "a task alone";
  EXPECT_EQ(tasks_left(w, id), "4-999") << "the next one takes its place";
  EXPECT_FALSE(w.cancel(kOwner, id).has_error());
  EXPECT_EQ(w.state(id), JobState::kCancelled);
  EXPECT_EQ(tasks_left(w, id), "");
  EXPECT_EQ(w.state(task(w, id, 2)), JobState::kCancelled);
  EXPECT_EQ(w.state(runs), JobState::kCompleting);
  EXPECT_FALSE(array(w, id).is_over());
  w.done("n0", runs);
  EXPECT_TRUE(array(w, id).is_over());
  EXPECT_EQ(array(w, id).failed, 1000u);
}

TEST(Arrays, ATaskIsNotMadeBeforeTheArrayMayStart) {
  World w(1);
  w.connect_all();
  const JobId first = w.submit(kOwner, gang(1));
  wire::ApiRequest r = array_of("0-3");
  r.mutable_submit()->mutable_spec()->set_dependency("afterok:" + first.text());
  const JobId id(w.ask(kOwner, r).submit().job_id());
  EXPECT_EQ(tasks_left(w, id), "0-3");
  EXPECT_EQ(w.job(id).waiting()->reason, WaitReason::kDependency);
  run_task(w, first);
  EXPECT_EQ(tasks_left(w, id), "");
  EXPECT_EQ(w.job(task(w, id, 2)).spec.dependency, "");
}

TEST(Arrays, OthersWaitForTheWholeOfIt) {
  World w(1);
  w.connect_all();
  const JobId id = submit_array(w, "0-2");
  const auto waiting = [&](const std::string& kind) {
    wire::ApiRequest r = World::submission(gang(1));
    r.mutable_submit()->mutable_spec()->set_dependency(kind + ":" + id.text());
    return JobId(w.ask(kOwner, r).submit().job_id());
  };
  const JobId started = waiting("after"), any = waiting("afterany"), ok = waiting("afterok"),
              not_ok = waiting("afternotok");
  for (const uint32_t index : {0u, 1u, 2u}) {
    EXPECT_FALSE(w.job(started).unmet.is_met());
    EXPECT_EQ(w.job(any).waiting()->reason, WaitReason::kDependency);
    run_task(w, task(w, id, index), index == 0 ? 1 : 0);
  }
  EXPECT_TRUE(w.job(started).unmet.is_met());
  EXPECT_TRUE(w.job(any).unmet.is_met());
  EXPECT_TRUE(w.job(not_ok).unmet.is_met());
  EXPECT_EQ(w.job(ok).waiting()->reason, WaitReason::kDependencyNeverSatisfied);
}

// The array's own number is that of its last task, which may end before the others.
TEST(Arrays, ItIsKnownUntilItsLastTaskIsForgotten) {
  World w(2);
  w.connect_all();
  const JobId id = submit_array(w, "0-1");
  w.schedule();
  const JobId other = task(w, id, 0);
  const auto node_of = [&](JobId job) { return w.job(job).placed()->allocation.shares.front().name; };
  const std::string own_node = node_of(id), other_node = node_of(other);
  for (const auto& [node, job] : {std::pair(own_node, id), std::pair(other_node, other)}) w.started(node, job);
  w.exited(own_node, id, 0);
  w.done(own_node, id);
  w.tick_with_beats(w.settings.min_job_age * 3);
  EXPECT_TRUE(w.core->jobs().contains(id));
  w.exited(other_node, other, 0);
  w.done(other_node, other);
  EXPECT_TRUE(array(w, id).is_over());
  w.tick_with_beats(w.settings.min_job_age * 3);
  EXPECT_TRUE(w.core->jobs().empty());
  EXPECT_EQ(w.core->arrays().find(id), nullptr);
  EXPECT_TRUE(w.store.arrays.empty());
}

TEST(Arrays, ItsUserHasABudget) {
  Settings settings;
  settings.per_user.max_jobs = 4;
  World w(1, settings);
  w.connect_all();
  const JobId first = submit_array(w, "0-9%1"), second = submit_array(w, "0-9");
  EXPECT_EQ(array(w, first).jobs.size() + array(w, second).jobs.size(), 2u) << "the two arrays are jobs, too";
  EXPECT_EQ(w.ask(kOwner, array_of("1")).error().code(), static_cast<uint32_t>(base::ErrorCode::kUnavailable));
  EXPECT_EQ(shown(w, second).status().waiting().detail(), "its user has 4 jobs that wait or run (users.max_jobs)");
  for (int i = 0; i < 20; ++i) {
    w.schedule();
    for (const auto& [job_id, job] : std::map(w.core->jobs()))
      if (job.state == JobState::kConfiguring) run_task(w, job_id);
  }
  EXPECT_TRUE(array(w, first).is_over());
  EXPECT_TRUE(array(w, second).is_over());
}

TEST(Arrays, OneMayAlwaysHaveATask) {
  Settings settings;
  settings.per_user.max_jobs = 1;
  World w(1, settings);
  w.connect_all();
  const JobId id = submit_array(w, "0-4");
  for (const uint32_t index : {0u, 1u, 2u, 3u, 4u}) run_task(w, task(w, id, index));
  EXPECT_TRUE(array(w, id).is_over());
}

// The queue has a bound, too, and whoever made it full does not tell when there is room.
TEST(Arrays, AFullQueueIsLookedAtAgain) {
  Settings settings;
  settings.max_jobs = 2;
  World w(1, settings);
  w.connect_all();
  wire::ApiRequest held = World::submission(gang(1));
  held.mutable_submit()->mutable_spec()->set_hold_user(true);
  const JobId other(w.ask(kOwner + 1, held).submit().job_id());
  const JobId id = submit_array(w, "0-4");
  EXPECT_TRUE(array(w, id).jobs.empty());
  EXPECT_FALSE(w.cancel(0, other).has_error());
  w.tick(base::seconds(2));
  EXPECT_EQ(array(w, id).jobs.size(), 5u);
}

TEST(Arrays, TasksThatAreLeftCountAsSubmitted) {
  World w(1);
  w.connect_all();
  wire::ApiRequest change;
  wire::QuotaChange& c = *change.mutable_change_quotas()->add_changes();
  c.set_what(wire::QuotaChange::kAdd);
  c.set_name("normal");
  c.mutable_qos()->set_max_submit(10);
  EXPECT_EQ(w.ask(0, change).error().what(), "");
  EXPECT_THAT(w.ask(kOwner, array_of("0-10")).error().what(), HasSubstr("takes at most 10 jobs waiting and running"));
  const JobId id = submit_array(w, "0-7%1");
  EXPECT_THAT(w.ask(kOwner, array_of("0-2")).error().what(), HasSubstr("8 are there"));
  run_task(w, task(w, id, 0));
  EXPECT_THAT(w.ask(kOwner, array_of("0-3")).error().what(), HasSubstr("7 are there"));
  EXPECT_FALSE(w.ask(kOwner, array_of("0-2")).has_error());
}

wire::TasksOfArray some_of(JobId id, const char* text) {
  wire::TasksOfArray out;
  out.set_array(id.value);
  wire::to_wire(model::TaskSet::parse(text).value(), *out.mutable_tasks());
  return out;
}

wire::ApiReply cancel_some(World& w, uint32_t uid, JobId id, const char* text) {
  wire::ApiRequest r;
  *r.mutable_cancel()->mutable_filter()->add_tasks() = some_of(id, text);
  return w.ask(uid, r);
}

wire::ApiReply act_on_some(World& w, JobId id, const char* text, wire::JobAction action) {
  wire::ApiRequest r;
  r.mutable_job_action()->set_action(action);
  *r.mutable_job_action()->add_tasks() = some_of(id, text);
  return w.ask(kOwner, r);
}

wire::ApiReply set_throttle_of(World& w, JobId id, uint32_t throttle) {
  wire::ApiRequest r;
  r.mutable_update_job()->add_ids(id.value);
  r.mutable_update_job()->set_array_throttle(throttle);
  return w.ask(kOwner, r);
}

JobId submit_held_array(World& w, const char* text) {
  wire::ApiRequest r = array_of(text);
  r.mutable_submit()->mutable_spec()->set_hold_user(true);
  return JobId(w.ask(kOwner, r).submit().job_id());
}

std::string denial_of(const wire::ApiReply& reply) {
  if (reply.has_error()) return reply.error().what();
  const auto& faults = reply.has_cancel() ? reply.cancel().faults() : reply.jobs().faults();
  return faults.empty() ? "" : faults[0].task() + ": " + faults[0].error().what();
}

TEST(Arrays, SomeAreCancelledAsOneJob) {
  World w(1);
  w.connect_all();
  const JobId id = submit_held_array(w, "0-999999");
  EXPECT_THAT(denial_of(cancel_some(w, kOwner + 1, id, "0-10")), HasSubstr("access denied"));
  EXPECT_EQ(tasks_left(w, id), "0-999999") << "nobody cuts an array of somebody else";
  EXPECT_EQ(denial_of(cancel_some(w, kOwner, id, "0-999998:2")), "");
  EXPECT_EQ(tasks_left(w, id), "1-999999:2");
  EXPECT_EQ(array(w, id).failed, 500'000u);
  const JobId part(id.value + 1);
  EXPECT_EQ(w.state(part), JobState::kCancelled);
  EXPECT_EQ(w.job(part).ended()->never_made.text(), "0-999998:2");
  w.restart();
  EXPECT_EQ(tasks_left(w, id), "1-999999:2");
  EXPECT_EQ(w.job(part).ended()->never_made.text(), "0-999998:2");
  EXPECT_EQ(denial_of(cancel_some(w, kOwner, id, "1000000")),
            id.text() + "_1000000: Invalid job id specified: " + id.text() + "_1000000");
  EXPECT_THAT(denial_of(cancel_some(w, kOwner, id, "0")), HasSubstr("has ended already"));
  EXPECT_EQ(denial_of(cancel_some(w, kOwner, id, "0-1")), "") << "one of them waits";
  EXPECT_EQ(denial_of(cancel_some(w, kOwner, id, "0-1000000")), "");
  EXPECT_TRUE(array(w, id).is_over());
  w.tick_with_beats(w.settings.min_job_age * 3);
  EXPECT_TRUE(w.core->jobs().empty());
  EXPECT_TRUE(w.store.arrays.empty());
}

TEST(Arrays, NoArrayIsNamedTwiceAtOnce) {
  World w(1);
  const JobId id = submit_held_array(w, "0-9");
  wire::ApiRequest r;
  r.mutable_update_job()->set_comment("c");
  for (const char* text : {"1-5", "3-7"}) *r.mutable_update_job()->add_tasks() = some_of(id, text);
  EXPECT_THAT(w.ask(kOwner, r).error().what(), HasSubstr("named several times"));
  wire::ApiRequest list;
  *list.mutable_list_jobs()->mutable_filter()->mutable_tasks() = r.update_job().tasks();
  EXPECT_THAT(w.ask(kOwner, list).error().what(), HasSubstr("named several times"));
  EXPECT_EQ(tasks_left(w, id), "0-9");
}

// Whoever has no room left gets none by holding what was made.
TEST(Arrays, HoldingMakesNoRoom) {
  Settings settings;
  settings.per_user.max_jobs = 3;
  World w(1, settings);
  w.connect_all();
  const JobId id = submit_array(w, "0-99");
  EXPECT_EQ(array(w, id).jobs.size(), 2u);
  for (int i = 0; i < 5; ++i) {
    (void)act_on_some(w, id, "0-9", wire::kHold);
    w.tick(base::seconds(2));
  }
  EXPECT_EQ(array(w, id).jobs.size(), 2u);
}

// The array's own job may have ended long before the controller starts again.
TEST(Arrays, ItIsKnownAfterARestartWhileATaskRuns) {
  World w(2);
  w.connect_all();
  const JobId id = submit_array(w, "0-1");
  w.schedule();
  const JobId other = task(w, id, 0);
  const std::string own_node = w.job(id).placed()->allocation.shares.front().name;
  const std::string other_node = w.job(other).placed()->allocation.shares.front().name;
  for (const auto& [node, job] : {std::pair(own_node, id), std::pair(other_node, other)}) w.started(node, job);
  w.exited(own_node, id, 0);
  w.done(own_node, id);
  w.tick_with_beats(w.settings.min_job_age * 3);
  w.restart();
  ASSERT_TRUE(w.core->jobs().contains(id));
  wire::ApiRequest r = World::submission(gang(1));
  r.mutable_submit()->mutable_spec()->set_dependency("afterok:" + id.text());
  EXPECT_FALSE(w.ask(kOwner, r).has_error());
}

TEST(Arrays, CirclesThroughArraysAreSeen) {
  World w(1);
  const JobId id = submit_held_array(w, "0-9");
  wire::ApiRequest r = World::submission(gang(1));
  r.mutable_submit()->mutable_spec()->set_dependency("afterany:" + id.text());
  const JobId behind(w.ask(kOwner, r).submit().job_id());
  wire::ApiRequest update;
  update.mutable_update_job()->set_dependency("afterany:" + behind.text());
  update.mutable_update_job()->add_ids(id.value);
  EXPECT_THAT(denial_of(w.ask(kOwner, update)), HasSubstr("Circular"));
  EXPECT_EQ(denial_of(act_on_some(w, id, "3-5", wire::kRelease)), "");
  EXPECT_EQ(denial_of(act_on_some(w, id, "3-5", wire::kHold)), "");
  update.mutable_update_job()->clear_ids();
  update.mutable_update_job()->add_ids(task(w, id, 4).value);
  EXPECT_THAT(denial_of(w.ask(kOwner, update)), HasSubstr("Circular"));
}

TEST(Arrays, SomeTasksMayWaitForOthersOfTheSamePart) {
  World w(1);
  const JobId id = submit_held_array(w, "0-9");
  wire::ApiRequest update;
  wire::TasksOfArray& some = *update.mutable_update_job()->add_tasks();
  some.set_array(id.value);
  wire::to_wire(model::TaskSet::parse("1-3").value(), *some.mutable_tasks());
  update.mutable_update_job()->set_dependency("afterok:" + id.text() + "_2");
  EXPECT_THAT(denial_of(w.ask(kOwner, update)),
              HasSubstr("Circular job dependency: tasks 1-3 of job 1 would wait for itself"));
  update.mutable_update_job()->set_dependency("afterok:" + id.text());
  EXPECT_THAT(denial_of(w.ask(kOwner, update)), HasSubstr("Circular"));
  EXPECT_EQ(w.core->arrays().find(id)->parts.size(), 1u) << "what is refused cuts nothing";
  update.mutable_update_job()->set_dependency("afterok:" + id.text() + "_7");
  EXPECT_EQ(denial_of(w.ask(kOwner, update)), "");
  EXPECT_EQ(w.core->arrays().find(id)->parts.size(), 2u);
  wire::ApiRequest back = update;
  back.mutable_update_job()->mutable_tasks(0)->clear_tasks();
  wire::to_wire(model::TaskSet::parse("5-7").value(), *back.mutable_update_job()->mutable_tasks(0)->mutable_tasks());
  back.mutable_update_job()->set_dependency("afterok:" + id.text() + "_1");
  EXPECT_THAT(denial_of(w.ask(kOwner, back)), HasSubstr("Circular")) << "7 would wait for 1, which waits for 7";
}

// What is left cannot be told from a row that says nothing of it.
TEST(Arrays, WithoutRangesItIsHeldAside) {
  World w(1);
  w.connect_all();
  const JobId id = submit_held_array(w, "0-9"), other = submit_array(w, "0-9%1");
  w.store.arrays.at(id).ranges = "";
  w.store.arrays.at(other).ranges = "?";
  w.restart();
  EXPECT_FALSE(w.core->jobs().contains(id));
  EXPECT_FALSE(w.core->jobs().contains(other));
  EXPECT_TRUE(w.store.held.contains({"job", id.text()}));
  EXPECT_TRUE(w.store.held.contains({"array", id.text()}));
  EXPECT_TRUE(w.store.held.contains({"array", other.text()}));
}

TEST(Arrays, PartsAreHeldAndReleasedApart) {
  World w(1);
  w.connect_all();
  const JobId id = submit_held_array(w, "0-19");
  EXPECT_EQ(denial_of(act_on_some(w, id, "5-7", wire::kRelease)), "");
  EXPECT_EQ(tasks_left(w, id), "0-4,8-19");
  EXPECT_EQ(array(w, id).jobs.size(), 3u) << "they were made at once";
  w.restart();
  w.connect_all();
  EXPECT_EQ(tasks_left(w, id), "0-4,8-19");
  EXPECT_EQ(denial_of(act_on_some(w, id, "0-4", wire::kHold)), "") << "they are, already";
  EXPECT_EQ(tasks_left(w, id), "0-4,8-19") << "nothing is cut for it";
  for (const uint32_t index : {5u, 6u, 7u}) run_task(w, task(w, id, index));
  EXPECT_EQ(array(w, id).completed, 3u);
  wire::ApiRequest all;
  all.mutable_job_action()->set_action(wire::kRelease);
  all.mutable_job_action()->add_ids(id.value);
  EXPECT_EQ(denial_of(w.ask(kOwner, all)), "");
  EXPECT_EQ(tasks_left(w, id), "");
  EXPECT_EQ(array(w, id).jobs.size(), 20u);
  EXPECT_EQ(w.job(task(w, id, 19)).id, id) << "the last of the part that has the array's number";
}

TEST(Arrays, PartsAreBounded) {
  World w(1);
  const JobId id = submit_held_array(w, "0-999999");
  EXPECT_THAT(denial_of(cancel_some(w, kOwner, id, "0-999999:3")), HasSubstr("at most 10000 are kept"));
  EXPECT_EQ(tasks_left(w, id), "0-999999");
  wire::ApiRequest r;
  r.mutable_update_job()->set_name("other");
  std::string last;
  for (uint32_t i = 0; i < 120; ++i) {
    r.mutable_update_job()->clear_tasks();
    *r.mutable_update_job()->add_tasks() = some_of(id, std::to_string(10 * i).c_str());
    last = denial_of(w.ask(kOwner, r));
  }
  EXPECT_THAT(last, HasSubstr("cut into 100 parts already"));
  EXPECT_EQ(array(w, id).waiting_parts, kMostParts);
  EXPECT_EQ(w.job(JobId(id.value + 1)).spec.name, "other");
  EXPECT_NE(w.job(id).spec.name, "other");
}

// Long ones are shown as a whole to whoever asks for them, written when they change, and charged to their user.
TEST(Arrays, ManyRangesAreNobodysBurden) {
  Settings settings;
  settings.per_user.max_stored_bytes = 20'000;
  World w(1, settings);
  w.connect_all();
  std::string list;
  for (uint32_t i = 0; i < 1'000; ++i) list += (i == 0 ? "" : ",") + std::to_string(i * (i + 5) / 2 + 7 * i);
  const JobId id = submit_array(w, (list + "%1").c_str());
  EXPECT_THAT(w.ask(kOwner, array_of(list.c_str())).error().what(), HasSubstr("users.max_stored_bytes"));
  const auto left_of = [](const wire::ApiReply& reply) -> const wire::ArrayTasks& {
    for (const wire::Job& job : reply.list_jobs().jobs())
      if (!job.spec().array().has_task()) return job.status().tasks();
    return wire::ArrayTasks::default_instance();
  };
  wire::ApiRequest all;
  all.mutable_list_jobs();
  const wire::ApiReply listed = w.ask(kOwner, all);
  EXPECT_EQ(left_of(listed).left_size(), 100);
  EXPECT_EQ(left_of(listed).more(), 899u);
  all.mutable_list_jobs()->set_whole_ranges(true);
  const wire::ApiReply whole = w.ask(kOwner, all);
  EXPECT_EQ(left_of(whole).left_size(), 999);
  EXPECT_EQ(left_of(whole).more(), 0u);
  EXPECT_EQ(shown(w, id).status().tasks().left_size(), 999);
  const std::string before = *w.store.arrays.at(id).ranges;
  w.store.arrays.at(id).ranges = "kept";
  run_task(w, task(w, id, 0));
  EXPECT_EQ(w.store.arrays.at(id).ranges, "kept") << "that a task was made says one number";
  w.store.arrays.at(id).ranges = before;
  w.restart();
  EXPECT_EQ(shown(w, id).status().tasks().left_size(), 998);
  EXPECT_THAT(w.ask(kOwner, array_of(list.c_str())).error().what(), HasSubstr("users.max_stored_bytes"));
}

TEST(Arrays, ALowerThrottlePutsTasksBack) {
  World w(1);
  w.connect_all();
  const JobId id = submit_array(w, "0-9%4");
  w.schedule();
  EXPECT_EQ(array(w, id).going(), 4u);
  EXPECT_EQ(denial_of(set_throttle_of(w, id, 1)), "");
  EXPECT_EQ(array(w, id).going(), 1u);
  for (const uint32_t index : {1u, 2u, 3u})
    EXPECT_EQ(w.job(task(w, id, index)).waiting()->reason, WaitReason::kArrayTaskLimit);
  w.restart();
  w.connect_all();
  EXPECT_EQ(array(w, id).going(), 1u) << "not forgotten";
  run_task(w, task(w, id, 0));
  EXPECT_EQ(w.job(task(w, id, 1)).waiting()->reason, WaitReason::kNone) << "the next in their order";
  EXPECT_EQ(w.job(task(w, id, 2)).waiting()->reason, WaitReason::kArrayTaskLimit);
  EXPECT_EQ(denial_of(set_throttle_of(w, id, 0)), "");
  EXPECT_EQ(array(w, id).going(), 9u);
  EXPECT_THAT(denial_of(set_throttle_of(w, w.submit(kOwner, gang(1)), 3)), HasSubstr("no task of an array"));
}

// Who holds some of them does not keep the others back.
TEST(Arrays, HeldTasksDoNotCount) {
  World w(1);
  w.connect_all();
  const JobId id = submit_array(w, "0-9%2");
  EXPECT_EQ(denial_of(act_on_some(w, id, "0-1", wire::kHold)), "");
  EXPECT_TRUE(array(w, id).jobs.contains(3));
  EXPECT_EQ(array(w, id).going(), 2u);
  EXPECT_EQ(denial_of(act_on_some(w, id, "0", wire::kRelease)), "");
  EXPECT_EQ(w.job(task(w, id, 0)).waiting()->reason, WaitReason::kArrayTaskLimit);
  run_task(w, task(w, id, 2));
  EXPECT_EQ(w.job(task(w, id, 0)).waiting()->reason, WaitReason::kNone);
}

TEST(Arrays, RoomGoesToTheNextThatNeedsIt) {
  Settings settings;
  settings.per_user.max_jobs = 6;
  World w(1, settings);
  w.connect_all();
  const JobId throttled = submit_held_array(w, "0-9"), other = submit_array(w, "0-9");
  EXPECT_EQ(denial_of(act_on_some(w, throttled, "0-9", wire::kRelease)), "");
  EXPECT_EQ(denial_of(set_throttle_of(w, throttled, 1)), "");
  for (int i = 0; i < 30; ++i) {
    w.schedule();
    for (const auto& [job_id, job] : std::map(w.core->jobs()))
      if (job.state == JobState::kConfiguring) run_task(w, job_id);
  }
  EXPECT_TRUE(array(w, throttled).is_over());
  EXPECT_TRUE(array(w, other).is_over());
}

TEST(Arrays, OthersWaitForOneTask) {
  World w(1);
  w.connect_all();
  const JobId id = submit_array(w, "0-9%1");
  const auto waiting = [&](const std::string& what) {
    wire::ApiRequest r = World::submission(gang(1));
    r.mutable_submit()->mutable_spec()->set_dependency(what);
    return w.ask(kOwner, r);
  };
  const JobId ok(waiting("afterok:" + id.text() + "_1").submit().job_id());
  EXPECT_THAT(waiting("afterok:" + id.text() + "_10").error().what(),
              HasSubstr("there is no job " + id.text() + "_10"));
  run_task(w, task(w, id, 0));
  EXPECT_EQ(w.job(ok).waiting()->reason, WaitReason::kDependency);
  w.restart();
  w.connect_all();
  run_task(w, task(w, id, 1));
  EXPECT_TRUE(w.job(ok).unmet.is_met());
}

TEST(Arrays, WhoWaitsForItIsToldOfTheWorstTask) {
  World w(1);
  w.connect_all();
  const JobId id = submit_array(w, "0-2");
  wire::ApiRequest r;
  r.mutable_wait_job()->set_id(id.value);
  EXPECT_FALSE(w.ask(kOwner, r).has_wait_job());
  const ConnId conn = w.last_conn;
  for (const uint32_t index : {0u, 1u, 2u}) {
    EXPECT_TRUE(w.replies[conn].empty());
    run_task(w, task(w, id, index), index == 1 ? 7 : 0);
  }
  ASSERT_EQ(w.replies[conn].size(), 1u);
  const wire::JobStatus& told = w.replies[conn][0].wait_job().job().status();
  EXPECT_EQ(told.ended().outcome().exit_code(), 7);
  EXPECT_EQ(told.tasks().failed(), 1u);
  EXPECT_EQ(w.ask(kOwner, r).wait_job().job().status().ended().outcome().exit_code(), 7) << "asked afterwards, too";
}

TEST(Arrays, WhatCannotBeOneIsRefused) {
  World w(1);
  const auto refusal = [&](const auto& change) {
    wire::ApiRequest r = array_of("0-3");
    change(*r.mutable_submit());
    return w.ask(kOwner, r).error().what();
  };
  EXPECT_THAT(refusal([](auto& s) { s.mutable_array()->clear_left(); }), HasSubstr("it names no task"));
  EXPECT_THAT(refusal([](auto& s) { s.mutable_array()->mutable_left(0)->set_step(0); }), HasSubstr("not in order"));
  EXPECT_THAT(refusal([](auto& s) { *s.mutable_array()->add_left() = s.array().left(0); }), HasSubstr("not in order"));
  EXPECT_THAT(refusal([](auto& s) { s.mutable_array()->mutable_left(0)->set_last(1'000'001); }),
              HasSubstr("an index of --array"));
  EXPECT_THAT(refusal([](auto& s) { s.mutable_spec()->set_kind(1); }), HasSubstr("only a batch job"));
  EXPECT_THAT(refusal([](auto& s) { *s.add_components() = s.spec(); }), HasSubstr("heterogeneous"));
  wire::ApiRequest r = World::submission(gang(1));
  r.mutable_submit()->mutable_spec()->mutable_array()->set_job(1);
  r.mutable_submit()->mutable_spec()->mutable_array()->set_task(4);
  EXPECT_FALSE(w.job(JobId(w.ask(kOwner, r).submit().job_id())).spec.array) << "nobody says that he is a task";
}

// Neither may be guessed: the tasks would run twice, or never.
TEST(Arrays, WithoutItsTasksItIsHeldAside) {
  World w(1);
  w.connect_all();
  const JobId gone = submit_array(w, "0-999%1"), damaged = submit_array(w, "0-999%1");
  w.store.arrays.erase(gone);
  w.store.arrays.at(damaged).bytes = "?";
  w.restart();
  EXPECT_FALSE(w.core->jobs().contains(gone));
  EXPECT_FALSE(w.core->jobs().contains(damaged));
  EXPECT_TRUE(w.store.held.contains({"job", gone.text()}));
  EXPECT_TRUE(w.store.held.contains({"job", damaged.text()}));
  EXPECT_TRUE(w.store.held.contains({"array", damaged.text()}));
}

}  // namespace
}  // namespace gw::ctld::testing
