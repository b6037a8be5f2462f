// Job ids, `gcontrol update` words and shortened commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmds/gcontrol/control_verbs.h"
#include "cmds/shared/job_ids.h"
#include "model/cluster.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr base::Time kNow{1'800'000'000'000'000};

TEST(JobIds, ListsAndRanges) {
  const auto ids = [](const char* text) {
    JobIds out;
    auto done = parse_job_ids(text, out);
    EXPECT_TRUE(done.has_value()) << text;
    return out.jobs;
  };
  EXPECT_THAT(ids("5"), ElementsAre(5));
  EXPECT_THAT(ids("1,2"), ElementsAre(1, 2));
  EXPECT_THAT(ids("5-9"), ElementsAre(5, 6, 7, 8, 9));
  EXPECT_THAT(ids("7,1-2,4294967295"), ElementsAre(7, 1, 2, 4294967295u));
}

TEST(JobIds, TasksOfArraysAreNamedByTheirIndices) {
  JobIds ids;
  for (const char* text : {"7_3", "5,7_[1-9:2,12],6_0", "7_[20-30%4]"})
    ASSERT_TRUE(parse_job_ids(text, ids).has_value()) << text;
  EXPECT_THAT(ids.jobs, ElementsAre(5));
  wire::JobFilter filter;
  ids.put(*filter.mutable_ids(), *filter.mutable_tasks());
  ASSERT_EQ(filter.tasks_size(), 2);
  EXPECT_EQ(filter.tasks(1).array(), 7u);
  EXPECT_EQ(wire::from_wire(filter.tasks(1).tasks())->text(), "1-9:2,12,20-30");
}

TEST(JobIds, BadOnesAreNamed) {
  for (
      const char* text :
      {"abc", "",   "0",  "-1",  "1,",   "9-5",   "1-",      "4294967296", "99999999999999999999", "1-4294967295", "5x",
       "7.0", "7_", "_3", "7_[", "7_[]", "7_1-3", "7_[1,x]", "7_[3-1]",    "7_[1000001]",          "0_1"}) {
    JobIds out;
    auto done = parse_job_ids(text, out);
    ASSERT_FALSE(done.has_value()) << text;
    EXPECT_THAT(done.error().what, HasSubstr("Invalid job id"));
  }
}

wire::ApiRequest good(std::vector<std::string> words) {
  auto request = update_request(words, kNow);
  EXPECT_TRUE(request.has_value()) << (request ? "" : request.error().text());
  return request ? *request : wire::ApiRequest();
}

std::string bad(std::vector<std::string> words) {
  const auto request = update_request(words, kNow);
  return request ? "" : request.error().text();
}

TEST(Reservation, FlagsReplaceAddAndTakeOff) {
  struct Case {
    const char* word;
    std::optional<bool> maintenance;
    std::optional<int64_t> every;
  };
  const Case kCases[] = {
      {"Flags=MAINT", true, 0},
      {"Flags=", false, 0},
      {"Flags=weekly", false, base::hours(168).us},
      {"Flags+=DAILY", std::nullopt, base::hours(24).us},
      {"Flags-=DAILY", std::nullopt, 0},
      {"Flags-=MAINT,HOURLY", false, 0},
  };
  for (const Case& c : kCases) {
    const auto u = good({"ReservationName=r", c.word}).update_reservation();
    EXPECT_EQ(u.has_maintenance() ? std::optional(u.maintenance()) : std::nullopt, c.maintenance) << c.word;
    EXPECT_EQ(u.has_every_us() ? std::optional(u.every_us()) : std::nullopt, c.every) << c.word;
  }
  EXPECT_EQ(good({"reservation=r", "Users+=root"}).update_reservation().users(), "+root");
}

TEST(Update, JobKeysInAnyCase) {
  const wire::UpdateJobRequest u =
      good({"JOBID=3,5", "timelimit=2:00:00", "QOS=high", "Priority=4", "Nice=-3", "Partition=gpu", "JobName=x",
            "Comment=", "StartTime=now+1hour", "Requeue=0", "NumNodes=2-4", "ExcNodeList=n[1-2]"})
          .update_job();
  EXPECT_THAT(u.ids(), ElementsAre(3, 5));
  EXPECT_EQ(u.time_limit_us(), base::hours(2).us);
  for (const char* none : {"TimeLimit=0", "TimeLimit=UNLIMITED", "TimeLimit=Infinite"})
    EXPECT_EQ(good({"JobId=3", none}).update_job().time_limit_us(), base::kUnlimited.us) << none;
  for (const auto& [word, minutes] :
       {std::pair("TimeLimit=+30", 30), {"TimeLimit=-1", -1}, {"TimeLimit+=1:00:00", 60}, {"timelimit-=90s", -2}}) {
    const wire::UpdateJobRequest changed = good({"JobId=3", word}).update_job();
    EXPECT_EQ(changed.time_limit_change_us(), minutes * base::minutes(1).us) << word;
    EXPECT_FALSE(changed.has_time_limit_us()) << word;
  }
  EXPECT_EQ(u.qos(), "high");
  EXPECT_EQ(u.priority(), 4);
  EXPECT_EQ(u.nice(), -3);
  EXPECT_EQ(u.partition(), "gpu");
  EXPECT_EQ(u.name(), "x");
  EXPECT_TRUE(u.has_comment());
  EXPECT_EQ(u.begin_us(), (kNow + base::hours(1)).us);
  EXPECT_TRUE(u.has_requeue());
  EXPECT_FALSE(u.requeue());
  EXPECT_EQ(u.min_nodes(), 2u);
  EXPECT_EQ(u.max_nodes(), 4u);
  EXPECT_EQ(u.exclude(), "n[1-2]");
  EXPECT_FALSE(u.has_account());
}

TEST(Update, SizesAndFilesOfJobs) {
  const wire::UpdateJobRequest u = good({"JobId=3", "NumTasks=8", "CPUsPerTask=2", "MinCPUsNode=16", "MinMemoryNode=2G",
                                         "StdOut=out-%j", "StdErr=", "StdIn=/dev/null", "WorkDir=/tmp/a b"})
                                       .update_job();
  EXPECT_EQ(u.task_count(), 8u);
  EXPECT_EQ(u.cpus_per_task(), 2u);
  EXPECT_EQ(u.min_cpus(), 16u);
  EXPECT_EQ(u.mem_per_node_mb(), 2048u);
  EXPECT_EQ(u.std_out(), "out-%j");
  EXPECT_TRUE(u.has_std_err());
  EXPECT_EQ(u.std_in(), "/dev/null");
  EXPECT_EQ(u.work_dir(), "/tmp/a b");
  EXPECT_EQ(good({"JobId=3", "MinMemoryCPU=500"}).update_job().mem_per_cpu_mb(), 500u);
}

TEST(Update, PlacesOfJobs) {
  const wire::UpdateJobRequest u =
      good({"JobId=3", "NtasksPerNode=4", "MinTmpDiskNode=2T", "Contiguous=yes", "Shared=no"}).update_job();
  EXPECT_EQ(u.tasks_per_node(), 4u);
  EXPECT_EQ(u.tmp_mb(), 2u << 20);
  EXPECT_TRUE(u.contiguous() && u.exclusive());
  EXPECT_FALSE(good({"JobId=3", "OverSubscribe=yes"}).update_job().exclusive());
  EXPECT_THAT(bad({"JobId=3", "Contiguous=perhaps"}), HasSubstr("Contiguous"));
}

TEST(Update, LayoutsAndTextsOfJobs) {
  const wire::UpdateJobRequest u = good({"JobId=3", "ReqSockets=2", "ReqCores=0", "ReqThreads=1", "NumCPUs=12",
                                         "AdminComment=a b", "SystemComment=", "Extra=x"})
                                       .update_job();
  EXPECT_EQ(u.sockets(), 2u);
  EXPECT_TRUE(u.has_socket_cores() && u.socket_cores() == 0);
  EXPECT_EQ(u.core_threads(), 1u);
  EXPECT_EQ(u.cpu_count(), 12u);
  EXPECT_EQ(u.admin_comment() + "|" + u.extra(), "a b|x");
  EXPECT_TRUE(u.has_system_comment());
  EXPECT_GT(good({"JobId=3", "EndTime=now+1hour"}).update_job().end_us(), 0);
  EXPECT_THAT(bad({"JobId=3", "EndTime=soon"}), HasSubstr("EndTime"));
  EXPECT_THAT(bad({"JobId=3", "ReqSockets=-1"}), HasSubstr("ReqSockets"));
}

TEST(Update, GenericResourcesOfJobs) {
  const auto gres = [](const std::string& word) { return good({"JobId=3", word}).update_job().gres(); };
  const wire::GresUpdate of_nodes = gres("Gres=gpu:h100:2,lscratch:100");
  EXPECT_EQ(of_nodes.gpu_counting(), static_cast<uint32_t>(model::GpuCounting::kPerNode));
  EXPECT_EQ(of_nodes.gpus(), 2u);
  EXPECT_EQ(of_nodes.gpu_type(), "h100");
  ASSERT_EQ(of_nodes.others_size(), 1);
  EXPECT_EQ(of_nodes.others(0).name(), "lscratch");
  EXPECT_TRUE(of_nodes.says_others());
  EXPECT_EQ(gres("TresPerNode=gres/shard:250").gpu_milli(), 250u);
  EXPECT_EQ(gres("Gres=none").gpus(), 0u);
  EXPECT_TRUE(gres("Gres=").says_others());
  const wire::GresUpdate of_job = gres("TresPerJob=gres/gpu:8");
  EXPECT_EQ(of_job.gpu_counting(), static_cast<uint32_t>(model::GpuCounting::kPerJob));
  EXPECT_FALSE(of_job.says_others()) << "those of the nodes stay";
  EXPECT_EQ(gres("TresPerTask=gpu").gpu_counting(), static_cast<uint32_t>(model::GpuCounting::kPerTask));
  EXPECT_THAT(bad({"JobId=3", "Gres=gpu:1", "TresPerJob=gpu:1"}), HasSubstr("exclude each other"));
  EXPECT_THAT(bad({"JobId=3", "TresPerJob=shard:100"}), HasSubstr("a part of a GPU is that of a node"));
  EXPECT_THAT(bad({"JobId=3", "TresPerTask=gpu:1,lscratch:2"}), HasSubstr("those of each node"));
  EXPECT_THAT(bad({"JobId=3", "Gres=gpu:x:y:2"}), HasSubstr("Gres: "));
}

TEST(Update, Nodes) {
  const wire::UpdateNodeRequest drain = good({"NodeName=n[1-2]", "State=DRAIN", "Reason=fan broken"}).update_node();
  EXPECT_THAT(drain.names(), ElementsAre("n1", "n2"));
  EXPECT_EQ(drain.action(), wire::kNodeDrain);
  EXPECT_EQ(drain.reason(), "fan broken");
  const wire::UpdateNodeRequest dead = good({"node=n1", "state=down", "dead=yes"}).update_node();
  EXPECT_EQ(dead.action(), wire::kNodeDown);
  EXPECT_TRUE(dead.dead());
  const wire::UpdateNodeRequest gpu = good({"NodeName=n1", "Gpu=3,5", "State=OFFLINE", "Reason=ECC"}).update_node();
  EXPECT_EQ(gpu.action(), wire::kGpuOffline);
  EXPECT_THAT(gpu.gpus(), ElementsAre(3, 5));
  EXPECT_EQ(good({"node=n1", "gpu=3", "state=resume"}).update_node().action(), wire::kGpuOnline);
  EXPECT_EQ(good({"node=n1", "state=resume"}).update_node().action(), wire::kNodeResume);
}

TEST(Update, Partitions) {
  const wire::UpdatePartitionRequest p =
      good({"PartitionName=gpu", "State=DRAIN", "MaxTime=1-0", "Default=YES"}).update_partition();
  EXPECT_EQ(p.name(), "gpu");
  EXPECT_EQ(p.state(), static_cast<uint32_t>(model::PartitionState::kDrain));
  EXPECT_EQ(p.max_time_us(), base::hours(24).us);
  EXPECT_TRUE(p.is_default());
  EXPECT_EQ(good({"partition=gpu", "state=up"}).update_partition().name(), "gpu");
}

struct Bad {
  std::vector<std::string> words;
  const char* says;
};

TEST(Update, BadWordsSayWhatIsWrong) {
  const Bad cases[] = {
      {{}, "No valid entity"},
      {{"State=DRAIN"}, "No valid entity"},
      {{"JobId=3"}, "No changes specified (known: arraytaskthrottle, jobname, name, partition, qos, "},
      {{"JobId=x", "Nice=1"}, "Invalid job id"},
      {{"JobId=3", "Tmelimit=1"}, "did you mean \"timelimit\"?"},
      {{"JobId=3", "TimeMin=0:00"}, "longer than zero"},
      {{"JobId=3", "TimeLimit=+UNLIMITED"}, "a change of it has an end"},
      {{"JobId=3", "TimeLimit=+"}, "TimeLimit: "},
      {{"JobId=3", "TimeLimit=5", "TimeLimit+=5"}, "timelimit"},
      {{"JobId=3", "Requeue=maybe"}, "neither yes nor no"},
      {{"JobId=3", "Features=a&"}, "feature"},
      {{"JobId=3", "ReqNodeList=n["}, "n["},
      {{"JobId=3", "Nice"}, "not KEY=VALUE"},
      {{"JobId=3", "Nice=1", "nice=2"}, "stands twice"},
      {{"NodeName=n1", "State=DRAINED"}, "did you mean \"drain\"?"},
      {{"NodeName=n1", "Gpu=3"}, "No changes specified"},
      {{"NodeName=n1", "Gpu=x", "State=OFFLINE"}, "no list of GPU indices"},
      {{"NodeName=n1", "State=OFFLINE"}, "Gpu=3"},
      {{"NodeName=n1", "Gpu=3", "State=DRAIN"}, "OFFLINE"},
      {{"NodeName=n1", "State=DRAIN", "Dead=yes"}, "Dead=yes goes with State=DOWN"},
      {{"NodeName=n[1-", "State=DRAIN"}, "n[1-"},
      {{"PartitionName=gpu", "State=LOST"}, "Invalid partition state"},
      {{"PartitionName="}, "is empty"},
  };
  for (const Bad& c : cases) {
    auto request = update_request(c.words, kNow);
    ASSERT_FALSE(request.has_value()) << testing::PrintToString(c.words);
    EXPECT_THAT(request.error().text(), HasSubstr(c.says)) << testing::PrintToString(c.words);
  }
}

TEST(Words, MayBeShortened) {
  static constexpr std::string_view kWords[] = {"requeue", "requeuehold", "release", "show"};
  EXPECT_EQ(match_word("SHOW", kWords), "show");
  EXPECT_EQ(match_word("sh", kWords), "show");
  EXPECT_EQ(match_word("requeue", kWords), "requeue");
  EXPECT_EQ(match_word("requeueh", kWords), "requeuehold");
  EXPECT_EQ(match_word("re", kWords), "");
  EXPECT_EQ(match_word("x", kWords), "");
  EXPECT_EQ(match_word("", kWords), "");
}

TEST(Hostlist, IsMadeFromNames) {
  EXPECT_EQ(*make_hostlist("n3,n1,n2", true), "n[1-3]");
  EXPECT_EQ(*make_hostlist("n1,n2,x1", false), "n[1-2],x1");
  EXPECT_FALSE(make_hostlist("/nonexistent/list", false).has_value());
}

}  // namespace
}  // namespace gw::cmds
