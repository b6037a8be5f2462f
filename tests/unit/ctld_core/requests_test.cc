// Requests: authorization, answers given again, refusals, changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/schema/schema.h"
#include "world.h"

namespace gw::ctld {
namespace {

using model::JobState;
using testing::gang;
using testing::World;

wire::ApiRequest action(JobId id, wire::JobAction what) {
  wire::ApiRequest r;
  r.mutable_job_action()->add_ids(id.value);
  r.mutable_job_action()->set_action(what);
  return r;
}

struct KindRow {
  wire::ApiRequest request;
  Grant grant;
  bool is_for_owner_alone = false;  ///< Not even for administrators.
  bool is_refused_for_root = false;
  bool is_for_nobody_here = false;
};

/// One request of every kind, as somebody else would send it about job 1 and node n0, and who may.
class EveryKind {
 public:
  static std::vector<KindRow> rows() {
    EveryKind all;
    all.add_jobs();
    all.add_steps();
    all.add_cluster();
    all.add_rules();
    return std::move(all.rows_);
  }

 private:
  std::vector<KindRow> rows_;

  wire::ApiRequest& add(Grant grant) { return rows_.emplace_back(KindRow{{}, grant}).request; }
  void add_jobs() {
    add(Grant::kEverybody) = World::submission(gang(1));
    add(Grant::kEverybody).mutable_list_jobs();
    add(Grant::kEverybody).mutable_show_job()->set_id(1);
    add(Grant::kEverybody).mutable_wait_job()->set_id(1);
    add(Grant::kEverybody).mutable_why_job()->set_id(1);
    add(Grant::kOwnJobs).mutable_cancel()->mutable_filter()->add_ids(1);
    add(Grant::kOwnJobs).mutable_update_job()->add_ids(1);
    add(Grant::kOwnJobs) = action(JobId(1), wire::kHold);
    add(Grant::kOwnJobs).mutable_amend_job()->set_id(1);
    wire::NotifyJobRequest& notice = *add(Grant::kOwnJobs).mutable_notify_job();
    notice.set_id(1);
    notice.set_text("mind the gap");
    add(Grant::kOwnJobs).mutable_checkpointed()->set_job_id(1);
    wire::ProgressRequest& progress = *add(Grant::kOwnJobs).mutable_progress();
    progress.set_job_id(1);
    progress.set_step(1);
    add(Grant::kEverybody).mutable_list_priorities();
  }
  void add_steps() {
    add(Grant::kOwnJobs).mutable_create_step()->set_job_id(1);
    rows_.back().is_for_owner_alone = true;
    add(Grant::kOwnJobs).mutable_ticket()->set_job_id(1);
    add(Grant::kEverybody).mutable_list_steps();
    add(Grant::kOwnJobs).mutable_signal_step()->set_job_id(1);
    add(Grant::kOwnJobs).mutable_end_allocation()->set_job_id(1);
    add(Grant::kOwnJobs).mutable_step_usage()->set_job_id(1);
  }
  void add_cluster() {
    add(Grant::kEverybody).mutable_list_nodes();
    wire::UpdateNodeRequest& node = *add(Grant::kAdmins).mutable_update_node();
    node.add_names("n0");
    node.set_action(wire::kNodeResume);
    add(Grant::kEverybody).mutable_list_partitions();
    add(Grant::kAdmins).mutable_create_partition();
    add(Grant::kAdmins).mutable_update_partition()->set_name("main");
    add(Grant::kAdmins).mutable_delete_partition()->set_name("main");
    add(Grant::kEverybody).mutable_list_reservations();
    add(Grant::kAdmins).mutable_create_reservation();
    add(Grant::kAdmins).mutable_update_reservation()->set_name("r");
    add(Grant::kAdmins).mutable_delete_reservation()->set_name("r");
  }
  void add_rules() {
    add(Grant::kEverybody).mutable_change_quotas();  // each change is asked for by itself: quotas_test.cc
    add(Grant::kEverybody).mutable_list_quotas();
    add(Grant::kEverybody).mutable_show_shares();
    add(Grant::kEverybody).mutable_explain_quota();
    add(Grant::kEverybody).mutable_list_offers();
    add(Grant::kEverybody).mutable_show_config();
    add(Grant::kAdmins).mutable_reconfigure();
    add(Grant::kEverybody).mutable_ping();
    add(Grant::kAdmins).mutable_backup()->set_path("/x");
    add(Grant::kAdmins).mutable_take_snapshot();
    add(Grant::kEverybody).mutable_list_held_aside();
    add(Grant::kAdmins).mutable_delete_held_aside()->set_kind("job");
    add(Grant::kAdmins).mutable_list_audit();
    add(Grant::kAdmins).mutable_set_log_level()->set_level("debug");
    add(Grant::kEverybody).mutable_list_events()->set_node("n0");
    add(Grant::kEverybody).mutable_list_records();
    add(Grant::kEverybody).mutable_sum_records();
    add(Grant::kEverybody).mutable_show_figures();
    add(Grant::kEverybody).mutable_make_token()->set_hash(std::string(64, 'a'));
    rows_.back().is_refused_for_root = true;
    add(Grant::kEverybody).mutable_list_tokens();
    add(Grant::kEverybody).mutable_revoke_tokens()->set_all(true);
    add(Grant::kEverybody).mutable_act_for()->set_token("secret");
    rows_.back().is_for_nobody_here = true;
    add(Grant::kEverybody).mutable_await_change();
  }
};

/// The kinds that api.proto has, whatever the tables say.
std::set<std::string> kinds_of_protocol() {
  std::set<std::string> kinds;
  const schema::Messages messages = schema::messages();
  for (const schema::Field& field : messages.at("ApiRequest"))
    if (field.type == schema::Type::kMessage) kinds.insert(field.name);
  return kinds;
}

bool is_refused(const wire::ApiReply& reply) {
  const auto denied = static_cast<uint32_t>(base::ErrorCode::kDenied);
  if (reply.has_error()) return reply.error().code() == denied;
  for (const auto& f : reply.cancel().faults())
    if (f.error().code() == denied) return true;
  for (const auto& f : reply.jobs().faults())
    if (f.error().code() == denied) return true;
  return false;
}

TEST(Authorization, EveryKindOfTheProtocolHasItsRowAndIsTested) {
  std::set<std::string> rows, tested;
  for (const wire::RequestRow& row : wire::rows::kAll) rows.emplace(row.name);
  for (const KindRow& row : EveryKind::rows()) tested.emplace(wire::row_of(row.request.kind_case()).name);
  EXPECT_EQ(rows, kinds_of_protocol());
  EXPECT_EQ(tested, kinds_of_protocol());
}

TEST(Authorization, EveryKindForOwnerStrangerAndAdministrator) {
  for (const KindRow& row : EveryKind::rows()) {
    const wire::RequestRow& kind = wire::row_of(row.request.kind_case());
    EXPECT_EQ(kind.grant, row.grant) << kind.name;
    for (uint32_t uid : {1000U, 1001U, 0U}) {
      World w(1);
      w.settings.allow_root_jobs = true;
      w.restart();
      w.connect_all();
      ASSERT_TRUE(w.submit(1000, gang(1)));
      const bool is_owner = row.grant == Grant::kOwnJobs && uid == 1000;
      const bool is_asked_further = row.is_for_nobody_here || (row.is_refused_for_root && uid == 0);
      const bool allowed =
          !is_asked_further && (row.grant == Grant::kEverybody || (uid == 0 && !row.is_for_owner_alone) || is_owner);
      EXPECT_EQ(is_refused(w.ask(uid, row.request)), !allowed) << kind.name << " by uid " << uid;
    }
  }
}

/// What is carried out is written down: nothing that says it only reads leaves a row behind.
TEST(Authorization, WhatOnlyReadsChangesNothing) {
  for (const KindRow& row : EveryKind::rows()) {
    const wire::RequestRow& kind = wire::row_of(row.request.kind_case());
    if (kind.effect != wire::Effect::kReads) continue;
    World w(1);
    w.connect_all();
    ASSERT_TRUE(w.submit(1000, gang(1)));
    const std::string before = w.core->fingerprint();
    w.ask(0, row.request);
    EXPECT_EQ(w.core->fingerprint(), before) << kind.name;
  }
}

TEST(RequestRows, TrialsAreNoChanges) {
  wire::ApiRequest request;
  request.mutable_list_jobs();
  EXPECT_FALSE(wire::is_change(request));
  request.mutable_cancel();
  EXPECT_TRUE(wire::is_change(request));
  request.mutable_submit()->set_test_only(true);
  EXPECT_FALSE(wire::is_change(request));
  request.mutable_change_quotas()->set_dry_run(true);
  EXPECT_FALSE(wire::is_change(request));
}

/// It chooses victims by it, and a controller that starts anew would say so.
TEST(UpdateJob, TheSchedulerHearsOfWhatRuns) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  w.schedule();
  w.prepared("n0", id);
  wire::ApiRequest r;
  r.mutable_update_job()->add_ids(id.value);
  r.mutable_update_job()->set_time_limit_us(base::hours(5).us);
  r.mutable_update_job()->set_nice(9);
  ASSERT_FALSE(w.ask(0, r).has_error());
  EXPECT_EQ(w.view.running().at(id)->time_limit, base::hours(5));
  EXPECT_EQ(w.view.running().at(id)->nice, w.job(id).spec.nice);
}

TEST(Authorization, NodesAreNoUsers) {
  for (const KindRow& row : EveryKind::rows()) EXPECT_FALSE(is_allowed(row.grant, Role::kNode));
}

TEST(Authorization, OthersScriptsStayHidden) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  for (bool script : {true, false}) {
    wire::ApiRequest r;
    r.mutable_show_job()->set_id(id.value);
    r.mutable_show_job()->set_script(script);
    r.mutable_show_job()->set_environment(!script);
    EXPECT_TRUE(is_refused(w.ask(1001, r)));
    const size_t before = w.reads.size();
    w.ask(1000, r);
    EXPECT_EQ(w.reads.size(), before + 1);
  }
}

/// What the store is asked for, by whom; and what is said where it has none.
TEST(Events, AreAskedOfTheStore) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  struct Row {
    uint32_t job;
    const char* node;
    uint32_t last;
    size_t most;
    const char* if_none;
  };
  const Row table[] = {{0, "", 0, 100, ""},        {0, "", 7, 7, ""},
                       {id.value, "", 0, 100, ""}, {4711, "", 0, 100, "there are no events of job 4711"},
                       {0, "n0", 0, 100, ""},      {0, "n9", 0, 100, "there are no events of node n9"}};
  for (const Row& row : table) {
    wire::ApiRequest r;
    r.mutable_list_events()->set_job(row.job);
    r.mutable_list_events()->set_node(row.node);
    r.mutable_list_events()->set_last(row.last);
    w.reads.clear();
    w.ask(1001, r);
    ASSERT_EQ(w.reads.size(), 1U);
    const ReadStored& read = w.reads.front();
    EXPECT_EQ(read.events.job.value, row.job);
    EXPECT_EQ(read.events.node, row.node);
    EXPECT_EQ(read.events.most, row.most);
    EXPECT_LE(read.events.most_text, 1000U);
    EXPECT_EQ(read.reader_uid, 1001U);
    EXPECT_EQ(read.reply.list_events().now_us(), w.now.us);
    EXPECT_EQ(read.if_no_events.what, row.if_none);
  }
  wire::ApiRequest both;
  both.mutable_list_events()->set_job(id.value);
  both.mutable_list_events()->set_node("n0");
  EXPECT_NE(w.ask(1000, both).error().what().find("not of both"), std::string::npos);
  both.mutable_list_events()->set_of_no_job(true);
  both.mutable_list_events()->clear_job();
  EXPECT_NE(w.ask(1000, both).error().what().find("events of no job"), std::string::npos);
}

TEST(Events, AreAskedForByTimeAndWithoutJobs) {
  World w(1);
  w.connect_all();
  wire::ApiRequest r;
  r.mutable_list_events()->set_of_no_job(true);
  w.ask(1001, r);
  ASSERT_EQ(w.reads.size(), 1U);
  EXPECT_TRUE(w.reads.front().events.of_no_job);
  EXPECT_EQ(w.reads.front().events.since, base::Time{});
  EXPECT_EQ(w.reads.front().events.until, base::Time::never());
  r.mutable_list_events()->set_of_no_job(false);
  r.mutable_list_events()->set_since_us(5);
  r.mutable_list_events()->set_until_us(7);
  EXPECT_NE(w.ask(1001, r).error().what().find("events of a time"), std::string::npos) << "all rows would be read";
  r.mutable_list_events()->set_node("n0");
  w.ask(1001, r);
  EXPECT_FALSE(w.reads.back().events.of_no_job);
  EXPECT_EQ(w.reads.back().events.since.us, 5);
  EXPECT_EQ(w.reads.back().events.until.us, 7);
}

TEST(Events, TellRootFromTheController) {
  World w(1);
  w.connect_all();
  EXPECT_EQ(w.store.events.back().kind, "registered");
  EXPECT_EQ(w.store.events.back().uid, std::nullopt);
  wire::ApiRequest drain;
  drain.mutable_update_node()->add_names("n0");
  drain.mutable_update_node()->set_action(wire::kNodeDrain);
  drain.mutable_update_node()->set_reason("disk");
  ASSERT_TRUE(w.ask(0, drain).has_ok());
  EXPECT_EQ(w.store.events.back().uid, 0U);
}

TEST(Authorization, IdentityComesFromTheCredential) {
  World w(1);
  w.connect_all();
  wire::ApiRequest forged = World::submission(gang(1));
  forged.mutable_submit()->mutable_spec()->set_uid(1001);
  forged.mutable_submit()->mutable_spec()->set_user("user1001");
  const JobId id(w.ask(1000, forged).submit().job_id());
  EXPECT_EQ(w.job(id).spec.uid, 1000U);
  EXPECT_EQ(w.job(id).spec.user, "user1000");
}

TEST(Submit, RetryGetsTheFirstAnswer) {
  World w(1);
  w.connect_all();
  wire::ApiRequest r = World::submission(gang(1));
  r.set_client_id("c-1");
  const uint32_t first = w.ask(1000, r).submit().job_id();
  EXPECT_EQ(w.ask(1000, r).submit().job_id(), first);
  w.restart();
  EXPECT_EQ(w.ask(1000, r).submit().job_id(), first);
  EXPECT_NE(w.ask(1001, r).submit().job_id(), first);  // somebody else's id is not ours
  EXPECT_EQ(w.core->jobs().size(), 2U);
}

TEST(Submit, IdIsWrittenWithTheJob) {
  World w(1);
  const JobId id = w.submit(1000, gang(1));
  EXPECT_TRUE(w.store.jobs.contains(id));
  w.restart();
  EXPECT_GT(w.submit(1000, gang(1)), id);
}

TEST(Submit, Refusals) {
  World w(1);
  w.connect_all();
  struct Row {
    std::function<void(wire::SubmitRequest&)> spoil;
    const char* expected;
    uint32_t uid = 1000;
  };
  const std::vector<Row> table = {
      {[](auto& s) { s.mutable_spec()->add_partitions("mian"); }, "Invalid partition name specified: mian"},
      {[](auto& s) { s.mutable_spec()->set_qos("nromal"); }, "Invalid qos specification: nromal"},
      {[](auto& s) { s.mutable_spec()->mutable_request()->set_gpus(9); },
       "9 GPUs on one node asked; the largest node in partition main has 8"},
      {[](auto& s) {
         s.mutable_spec()->mutable_request()->set_min_nodes(2);
         s.mutable_spec()->mutable_request()->set_max_nodes(2);
         s.mutable_spec()->mutable_request()->set_tasks(2);
       },
       "2 nodes asked"},
      {[](auto& s) { s.mutable_spec()->mutable_launch()->set_work_dir("tmp"); }, "not an absolute path"},
      {[](auto& s) { s.clear_script(); }, "script is empty"},
      {[](auto& s) { s.mutable_spec()->mutable_request()->set_cpus_per_task(0); }, "a task needs a CPU"},
      {[](auto& s) { s.set_script(std::string(5 << 20, 'x')); }, "at most 4194304"},
      {[](auto& s) { s.mutable_spec()->set_time_limit_us(-5); }, "-t/--time: -5 is out of range"},
      {[](auto&) {}, "root may not submit jobs", 0},
  };
  for (const Row& row : table) {
    wire::ApiRequest r = World::submission(gang(1));
    row.spoil(*r.mutable_submit());
    const wire::ApiReply reply = w.ask(row.uid, r);
    EXPECT_NE(reply.error().what().find(row.expected), std::string::npos) << reply.error().what();
  }
  EXPECT_TRUE(w.core->jobs().empty());
}

TEST(Submit, PartitionAccessByUserGroupAndQos) {
  Settings s;
  model::Partition p;
  p.name = "main";
  p.is_default = p.unlimited = true;
  p.allow_users = {"user1000"};
  s.partitions = {p};
  World w(1, s);
  w.connect_all();
  EXPECT_TRUE(w.submit(1000, gang(1)));
  EXPECT_FALSE(w.submit(1001, gang(1)));
  EXPECT_EQ(w.last_error, "user user1001 may not use partition main");
}

TEST(Store, WhileItFailsChangesAreRefusedAndNothingStarts) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  w.core->on_store_state("disk full");
  EXPECT_FALSE(w.submit(1000, gang(1)));
  EXPECT_NE(w.last_error.find("disk full"), std::string::npos);
  w.core->on_plan(w.now, sched::plan(w.view, w.now, {}));
  w.pump();
  EXPECT_EQ(w.state(id), JobState::kPending);
  w.core->on_store_state("");
  w.schedule();
  EXPECT_EQ(w.state(id), JobState::kConfiguring);
  EXPECT_TRUE(w.submit(1000, gang(1)));
}

TEST(Cancel, PendingRunningAndEnded) {
  World w(1);
  w.connect_all();
  const JobId running = w.submit(1000, gang(1)), waiting = w.submit(1000, gang(1));
  w.schedule();
  w.started("n0", running);
  w.cancel(1000, waiting);
  EXPECT_EQ(w.state(waiting), JobState::kCancelled);
  EXPECT_FALSE(w.job(waiting).ended()->started);
  w.cancel(1000, running);
  EXPECT_EQ(w.state(running), JobState::kCompleting);
  EXPECT_NE(w.last("n0", wire::ControllerToNode::kStop), nullptr);
  w.done("n0", running);
  EXPECT_EQ(w.state(running), JobState::kCancelled);
  EXPECT_EQ(w.cancel(1000, running).cancel().faults_size(), 1);
}

TEST(Cancel, KillEndsTheGraceOfAJobThatIsEndingAlready) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  w.schedule();
  w.prepared("n0", id);
  w.cancel(1000, id);
  ASSERT_EQ(w.state(id), JobState::kCompleting);
  ASSERT_FALSE(w.last("n0", wire::ControllerToNode::kStop)->stop().kill_now());
  wire::ApiRequest r;
  r.mutable_cancel()->mutable_filter()->add_ids(id.value);
  r.mutable_cancel()->set_signo(10);
  EXPECT_EQ(w.ask(1000, r).cancel().faults_size(), 1) << "nothing runs that could be signalled";
  r.mutable_cancel()->set_signo(9);
  EXPECT_EQ(w.ask(1000, r).cancel().done_size(), 1);
  EXPECT_TRUE(w.last("n0", wire::ControllerToNode::kStop)->stop().kill_now());
  w.cut("n0");
  w.connect("n0", {World::run(id, 1, wire::kRunStarted)});
  EXPECT_TRUE(w.last("n0", wire::ControllerToNode::kStop)->stop().kill_now()) << "and when the node comes back";
  w.done("n0", id);
  EXPECT_EQ(w.state(id), JobState::kCancelled);
}

TEST(Log, HasALineForEachEventOfJobsAndPartitions) {
  World w(1);
  w.connect_all();
  w.notes.clear();
  const size_t before = w.store.events.size();
  const JobId id = w.submit(1000, gang(1));
  w.schedule();
  w.prepared("n0", id);
  w.started("n0", id);
  w.exited("n0", id, 0);
  w.done("n0", id);
  wire::ApiRequest r;
  r.mutable_create_partition()->mutable_partition()->set_name("late");
  r.mutable_create_partition()->mutable_partition()->set_max_time_us(base::hours(2).us);
  r.mutable_create_partition()->mutable_partition()->set_default_time_us(base::hours(1).us);
  r.mutable_create_partition()->mutable_partition()->add_nodes("n0");
  const wire::ApiReply created = w.ask(0, r);
  EXPECT_TRUE(created.has_ok()) << created.error().what();
  ASSERT_GE(w.store.events.size(), before + 5);
  for (size_t i = before; i < w.store.events.size(); ++i) {
    const store::Event& e = w.store.events[i];
    const auto quoted = [](const std::string& text) {
      return text.find(' ') == std::string::npos ? text : '"' + text + '"';
    };
    std::string line = "event=" + quoted(e.kind);
    if (e.job) line += " job=" + e.job.text() + " user=" + w.job(e.job).spec.user + " qos=" + w.job(e.job).spec.qos;
    if (e.uid) line += " by=" + std::to_string(*e.uid);
    if (!e.text.empty()) line += " text=" + quoted(e.text);
    EXPECT_THAT(w.notes, ::testing::Contains(std::pair(false, line)));
  }
  EXPECT_THAT(w.notes, ::testing::Contains(
                           std::pair(false, std::string(R"(event="partition created" by=0 text="late by root")"))));
}

TEST(Cancel, ByUserTouchesNobodyElse) {
  World w(1);
  w.connect_all();
  const JobId mine = w.submit(1000, gang(1)), others = w.submit(1001, gang(1));
  wire::ApiRequest r;
  r.mutable_cancel()->mutable_filter()->add_partitions("main");
  EXPECT_EQ(w.ask(1000, r).cancel().done_size(), 1);
  EXPECT_EQ(w.state(mine), JobState::kCancelled);
  EXPECT_EQ(w.state(others), JobState::kPending);
}

TEST(Nodes, UpdateOfSeveralIsAllOrNothing) {
  struct Row {
    const char* what;
    std::vector<std::string> names;
    wire::NodeAction action;
    bool dead;
    std::string reason, named;  // `named` must be in the error; empty: it passes
  };
  const std::vector<Row> table = {
      {"an unknown node", {"n0", "n1", "nx"}, wire::kNodeDrain, false, "disk", "nx"},
      {"one that is connected is not dead", {"n2", "n0"}, wire::kNodeDown, true, "", "n0"},
      {"a GPU that one has not", {"n0", "n2"}, wire::kGpuOffline, false, "ecc", "n2"},
      {"no reason", {"n0", "n1"}, wire::kNodeDrain, false, "", "n0"},
      {"all fit", {"n0", "n1"}, wire::kNodeDrain, false, "disk", ""},
  };
  for (const Row& row : table) {
    World w(3);
    w.connect("n0");
    w.connect("n1");  // n2 was never seen: it has no GPUs
    const size_t events = w.store.events.size();
    wire::ApiRequest r;
    for (const std::string& name : row.names) r.mutable_update_node()->add_names(name);
    r.mutable_update_node()->set_action(row.action);
    r.mutable_update_node()->set_dead(row.dead);
    r.mutable_update_node()->set_reason(row.reason);
    if (row.action == wire::kGpuOffline) r.mutable_update_node()->add_gpus(0);
    const wire::ApiReply reply = w.ask(0, r);
    EXPECT_EQ(reply.has_error(), !row.named.empty()) << row.what;
    EXPECT_NE(reply.error().what().find(row.named), std::string::npos) << row.what << ": " << reply.error().what();
    for (const auto& [id, node] : w.core->nodes()) {
      const bool is_drained = row.named.empty() && node.config.name != "n2";
      EXPECT_EQ(node.admin, is_drained ? model::NodeAdmin::kDrain : model::NodeAdmin::kUp) << row.what;
      EXPECT_TRUE(node.offline_gpus.empty()) << row.what;
    }
    EXPECT_EQ(w.store.events.size() - events, row.named.empty() ? 2U : 0U) << row.what;
  }
}

TEST(Requeue, OfAPendingJobSaysWhyNothingIsToBeDone) {
  World w(1);
  const JobId id = w.submit(1000, gang(1));
  const wire::ApiReply waits = w.ask(1000, action(id, wire::kRequeue));
  ASSERT_EQ(waits.jobs().faults_size(), 1);
  EXPECT_NE(waits.jobs().faults(0).error().what().find("in the queue already"), std::string::npos);
  w.ask(1000, action(id, wire::kHold));
  const wire::ApiReply held = w.ask(1000, action(id, wire::kRequeue));
  EXPECT_NE(held.jobs().faults(0).error().hint().find("gcontrol release"), std::string::npos);
}

TEST(Hold, HeldJobsWaitUntilReleased) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  w.ask(0, action(id, wire::kHold));
  w.schedule();
  EXPECT_EQ(w.state(id), JobState::kPending);
  EXPECT_EQ(w.job(id).waiting()->reason, model::WaitReason::kJobHeldAdmin);
  EXPECT_TRUE(is_refused(w.ask(1000, action(id, wire::kRelease))));
  w.ask(0, action(id, wire::kRelease));
  w.schedule();
  EXPECT_EQ(w.state(id), JobState::kConfiguring);
}

TEST(Hold, BeginTimeIsKept) {
  World w(1);
  w.connect_all();
  wire::ApiRequest r = World::submission(gang(1));
  r.mutable_submit()->mutable_spec()->set_begin_us((w.now + base::minutes(1)).us);
  const JobId id(w.ask(1000, r).submit().job_id());
  w.schedule();
  EXPECT_EQ(w.job(id).waiting()->reason, model::WaitReason::kBeginTime);
  wire::NodeToController beat;
  beat.mutable_heartbeat();
  w.now = w.now + base::minutes(1);
  w.say("n0", beat);
  w.tick({});
  EXPECT_EQ(w.state(id), JobState::kConfiguring);
}

TEST(Requeue, OnRequestRunsAgainAfterTheNodeIsClean) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  w.schedule();
  w.started("n0", id);
  w.ask(1000, action(id, wire::kRequeue));
  EXPECT_EQ(w.state(id), JobState::kCompleting);
  w.schedule();
  EXPECT_EQ(w.job(id).attempt, 1U);
  w.done("n0", id);
  w.schedule();
  EXPECT_EQ(w.job(id).attempt, 2U);
  EXPECT_EQ(w.job(id).restarts, 1U);
}

TEST(Update, UsersLowerAdministratorsRaise) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  w.schedule();
  w.started("n0", id);
  wire::ApiRequest shorter, longer;
  for (auto* r : {&shorter, &longer}) r->mutable_update_job()->add_ids(id.value);
  shorter.mutable_update_job()->set_time_limit_us(base::minutes(5).us);
  longer.mutable_update_job()->set_time_limit_us(base::hours(5).us);
  EXPECT_EQ(w.ask(1000, shorter).jobs().done_size(), 1);
  EXPECT_TRUE(is_refused(w.ask(1000, longer)));
  EXPECT_EQ(w.ask(0, longer).jobs().done_size(), 1);
  EXPECT_EQ(w.job(id).spec.time_limit, base::hours(5));
}

TEST(Update, LimitsChangeByAnAmount) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  wire::ApiRequest whole;
  whole.mutable_update_job()->add_ids(id.value);
  whole.mutable_update_job()->set_time_limit_us(base::hours(1).us);
  EXPECT_EQ(w.ask(1000, whole).jobs().done_size(), 1);
  const base::Duration before = base::hours(1);
  const auto change = [&](base::Duration by, uint32_t uid = 0) {
    wire::ApiRequest r;
    r.mutable_update_job()->add_ids(id.value);
    r.mutable_update_job()->set_time_limit_change_us(by.us);
    return w.ask(uid, r);
  };
  EXPECT_EQ(change(base::minutes(10)).jobs().done_size(), 1);
  EXPECT_EQ(w.job(id).spec.time_limit, before + base::minutes(10));
  EXPECT_EQ(change(base::Duration{} - base::minutes(20), 1000).jobs().done_size(), 1);
  EXPECT_EQ(w.job(id).spec.time_limit, before - base::minutes(10));
  const auto none_left = change(base::Duration{} - before);
  ASSERT_EQ(none_left.jobs().faults_size(), 1);
  EXPECT_NE(none_left.jobs().faults(0).error().what().find("nothing would be left"), std::string::npos);
  w.schedule();
  w.started("n0", id);
  EXPECT_TRUE(is_refused(change(base::minutes(1), 1000))) << "of a running job administrators alone";
  EXPECT_EQ(change(base::minutes(1)).jobs().done_size(), 1);
  whole.mutable_update_job()->set_time_limit_us(base::kUnlimited.us);
  EXPECT_EQ(w.ask(0, whole).jobs().done_size(), 1);
  EXPECT_EQ(change(base::minutes(1)).jobs().faults_size(), 1) << "there is no limit to add to";
  whole.mutable_update_job()->set_time_limit_change_us(1);
  EXPECT_EQ(w.ask(0, whole).jobs().faults_size(), 1) << "a limit and a change of it";
}

TEST(Update, WhenARunningJobEndsIsItsTimeLimit) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  const auto end_at = [&](base::Time when, uint32_t uid = 0, bool says_limit = false) -> std::string {
    wire::ApiRequest r;
    r.mutable_update_job()->add_ids(id.value);
    r.mutable_update_job()->set_end_us(when.us);
    if (says_limit) r.mutable_update_job()->set_time_limit_us(1);
    const auto reply = w.ask(uid, r);
    return reply.jobs().faults().empty() ? reply.error().what() : reply.jobs().faults(0).error().what();
  };
  EXPECT_NE(end_at(w.now + base::hours(1)).find("does not run"), std::string::npos);
  w.schedule();
  w.started("n0", id);
  EXPECT_EQ(end_at(w.now + base::hours(1)), "");
  EXPECT_EQ(w.job(id).spec.time_limit, w.now + base::hours(1) - w.job(id).placed()->running_since());
  EXPECT_EQ(end_at(w.now + base::minutes(30), 1000), "") << "its owner shortens it";
  EXPECT_NE(end_at(w.now + base::hours(1), 1000), "") << "and does not prolong it";
  EXPECT_NE(end_at(base::Time{1}).find("started after that"), std::string::npos);
  EXPECT_NE(end_at(w.now + base::hours(1), 0, true).find("exclude each other"), std::string::npos);
}

TEST(Update, AdministratorsAloneWriteTheirComments) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  const auto said = [&](uint32_t uid, bool by_admin) {
    wire::ApiRequest r;
    wire::UpdateJobRequest& u = *r.mutable_update_job();
    u.add_ids(id.value);
    if (by_admin) u.set_admin_comment("bad node");
    if (by_admin) u.set_system_comment("moved");
    u.set_extra("x=1");
    return w.ask(uid, r);
  };
  EXPECT_TRUE(is_refused(said(1000, true)));
  EXPECT_EQ(w.job(id).spec.extra, "") << "nothing of it is done";
  EXPECT_EQ(said(1000, false).jobs().done_size(), 1);
  EXPECT_EQ(said(0, true).jobs().done_size(), 1);
  EXPECT_EQ(w.job(id).spec.admin_comment + "," + w.job(id).spec.system_comment + "," + w.job(id).spec.extra,
            "bad node,moved,x=1");
}

TEST(Submit, WhatAdministratorsSayNobodyElseSubmits) {
  World w(1);
  w.connect_all();
  wire::ApiRequest r = World::submission(gang(1));
  r.mutable_submit()->mutable_spec()->set_admin_comment("approved");
  r.mutable_submit()->mutable_spec()->set_system_comment("by the site");
  r.mutable_submit()->mutable_spec()->set_extra("mine");
  const JobId id(w.ask(1000, r).submit().job_id());
  EXPECT_EQ(w.job(id).spec.admin_comment + w.job(id).spec.system_comment + w.job(id).spec.extra, "mine");
}

TEST(Nodes, DrainKeepsJobsAndStartsNoneOfflineGpuIsNotGiven) {
  World w(1);
  w.connect_all();
  const JobId running = w.submit(1000, gang(1, 4));
  w.schedule();
  wire::ApiRequest drain;
  drain.mutable_update_node()->add_names("n0");
  drain.mutable_update_node()->set_action(wire::kNodeDrain);
  EXPECT_NE(w.ask(0, drain).error().what().find("reason"), std::string::npos);
  drain.mutable_update_node()->set_reason("disk");
  EXPECT_TRUE(w.ask(0, drain).has_ok());
  const JobId waiting = w.submit(1000, gang(1, 4));
  w.schedule();
  EXPECT_EQ(w.state(running), JobState::kConfiguring);
  EXPECT_EQ(w.state(waiting), JobState::kPending);
  drain.mutable_update_node()->set_action(wire::kNodeResume);
  wire::ApiRequest offline;
  offline.mutable_update_node()->add_names("n0");
  offline.mutable_update_node()->set_action(wire::kGpuOffline);
  offline.mutable_update_node()->add_gpus(7);
  offline.mutable_update_node()->set_reason("Xid 79");
  EXPECT_TRUE(w.ask(0, offline).has_ok());
  EXPECT_TRUE(w.ask(0, drain).has_ok());
  w.schedule();
  EXPECT_EQ(w.state(waiting), JobState::kPending);
  EXPECT_TRUE(w.submit(1000, gang(1, 8)));  // the eighth may come back
}

TEST(Nodes, ANodeThatIsNamedTwiceIsChangedOnce) {
  World w(1);
  w.connect_all();
  const size_t before = w.store.events.size();
  wire::ApiRequest drain;
  for (int i = 0; i < 3; ++i) drain.mutable_update_node()->add_names("n0");
  drain.mutable_update_node()->set_action(wire::kNodeDrain);
  drain.mutable_update_node()->set_reason("disk");
  EXPECT_TRUE(w.ask(0, drain).has_ok());
  EXPECT_EQ(w.store.events.size(), before + 1);
}

TEST(Wait, IsAnsweredWhenTheJobEnds) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  wire::ApiRequest r;
  r.mutable_wait_job()->set_id(id.value);
  const wire::ApiReply none = w.ask(1000, r);
  EXPECT_FALSE(none.has_wait_job());
  const ConnId conn = w.last_conn;
  w.cancel(1000, id);
  ASSERT_EQ(w.replies[conn].size(), 1U);
  EXPECT_EQ(w.replies[conn][0].wait_job().job().id(), id.value);
}

}  // namespace
}  // namespace gw::ctld
