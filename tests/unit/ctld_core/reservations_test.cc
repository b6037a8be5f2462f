// Advance reservations through the core: who may make them and use them, what they keep free, and what a restart keeps.
#include <gtest/gtest.h>

#include "world.h"

namespace gw::ctld {
namespace {

using base::hours;
using base::minutes;
using model::JobState;
using testing::gang;
using testing::World;

struct Reserved : ::testing::Test {
  Reserved() : w(3) { w.connect_all(); }

  wire::Reservation draft(const std::string& name, base::Duration from, base::Duration length) {
    wire::Reservation r;
    r.set_name(name);
    r.set_start_us((w.now + from).us);
    r.set_duration_us(length.us);
    return r;
  }
  wire::ApiReply create(const wire::Reservation& r, uint32_t uid = 0) {
    wire::ApiRequest request;
    *request.mutable_create_reservation()->mutable_reservation() = r;
    return w.ask(uid, request);
  }
  std::string create_error(const wire::Reservation& r) { return create(r).error().what(); }
  /// For user1000, on n0 and n1, in an hour.
  void make_course() {
    wire::Reservation r = draft("course", hours(1), hours(2));
    r.add_nodes("n0");
    r.add_nodes("n1");
    r.add_users("user1000");
    ASSERT_EQ(create_error(r), "");
    w.schedule();
  }
  JobId submit(uint32_t uid, const model::Request& r, base::Duration limit, const std::string& reservation = {}) {
    wire::ApiRequest request = World::submission(r);
    request.mutable_submit()->mutable_spec()->set_time_limit_us(limit.us);
    request.mutable_submit()->mutable_spec()->set_reservation(reservation);
    const wire::ApiReply reply = w.ask(uid, request);
    error = reply.error().what();
    w.schedule();
    return JobId(reply.submit().job_id());
  }
  wire::ListReservationsReply list() {
    wire::ApiRequest request;
    request.mutable_list_reservations();
    return w.ask(1001, request).list_reservations();
  }
  wire::ApiReply remove(const std::string& name, uint32_t uid = 0) {
    wire::ApiRequest request;
    request.mutable_delete_reservation()->set_name(name);
    return w.ask(uid, request);
  }
  std::string why(JobId id) {
    wire::ApiRequest request;
    request.mutable_show_job()->set_id(id.value);
    return w.ask(0, request).show_job().job().status().waiting().detail();
  }

  /// Time passes; nodes that fell silent meanwhile are back.
  void later(base::Duration by) {
    w.tick(by);
    w.connect_all();
    w.schedule();
  }

  World w;
  std::string error;
};

TEST_F(Reserved, OnlyAdministratorsMakeChangeAndDeleteThem) {
  wire::Reservation r = draft("mine", {}, hours(1));
  r.add_nodes("n0");
  r.add_users("user1000");
  EXPECT_EQ(create(r, 1000).error().code(), static_cast<uint32_t>(base::ErrorCode::kDenied));
  make_course();
  EXPECT_TRUE(remove("course", 1000).has_error());
  wire::ApiRequest change;
  change.mutable_update_reservation()->set_name("course");
  change.mutable_update_reservation()->set_users("user1001");
  EXPECT_TRUE(w.ask(1001, change).has_error());
  ASSERT_EQ(list().reservations_size(), 1);
  EXPECT_EQ(list().reservations(0).users(0), "user1000");
}

TEST_F(Reserved, KeepsItsNodesForItsUsers) {
  make_course();
  const JobId long_one = submit(1001, gang(3), hours(2));
  const JobId short_one = submit(1001, gang(2), hours(1));
  const JobId lesson = submit(1000, gang(2), hours(1), "course");
  EXPECT_EQ(w.state(long_one), JobState::kPending);
  EXPECT_EQ(w.state(short_one), JobState::kConfiguring);  // over before it begins
  EXPECT_EQ(w.state(lesson), JobState::kPending);
  EXPECT_NE(why(lesson).find("begins at"), std::string::npos) << why(lesson);
  for (const auto& share : w.job(short_one).placed()->allocation.shares) {
    w.exited(share.name, short_one, 0);
    w.done(share.name, short_one);
  }
  later(hours(1));
  ASSERT_EQ(w.state(lesson), JobState::kConfiguring) << why(lesson);
  for (const auto& share : w.job(lesson).placed()->allocation.shares) EXPECT_NE(share.name, "n2");
  EXPECT_TRUE(list().reservations(0).is_active());
  EXPECT_EQ(list().reservations(0).jobs_size(), 1);
}

TEST_F(Reserved, RefusesWhoMayNotUseIt) {
  make_course();
  submit(1001, gang(1), hours(1), "course");
  EXPECT_NE(error.find("may not use reservation course"), std::string::npos) << error;
  submit(1000, gang(1), hours(1), "coarse");
  EXPECT_NE(error.find("reservation coarse does not exist"), std::string::npos) << error;
  submit(1000, gang(3), hours(1), "course");
  EXPECT_NE(error.find("3 nodes asked; reservation course has 2"), std::string::npos) << error;
  model::Request elsewhere = gang(1);
  elsewhere.nodelist = {"n2"};
  submit(1000, elsewhere, hours(1), "course");
  EXPECT_NE(error.find("node n2 of --nodelist is not in reservation course"), std::string::npos) << error;
  submit(1000, gang(1), hours(3), "course");
  EXPECT_NE(error.find("longer than reservation course lasts"), std::string::npos) << error;
  submit(1000, gang(1), {}, "course");
  EXPECT_NE(error.find("longer than reservation course lasts"), std::string::npos)
      << "that of the partition: " << error;
}

TEST_F(Reserved, TestOnlyLooksAtThem) {
  make_course();
  const auto verdict = [&](uint32_t uid, const model::Request& r, base::Duration limit, const std::string& name) {
    wire::ApiRequest request = World::submission(r);
    request.mutable_submit()->mutable_spec()->set_time_limit_us(limit.us);
    request.mutable_submit()->mutable_spec()->set_reservation(name);
    request.mutable_submit()->set_test_only(true);
    return w.ask(uid, request).submit().test_verdict();
  };
  EXPECT_NE(verdict(1000, gang(1), hours(1), "course").find("begins at"), std::string::npos);
  EXPECT_NE(verdict(1001, gang(2), hours(2), "").find("planned"), std::string::npos);
  EXPECT_NE(verdict(1001, gang(2), hours(1), "").find("would start now"), std::string::npos);
  later(hours(1));
  const std::string inside = verdict(1000, gang(2), hours(1), "course");
  EXPECT_NE(inside.find("would start now"), std::string::npos) << inside;
  EXPECT_EQ(inside.find("n2"), std::string::npos) << inside;
}

TEST_F(Reserved, UserTakenOffItsListNoLongerStartsInIt) {
  make_course();
  const JobId lesson = submit(1000, gang(1), hours(1), "course");
  wire::ApiRequest change;
  change.mutable_update_reservation()->set_name("course");
  change.mutable_update_reservation()->set_users("+user1002");
  ASSERT_EQ(w.ask(0, change).error().what(), "");
  change.mutable_update_reservation()->set_users("-user1000");
  ASSERT_EQ(w.ask(0, change).error().what(), "");
  EXPECT_EQ(list().reservations(0).users_size(), 1);
  later(hours(1));
  EXPECT_EQ(w.state(lesson), JobState::kPending);
  EXPECT_NE(why(lesson).find("not open to its user"), std::string::npos) << why(lesson);
}

TEST_F(Reserved, RefusesNodesThatAreBusyBeyondItsBeginning) {
  const JobId job = submit(1001, gang(3), hours(5));
  ASSERT_EQ(w.state(job), JobState::kConfiguring);
  wire::Reservation r = draft("early", hours(1), hours(1));
  r.add_nodes("n0");
  r.add_users("user1000");
  EXPECT_NE(create_error(r).find("node n0 runs jobs until"), std::string::npos);
  r.set_start_us((w.now + hours(6)).us);
  EXPECT_EQ(create_error(r), "");
  r = draft("now", {}, hours(1));
  r.add_nodes("n0");
  r.set_maintenance(true);
  r.set_ignore_jobs(true);
  EXPECT_EQ(create_error(r), "");
}

TEST_F(Reserved, CountedNodesAreThoseThatAreFree) {
  make_course();
  wire::Reservation r = draft("two", minutes(90), hours(1));
  r.set_node_count(2);
  r.add_users("user1001");
  EXPECT_NE(create_error(r).find("2 nodes asked, 1 can be reserved: 0 run jobs beyond the beginning, 2 are in other"),
            std::string::npos);
  r.set_node_count(1);
  const wire::ApiReply reply = create(r);
  ASSERT_EQ(reply.create_reservation().nodes_size(), 1);
  EXPECT_EQ(reply.create_reservation().nodes(0), "n2");
}

TEST_F(Reserved, TwoAtTheSameTimeAreRefused) {
  make_course();
  wire::Reservation r = draft("other", hours(2), hours(2));
  r.add_nodes("n1");
  r.add_users("user1001");
  EXPECT_NE(create_error(r).find("node n1 is in reservation course at the same time"), std::string::npos);
  r.set_start_us((w.now + hours(3)).us);  // as the other ends
  EXPECT_EQ(create_error(r), "");
  // Each day at three: the course is never then, but another at half past two each week is, some day.
  wire::Reservation daily = draft("daily", hours(24 + 4), hours(1));
  daily.set_every_us(hours(24).us);
  daily.add_nodes("n2");
  daily.add_users("user1001");
  ASSERT_EQ(create_error(daily), "");
  wire::Reservation weekly = draft("weekly", hours(24 * 3) + minutes(210), hours(1));
  weekly.set_every_us(hours(24 * 7).us);
  weekly.add_nodes("n2");
  weekly.add_users("user1001");
  EXPECT_NE(create_error(weekly).find("in reservation daily"), std::string::npos);
}

TEST_F(Reserved, BadOnesAreRefusedWithTheReason) {
  struct Row {
    std::function<void(wire::Reservation&)> spoil;
    const char* expected;
  };
  const std::vector<Row> table = {
      {[](auto& r) { r.clear_nodes(); }, "needs nodes"},
      {[](auto& r) { r.add_nodes("n9"); }, "Invalid node name specified: n9"},
      {[](auto& r) { r.add_nodes("n0"); }, "n0 is named twice"},
      {[](auto& r) { r.clear_users(); }, "nobody may use"},
      {[](auto& r) { r.set_maintenance(true); }, "lets nobody in, but it names users"},
      {[](auto& r) { r.clear_users(), r.add_accounts("normal"), r.set_maintenance(true); }, "lets nobody in"},
      {[](auto& r) { r.set_duration_us(0); }, "longer than zero"},
      {[](auto& r) { r.set_duration_us(-1); }, "Duration: -1 is out of range"},
      {[](auto& r) { r.set_name("a b"); }, "no name for a reservation"},
      {[](auto& r) { r.set_start_us(INT64_MAX); }, "is out of range"},
      {[](auto& r) { r.set_every_us(1); }, "each hour at most"},
      {[](auto& r) { r.set_every_us(hours(1).us); }, "would begin anew"},
      {[](auto& r) { r.set_partition("mian"); }, "Invalid partition name specified: mian"},
      {[](auto& r) { r.add_accounts("nromal"); }, "Invalid account or account/partition combination specified: nromal"},
  };
  for (const Row& row : table) {
    wire::Reservation r = draft("bad", hours(1), hours(2));
    r.add_nodes("n0");
    r.add_users("user1000");
    row.spoil(r);
    EXPECT_NE(create_error(r).find(row.expected), std::string::npos) << row.expected << ": " << create_error(r);
  }
  EXPECT_EQ(list().reservations_size(), 0);
}

TEST_F(Reserved, EndsByItselfAndIsInUseTillThen) {
  make_course();
  const JobId lesson = submit(1000, gang(1), hours(1), "course");
  const JobId late = submit(1000, gang(2), hours(2), "course");
  later(hours(1));
  ASSERT_EQ(w.state(lesson), JobState::kConfiguring);
  EXPECT_NE(remove("course").error().what().find("in use by job"), std::string::npos);
  w.tick(hours(2));
  EXPECT_EQ(list().reservations_size(), 0);
  EXPECT_TRUE(w.store.reservations.empty());
  EXPECT_EQ(w.state(late), JobState::kPending);
  EXPECT_NE(why(late).find("has ended or was deleted"), std::string::npos) << why(late);
}

TEST_F(Reserved, OutlivesARestart) {
  make_course();
  const JobId lesson = submit(1000, gang(1), hours(1), "course");
  const std::string before = w.core->fingerprint();
  w.restart();
  ASSERT_TRUE(w.restored);
  EXPECT_EQ(w.core->fingerprint(), before);
  w.connect_all();
  const JobId other = submit(1001, gang(3), hours(2));
  EXPECT_EQ(w.state(other), JobState::kPending);
  later(hours(1));
  EXPECT_EQ(w.state(lesson), JobState::kConfiguring);
}

/// A plan from before the reservation was made does not start a job on its nodes.
TEST_F(Reserved, OldPlansAreCheckedAgain) {
  wire::ApiRequest request = World::submission(gang(3));
  request.mutable_submit()->mutable_spec()->set_time_limit_us(hours(2).us);
  const JobId job(w.ask(1001, request).submit().job_id());
  const sched::Plan old = sched::plan(w.view, w.now, {});
  ASSERT_FALSE(old.groups.empty());
  wire::Reservation r = draft("sudden", hours(1), hours(2));
  r.add_nodes("n1");
  r.set_maintenance(true);
  ASSERT_EQ(create_error(r), "");
  w.core->on_plan(w.now, old);
  w.pump();
  EXPECT_EQ(w.state(job), JobState::kPending);
}

/// A plan is a moment old when it is checked: what fills the reservation, or the gap before it, starts all the same.
TEST_F(Reserved, AJobAsLongAsTheReservationFits) {
  make_course();
  wire::ApiRequest request = World::submission(gang(3));
  request.mutable_submit()->mutable_spec()->set_time_limit_us(hours(1).us);
  const JobId before(w.ask(1001, request).submit().job_id());
  const auto plan_and_commit = [&] {
    const sched::Plan plan = sched::plan(w.view, w.now, {});
    w.now = w.now + base::milliseconds(30);
    w.core->on_plan(w.now, plan);
    w.pump();
  };
  plan_and_commit();
  ASSERT_EQ(w.state(before), JobState::kConfiguring) << why(before);
  w.cancel(1001, before);
  for (const char* node : {"n0", "n1", "n2"}) w.done(node, before);

  const JobId lesson = submit(1000, gang(2), hours(2), "course");
  w.tick(hours(1));
  w.connect_all();
  w.now = w.now + base::seconds(2);
  plan_and_commit();
  ASSERT_EQ(w.state(lesson), JobState::kConfiguring) << why(lesson);
  EXPECT_LT(w.job(lesson).spec.time_limit, hours(2));
  EXPECT_GT(w.job(lesson).spec.time_limit, hours(2) - minutes(1));
}

TEST_F(Reserved, GrowingItKeepsWhatItHas) {
  wire::Reservation r = draft("mine", {}, hours(2));
  r.set_node_count(1);
  r.add_users("user1000");
  const wire::ApiReply made = create(r);
  const std::string first = made.create_reservation().nodes(0);
  const JobId job = submit(1000, gang(1), hours(1), "mine");
  ASSERT_EQ(w.state(job), JobState::kConfiguring);
  wire::ApiRequest change;
  change.mutable_update_reservation()->set_name("mine");
  change.mutable_update_reservation()->set_node_count(2);
  ASSERT_EQ(w.ask(0, change).error().what(), "");
  EXPECT_EQ(list().reservations(0).nodes_size(), 2);
  EXPECT_EQ(list().reservations(0).nodes(0), first);
}

TEST_F(Reserved, AnotherAccountTakesAJobOut) {
  wire::Reservation r = draft("narrow", hours(1), hours(2));
  r.add_nodes("n0");
  r.add_users("user1000");
  r.add_accounts("normal");
  ASSERT_EQ(create_error(r), "");
  EXPECT_TRUE(w.settings.qos.size() == 1);
  const JobId job = submit(1000, gang(1), hours(1), "narrow");
  wire::ApiRequest change;
  change.mutable_update_job()->add_ids(job.value);
  change.mutable_update_job()->set_reservation("none");
  EXPECT_EQ(w.ask(1000, change).jobs().faults_size(), 1);
  change.mutable_update_job()->set_reservation("");
  EXPECT_EQ(w.ask(1000, change).jobs().faults_size(), 0);
  w.schedule();
  EXPECT_EQ(w.state(job), JobState::kConfiguring);
}

TEST_F(Reserved, NodesShowThatTheyAreReserved) {
  make_course();
  wire::ApiRequest nodes;
  nodes.mutable_list_nodes();
  EXPECT_EQ(w.ask(1001, nodes).list_nodes().nodes(0).state(), "IDLE");
  later(hours(1));
  EXPECT_EQ(w.ask(1001, nodes).list_nodes().nodes(0).state(), "IDLE+RESERVED");
  EXPECT_EQ(w.ask(1001, nodes).list_nodes().nodes(2).state(), "IDLE");
}

}  // namespace
}  // namespace gw::ctld
