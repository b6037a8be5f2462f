// What gacct prints: lines, states, exit codes, and the forms of values.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "build_job.h"
#include "client/json/record_json.h"
#include "client/records/record_fields.h"

namespace gw::client {
namespace {

using model::JobState;
using testing_jobs::kNow;

constexpr int64_t kSecond = 1'000'000;

/// A batch job of two nodes that ran for 100 s and came out like this, with its script's use.
wire::JobRecord ended(JobState end, int code, int signo) {
  wire::JobRecord r;
  r.set_id(7);
  const wire::Job job = testing_jobs::pending_job();
  *r.mutable_spec() = job.spec();
  r.set_partition("gpu");
  r.set_nodes("n[1-2]");
  r.set_node_count(2);
  r.set_cpus(8);
  r.set_gpus(4);
  r.set_mem_mb(4096);
  r.set_started_us((kNow - 200) * kSecond);
  r.set_ended_us((kNow - 100) * kSecond);
  wire::JobStatus& s = *r.mutable_status();
  s.set_state(static_cast<uint32_t>(end));
  s.set_attempt(1);
  s.set_submitted_us((kNow - 300) * kSecond);
  s.set_eligible_us((kNow - 290) * kSecond);
  wire::Outcome& o = *s.mutable_ended()->mutable_outcome();
  o.set_end(static_cast<uint32_t>(end));
  o.set_exit_code(code);
  o.set_exit_signo(signo);
  o.set_cancelled_by(1001);
  model::RunUse use;
  use.add_task(0, {3'725'250'000, 300 << 20, 0, 4096, 1024, 2});
  use.user_us = 3'725'000'000;
  use.system_us = 250'000;
  *o.mutable_use() = wire::to_wire(use);
  r.mutable_first()->set_node("n1");
  r.mutable_first()->set_cpus(4);
  r.mutable_first()->set_mem_mb(2048);
  return r;
}

void add_step(wire::JobRecord& r, uint32_t number, int code, bool is_over = true) {
  wire::PastRun& run = *r.add_runs();
  run.set_attempt(1);
  run.set_step(number + 1);
  run.set_started_us((kNow - 150) * kSecond);
  if (is_over) run.set_ended_us((kNow - 120) * kSecond);
  run.set_nodes("n[1-2]");
  run.set_node_count(2);
  run.set_cpus(8);
  run.set_end(
      static_cast<uint32_t>(code == 0 ? (is_over ? JobState::kCompleted : JobState::kRunning) : JobState::kFailed));
  run.mutable_of_step()->set_exit_code(code);
  run.mutable_of_step()->mutable_request()->set_name("hostname");
  run.mutable_of_step()->mutable_request()->set_tasks(4);
}

std::string text(std::vector<wire::JobRecord> records, const std::string& format, bool jobs_alone = false,
                 bool all_runs = false, RecordStyle style = {}) {
  testing_jobs::use_utc();
  wire::ListRecordsReply reply;
  reply.set_now_us(kNow * kSecond);
  for (const wire::JobRecord& record : records) *reply.add_records() = record;
  const Records all(reply);
  const auto fields = parse_record_format(format);
  EXPECT_TRUE(fields) << fields.error().text();
  if (!fields) return "";
  return record_text(all.rows(jobs_alone, all_runs), *fields, {.no_header = true, .delimiter = "|"}, style);
}

TEST(Records, AJobItsScriptTheAllocationAndItsSteps) {
  wire::JobRecord r = ended(JobState::kCompleted, 0, 0);
  add_step(r, 0, 0);
  add_step(r, 1, 3);
  EXPECT_EQ(text({r}, "JobID,JobName,Partition,AllocCPUS,NTasks,NodeList,State,ExitCode"),
            "7|train|gpu|8||n[1-2]|COMPLETED|0:0\n"
            "7.batch|batch||4|1|n1|COMPLETED|0:0\n"
            "7.extern|extern||8|2|n[1-2]|COMPLETED|0:0\n"
            "7.0|hostname||8|4|n[1-2]|COMPLETED|0:0\n"
            "7.1|hostname||8|4|n[1-2]|FAILED|3:0\n");
  EXPECT_EQ(text({r}, "JobID", true), "7\n");
}

TEST(Records, WhatGpusDidOfTheJobAndOfEachPart) {
  wire::JobRecord r = ended(JobState::kCompleted, 0, 0);
  model::RunUse use = wire::from_wire(r.status().ended().outcome().use());
  use.gpu = {4, 400 * kSecond, 300 * kSecond, 40 * kSecond, 98, 3 << 20, 10 << 20};
  *r.mutable_status()->mutable_ended()->mutable_outcome()->mutable_use() = wire::to_wire(use);
  add_step(r, 0, 0);
  EXPECT_EQ(text({r}, "JobID,GPUUtil,MaxGPUUtil,MaxGPUMem,TotalGPUMem,GPUIdle,GPUSeen"),
            "7|75|98|3M|10M|00:00:40|00:06:40\n"
            "7.batch|75|98|3M|10M|00:00:40|00:06:40\n"
            "7.extern||||||\n"
            "7.0||||||\n");
  const std::string ave = text({r}, "TRESUsageInAve", false), max = text({r}, "TRESUsageInMax", false);
  EXPECT_NE(ave.find(",gres/gpumem=2560K,gres/gpuutil=75\n"), std::string::npos) << ave;
  EXPECT_NE(max.find(",gres/gpumem=3M,gres/gpuutil=98\n"), std::string::npos) << max;
  EXPECT_EQ(text({r}, "TRESUsageOutMax").find("gpu"), std::string::npos);
}

/// Of steps without a script the job's own run still saw its GPUs.
TEST(Records, OfAnAllocationTheGpusAreThoseOfTheJob) {
  wire::JobRecord r = ended(JobState::kCompleted, 0, 0);
  r.mutable_spec()->set_kind(static_cast<uint32_t>(model::JobKind::kAllocation));
  wire::RunUse use;
  use.mutable_gpu()->set_gpus(2);
  use.mutable_gpu()->set_most_busy(40);
  *r.mutable_status()->mutable_ended()->mutable_outcome()->mutable_use() = use;
  EXPECT_EQ(text({r}, "JobID,GPUUtil,GPUSeen"), "7|40|00:00:00\n7.extern||\n");
}

TEST(Records, StatesAndExitCodesAsSacctHasThem) {
  const struct {
    JobState end;
    int code, signo;
    const char* lines;
  } kCases[] = {
      {JobState::kFailed, 7, 0, "FAILED|7:0\nFAILED|7:0\nCOMPLETED|0:0\n"},
      {JobState::kCancelled, 0, 15, "CANCELLED by 1001|0:0\nCANCELLED|0:15\nCANCELLED|0:0\n"},
      {JobState::kTimeout, 0, 15, "TIMEOUT|0:0\nCANCELLED|0:15\nCANCELLED|0:0\n"},
      {JobState::kNodeFail, 0, 9, "NODE_FAIL|0:0\nCANCELLED|0:9\nCANCELLED|0:0\n"},
      {JobState::kPreempted, 0, 15, "PREEMPTED|0:0\nCANCELLED|0:15\nCANCELLED|0:0\n"},
      {JobState::kOutOfMemory, 0, 9, "OUT_OF_MEMORY|0:125\nOUT_OF_MEMORY|0:125\nOUT_OF_MEMORY|0:0\n"},
  };
  for (const auto& c : kCases) EXPECT_EQ(text({ended(c.end, c.code, c.signo)}, "State,ExitCode"), c.lines);
}

TEST(Records, ACancelledJobThatWaitedHasNoStart) {
  wire::JobRecord r = ended(JobState::kCancelled, 0, 0);
  r.set_started_us(0);
  r.set_node_count(0);
  r.clear_nodes();
  r.clear_first();
  EXPECT_EQ(text({r}, "JobID,Start,End,Elapsed,NodeList,AllocCPUS,AllocTRES"),
            "7|None|2027-01-15T07:58:20|00:00:00|None assigned|0|\n");
}

TEST(Records, AJobThatWaitsAndOneThatRuns) {
  wire::JobRecord waits = ended(JobState::kPending, 0, 0);
  waits.mutable_status()->mutable_waiting();
  waits.set_started_us(0);
  waits.set_ended_us(0);
  waits.set_node_count(0);
  waits.clear_nodes();
  EXPECT_EQ(text({waits}, "State,Start,End,NodeList,NNodes,ExitCode"), "PENDING|Unknown|Unknown|None assigned|2|0:0\n");
  wire::JobRecord runs = ended(JobState::kRunning, 0, 0);
  runs.mutable_status()->mutable_placed()->set_started_us(runs.started_us());
  runs.set_ended_us(0);
  runs.clear_first();
  add_step(runs, 0, 0, false);
  EXPECT_EQ(text({runs}, "JobID,State,End,Elapsed"),
            "7|RUNNING|Unknown|00:03:20\n7.batch|RUNNING|Unknown|00:03:20\n7.extern|RUNNING|Unknown|00:03:20\n"
            "7.0|RUNNING|Unknown|00:02:30\n");
}

TEST(Records, RunsBeforeTheLastAreShownWithDuplicates) {
  wire::JobRecord r = ended(JobState::kCompleted, 0, 0);
  r.mutable_status()->set_attempt(2);
  add_step(r, 0, 0);
  wire::PastRun& run = *r.add_runs();
  run.set_attempt(1);
  run.set_started_us((kNow - 280) * kSecond);
  run.set_ended_us((kNow - 270) * kSecond);
  run.set_nodes("n9");
  run.set_node_count(1);
  run.mutable_outcome()->set_end(static_cast<uint32_t>(JobState::kCancelled));
  run.mutable_outcome()->set_requeue(true);
  EXPECT_EQ(text({r}, "JobID,State,Elapsed,NodeList"),
            "7|COMPLETED|00:01:40|n[1-2]\n7.batch|COMPLETED|00:01:40|n1\n7.extern|COMPLETED|00:01:40|n[1-2]\n");
  EXPECT_EQ(text({r}, "JobID,State,Elapsed,NodeList", false, true),
            "7|REQUEUED|00:00:10|n9\n7.batch|CANCELLED|00:00:10|n9\n7.extern|CANCELLED|00:00:10|n9\n"
            "7.0|COMPLETED|00:00:30|n[1-2]\n"
            "7|COMPLETED|00:01:40|n[1-2]\n7.batch|COMPLETED|00:01:40|n1\n7.extern|COMPLETED|00:01:40|n[1-2]\n");
}

/// It ended while the list was on its way.
TEST(Records, OfAJobThatComesTwiceTheLaterHolds) {
  wire::JobRecord runs = ended(JobState::kRunning, 0, 0);
  runs.set_ended_us(0);
  runs.mutable_status()->mutable_placed();
  EXPECT_EQ(text({runs, ended(JobState::kCompleted, 0, 0)}, "State", true), "COMPLETED\n");
}

TEST(Records, WhatWasUsed) {
  const wire::JobRecord r = ended(JobState::kCompleted, 0, 0);
  EXPECT_EQ(text({r}, "JobID,TotalCPU,SystemCPU,AveCPU,MaxRSS,MaxRSSNode,MaxRSSTask,MaxDiskRead,MaxPages"),
            "7|01:02:05|00:00.250||||||\n"
            "7.batch|01:02:05|00:00.250|01:02:05|300M|n1|0|4K|2\n"
            "7.extern|00:00.000|00:00.000||||||\n");
  EXPECT_EQ(text({r}, "TRESUsageInTot,TRESUsageInMaxNode,TRESUsageOutTot").substr(3),
            "cpu=01:02:05,fs/disk=4096,mem=300M,pages=2,vmem=0|cpu=n1,fs/disk=n1,mem=n1,pages=n1,vmem=n1|fs/disk=1024\n"
            "||\n");
}

TEST(Records, UnitsOfMemory) {
  const wire::JobRecord r = ended(JobState::kCompleted, 0, 0);
  const auto rss = [&](char unit) {
    RecordStyle style;
    style.unit = unit;
    const std::string all = text({r}, "MaxRSS", false, false, style);
    return all.substr(1, all.size() - 3);
  };
  EXPECT_EQ(rss('B'), "314572800");
  EXPECT_EQ(rss('K'), "307200K");
  EXPECT_EQ(rss('G'), "0.29G");
  EXPECT_EQ(memory_text(0, 0), "0");
  EXPECT_EQ(memory_text(1 << 30, 0), "1G");
  EXPECT_EQ(memory_text((1 << 30) + 1, 0), "1073741825");
}

TEST(Records, TresInTheOrderOfSacct) {
  wire::JobRecord r = ended(JobState::kCompleted, 0, 0);
  EXPECT_EQ(text({r}, "AllocTRES", true), "billing=8,cpu=8,gres/gpu=4,gres/gpu:h100=4,mem=4G,node=2\n");
}

TEST(Records, TimesAreCutWhereThatIsAsked) {
  RecordStyle style;
  style.from = {(kNow - 150) * kSecond};
  style.to = {(kNow - 120) * kSecond};
  EXPECT_EQ(text({ended(JobState::kCompleted, 0, 0)}, "Elapsed,CPUTimeRAW,Start,End", true, false, style),
            "00:00:30|240|2027-01-15T07:57:30|2027-01-15T07:58:00\n");
}

TEST(Records, TablesCutWhatIsTooWide) {
  testing_jobs::use_utc();
  wire::ListRecordsReply reply;
  *reply.add_records() = ended(JobState::kCancelled, 0, 15);
  const Records all(reply);
  const auto fields = parse_record_format("JobID,State,exitcode%-6");
  ASSERT_TRUE(fields);
  EXPECT_EQ(record_text(all.rows(true, false), *fields, {}, {}),
            "JobID             State ExitCo \n"
            "------------ ---------- ------ \n"
            "7            CANCELLED+ 0:0    \n");
}

TEST(Records, FieldsThatAreNone) {
  const auto unknown = parse_record_format("JobID,Elapsd");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().text(), "Invalid field requested: \"Elapsd\" (did you mean \"Elapsed\"?)");
  EXPECT_FALSE(parse_record_format("JobID%x"));
  EXPECT_FALSE(parse_record_format(""));
  EXPECT_FALSE(parse_record_format(","));
}

TEST(Records, NothingOfAUsersReachesTheTerminal) {
  wire::JobRecord r = ended(JobState::kCompleted, 0, 0);
  r.mutable_spec()->set_name("a\x1b[2Jb\nc");
  EXPECT_EQ(text({r}, "JobName", true), "a\\x1b[2Jb\\x0ac\n");
}

TEST(Records, Json) {
  wire::JobRecord r = ended(JobState::kFailed, 7, 0);
  add_step(r, 0, 0);
  wire::ListRecordsReply reply;
  *reply.add_records() = r;
  reply.set_cluster("c1");
  const Records all(reply);
  const auto j = nlohmann::json::parse(records_json(all.rows(false, false), all));
  ASSERT_EQ(j["jobs"].size(), 1u);
  const auto& job = j["jobs"][0];
  EXPECT_EQ(job["job_id"], 7);
  EXPECT_EQ(job["state"]["current"][0], "FAILED");
  EXPECT_EQ(job["exit_code"]["return_code"]["number"], 7);
  EXPECT_EQ(job["time"]["elapsed"], 100);
  ASSERT_EQ(job["steps"].size(), 3u);
  EXPECT_EQ(job["steps"][0]["step"]["id"], "7.batch");
  EXPECT_EQ(job["steps"][0]["statistics"]["rss"]["max"]["amount"], 300 << 20);
  EXPECT_TRUE(job["steps"][2]["statistics"].is_null());
}

/// As the page of sacct of 23.11 lists them.
TEST(Records, EveryFieldOfSacctIsThere) {
  const std::string names =
      "Account,AdminComment,AllocCPUS,AllocNodes,AllocTRES,AssocID,AveCPU,AveCPUFreq,AveDiskRead,AveDiskWrite,AvePages,"
      "AveRSS,AveVMSize,BlockID,Cluster,Comment,Constraints,ConsumedEnergy,ConsumedEnergyRaw,Container,CPUTime,"
      "CPUTimeRAW,DBIndex,DerivedExitCode,Elapsed,ElapsedRaw,Eligible,End,ExitCode,Extra,FailedNode,Flags,GID,Group,"
      "JobID,JobIDRaw,JobName,Layout,Licenses,MaxDiskRead,MaxDiskReadNode,MaxDiskReadTask,MaxDiskWrite,"
      "MaxDiskWriteNode,MaxDiskWriteTask,MaxPages,MaxPagesNode,MaxPagesTask,MaxRSS,MaxRSSNode,MaxRSSTask,MaxVMSize,"
      "MaxVMSizeNode,MaxVMSizeTask,McsLabel,MinCPU,MinCPUNode,MinCPUTask,NCPUS,NNodes,NodeList,NTasks,Partition,"
      "Planned,PlannedCPU,PlannedCPURAW,Priority,QOS,QOSRAW,Reason,ReqCPUFreq,ReqCPUFreqGov,ReqCPUFreqMax,"
      "ReqCPUFreqMin,ReqCPUS,ReqMem,ReqNodes,ReqTRES,Reservation,ReservationId,Start,State,Submit,SubmitLine,Suspended,"
      "SystemComment,SystemCPU,Timelimit,TimelimitRaw,TotalCPU,TRESUsageInAve,TRESUsageInMax,TRESUsageInMaxNode,"
      "TRESUsageInMaxTask,TRESUsageInMin,TRESUsageInMinNode,TRESUsageInMinTask,TRESUsageInTot,TRESUsageOutAve,"
      "TRESUsageOutMax,TRESUsageOutMaxNode,TRESUsageOutMaxTask,TRESUsageOutMin,TRESUsageOutMinNode,"
      "TRESUsageOutMinTask,TRESUsageOutTot,UID,User,UserCPU,WCKey,WCKeyID,WorkDir";
  const auto fields = parse_record_format(names);
  EXPECT_TRUE(fields) << fields.error().text();
  EXPECT_TRUE(parse_record_format(kLongRecordFormat));
  EXPECT_TRUE(parse_record_format(kBriefRecordFormat));
}

}  // namespace
}  // namespace gw::client
