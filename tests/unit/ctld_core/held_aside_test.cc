// Stored rows that cannot be read: held aside with what depends on them, while everything else continues.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ctld_core/step_world.h"

namespace gw::ctld {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

using model::JobState;
using testing::gang;
using testing::kAlice;
using testing::key_of;
using testing::MemoryStore;
using testing::StepWorld;
using testing::World;

constexpr char kGarbage[] = "\xff\xfe\xff";

/// Job 1 runs on n0 and n1 with a step, job 2 on n2, job 3 waits, job 4 has ended, and there is something of every
/// kind.
class HeldWorld : public StepWorld {
 public:
  HeldWorld() : StepWorld(4) {
    cancel(0, id);
    for (const auto& node : settings.nodes) done(node.name, id);  // job 1 of the base class makes room
    make_tables();
    two = start(gang(2));
    one = start(gang(1));
    waiting = submit(kAlice, gang(4));
    id = two;
    begin('a', 2, 2);
    restart();
  }
  JobId start(const model::Request& r) {
    const JobId job_id = submit(kAlice, r);
    schedule();
    for (const auto& share : job(job_id).placed()->allocation.shares) prepared(share.name, job_id);
    for (const auto& share : job(job_id).placed()->allocation.shares) started(share.name, job_id);
    EXPECT_EQ(state(job_id), JobState::kRunning);
    return job_id;
  }
  void make_tables() {
    wire::ApiRequest r;
    r.set_client_id("first");
    wire::Reservation& course = *r.mutable_create_reservation()->mutable_reservation();
    course.set_name("course");
    course.set_start_us((now + base::hours(1000)).us);
    course.set_duration_us(base::hours(1).us);
    course.add_nodes("n3");
    course.add_users("user1001");
    must(r);
    r.Clear();
    r.mutable_create_partition()->mutable_partition()->set_name("made");
    r.mutable_create_partition()->mutable_partition()->add_nodes("n3");
    r.mutable_create_partition()->mutable_partition()->add_origins()->set_key("nodes");
    must(r);
    for (const auto& [name, parent] : {std::pair("above", ""), std::pair("below", "above"), std::pair("beside", "")}) {
      r.Clear();
      wire::QuotaChange& change = *r.mutable_change_quotas()->add_changes();
      change.set_what(wire::QuotaChange::kAdd);
      change.set_name(name);
      change.mutable_qos()->set_parent(parent);
      must(r);
    }
    r.Clear();
    wire::QuotaChange& change = *r.mutable_change_quotas()->add_changes();
    change.set_what(wire::QuotaChange::kAdd);
    change.set_name("ann");
    change.set_is_user(true);
    change.set_default_qos("beside");
    must(r);
  }
  void must(const wire::ApiRequest& r) { ASSERT_EQ(ask(0, r).error().what(), ""); }

  std::vector<std::string> held() {
    wire::ApiRequest r;
    r.mutable_list_held_aside();
    const wire::ApiReply reply = ask(kAlice, r);
    std::vector<std::string> out;
    for (const wire::HeldRow& row : reply.list_held_aside().rows()) out.push_back(row.kind() + ":" + row.name());
    return out;
  }
  wire::ApiReply remove(const std::string& kind, const std::string& name, uint32_t uid = 0) {
    wire::ApiRequest r;
    r.mutable_delete_held_aside()->set_kind(kind);
    r.mutable_delete_held_aside()->set_name(name);
    return ask(uid, r);
  }
  std::string state_of_node(const std::string& name) {
    wire::ApiRequest r;
    r.mutable_list_nodes()->add_names(name);
    return ask(0, r).list_nodes().nodes(0).state();
  }
  /// With all that runs there.
  void join(const std::string& node, const std::vector<JobId>& jobs) {
    std::vector<wire::RunState> runs;
    for (const JobId job_id : jobs) runs.push_back(World::run(job_id, 1, wire::kRunStarted));
    connect(node, runs);
  }
  const wire::Registered& answer_to(const std::string& node) {
    return last(node, wire::ControllerToNode::kRegistered)->registered();
  }

  JobId two, one, waiting;
};

struct Damage {
  std::string what;
  std::function<void(MemoryStore&)> apply;
  std::vector<std::string> held;
};

/// What is done to one row, and what is out of its table then.
std::vector<Damage> every_damage() {
  const std::vector<std::string> all_of_two = {"job:2", "run:2/n0", "run:2/n1", "run:2.0/n0", "run:2.0/n1", "step:2.0"};
  const auto two = [](MemoryStore& s) -> store::JobRow& { return s.jobs.at(JobId(2)); };
  return {
      {"status of a job", [=](auto& s) { two(s).status = kGarbage; }, all_of_two},
      {"options of a job", [=](auto& s) { two(s).spec = kGarbage; }, all_of_two},
      {"no options", [=](auto& s) { two(s).spec.clear(); }, all_of_two},
      {"options of somebody else", [=](auto& s) { two(s).uid = 1; }, all_of_two},
      {"state of a job", [=](auto& s) { two(s).state = 5; }, all_of_two},
      {"fewer nodes", [=](auto& s) { two(s).nodes = "n0"; }, all_of_two},
      {"more nodes", [=](auto& s) { two(s).nodes = "n[0-2]"; }, all_of_two},
      {"no nodes", [=](auto& s) { two(s).nodes.clear(); }, all_of_two},
      {"run",
       [](auto& s) {
         s.run_nodes.at({JobId(2), 0, "n1"}).bytes = kGarbage;
       },
       all_of_two},
      {"missing run",
       [](auto& s) {
         s.run_nodes.erase({JobId(2), 0, "n1"});
       },
       {"job:2", "run:2/n0", "run:2.0/n0", "run:2.0/n1", "step:2.0"}},
      {"job that waits", [](auto& s) { s.jobs.at(JobId(4)).status = kGarbage; }, {"job:4"}},
      {"job that has ended", [](auto& s) { s.ended.at(JobId(1)).status = kGarbage; }, {"ended_job:1"}},
      {"a number twice",
       [](auto& s) {
         s.ended[JobId(2)] = s.ended.at(JobId(1));
         s.ended[JobId(2)].id = JobId(2);
       },
       {"ended_job:2"}},
      {"step",
       [](auto& s) {
         s.steps.at({JobId(2), 0}).bytes = kGarbage;
       },
       {"run:2.0/n0", "run:2.0/n1", "step:2.0"}},
      {"run of a step",
       [](auto& s) {
         s.run_nodes.at({JobId(2), 1, "n0"}).bytes = kGarbage;
       },
       {"run:2.0/n0", "run:2.0/n1", "step:2.0"}},
      {"node", [](auto& s) { s.nodes.at("n3") = kGarbage; }, {"node:n3"}},
      {"empty node", [](auto& s) { s.nodes.at("n3").clear(); }, {"node:n3"}},
      {"partition", [](auto& s) { s.partitions.at("made") = kGarbage; }, {"partition:made"}},
      {"reservation", [](auto& s) { s.reservations.at("course") = kGarbage; }, {"reservation:course"}},
      {"QOS", [](auto& s) { s.qos.at("above") = kGarbage; }, {"qos:above", "qos:below"}},
      {"user of quotas", [](auto& s) { s.quota_users.at("ann") = kGarbage; }, {"user:ann"}},
      {"use",
       [](auto& s) {
         s.usage.at({"user", "1001"}).amount = -1;
       },
       {"usage:user/1001"}},
      {"use of nothing",
       [](auto& s) {
         s.usage[{"x", "y"}] = {"x", "y", 1, {1}};
       },
       {"usage:x/y"}},
      {"answer", [](auto& s) { s.replies.front().reply = kGarbage; }, {"reply:0/first"}},
      {"numbers of jobs", [](auto& s) { s.meta.at("next_job") = kGarbage; }, {"setting:next_job"}},
      {"numbers of extensions", [](auto& s) { s.meta["next_piece"] = kGarbage; }, {"setting:next_piece"}},
      {"count of commits", [](auto& s) { s.meta.at("commit") = kGarbage; }, {"setting:commit"}},
      {"starts", [](auto& s) { s.meta.at("state_starts") = kGarbage; }, {"setting:state_starts"}},
      {"identity", [](auto& s) { s.meta.at("state_root") = kGarbage; }, {"setting:state_root"}},
      {"count of preemptions", [](auto& s) { s.meta["preempted:x"] = kGarbage; }, {"setting:preempted:x"}},
  };
}

TEST(HeldAside, EachKindOfRowWithWhatDependsOnIt) {
  for (const Damage& d : every_damage()) {
    SCOPED_TRACE(d.what);
    HeldWorld w;
    ASSERT_THAT(w.held(), IsEmpty());
    d.apply(w.store);
    w.restart();
    ASSERT_TRUE(w.restored.has_value()) << w.restored.error().text();
    EXPECT_THAT(w.held(), UnorderedElementsAreArray(d.held));
    EXPECT_EQ(w.store.held.size(), d.held.size()) << "out of its table";
    EXPECT_EQ(w.core->metrics(w.now).held_aside_rows, d.held.size());
    EXPECT_EQ(w.state(w.one), JobState::kRunning);
    const auto told = std::count_if(w.store.events.begin(), w.store.events.end(),
                                    [](const auto& e) { return e.kind == "row held aside"; });
    EXPECT_EQ(static_cast<size_t>(told), d.held.size());
    const size_t notes = w.notes.size();
    w.restart();
    EXPECT_THAT(w.held(), UnorderedElementsAreArray(d.held)) << "nothing more, and it is kept";
    EXPECT_EQ(w.notes.size(), notes) << "it is said once";
    for (const std::string& row : d.held) {
      const size_t colon = row.find(':');
      EXPECT_TRUE(w.remove(row.substr(0, colon), row.substr(colon + 1)).has_ok()) << row;
    }
    EXPECT_THAT(w.held(), IsEmpty());
    EXPECT_TRUE(w.store.held.empty());
    EXPECT_TRUE(w.core->ledger().audit().has_value());
  }
}

TEST(HeldAside, OnlyAdministratorsDelete) {
  HeldWorld w;
  w.store.jobs.at(w.two).status = kGarbage;
  w.restart();
  EXPECT_TRUE(w.remove("job", "2", kAlice).has_error());
  EXPECT_THAT(w.held(), Contains("job:2"));
  EXPECT_EQ(w.remove("job", "77").error().code(), static_cast<uint32_t>(base::ErrorCode::kNotFound));
}

/// A wire field that this program does not know is one of a newer program.
TEST(HeldAside, UnknownFieldsAreNoDamage) {
  HeldWorld w;
  const std::string unknown("\xc2\x3e\x01x", 4);  // field 1000, one byte
  for (auto& [id, row] : w.store.jobs) {
    row.status += unknown;
    row.spec += unknown;
  }
  for (auto* table : {&w.store.nodes, &w.store.partitions, &w.store.reservations, &w.store.qos, &w.store.quota_users})
    for (auto& [name, bytes] : *table) bytes += unknown;
  for (auto& [key, row] : w.store.steps) row.bytes += unknown;
  for (auto& [key, row] : w.store.run_nodes) row.bytes += unknown;
  w.restart();
  EXPECT_THAT(w.held(), IsEmpty());
  EXPECT_EQ(w.state(w.two), JobState::kRunning);
}

// Each of 10,000 nodes says in turn that nothing of the job runs there.
TEST(HeldAside, TheRowOfAJobOnManyNodesIsNotWrittenForEachOfThem) {
  constexpr uint32_t kNodes = 10'000;
  HeldRows held;
  held.add({"job", "2", "it cannot be read", Time{1}, fmt::format("n[0-{}]", kNodes - 1)});
  size_t writes = 0, bytes = 0;
  for (uint32_t n = 0; n < kNodes; ++n) {
    EXPECT_THAT(held.jobs_on(fmt::format("n{}", n)), ElementsAre(2u));
    const store::HeldRow* row = held.set_on(fmt::format("n{}", n), 2, false);
    if (row != nullptr) bytes += row->nodes.size();
    writes += row != nullptr ? 1 : 0;
    if (n == kNodes / 3) {
      EXPECT_EQ(held.complete(*held.find("job", "2")).nodes, fmt::format("n[{}-9999]", n + 1));
    }
  }
  EXPECT_LE(writes, 80u);
  EXPECT_LE(bytes, 80u * 20);
  EXPECT_EQ(held.find("job", "2")->nodes, "");
}

TEST(HeldAside, WhatRunsGoesOnAndItsNodesTakeNothingElse) {
  HeldWorld w;
  w.store.jobs.at(w.two).status = kGarbage;
  w.restart();
  EXPECT_EQ(w.store.held.at({"job", "2"}).nodes, "n[0-1]");
  EXPECT_EQ(w.state_of_node("n0"), "MIXED+DRAIN*");
  w.join("n0", {w.two});
  w.join("n1", {});
  EXPECT_THAT(w.answer_to("n0").wanted_size(), 1);
  EXPECT_EQ(w.state_of_node("n0"), "MIXED+DRAIN");
  EXPECT_EQ(w.state_of_node("n1"), "IDLE") << "it says that nothing of it runs there";
  EXPECT_EQ(w.store.held.at({"job", "2"}).nodes, "n0");
  const JobId next = w.submit(kAlice, gang(1));
  const JobId more = w.submit(kAlice, gang(1));
  w.schedule();
  EXPECT_EQ(w.job(next).placed()->allocation.node_names(), std::vector<std::string>{"n1"});
  EXPECT_EQ(w.state(more), JobState::kPending) << "n0 is not given twice";
  w.exited("n0", w.two, 0, 1);
  w.done("n0", w.two, 1);
  w.schedule();
  EXPECT_EQ(w.store.held.at({"job", "2"}).nodes, "");
  EXPECT_EQ(w.state(more), JobState::kConfiguring);
  EXPECT_THAT(w.held(), Contains("job:2"));
}

/// A gang on n0, whose script it is, and n1, whose row cannot be read.
class HeldGang : public HeldWorld {
 public:
  HeldGang() {
    store.jobs.at(two).status = kGarbage;
    restart();
  }
  void join_first() { join("n0", {two}); }
  void join_other() {
    wire::RunState part = World::run(two, 1, wire::kRunStarted);
    part.set_first_node("n0");
    connect("n1", {part});
  }
  bool is_stopped(const std::string& node) {
    const wire::ControllerToNode* stop = last(node, wire::ControllerToNode::kStop);
    return stop != nullptr && stop->stop().job() == two.value;
  }
};

TEST(HeldAside, AGangGoesOnWhileItsFirstNodeHasIt) {
  HeldGang a, b;
  a.join_first();
  a.join_other();
  b.join_other();
  EXPECT_FALSE(b.is_stopped("n1")) << "n0 has yet to say whether it continues";
  b.join_first();
  for (HeldGang* w : {&a, &b}) {
    EXPECT_FALSE(w->is_stopped("n0"));
    EXPECT_FALSE(w->is_stopped("n1"));
    w->done("n0", w->two, 1);
    EXPECT_TRUE(w->is_stopped("n1"));
  }
}

TEST(HeldAside, AGangThatEndedBeforeAllOfItsNodesWereBackEndsThereToo) {
  HeldGang w;
  w.join_first();
  w.exited("n0", w.two, 0, 1);
  w.done("n0", w.two, 1);
  w.join_other();
  ASSERT_TRUE(w.is_stopped("n1"));
  w.done("n1", w.two, 1);
  EXPECT_EQ(w.state_of_node("n1"), "IDLE");
  EXPECT_EQ(w.store.held.at({"job", "2"}).nodes, "");
}

TEST(HeldAside, AGangThatItsFirstNodeHasNotEnds) {
  HeldGang w;
  w.join_other();
  w.join("n0", {});
  EXPECT_TRUE(w.is_stopped("n1"));
}

TEST(HeldAside, DeletingAJobEndsWhatRunsOfIt) {
  HeldWorld w;
  w.store.jobs.at(w.two).status = kGarbage;
  w.restart();
  w.join("n0", {w.two});
  EXPECT_EQ(w.last("n0", wire::ControllerToNode::kStop), nullptr);
  EXPECT_TRUE(w.remove("job", "2").has_ok());
  ASSERT_NE(w.last("n0", wire::ControllerToNode::kStop), nullptr);
  EXPECT_EQ(w.last("n0", wire::ControllerToNode::kStop)->stop().job(), 2U);
  EXPECT_EQ(w.state_of_node("n0"), "MIXED+DRAIN") << "until it is gone";
  EXPECT_EQ(w.state_of_node("n1"), "IDLE*");
  w.done("n0", w.two, 1);
  EXPECT_EQ(w.state_of_node("n0"), "IDLE");
}

TEST(HeldAside, ADeadNodeRunsNothing) {
  HeldWorld w;
  w.store.jobs.at(w.two).status = kGarbage;
  w.restart();
  wire::ApiRequest r;
  r.mutable_update_node()->add_names("n1");
  r.mutable_update_node()->set_action(wire::kNodeDown);
  r.mutable_update_node()->set_dead(true);
  w.must(r);
  EXPECT_EQ(w.store.held.at({"job", "2"}).nodes, "n0");
}

TEST(HeldAside, AStepGoesOnWithinItsJob) {
  HeldWorld w;
  w.store.steps.at({w.two, 0}).bytes = kGarbage;
  w.restart();
  wire::RunState step = World::run(w.two, 1, wire::kRunStarted);
  step.set_step(1);
  w.connect("n0", {World::run(w.two, 1, wire::kRunStarted), step});
  EXPECT_EQ(w.answer_to("n0").wanted_size(), 2);
  EXPECT_EQ(w.state(w.two), JobState::kRunning);
  EXPECT_TRUE(w.remove("step", "2.0").has_ok());
  w.cut("n0");
  w.connect("n0", {World::run(w.two, 1, wire::kRunStarted), step});
  EXPECT_EQ(w.answer_to("n0").wanted_size(), 1);
}

TEST(HeldAside, NumbersAreNeverGivenAgain) {
  HeldWorld w;
  w.store.jobs.at(w.waiting).status = kGarbage;
  w.store.meta.at("next_job") = kGarbage;
  w.restart();
  EXPECT_EQ(w.submit(kAlice, gang(1)).value, 5U);
  w.store.meta.at("next_job") = kGarbage;
  w.store.held.erase({"setting", "next_job"});
  w.restart();
  wire::NodeToController m;
  wire::Register& node = *m.mutable_register_node();
  node.set_name("n3");
  *node.mutable_topology() = wire::to_wire(testing::eight_gpus());
  node.mutable_seen()->set_next_job(50);
  w.core->on_node_message(w.now, ++w.last_link, NodePeer{0, "127.0.0.1"}, m);
  EXPECT_EQ(w.submit(kAlice, gang(1)).value, 50U) << "a node knows of jobs that no row names";
}

TEST(HeldAside, ComponentsGoTogether) {
  World w(3);
  w.connect_all();
  wire::ApiRequest request = World::submission(gang(1));
  *request.mutable_submit()->add_components() = request.submit().spec();
  const JobId first(w.ask(kAlice, request).submit().job_id());
  const JobId other = w.submit(kAlice, gang(1));
  ASSERT_TRUE(first);
  w.schedule();
  w.store.jobs.at(JobId(first.value + 1)).spec = kGarbage;
  w.restart();
  ASSERT_TRUE(w.restored.has_value());
  EXPECT_TRUE(w.store.held.contains({"job", first.text()}));
  EXPECT_TRUE(w.store.held.contains({"job", JobId(first.value + 1).text()}));
  EXPECT_EQ(w.state(other), JobState::kConfiguring);
}

/// Of two jobs that say that they hold the same one is out.
TEST(HeldAside, NothingIsHeldTwice) {
  World w(1);
  w.connect_all();
  const JobId first = w.submit(kAlice, gang(1, 4));
  const JobId second = w.submit(kAlice, gang(1, 4));
  w.schedule();
  w.store.run_nodes.at({second, 0, "n0"}).bytes = w.store.run_nodes.at({first, 0, "n0"}).bytes;
  w.restart();
  ASSERT_TRUE(w.restored.has_value()) << w.restored.error().text();
  EXPECT_EQ(w.state(first), JobState::kConfiguring);
  EXPECT_THAT(w.store.held.at({"job", second.text()}).reason, HasSubstr("another job holds the same"));
}

TEST(HeldAside, ANodeOfUnknownStateIsDrainedUntilSomebodySaysOtherwise) {
  HeldWorld w;
  w.store.nodes.at("n3") = kGarbage;
  w.restart();
  w.connect("n3");
  EXPECT_EQ(w.state_of_node("n3"), "IDLE+DRAIN");
  w.restart();
  w.connect("n3");
  EXPECT_EQ(w.state_of_node("n3"), "IDLE+DRAIN");
  wire::ApiRequest r;
  r.mutable_update_node()->add_names("n3");
  r.mutable_update_node()->set_action(wire::kNodeResume);
  w.must(r);
  EXPECT_EQ(w.state_of_node("n3"), "IDLE");
}

TEST(HeldAside, WhatWasCarriedOutIsNotDoneAgain) {
  World w(1);
  wire::ApiRequest request = World::submission(gang(1));
  request.set_client_id("once");
  ASSERT_TRUE(w.ask(kAlice, request).has_submit());
  w.store.replies.front().reply = kGarbage;
  w.restart();
  EXPECT_EQ(w.ask(kAlice, request).error().code(), static_cast<uint32_t>(base::ErrorCode::kConflict));
  EXPECT_EQ(w.core->jobs().size(), 1U);
  EXPECT_TRUE(w.ask(testing::kAlice + 1, request).has_submit()) << "of somebody else";
}

/// Scripts are not dropped while it cannot be known whose they are.
TEST(HeldAside, ScriptsOfAHeldJobStay) {
  HeldWorld w;
  w.store.blobs["script"] = {"script", 10, false, {}};
  w.store.blobs["environment"] = {"environment", 10, true, {}};
  w.store.jobs.at(w.waiting).status = kGarbage;
  w.restart();
  EXPECT_EQ(w.store.blobs.at("script").released.us, 0);
  EXPECT_TRUE(w.store.blobs.contains("environment"));
  EXPECT_TRUE(w.remove("job", w.waiting.text()).has_ok());
  w.restart();
  EXPECT_NE(w.store.blobs.at("script").released.us, 0);
  EXPECT_FALSE(w.store.blobs.contains("environment"));
}

TEST(HeldAside, WithoutTheCountOfCommitsMarksStayOurs) {
  Lineage before;
  before.begin("a");
  for (int i = 0; i < 100; ++i) before.next_commit();
  Lineage after;
  EXPECT_THAT(after.restore({{"state_root", "a"}, {"state_starts", "a 1\n"}, {"commit", "x"}}), ElementsAre("commit"));
  after.begin("b");
  EXPECT_EQ(after.kin(before.mark()), Kin::kOurs);
  EXPECT_GT(after.mark_of_next().commit, before.mark().commit);
}

TEST(HeldRows, NamesOfOneKindDiffer) {
  HeldRows rows;
  rows.add({"node", "n1", "why", {1}, ""});
  EXPECT_EQ(rows.free_name("node", "n1"), "n1#2");
  EXPECT_EQ(rows.free_name("job", "n1"), "n1");
  EXPECT_FALSE(rows.has_jobs());
  rows.add({"job", "7", "why", {1}, "n[1-2]"});
  EXPECT_TRUE(rows.has_jobs());
  EXPECT_EQ(rows.text_on("n2"), "job 7");
  EXPECT_TRUE(rows.erase("job", "7"));
  EXPECT_EQ(rows.text_on("n2"), "");
  EXPECT_FALSE(rows.erase("job", "7"));
}

}  // namespace
}  // namespace gw::ctld
