// The controller's figures: that they count what is there, and their text.
#include "ctld/core/api/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "world.h"

namespace gw::ctld {
namespace {

using testing::gang;
using ::testing::HasSubstr;
using testing::World;

decltype(Metrics::jobs) counted(const World& w) {
  decltype(Metrics::jobs) out{};
  for (const auto& [id, job] : w.core->jobs()) ++out[static_cast<size_t>(job.state)];
  return out;
}

uint64_t waiting(const World& w) {
  uint64_t n = 0;
  for (const auto& [id, job] : w.core->jobs())
    n += job.waiting() != nullptr && job.waiting()->reason == model::WaitReason::kNone;
  return n;
}

void expect_right(World& w, const char* when) {
  const Metrics m = w.core->metrics(w.now);
  EXPECT_EQ(m.jobs, counted(w)) << when;
  EXPECT_EQ(m.queue_length, waiting(w)) << when;
  uint64_t pending = 0, running = 0;
  for (const auto& [id, job] : w.core->jobs()) {
    pending += job.state == model::JobState::kPending;
    running += model::is_active(job.state);
  }
  wire::ApiRequest ping;
  ping.mutable_ping();
  const wire::ApiReply reply = w.ask(1000, ping);
  EXPECT_EQ(reply.ping().pending(), pending) << when;
  EXPECT_EQ(reply.ping().running(), running) << when;
}

TEST(Metrics, CountJobsThroughTheirLives) {
  World w(2);
  w.connect_all();
  const JobId a = w.submit(1000, gang(2)), b = w.submit(1000, gang(1)), c = w.submit(1000, gang(1));
  wire::ApiRequest hold;
  hold.mutable_job_action()->set_action(wire::kHold);
  hold.mutable_job_action()->add_ids(b.value);
  w.ask(1000, hold);
  expect_right(w, "submitted, one held");
  EXPECT_EQ(w.core->metrics(w.now).queue_length, 2U);
  w.schedule();
  expect_right(w, "placed");
  w.prepared("n0", a);
  w.prepared("n1", a);
  w.cancel(1000, c);
  expect_right(w, "running, one cancelled");
  w.restart();
  expect_right(w, "restarted");
  w.connect("n0", {World::run(a, 1, wire::kRunStarted)});
  w.connect("n1", {World::run(a, 1, wire::kRunStarted)});
  w.exited("n0", a, 0);
  expect_right(w, "completing");
  w.done("n0", a);
  w.done("n1", a);
  expect_right(w, "ended");
  EXPECT_EQ(w.core->metrics(w.now).jobs[static_cast<size_t>(model::JobState::kCompleted)], 1U);
  w.now = w.now + w.settings.min_job_age;
  w.core->on_tick(w.now);
  w.pump();
  expect_right(w, "purged");
  EXPECT_EQ(w.core->metrics(w.now).jobs[static_cast<size_t>(model::JobState::kCompleted)], 0U);
}

TEST(Metrics, CountGpusAndNodes) {
  World w(3);
  w.connect("n0");
  w.connect("n1");
  const JobId id = w.submit(1000, gang(1, 3));
  w.schedule();
  ASSERT_EQ(w.state(id), model::JobState::kConfiguring);
  wire::ApiRequest offline;
  offline.mutable_update_node()->add_names("n0");
  offline.mutable_update_node()->set_action(wire::kGpuOffline);
  offline.mutable_update_node()->set_reason("Xid 79");
  offline.mutable_update_node()->add_gpus(7);
  w.ask(0, offline);
  Metrics m = w.core->metrics(w.now);
  EXPECT_EQ(m.gpus, 16U);
  EXPECT_EQ(m.gpus_used, 3);
  EXPECT_EQ(m.gpus_offline, 1U);
  EXPECT_EQ(m.nodes, (std::map<std::string, uint64_t>{{"idle", 1}, {"mixed", 1}, {"unknown*", 1}}));
  wire::ApiRequest drain;
  drain.mutable_update_node()->add_names("n1");
  drain.mutable_update_node()->set_action(wire::kNodeDrain);
  drain.mutable_update_node()->set_reason("disk");
  w.ask(0, drain);
  EXPECT_EQ(w.core->metrics(w.now).gpus_offline, 9U);
}

TEST(Metrics, ShowTheFragmentationOfTheLastPass) {
  World w(2);
  w.connect_all();
  w.submit(1000, gang(1, 6));
  w.schedule();
  w.core->planning().fragmentation = sched::fragmentation(w.view.capacity(), w.view.workload());
  const Metrics m = w.core->metrics(w.now);
  ASSERT_EQ(m.fragmentation.size(), 1U);
  EXPECT_EQ(m.fragmentation[0].figures.free_gpus, 10);
  EXPECT_EQ(m.fragmentation[0].figures.fragmented_gpus, 2) << "six GPUs are asked: two of one node are of no use";
  EXPECT_EQ(m.fragmentation[0].figures.largest_gang, 8U);
  wire::ApiRequest list;
  list.mutable_list_partitions();
  const auto shown = w.ask(1000, list).list_partitions().partitions(0).fragmentation(0);
  EXPECT_EQ(shown.unusable_gpus(), 2);
  EXPECT_EQ(shown.workload(), 1U);
}

TEST(Metrics, MissingGpusAreCountedLoggedAndShown) {
  World w(1);
  w.settings.nodes[0].expected_gpus = 12;
  w.restart();
  EXPECT_EQ(w.core->metrics(w.now).gpus_missing, 0U) << "it has not said yet what it has";
  w.connect_all();
  EXPECT_EQ(w.core->metrics(w.now).gpus_missing, 4U);
  const auto logged = [&w](const std::string& kind) {
    for (const store::Event& e : w.store.events)
      if (e.kind == kind) return e.node + ": " + e.text;
    return std::string();
  };
  EXPECT_EQ(logged("GPUs missing"), "n0: 8 of 12 found");
  EXPECT_THAT(w.notes, ::testing::Contains(
                           std::pair(true, std::string(R"(event="GPUs missing" node=n0 text="8 of 12 found")"))));
  wire::ApiRequest list;
  list.mutable_list_nodes();
  EXPECT_EQ(w.ask(1000, list).list_nodes().nodes(0).warning(), "8 of 12 GPUs found");
}

TEST(Metrics, Text) {
  Metrics m;
  m.version = "1.2";
  m.cluster = "a\"b\\c\nd";
  m.jobs[static_cast<size_t>(model::JobState::kRunning)] = 7;
  m.nodes = {{"idle", 2}, {"down*", 1}};
  m.gpus = 24;
  m.gpus_used = 4.25;
  m.gpus_offline = 1;
  m.queue_length = 3;
  m.fragmentation = {{"gpu", "", {16, 10, 2.5, 8}, 1}, {"gpu", "h100", {8, 2, 2, 0}, 1}, {"cpu", "", {0, 0, 0, 0}, 1}};
  m.passes = 9;
  m.steps = 100;
  m.cut_searches = 3;
  m.last_pass = base::microseconds(1500);
  m.commits = 12;
  const std::string text = metrics_text(m);
  for (const char* line :
       {"gangway_info{version=\"1.2\",cluster=\"a\\\"b\\\\c\\nd\"} 1\n", "# TYPE gangway_jobs gauge\n",
        "gangway_jobs{state=\"running\"} 7\n", "gangway_jobs{state=\"pending\"} 0\n",
        "gangway_nodes{state=\"down*\"} 1\n", "gangway_gpus 24\n", "gangway_gpus_used 4.25\n",
        "gangway_gpus_offline 1\n", "gangway_queue_length 3\n",
        "gangway_partition_gpus_fragmented{partition=\"gpu\",gpu_type=\"all\"} 2.5\n",
        "gangway_partition_largest_gang_gpus{partition=\"gpu\",gpu_type=\"all\"} 8\n",
        "gangway_partition_gpus_free{partition=\"gpu\",gpu_type=\"h100\"} 2\n",
        "# TYPE gangway_scheduler_passes_total counter\n", "gangway_scheduler_passes_total 9\n",
        "gangway_scheduler_steps_total 100\n", "gangway_scheduler_cut_searches_total 3\n",
        "gangway_scheduler_last_pass_seconds 0.0015\n", "gangway_store_commits_total 12\n",
        "gangway_store_writable 1\n"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_EQ(text.find("partition=\"cpu\""), std::string::npos) << "no GPUs there";
  // Every line is a comment or "name{labels} number", and every name was announced.
  size_t at = 0;
  std::set<std::string> announced;
  while (at < text.size()) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    at += line.size() + 1;
    const std::string name = line.size() < 8 ? "" : line.substr(7, line.find(' ', 7) - 7);
    if (line.starts_with("# TYPE ")) announced.insert(name);
    if (line.starts_with("# TYPE ") && line.ends_with(" histogram"))
      for (const char* part : {"_bucket", "_sum", "_count"}) announced.insert(name + part);
    if (line.starts_with("#")) continue;
    EXPECT_TRUE(announced.contains(line.substr(0, line.find_first_of("{ ")))) << line;
    EXPECT_NE(line.find_last_of("0123456789"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace gw::ctld
