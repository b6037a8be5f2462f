// scontrol show job / node / partition, JSON, and ginfo's grouping.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "client/show/info_fields.h"
#include "client/show/job_text.h"
#include "client/show/partition_text.h"
#include "client/show/show_json.h"
#include "model/cluster.h"
#include "model/partition_keys.h"
#include "tests/unit/client/build_job.h"
#include "wire/blockers.h"
#include "wire/convert.h"

namespace gw::client {
namespace {

using namespace testing_jobs;
using testing::HasSubstr;

TEST(ShowJob, HasSlurmsKeysAndLayout) {
  use_utc();
  const wire::Job job = running_job();
  const char* expected =
      "JobId=7 JobName=train\n"
      "   UserId=alice(1000) GroupId=staff(50) MCS_label=N/A\n"
      "   Priority=1 Nice=0 Account=normal QOS=normal\n"
      "   JobState=RUNNING Reason=None Dependency=(null)\n"
      "   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0\n"
      "   DerivedExitCode=0:0\n"
      "   OnPreempt=requeue Preemptions=0 LostGpuSeconds=0.0 AttainedGpuSeconds=0.0\n"
      "   RunTime=00:01:05 TimeLimit=01:00:00 TimeMin=N/A\n"
      "   SubmitTime=2027-01-15T07:58:20 EligibleTime=2027-01-15T07:58:20\n"
      "   AccrueTime=2027-01-15T07:58:20\n"
      "   StartTime=2027-01-15T07:58:55 EndTime=2027-01-15T08:58:55 Deadline=N/A\n"
      "   SuspendTime=None SecsPreSuspend=0\n"
      "   Partition=gpu AllocNode:Sid=login:0\n"
      "   ReqNodeList=(null) ExcNodeList=(null)\n"
      "   NodeList=n[1-2]\n"
      "   BatchHost=n1\n"
      "   NumNodes=2 NumCPUs=8 NumTasks=2 CPUs/Task=4 ReqB:S:C:T=0:0:*:*\n"
      "   ReqTRES=cpu=8,mem=8G,node=2,billing=8,gres/gpu=16,gres/gpu:h100=16\n"
      "   AllocTRES=cpu=8,mem=8G,node=2,billing=8,gres/gpu=16,gres/gpu:h100=16\n"
      "   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*\n"
      "   JOB_GRES=gpu:h100:16\n"
      "     Nodes=n1 CPU_IDs=0-1 Mem=4096 GRES=gpu:h100:8(IDX:0-7)\n"
      "     Nodes=n2 CPU_IDs=0-1 Mem=4096 GRES=gpu:h100:8(IDX:0-7)\n"
      "   MinCPUsNode=4 MinMemoryNode=4G MinTmpDiskNode=0\n"
      "   Features=(null) DelayBoot=00:00:00\n"
      "   OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)\n"
      "   Command=/home/alice/train.sh\n"
      "   WorkDir=/home/alice\n"
      "   StdErr=/home/alice/gangway-7.out\n"
      "   StdIn=/dev/null\n"
      "   StdOut=/home/alice/gangway-7.out\n"
      "   Power=\n"
      "   TresPerNode=gres/gpu:h100:8\n"
      "\n";
  EXPECT_EQ(show_job_text({&job, {kNow * 1'000'000}}, {.detail = true}), expected);
}

TEST(ShowJob, OnlyAHeldJobHasAPriorityOfZero) {
  wire::Job job = pending_job();
  EXPECT_EQ(priority_of(job), 1);
  job.mutable_status()->mutable_waiting()->set_priority(70);
  EXPECT_EQ(priority_of(job), 70);
  job.mutable_spec()->set_hold_user(true);
  EXPECT_EQ(priority_of(job), 0);
  job.mutable_status()->mutable_ended();
  job.mutable_status()->clear_waiting();
  EXPECT_EQ(priority_of(job), 1) << "nothing holds what has ended";
}

TEST(ShowJob, OneLineHasNoNewlineInside) {
  use_utc();
  wire::Job job = pending_job();
  job.mutable_spec()->set_comment("two\nlines");
  job.mutable_spec()->set_submit_host("host\n\x1b[2J");
  const std::string text = show_job_text({&job, {kNow * 1'000'000}}, {.one_line = true});
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("JobId=7 JobName=train UserId=alice(1000)"));
  EXPECT_THAT(text, HasSubstr("JobState=PENDING Reason=Resources"));
  EXPECT_THAT(text, HasSubstr("NodeList= NumNodes=2"));
}

TEST(ShowJob, SaysHowOftenItMadeWayAndWhatThatCost) {
  wire::Job job = running_job();
  job.mutable_spec()->set_on_preempt(static_cast<uint32_t>(model::OnPreempt::kCheckpoint));
  job.mutable_spec()->set_preempt_signo(10);
  job.mutable_status()->set_preemptions(2);
  job.mutable_status()->set_lost_gpu_ms(1500);
  wire::Service& service =
      *job.mutable_status()->mutable_service();  // four seconds before, and two GPUs for eight since
  service.set_done_us(4'000'000);
  service.set_rate(2'000'000);
  service.set_since_us((kNow - 8) * 1'000'000);
  const std::string text = show_job_text({&job, {kNow * 1'000'000}}, {});
  EXPECT_THAT(
      text,
      HasSubstr("OnPreempt=checkpoint Preemptions=2 LostGpuSeconds=1.5 AttainedGpuSeconds=20.0 PreemptSignal=10\n"));
}

TEST(ShowJob, AComponentNamesTheFilesOfTheFirst) {
  wire::Job job = running_job();
  wire::JobSpec& s = *job.mutable_spec();
  s.set_het_job(6);
  s.set_het_offset(1);
  s.set_het_size(2);
  s.mutable_launch()->set_std_err("%x-%j-%N.err");
  const std::string text = show_job_text({&job, {kNow * 1'000'000}}, {});
  EXPECT_THAT(text, HasSubstr("StdErr=/home/alice/train-6-%N.err\n"));
  EXPECT_THAT(text, HasSubstr("StdOut=/home/alice/gangway-6.out\n"));
  EXPECT_THAT(text, HasSubstr("BatchFlag=0"));
}

std::string shown(const wire::Job& job) { return show_job_text({&job, {kNow * 1'000'000}}, {.detail = true}); }

TEST(ShowJob, SaysWhatWasAskedOfPlaceAndTime) {
  use_utc();
  wire::Job job = running_job();
  wire::JobSpec& s = *job.mutable_spec();
  s.set_time_min_us(1'800'000'000);
  s.set_deadline_us((kNow + 7200) * 1'000'000);
  s.set_reservation("maint");
  s.set_gpu_bind("single:1");
  s.set_gres_flags("enforce-binding");
  wire::Request& r = *s.mutable_request();
  r.clear_mem_per_node_mb();
  r.set_cpus_per_task(1);
  r.set_cpus_per_gpu(12);
  r.set_mem_per_gpu_mb(1024);
  r.set_max_switches(1);
  r.set_switches_wait_us(600'000'000);
  r.set_segment(2);
  r.set_fit(static_cast<uint32_t>(model::Fit::kWorst));
  wire::LocalityStep* step = r.add_locality();
  step->set_level(static_cast<uint32_t>(model::Locality::kLeaf));
  step->set_wait_us(600'000'000);
  const std::string text = shown(job);
  EXPECT_THAT(text, HasSubstr("TimeLimit=01:00:00 TimeMin=00:30:00\n"));
  EXPECT_THAT(text, HasSubstr("Deadline=2027-01-15T10:00:00\n"));
  EXPECT_THAT(text, HasSubstr("DelayBoot=00:00:00\n   Reservation=maint\n   OverSubscribe"));
  EXPECT_THAT(text, HasSubstr("   Locality=leaf@00:10:00 Segment=2 Fit=worst\n   Command="));
  EXPECT_THAT(text, HasSubstr("   Power=\n   Switches=1@00:10:00\n   CpusPerTres=gres/gpu:12\n"
                              "   MemPerTres=gres/gpu:1024\n   TresBind=gres/gpu:single:1\n"
                              "   TresPerNode=gres/gpu:h100:8\n   GresEnforceBind=Yes\n"));
  EXPECT_THAT(text, HasSubstr("ReqTRES=cpu=192,mem=16G,node=2,"));
  r.clear_switches_wait_us();
  EXPECT_THAT(shown(job), HasSubstr("Switches=1@UNLIMITED\n"));
}

TEST(ShowJob, SharedGpusAreShards) {
  use_utc();
  wire::Job job = running_job();
  wire::Request& r = *job.mutable_spec()->mutable_request();
  r.set_min_nodes(1);
  r.set_gpus(1);
  r.set_gpu_milli(250);
  auto* shares = job.mutable_status()->mutable_placed()->mutable_shares();
  shares->DeleteSubrange(1, 1);
  (*shares)[0].set_gpus("3");
  (*shares)[0].set_gpu_milli(250);
  const std::string text = shown(job);
  EXPECT_THAT(text, HasSubstr("ReqTRES=cpu=8,mem=4G,node=1,billing=8,gres/shard=250\n"));
  EXPECT_THAT(text, HasSubstr("AllocTRES=cpu=4,mem=4G,node=1,billing=4,gres/shard=250\n"));
  EXPECT_THAT(text, HasSubstr("   JOB_GRES=shard:h100:250\n"));
  EXPECT_THAT(text, HasSubstr("GRES=shard:h100:250(IDX:3)\n"));
  EXPECT_THAT(text, HasSubstr("TresPerNode=gres/shard:h100:250\n"));
}

wire::Node node(const char* name, const char* state, const char* used_gpus = "") {
  wire::Node n;
  n.set_name(name);
  n.set_state(state);
  n.add_partitions("gpu");
  n.set_total_gpus(8);
  n.set_gres("gpu:h100:8");
  n.set_sockets(2);
  n.set_cores(112);
  n.set_threads_per_core(2);
  n.set_total_cpus(224);
  n.set_schedulable_cpus(224);
  n.set_schedulable_mem_mb(2048);
  n.set_alloc_gpus(used_gpus);
  return n;
}

TEST(NodeState, IsWordedAsSinfoDoes) {
  struct {
    const char* state;
    const char* long_form;
    const char* short_form;
    const char* flags;
  } cases[] = {{"IDLE", "idle", "idle", "IDLE"},
               {"MIXED", "mixed", "mix", "MIXED"},
               {"ALLOCATED", "allocated", "alloc", "ALLOCATED"},
               {"IDLE+DRAIN", "drained", "drain", "IDLE+DRAIN"},
               {"MIXED+DRAIN", "draining", "drng", "MIXED+DRAIN"},
               {"DOWN", "down", "down", "DOWN"},
               {"IDLE*", "idle*", "idle*", "IDLE+NOT_RESPONDING"},
               {"UNKNOWN*", "unknown*", "unk*", "UNKNOWN+NOT_RESPONDING"},
               {"COMPLETING", "completing", "comp", "COMPLETING"}};
  for (const auto& c : cases) {
    const wire::Node n = node("n1", c.state);
    EXPECT_EQ(node_state_long(n), c.long_form);
    EXPECT_EQ(node_state_short(n), c.short_form);
    EXPECT_EQ(node_state_flags(n), c.flags);
    EXPECT_TRUE(node_state_is(n, c.long_form));
    EXPECT_TRUE(node_state_is(n, c.short_form));
  }
}

TEST(Gpus, AreCountedFreeUsedOffline) {
  wire::Node n = node("n1", "MIXED", "0-2");
  (*n.mutable_offline_gpus())[5] = "ECC";
  (*n.mutable_offline_gpus())[0] = "ECC, but still in use";
  EXPECT_EQ(gpu_counts(n).text(), "4/3/1");
  EXPECT_EQ(gpu_counts(node("n1", "MIXED+DRAIN", "0")).text(), "0/1/7");
  EXPECT_EQ(gpu_counts(node("n1", "IDLE*")).text(), "0/0/8");
}

std::string info(std::string_view format_text, const std::vector<wire::Node>& nodes, bool by_node = false,
                 bool exact = false) {
  google::protobuf::RepeatedPtrField<wire::Partition> partitions;
  wire::Partition& p = *partitions.Add();
  p.set_name("gpu");
  p.set_is_default(true);
  p.set_max_time_us(INT64_MAX);
  auto format = parse_short_format(format_text, field_names(info_fields()));
  if (!format) return format.error().text();
  std::vector<const wire::Node*> list;
  for (const wire::Node& n : nodes) list.push_back(&n);
  const auto rows = group_nodes(*format, partitions, list, by_node, exact);
  return render_table(*format, info_fields(), rows).lines;
}

TEST(Info, GroupsNodesThatLookAlike) {
  const std::vector<wire::Node> nodes = {node("n10", "IDLE"), node("n2", "IDLE"), node("n1", "MIXED", "0-3"),
                                         node("n3", "IDLE+DRAIN")};
  EXPECT_EQ(info(kInfoFormat, nodes),
            "gpu*         up   infinite      1  drain n3\n"
            "gpu*         up   infinite      1    mix n1\n"
            "gpu*         up   infinite      2   idle n[2,10]\n");
  EXPECT_EQ(info("%R %F %C %J", nodes), "gpu 1/2/1/4 0/672/224/896 20/4/8\n");
  EXPECT_EQ(info("%n %t", nodes, true), "n1 mix\nn2 idle\nn3 drain\nn10 idle\n");
}

/// Slurm's word stays alone under Slurm's names, and where no free node is kept from the job.
TEST(Reason, SaysWhomFreeNodesAreKeptFor) {
  const auto shown = [](model::Blocker blocker, bool says_more) {
    wire::Job job;
    wire::Waiting& waiting = *job.mutable_status()->mutable_waiting();
    waiting.set_reason(static_cast<uint32_t>(model::WaitReason::kPriority));
    blocker.scope = model::BlockerScope::kPartition;
    blocker.where = "main";
    wire::set_blockers(*waiting.mutable_blockers(), {std::move(blocker)});
    const JobRow row{&job, {}, nullptr, {}, says_more};
    return reason_word(row) + "|" + reason_or_nodes(row);
  };
  using Kind = model::BlockerKind;
  EXPECT_EQ(shown({.kind = Kind::kPlannedStart}, true),
            "Priority, nodes are kept for planned starts|(Priority, nodes are kept for planned starts)");
  EXPECT_EQ(shown({.kind = Kind::kStrictOrder, .held_by = "7"}, true),
            "Priority, behind job 7|(Priority, behind job 7)");
  EXPECT_EQ(shown({.kind = Kind::kStrictOrder, .held_by = "a job of somebody else"}, true),
            "Priority, behind a job of somebody else|(Priority, behind a job of somebody else)");
  EXPECT_EQ(shown({.kind = Kind::kNodes}, true), "Priority|(Priority)");
  EXPECT_EQ(shown({.kind = Kind::kPlannedStart}, false), "Priority|(Priority)");
}

TEST(Info, StandardColumnsShowWholeNumbersAndReasons) {
  use_utc();
  std::vector<wire::Node> nodes = {node("n1", "IDLE+DRAIN"), node("n2", "IDLE")};
  nodes[0].set_schedulable_mem_mb(2'063'937);
  nodes[0].set_reason("power supply two is to be replaced on Tuesday");
  nodes[0].set_reason_user("administrator");
  EXPECT_THAT(info(kInfoNodeLongFormat, nodes, true),
              testing::AllOf(HasSubstr(" 2:56:2 2063937 "), HasSubstr(" 2:56:2    2048 ")));
  EXPECT_THAT(info(kInfoReasonFormat, nodes, true),
              HasSubstr("power supply two is to be replaced on Tuesday administrator Unknown"));
  EXPECT_THAT(info(kSinfoReasonFormat, nodes, true), HasSubstr("power supply two is  administr Unknown"));
}

TEST(Info, AWarningIsAReason) {
  std::vector<wire::Node> nodes = {node("n1", "IDLE"), node("n2", "IDLE+DRAIN")};
  nodes[0].set_warning("0 of 8 GPUs found");
  nodes[1].set_warning("7 of 8 GPUs found");
  nodes[1].set_reason("ECC");
  EXPECT_EQ(info("%n %E", nodes, true), "n1 0 of 8 GPUs found\nn2 ECC\n");
}

TEST(Info, SizesMergeUnlessExact) {
  std::vector<wire::Node> nodes = {node("n1", "IDLE"), node("n2", "IDLE")};
  nodes[1].set_schedulable_cpus(64);
  EXPECT_EQ(info("%P %c %D", nodes), "gpu* 64+ 2\n");
  EXPECT_EQ(info("%P %c %D", nodes, false, true), "gpu* 224 1\ngpu* 64 1\n");
}

TEST(Info, LettersAndNamesAreUnique) {
  std::set<char> letters;
  std::set<std::string> names;
  for (const auto& f : info_fields()) {
    if (f.id.letter != 0) {
      EXPECT_TRUE(letters.insert(f.id.letter).second) << f.id.letter;
    }
    EXPECT_TRUE(names.insert(std::string(f.id.name)).second) << f.id.name;
  }
  for (char c : std::string("PRCFDTtNncmfGlpAaeOE")) EXPECT_TRUE(letters.contains(c)) << c;
}

TEST(ShowNode, SaysStateReasonAndGpus) {
  use_utc();
  wire::Node n = node("n1", "MIXED+DRAIN", "0-1");
  n.set_reason("fan");
  n.set_reason_user("root");
  n.set_reason_time_us(kNow * 1'000'000);
  (*n.mutable_offline_gpus())[7] = "ECC";
  const std::string text = show_node_text(n, {}, {});
  EXPECT_THAT(text, HasSubstr("NodeName=n1 CoresPerSocket=56\n"));
  EXPECT_THAT(text, HasSubstr("Gres=gpu:h100:8\n"));
  EXPECT_THAT(text, HasSubstr("State=MIXED+DRAIN ThreadsPerCore=2"));
  EXPECT_THAT(text, HasSubstr("Reason=fan [root@2027-01-15T08:00:00]"));
  EXPECT_THAT(text, HasSubstr("OfflineGpu=7 OfflineReason=ECC"));
}

TEST(Json, HasASchemaVersionAndSurvivesAnyBytes) {
  wire::ListJobsReply reply;
  *reply.add_jobs() = running_job();
  reply.mutable_jobs(0)->mutable_spec()->set_name("bad \xff byte");
  const std::string text = jobs_json(reply.jobs(), kNow * 1'000'000);
  EXPECT_TRUE(text.starts_with("{\n  \"schema_version\": 1,\n  \"jobs\": ["));
  EXPECT_THAT(text, HasSubstr("\"job_id\": 7"));
  EXPECT_THAT(text, HasSubstr("\"job_state\": [\n        \"RUNNING\"\n      ]"));
  EXPECT_THAT(text, HasSubstr("\"gpus\": 16"));
  EXPECT_THAT(text, HasSubstr("\"gpu_milli\": 1000"));
  EXPECT_THAT(text, HasSubstr("\"switches_wait\": null"));
  EXPECT_THAT(text, HasSubstr("\"time_minimum\": null"));
  EXPECT_THAT(text, HasSubstr("\"locality\": \"\""));
}

TEST(ShowPartition, HasSlurmsKeys) {
  wire::Partition p;
  p.set_name("gpu");
  p.set_max_time_us(INT64_MAX);
  p.add_nodes("n1");
  p.add_nodes("n2");
  const std::string text = show_partition_text(p, {});
  EXPECT_THAT(text, HasSubstr("PartitionName=gpu\n   AllowGroups=ALL"));
  EXPECT_THAT(text, HasSubstr("MaxTime=UNLIMITED"));
  EXPECT_THAT(text, HasSubstr("Nodes=n[1-2]"));
  EXPECT_THAT(text, HasSubstr("State=UP"));
  EXPECT_THAT(text, HasSubstr("Fit=default CoresPerGpuKept=1 SharedGpus=NO"));
  p.set_fit(static_cast<uint32_t>(model::Fit::kSpread));
  p.set_cores_per_gpu_kept(0);
  p.set_allow_shared_gpus(true);
  p.set_consolidate(static_cast<uint32_t>(model::Consolidate::kDryRun));
  EXPECT_THAT(show_partition_text(p, {}), HasSubstr("Fit=spread CoresPerGpuKept=0 SharedGpus=YES Consolidate=dry_run"));
}

wire::ListPartitionsReply with_origins() {
  wire::ListPartitionsReply reply;
  model::Partition p;
  p.name = "gpu";
  p.nodes = {"n0", "n1"};
  p.max_time = base::hours(2);
  p.fit = model::Fit::kWorst;
  p.grace = base::seconds(5);
  *reply.add_partitions() = wire::to_wire(p);
  const auto add = [&reply](const char* key, model::OriginKind kind, const char* place, const char* by) {
    wire::KeyOrigin& o = *reply.mutable_partitions(0)->add_origins();
    o.set_key(key);
    o.set_kind(static_cast<uint32_t>(kind));
    o.set_place(place);
    o.set_by(by);
    o.set_at_us(1'800'000'000'000'000);
  };
  add("nodes", model::OriginKind::kFile, "/g.yaml:4", "");
  add("max_time", model::OriginKind::kCommand, "", "ann");
  add("fit", model::OriginKind::kCluster, "/g.yaml:2", "");
  add("tier", model::OriginKind::kBuiltIn, "", "");
  return reply;
}

TEST(ShowPartition, EffectiveNamesTheOriginOfEachKey) {
  const auto text = effective_text(with_origins());
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, HasSubstr("PartitionName=gpu\n   KEY "));
  const auto line = [&text](const std::string& key) {
    const size_t at = text->find("\n   " + key + " ");
    if (at == std::string::npos) return std::string("none");
    std::string out;
    for (const std::string& word : base::split(text->substr(at + 4, text->find('\n', at + 1) - at - 4), ' '))
      if (!word.empty()) out += (out.empty() ? "" : " ") + word;
    return out;
  };
  EXPECT_EQ(line("nodes"), "nodes n[0-1] /g.yaml:4");
  EXPECT_EQ(line("fit"), "fit worst cluster default: scheduler.fit, /g.yaml:2");
  EXPECT_EQ(line("tier"), "tier 1 built-in");
  EXPECT_EQ(line("max_time"), "max_time 2h gcontrol by ann, " + base::format_time({1'800'000'000'000'000}));
  EXPECT_THAT(line("lease"), HasSubstr("unknown")) << "an older controller";
}

TEST(ShowPartition, EffectiveJsonHasTypedValues) {
  const auto json = effective_json(with_origins());
  ASSERT_TRUE(json);
  std::string flat = *json;
  std::erase_if(flat, [](char c) { return c == ' ' || c == '\n'; });
  EXPECT_THAT(flat, HasSubstr("\"name\":\"gpu\""));
  EXPECT_THAT(
      flat,
      HasSubstr("\"nodes\":{\"value\":[\"n0\",\"n1\"],\"origin\":{\"kind\":\"partition\",\"place\":\"/g.yaml:4\"}}"));
  EXPECT_THAT(flat, HasSubstr("\"max_time\":{\"value\":7200,\"origin\":{\"kind\":\"command\",\"user\":\"ann\""));
  EXPECT_THAT(flat, HasSubstr("\"default_time\":{\"value\":null"));
  EXPECT_THAT(flat, HasSubstr("\"key\":\"scheduler.fit\""));
  EXPECT_THAT(flat, HasSubstr("\"grace\":{\"value\":5,"));
  EXPECT_THAT(flat, HasSubstr("\"exclusive\":{\"value\":false,"));
}

TEST(ShowJson, EventsNameWhatTheyAreAboutAndWhoDidIt) {
  wire::ListEventsReply reply;
  wire::HistoryEvent& drained = *reply.add_events();
  drained.set_seq(3);
  drained.set_time_us(1'800'000'000'000'001);
  drained.set_node("n1");
  drained.set_kind("drained");
  drained.set_text("by root: \xff");
  drained.set_uid(0);
  wire::HistoryEvent& ended = *reply.add_events();
  ended.set_job(7);
  ended.set_kind("ended");
  const std::string json =
      events_json(reply, [](const wire::HistoryEvent& e) { return fmt::format("user{}", e.uid()); });
  EXPECT_THAT(json, HasSubstr("\"schema_version\": 1"));
  EXPECT_THAT(json, HasSubstr("\"time_us\": 1800000000000001,"));
  EXPECT_THAT(json, HasSubstr("\"uid\": 0,\n      \"job\": null,\n      \"node\": \"n1\",\n      \"user\": \"user0\""));
  EXPECT_THAT(json, HasSubstr("\"uid\": null,\n      \"job\": 7,\n      \"node\": null,\n      \"user\": null"));
}

}  // namespace
}  // namespace gw::client
