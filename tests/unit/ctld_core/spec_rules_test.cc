// What a submission takes an update takes, and a restart; what one refuses all refuse.
#include "ctld/core/rows/spec_rules.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ctld_core/world.h"
#include "wire/bounds.h"

namespace gw::ctld {
namespace {

using ::testing::ElementsAre;
using testing::gang;
using ::testing::HasSubstr;
using testing::World;

/// A job that waits, on a cluster of three nodes in two partitions.
struct Updated : World {
  Updated() : World(3) {
    connect_all();
    wire::ApiRequest create;
    wire::Partition& p = *create.mutable_create_partition()->mutable_partition();
    p.set_name("other");
    for (const char* node : {"n0", "n1", "n2"}) p.add_nodes(node);
    p.set_unlimited(true);
    p.set_max_time_us(base::kUnlimited.us);
    p.set_default_time_us(base::kUnlimited.us);
    EXPECT_EQ(ask(0, create).error().what(), "");
    first = submit(1000, gang(3));
    id = submit(1000, gang(1));
  }
  /// The error, if any.
  std::string update(const std::function<void(wire::UpdateJobRequest&)>& change) {
    wire::ApiRequest r;
    r.mutable_update_job()->add_ids(id.value);
    change(*r.mutable_update_job());
    const wire::ApiReply reply = ask(1000, r);
    if (reply.has_error()) return reply.error().what();
    return reply.jobs().faults().empty() ? "" : reply.jobs().faults(0).error().what();
  }
  /// A controller starts from what is stored, and is the same.
  void expect_same_after_restart() {
    const std::string before = core->fingerprint();
    restart();
    ASSERT_TRUE(restored) << restored.error().text();
    EXPECT_EQ(core->fingerprint(), before);
  }
  JobId first, id;
};

std::string many(const std::string& name, int count) {
  std::string out = name;
  for (int i = 1; i < count; ++i) out += "," + name;
  return out;
}

TEST(Update, PartitionsNamedManyTimesCountOnce) {
  Updated w;
  EXPECT_EQ(w.update([](auto& u) { u.set_partition(many("main", 5'000) + "," + many("other", 5'000)); }), "");
  EXPECT_THAT(w.job(w.id).spec.partitions, ElementsAre("main", "other"));
  EXPECT_THAT(w.update([](auto& u) { u.set_partition(many("main", 200'000)); }), HasSubstr("Partition: 999999 bytes"));
  w.expect_same_after_restart();
}

TEST(Update, NodeListsCountByWhatTheyExpandTo) {
  Updated w;
  EXPECT_THAT(w.update([](auto& u) { u.set_exclude("n[0-99999]"); }), HasSubstr("at most 262144"));
  EXPECT_THAT(w.update([](auto& u) { u.set_nodelist("n[0-999999]"); }), HasSubstr("100000"));
  EXPECT_THAT(w.update([](auto& u) { u.set_nodelist("n0,n0,n0"); }), "");
  EXPECT_THAT(w.job(w.id).spec.request.nodelist, ElementsAre("n0"));
  w.expect_same_after_restart();
}

TEST(Update, ChangesTheSizeOfWhatWaits) {
  Updated w;
  EXPECT_EQ(w.update([](auto& u) {
    u.set_task_count(6);
    u.set_cpus_per_task(2);
    u.set_mem_per_cpu_mb(100);
  }),
            "");
  const model::Request& r = w.job(w.id).spec.request;
  EXPECT_TRUE(r.tasks_given);
  EXPECT_EQ(r.tasks, 6u);
  EXPECT_EQ(r.cpus_per_task, 2u);
  EXPECT_EQ(r.mem_per_cpu_mb, 100u);
  EXPECT_EQ(r.mem_per_node_mb, 0u);
  EXPECT_EQ(w.update([](auto& u) { u.set_mem_per_node_mb(0); }), "");
  EXPECT_TRUE(r.mem_all);
  EXPECT_EQ(r.mem_per_cpu_mb, 0u);
  EXPECT_EQ(w.update([](auto& u) { u.set_mem_per_node_mb(512); }), "");
  EXPECT_FALSE(r.mem_all);
  EXPECT_EQ(w.update([](auto& u) { u.set_min_cpus(4); }), "");
  EXPECT_EQ(r.min_cpus, 4u);
  w.expect_same_after_restart();
}

TEST(Update, ChangesThePlaceOfWhatWaits) {
  Updated w;
  EXPECT_EQ(w.update([](auto& u) {
    u.set_tasks_per_node(2);
    u.set_contiguous(true);
    u.set_exclusive(true);
  }),
            "");
  const model::Request& r = w.job(w.id).spec.request;
  EXPECT_EQ(r.tasks_per_node, 2u);
  EXPECT_TRUE(r.contiguous && r.exclusive);
  EXPECT_EQ(w.update([](auto& u) { u.set_contiguous(false); }), "");
  EXPECT_TRUE(!r.contiguous && r.exclusive);
  EXPECT_EQ(w.update([](auto& u) { u.set_tmp_mb(1000); }), "") << "as a submission: no node knows its disk";
  w.expect_same_after_restart();
}

TEST(Update, ChangesTheLayoutOfWhatWaits) {
  Updated w;
  const model::Request& r = w.job(w.id).spec.request;
  EXPECT_EQ(w.update([](auto& u) {
    u.set_sockets(1);
    u.set_socket_cores(3);
    u.set_core_threads(1);
  }),
            "");
  EXPECT_EQ(std::pair(r.sockets, r.socket_cores), std::pair(1u, 3u));
  EXPECT_TRUE(r.whole_cores && r.core_threads == 0);
  EXPECT_THAT(w.update([](auto& u) { u.set_core_threads(2); }), HasSubstr("2 threads of a core asked"));
  EXPECT_EQ(w.update([](auto& u) { u.set_core_threads(0); }), "");
  EXPECT_TRUE(r.whole_cores) << "of threads nothing is said any more";
  EXPECT_THAT(w.update([](auto& u) { u.set_sockets(9); }), HasSubstr("9 sockets"));
  EXPECT_EQ(w.update([](auto& u) {
    u.set_cpus_per_task(2);
    u.set_cpu_count(6);
  }),
            "");
  EXPECT_EQ(std::pair(r.tasks, r.cpus_per_task), std::pair(3u, 2u));
  EXPECT_THAT(w.update([](auto& u) { u.set_cpu_count(7); }), HasSubstr("not a multiple of the 2 CPUs of a task"));
  EXPECT_THAT(w.update([](auto& u) { u.set_cpu_count(0); }), HasSubstr("not a multiple"));
  EXPECT_EQ(w.update([](auto& u) {
    u.mutable_gres()->set_gpu_counting(static_cast<uint32_t>(model::GpuCounting::kPerTask));
    u.mutable_gres()->set_gpus(1);
  }),
            "");
  EXPECT_THAT(w.update([](auto& u) { u.set_cpu_count(4); }), HasSubstr("follow from each other"));
  w.expect_same_after_restart();
}

TEST(Update, ChangesTheGpusOfWhatWaits) {
  Updated w;
  const model::Request& r = w.job(w.id).spec.request;
  const auto gpus = [&](model::GpuCounting counting, uint32_t count, const std::string& type, bool all = false) {
    return w.update([&](auto& u) {
      u.mutable_gres()->set_gpu_counting(static_cast<uint32_t>(counting));
      u.mutable_gres()->set_gpus(count);
      u.mutable_gres()->set_gpu_type(type);
      u.mutable_gres()->set_says_others(all);
    });
  };
  EXPECT_EQ(gpus(model::GpuCounting::kPerNode, 3, "h100"), "");
  EXPECT_EQ(r.gpus, 3u);
  EXPECT_EQ(r.gpu_type, "h100");
  EXPECT_EQ(gpus(model::GpuCounting::kPerTask, 1, ""), "");
  EXPECT_EQ(r.gpu_counting, model::GpuCounting::kPerTask);
  EXPECT_THAT(gpus(model::GpuCounting::kPerNode, 300, ""), HasSubstr("300 GPUs on one node"));
  EXPECT_THAT(gpus(model::GpuCounting::kNone, 3, ""), HasSubstr("go together"));
  EXPECT_EQ(gpus(model::GpuCounting::kNone, 0, "h100", true), "");
  EXPECT_TRUE(r.gpu_counting == model::GpuCounting::kNone && r.gpus == 0 && r.gpu_type.empty());
  EXPECT_THAT(w.update([](auto& u) {
    u.mutable_gres()->set_says_others(true);
    wire::GresCount& one = *u.mutable_gres()->add_others();
    one.set_name("fpga");
    one.set_count(1);
  }),
              HasSubstr("fpga"));
  w.expect_same_after_restart();
}

TEST(Update, SizesThatCannotBeAreRefused) {
  Updated w;
  EXPECT_THAT(w.update([](auto& u) { u.set_task_count(0); }), HasSubstr("-n/--ntasks"));
  EXPECT_THAT(w.update([](auto& u) { u.set_cpus_per_task(60'000); }), HasSubstr("60000 CPUs on one node asked"));
  EXPECT_THAT(w.update([](auto& u) { u.set_mem_per_node_mb(uint64_t{1} << 39); }),
              HasSubstr("512P memory on one node asked"));
  EXPECT_THAT(w.update([](auto& u) {
    u.set_mem_per_node_mb(1);
    u.set_mem_per_cpu_mb(1);
  }),
              HasSubstr("exclude each other"));
  w.schedule();
  ASSERT_EQ(w.job(w.first).state, model::JobState::kConfiguring);
  wire::ApiRequest r;
  r.mutable_update_job()->add_ids(w.first.value);
  r.mutable_update_job()->set_task_count(2);
  EXPECT_THAT(w.ask(1000, r).jobs().faults(0).error().what(), HasSubstr("is not pending"));
}

/// Or it would run as him what another has put there. Operators and administrators may change all else.
TEST(Update, TheFilesAreForTheOwnerAlone) {
  Updated w;
  w.settings.admin_uids = {0, 500};
  w.restart();
  w.connect_all();
  const auto faults = [&w](uint32_t uid, const std::function<void(wire::UpdateJobRequest&)>& change) {
    wire::ApiRequest r;
    r.mutable_update_job()->add_ids(w.id.value);
    change(*r.mutable_update_job());
    const wire::ApiReply reply = w.ask(uid, r);
    return reply.jobs().faults().empty() ? "" : reply.jobs().faults(0).error().what();
  };
  const std::vector<std::function<void(wire::UpdateJobRequest&)>> files = {
      [](auto& u) { u.set_work_dir("/tmp"); }, [](auto& u) { u.set_std_out("/tmp/x"); },
      [](auto& u) { u.set_std_err("/tmp/x"); }, [](auto& u) { u.set_std_in("/tmp/x"); }};
  for (const auto& change : files) {
    EXPECT_EQ(faults(500, change), "WorkDir, StdOut, StdErr and StdIn are for the job's owner alone");
    EXPECT_EQ(faults(1000, change), "");
    EXPECT_EQ(faults(0, change), "");
  }
  EXPECT_EQ(faults(500, [](auto& u) { u.set_name("other"); }), "");
}

TEST(Update, ChangesTheFilesOfWhatWaits) {
  Updated w;
  EXPECT_EQ(w.update([](auto& u) {
    u.set_std_out("o-%j");
    u.set_std_err("e");
    u.set_std_in("i");
    u.set_work_dir("/there");
  }),
            "");
  const model::Launch& l = w.job(w.id).spec.launch;
  EXPECT_EQ(l.std_out + l.std_err + l.std_in + l.work_dir, "o-%jei/there");
  EXPECT_EQ(w.update([](auto& u) { u.set_std_err(""); }), "");
  EXPECT_EQ(l.std_err, "");
  EXPECT_THAT(w.update([](auto& u) { u.set_work_dir("there"); }), HasSubstr("WorkDir: no absolute path"));
  EXPECT_THAT(w.update([](auto& u) { u.set_std_out(std::string(5'000, 'x')); }), HasSubstr("StdOut"));
  w.expect_same_after_restart();
}

TEST(Update, IsHeldAgainstTheWholeSpec) {
  Updated w;
  // Each text by itself is within its bound; with the arguments that the job came with they are not.
  wire::ApiRequest r = World::submission(gang(1));
  wire::Launch& launch = *r.mutable_submit()->mutable_spec()->mutable_launch();
  for (int i = 0; i < 250; ++i) launch.add_args(std::string(1'024, 'a'));
  w.id = JobId(w.ask(1000, r).submit().job_id());
  ASSERT_TRUE(w.id);
  EXPECT_THAT(w.update([](auto& u) { u.set_comment(std::string(16 << 10, 'c')); }), HasSubstr("at most 262144"));
  EXPECT_EQ(w.update([](auto& u) { u.set_comment("short"); }), "");
  w.expect_same_after_restart();
}

TEST(Update, OfManyJobsIsBoundedAsAWhole) {
  Updated w;
  EXPECT_THAT(w.update([](auto& u) {
    for (uint32_t id = 0; id < 2'000; ++id) u.add_ids(id);
    u.set_comment(std::string(16'000, 'c'));
  }),
              HasSubstr("for each of 2000 jobs"));
}

TEST(Update, NodesOutsideTheReservationAreRefusedAsAtSubmission) {
  Updated w;
  wire::ApiRequest create;
  wire::Reservation& r = *create.mutable_create_reservation()->mutable_reservation();
  r.set_name("course");
  r.add_nodes("n2");
  r.add_users("user1000");
  r.set_start_us((w.now + base::hours(1)).us);
  r.set_duration_us(base::kUnlimited.us);
  ASSERT_EQ(w.ask(0, create).error().what(), "");
  ASSERT_EQ(w.update([](auto& u) { u.set_reservation("course"); }), "");
  EXPECT_THAT(w.update([](auto& u) { u.set_nodelist("n0"); }), HasSubstr("not in reservation course"));
  EXPECT_EQ(w.update([](auto& u) { u.set_nodelist("n2"); }), "");
  w.expect_same_after_restart();
}

TEST(SpecRules, ReadBackWhatTheyAccept) {
  model::JobSpec spec;
  spec.name = "train";
  spec.partitions = {"b", "a", "b"};
  spec.request = gang(2);
  spec.request.exclude = {"n7", "n8", "n7"};
  spec.request.features = {{"ib", "ib"}, {"ib"}, {"nvlink"}};
  ASSERT_TRUE(settle_spec(spec));
  EXPECT_THAT(spec.partitions, ElementsAre("b", "a"));
  EXPECT_THAT(spec.request.exclude, ElementsAre("n7", "n8"));
  EXPECT_THAT(spec.request.features, ElementsAre(ElementsAre("ib"), ElementsAre("nvlink")));
  const std::string bytes = wire::to_wire(spec).SerializeAsString();
  const auto read = read_spec(bytes);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(wire::to_wire(*read).SerializeAsString(), bytes);
}

TEST(SpecRules, RefuseTheSameOfARowAndOfASubmission) {
  model::JobSpec good;
  good.request = gang(1);
  const std::vector<std::function<void(model::JobSpec&)>> table = {
      [](auto& s) {
        for (int i = 0; i <= 1'000; ++i) s.partitions.push_back(fmt::format("p{}", i));
      },
      [](auto& s) { s.comment = std::string(20'000, 'c'); },
      [](auto& s) { s.begin.us = -1; },
      [](auto& s) { s.request.max_nodes = 0; },
      [](auto& s) { s.request.tasks_per_node = UINT32_MAX; },
      [](auto& s) { s.launch.args.assign(300, std::string(1'000, 'a')); },
  };
  ASSERT_TRUE(settle_spec(good));
  for (size_t i = 0; i < table.size(); ++i) {
    model::JobSpec spec = good;
    table[i](spec);
    const std::string bytes = wire::to_wire(spec).SerializeAsString();
    const auto settled = settle_spec(spec);
    const auto read = read_spec(bytes);
    EXPECT_FALSE(settled) << i;
    ASSERT_FALSE(read) << i;
    EXPECT_EQ(settled.error().text(), read.error().text());
  }
}

}  // namespace
}  // namespace gw::ctld
