// The words of `gangway why`.
#include "client/why/why_text.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "model/blocker.h"
#include "model/job_state.h"
#include "model/outlook.h"
#include "model/request.h"
#include "model/wait_split.h"
#include "wire/blockers.h"

namespace gw::client {
namespace {

using model::BlockerKind;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kSecond = 1'000'000;

/// Waits for GPUs of a partition, behind job 5.
WhyAnswer waiting() {
  WhyAnswer out;
  wire::Job& job = *out.why.mutable_job();
  job.set_id(7);
  job.mutable_spec()->set_name("train");
  job.mutable_spec()->set_user("alice");
  job.mutable_spec()->set_qos("normal");
  job.mutable_spec()->add_partitions("gpu");
  job.mutable_status()->set_state(static_cast<uint32_t>(model::JobState::kPending));
  job.mutable_status()->set_eligible_us(100 * kSecond);
  wire::Waiting& w = *job.mutable_status()->mutable_waiting();
  w.set_reason(static_cast<uint32_t>(model::WaitReason::kResources));
  const model::Blockers blockers = {
      {.kind = BlockerKind::kNodes, .scope = model::BlockerScope::kPartition, .where = "gpu", .asked = 2, .bound = 4},
      {.kind = BlockerKind::kGpus, .scope = model::BlockerScope::kPartition, .where = "gpu", .nodes = 3}};
  wire::set_blockers(*w.mutable_blockers(), blockers);
  out.why.set_now_us(160 * kSecond);
  wire::Outlook& o = *out.why.mutable_outlook();
  o.set_when(static_cast<uint32_t>(model::When::kPlanned));
  o.set_start_us(7'200 * kSecond);
  o.set_nodes("n[1-2]");
  o.set_partition("gpu");
  o.add_waits_for(3);
  wire::JobAhead& ahead = *out.why.add_ahead();
  ahead.set_id(5);
  ahead.set_rule(static_cast<uint32_t>(model::AheadBy::kPriority));
  ahead.set_partition("gpu");
  return out;
}

wire::JobOffer& offer(WhyAnswer& answer, model::When when, int64_t start_s = 0) {
  wire::JobOffer& out = *answer.why.add_offers();
  out.mutable_outlook()->set_when(static_cast<uint32_t>(when));
  out.mutable_outlook()->set_start_us(start_s * kSecond);
  return out;
}

TEST(WhyText, AJobThatWaits) {
  const std::string text = why_text(waiting());
  EXPECT_THAT(text, HasSubstr("Job 7 (train) of alice waits since "));
  EXPECT_THAT(text, HasSubstr("(00:01:00), in QOS normal, partition gpu: Resources (no place is free for it).\n"));
  EXPECT_THAT(text,
              HasSubstr(" on n[1-2] (partition gpu) if job 3 uses the whole limit; sooner if they end sooner.\n"));
  EXPECT_THAT(text, HasSubstr("In the way:\n  needs 2 nodes; of 4 in partition gpu: 3 have too few free GPUs"));
  EXPECT_THAT(text, HasSubstr("      ask for less on one node, or for more nodes\n"));
  EXPECT_THAT(text,
              HasSubstr("Ahead of it, and not to be delayed:\n  job 5, in partition gpu: it has a higher priority"));
  EXPECT_THAT(text, Not(HasSubstr("changes"))) << "none were asked for";
}

TEST(WhyText, OffersThatHelpComeWithTheirCommand) {
  WhyAnswer answer = waiting();
  offer(answer, model::When::kPlanned, 7'200).mutable_change()->set_exclude("");
  offer(answer, model::When::kPlanned, 3'600).mutable_change()->set_time_limit_us(600 * kSecond);
  wire::GresUpdate& gres = *offer(answer, model::When::kNow).mutable_change()->mutable_gres();
  gres.set_gpu_counting(static_cast<uint32_t>(model::GpuCounting::kPerNode));
  gres.set_gpus(6);
  wire::GresCount& nic = *answer.why.mutable_job()->mutable_spec()->mutable_request()->add_gres();
  nic.set_name("nic");
  nic.set_count(2);
  answer.why.set_offers_cut(true);
  const std::string text = why_text(answer);
  const size_t gpus =
      text.find("  ask for 6 GPUs per node: starts now\n      gcontrol update JobId=7 Gres=gpu:6,nic:2\n");
  const size_t time = text.find("  run for 00:10:00 at most: starts at ");
  ASSERT_NE(gpus, std::string::npos) << text;
  ASSERT_NE(time, std::string::npos) << text;
  EXPECT_LT(gpus, time) << "what starts it now comes first";
  EXPECT_THAT(text, HasSubstr("What would help, of 3 changes tried; there are more:\n"));
  EXPECT_THAT(text, Not(HasSubstr("--exclude"))) << "it is no better";
}

TEST(WhyText, NothingHelpsOrNothingWasTried) {
  WhyAnswer answer = waiting();
  offer(answer, model::When::kUnknown).mutable_change()->set_exclude("");
  EXPECT_THAT(why_text(answer), HasSubstr("None of the changes that were tried (1) would start it sooner.\n"));
  answer.why.set_no_offers_why("it is somebody else's");
  EXPECT_THAT(why_text(answer), HasSubstr("No changes were tried: it is somebody else's.\n"));
}

TEST(WhyText, WhenItStarts) {
  WhyAnswer answer = waiting();
  wire::Outlook& o = *answer.why.mutable_outlook();
  const auto says = [&](model::When when) {
    o.set_when(static_cast<uint32_t>(when));
    return why_text(answer);
  };
  EXPECT_THAT(says(model::When::kNow), HasSubstr("It starts with the next pass of the scheduler on n[1-2]"));
  EXPECT_THAT(says(model::When::kNever), HasSubstr("its deadline can no longer be met"));
  EXPECT_THAT(says(model::When::kUnknown), HasSubstr("When it starts cannot be foreseen."));
  o.add_victims(8);
  o.add_victims(9);
  EXPECT_THAT(says(model::When::kOnceOthersLeft), HasSubstr("once jobs 8 and 9 left"));
  o.set_room_at_us(7'200 * kSecond);
  EXPECT_THAT(says(model::When::kUnknown), HasSubstr("The limits that hold it back have room for it at 1970-01-01T"));
  o.clear_room_at_us();
  o.set_when(250);
  EXPECT_THAT(why_text(answer), HasSubstr("When it starts cannot be foreseen.")) << "of a later version";
}

TEST(WhyText, EachChangeHasWordsAndASetting) {
  wire::Job job;
  job.set_id(7);
  const auto said = [&](const auto& set) {
    wire::UpdateJobRequest change;
    set(change);
    return change_words(change) + " | " + change_command(change, job).substr(sizeof("gcontrol update JobId=7"));
  };
  using C = wire::UpdateJobRequest;
  EXPECT_EQ(said([](C& c) { c.set_partition("long"); }), "use partition long | Partition=long");
  EXPECT_EQ(said([](C& c) { c.set_qos("b"); }), "use QOS b | QOS=b");
  EXPECT_EQ(said([](C& c) { c.set_features(""); }), "drop --constraint | Features=");
  EXPECT_EQ(said([](C& c) { c.set_nodelist(""); }), "drop --nodelist | ReqNodeList=");
  EXPECT_EQ(said([](C& c) { c.set_exclude(""); }), "drop --exclude | ExcNodeList=");
  EXPECT_EQ(said([](C& c) { c.set_exclusive(false); }), "drop --exclusive | OverSubscribe=YES");
  EXPECT_EQ(said([](C& c) { c.set_contiguous(false); }), "drop --contiguous | Contiguous=NO");
  EXPECT_EQ(said([](C& c) { c.set_max_switches(0); }), "drop --switches | Switches=0");
  EXPECT_EQ(said([](C& c) { c.set_licenses(""); }), "drop --licenses | Licenses=");
  EXPECT_EQ(said([](C& c) { c.set_reservation(""); }), "run outside the reservation | Reservation=");
  EXPECT_EQ(said([](C& c) { c.set_sockets(0); }),
            "drop the wishes for sockets, cores and threads | ReqSockets=0 ReqCores=0 ReqThreads=0");
  EXPECT_EQ(said([](C& c) { c.set_min_nodes(1); }), "ask for 1 node | NumNodes=1");
  EXPECT_EQ(said([](C& c) { c.set_task_count(3); }), "ask for 3 tasks | NumTasks=3");
  EXPECT_EQ(said([](C& c) { c.set_cpus_per_task(2); }), "ask for 2 CPUs per task | CPUsPerTask=2");
  EXPECT_EQ(said([](C& c) { c.set_mem_per_node_mb(2'048); }), "ask for 2G of memory per node | MinMemoryNode=2048M");
  EXPECT_EQ(said([](C& c) { c.set_mem_per_cpu_mb(512); }), "ask for 512M of memory per CPU | MinMemoryCPU=512M");
  EXPECT_EQ(said([](C& c) { c.set_tmp_mb(0); }), "drop --tmp | MinTmpDiskNode=0");
  EXPECT_EQ(said([](C& c) { c.mutable_gres()->set_gpu_counting(1), c.mutable_gres()->set_gpus(1); }),
            "ask for 1 GPU | TresPerJob=gres/gpu:1");
  EXPECT_EQ(said([](C& c) { c.mutable_gres()->set_gpu_counting(3), c.mutable_gres()->set_gpus(2); }),
            "ask for 2 GPUs per task | TresPerTask=gres/gpu:2");
}

TEST(WhyText, WhereItsTimeWentMostFirst) {
  WhyAnswer answer = waiting();
  for (const auto& [cause, seconds] :
       {std::pair(model::WaitCause::kQuota, 30), std::pair(model::WaitCause::kPriority, 600)}) {
    wire::WaitPart& part = *answer.why.mutable_job()->mutable_status()->add_waited();
    part.set_cause(static_cast<uint32_t>(cause));
    part.set_time_us(seconds * kSecond);
  }
  EXPECT_THAT(why_text(answer), HasSubstr("What it has waited for:\n  00:10:00 priority: jobs before it were"));
  EXPECT_THAT(why_text(answer), HasSubstr("\n  00:00:30 quota: a limit"));
  EXPECT_EQ(nlohmann::json::parse(why_json(answer))["waited_for"], (nlohmann::json{{"priority", 600}, {"quota", 30}}));
}

TEST(WhyText, ARemedyNamesTheJob) {
  WhyAnswer answer = waiting();
  wire::set_blockers(*answer.why.mutable_job()->mutable_status()->mutable_waiting()->mutable_blockers(),
                     {{.kind = model::BlockerKind::kBeginTime, .where = "7"}});
  EXPECT_THAT(why_text(answer), HasSubstr("      gcontrol update JobId=7 StartTime=now\n"));
}

TEST(WhyText, OfARunThatIsNotAsItShouldBe) {
  WhyAnswer answer = waiting();
  wire::JobStatus& status = *answer.why.mutable_job()->mutable_status();
  status.set_state(static_cast<uint32_t>(model::JobState::kCompleting));
  for (const char* node : {"n1", "n2"}) status.mutable_placed()->add_waiting_for(node);
  status.mutable_placed()->add_unreachable("n2");
  EXPECT_THAT(why_text(answer), HasSubstr("Out of reach: n2.\nNot yet cleared up on n[1-2].\n"));
}

TEST(WhyText, WhatAUserWroteCommandsNoTerminal) {
  WhyAnswer answer = waiting();
  answer.why.mutable_job()->mutable_spec()->set_name("\x1b[2J");
  offer(answer, model::When::kNow).mutable_change()->set_partition("a\x1b[2J");
  EXPECT_THAT(why_text(answer), Not(HasSubstr("\x1b")));
}

TEST(WhyText, ForPrograms) {
  WhyAnswer answer = waiting();
  offer(answer, model::When::kNow).mutable_change()->set_features("");
  const auto j = nlohmann::json::parse(why_json(answer));
  EXPECT_EQ(j["schema_version"], 1);
  EXPECT_EQ(j["job_id"], 7);
  EXPECT_EQ(j["state"], "PENDING");
  EXPECT_EQ(j["outlook"]["when"], "planned");
  EXPECT_EQ(j["outlook"]["start"], 7'200);
  EXPECT_EQ(j["outlook"]["waits_for"], nlohmann::json::array({3}));
  EXPECT_EQ(j["blockers"][1]["kind"], "gpus");
  EXPECT_EQ(j["ahead"][0]["rule"], "priority");
  EXPECT_EQ(j["offers"][0]["command"], "gcontrol update JobId=7 Features=");
  EXPECT_EQ(j["offers"][0]["helps"], true);
}

}  // namespace
}  // namespace gw::client
