// gqueue --steps and gcontrol show step: what is shown of steps and batch scripts.
#include "client/show/step_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/show/step_fields.h"
#include "tests/unit/client/build_job.h"

namespace gw::client {
namespace {

using namespace testing_jobs;
using testing::HasSubstr;

constexpr base::Time kAnswered{kNow * 1'000'000};

/// Two tasks and two GPUs on each of n1 and n2, 30 seconds old.
wire::Step running_step() {
  wire::Step step;
  step.set_job(7);
  step.set_step(3);
  step.set_uid(1000);
  step.mutable_request()->set_name("eval");
  step.set_started_us((kNow - 30) * 1'000'000);
  for (const char* node : {"n1", "n2"}) {
    wire::NodeShare& s = *step.add_nodes()->mutable_share();
    s.set_node(node);
    s.set_tasks(2);
    s.set_cpus(2);
    s.set_cores("0-1");
    s.set_gpus("0,4");
    s.set_mem_mb(2048);
  }
  return step;
}

std::string cell(const StepRow& row, const std::string& name) {
  const auto format = parse_long_format(name + ":", field_names(step_fields()));
  if (!format) return format.error().text();
  std::string out = render_table(*format, step_fields(), std::vector<StepRow>{row}).lines;
  out.pop_back();
  return out;
}

TEST(StepFields, StandardColumnsAreThoseOfSqueue) {
  const wire::Job job = running_job();
  const wire::Step step = running_step();
  auto format = parse_short_format(kStepFormat, field_names(step_fields()));
  ASSERT_TRUE(format.has_value());
  const std::vector<StepRow> rows = {{nullptr, &job, kAnswered}, {&step, &job, kAnswered}, {&step, nullptr, kAnswered}};
  const TableText out = render_table(*format, step_fields(), rows);
  EXPECT_EQ(out.header + out.lines,
            "         STEPID     NAME PARTITION     USER      TIME NODELIST\n"
            "        7.batch    batch       gpu    alice      1:05 n1\n"
            "            7.3     eval       gpu    alice      0:30 n[1-2]\n"
            "            7.3     eval    (null)     1000      0:30 n[1-2]\n");
}

TEST(StepFields, Cells) {
  use_utc();
  const wire::Job job = running_job();
  const wire::Step step = running_step();
  const StepRow row{&step, &job, kAnswered}, batch{nullptr, &job, kAnswered};
  const struct {
    const char *name, *of_step, *of_batch;
  } cases[] = {{"StepID", "7.3", "7.batch"},
               {"JobID", "7", "7"},
               {"JobName", "train", "train"},
               {"UserID", "1000", "1000"},
               {"NumTasks", "4", "1"},
               {"NumCPUs", "4", "4"},
               {"NumNodes", "2", "1"},
               {"TimeLimit", "UNLIMITED", "UNLIMITED"},
               {"StartTime", "2027-01-15T07:59:30", "2027-01-15T07:58:55"},
               {"StepState", "RUNNING", "RUNNING"},
               {"tres-per-node", "gres/gpu:2", "gres/gpu:8"},
               {"tres-alloc", "cpu=4,mem=4G,node=2,gres/gpu=4", "cpu=4,mem=4G,node=1,gres/gpu=8"}};
  for (const auto& c : cases) {
    EXPECT_EQ(cell(row, c.name), c.of_step) << c.name;
    EXPECT_EQ(cell(batch, c.name), c.of_batch) << c.name;
  }
}

TEST(StepFields, OrderIsByNumberAndNotByText) {
  const wire::Job seven = running_job();
  wire::Job ten = running_job();
  ten.set_id(10);
  wire::Step second = running_step(), tenth = running_step();
  second.set_step(2);
  tenth.set_step(10);
  const StepRow order[] = {{nullptr, &seven, {}}, {&second, &seven, {}}, {&tenth, &seven, {}}, {nullptr, &ten, {}}};
  const auto keys = parse_sort("i", field_names(step_fields()));
  ASSERT_TRUE(keys.has_value());
  for (size_t i = 0; i + 1 < std::size(order); ++i) {
    EXPECT_TRUE(is_listed_before(order[i], order[i + 1])) << i;
    EXPECT_FALSE(is_listed_before(order[i + 1], order[i])) << i;
    std::vector<StepRow> turned = {order[i + 1], order[i]};
    sort_rows(turned, step_fields(), *keys);
    EXPECT_TRUE(is_listed_before(turned[0], turned[1])) << i;
  }
}

TEST(StepView, ASuspendedJobStopsTheClockOfItsSteps) {
  wire::Job job = running_job();
  const wire::Step step = running_step();
  job.mutable_status()->set_state(static_cast<uint32_t>(model::JobState::kSuspended));
  job.mutable_status()->mutable_placed()->mutable_suspension()->set_since_us((kNow - 20) * 1'000'000);
  const StepRow row{&step, &job, kAnswered};
  EXPECT_EQ(state_of(row), model::JobState::kSuspended);
  EXPECT_EQ(run_time(row), base::seconds(10));
}

TEST(StepView, NoStepRanLongerThanItsJob) {
  wire::Job job = running_job();
  const wire::Step step = running_step();
  job.mutable_status()->mutable_placed()->set_stood_still_us(50'000'000);
  EXPECT_EQ(run_time(StepRow{&step, &job, kAnswered}), base::seconds(15));
}

TEST(StepView, States) {
  wire::Step step = running_step();
  step.set_started_us(0);
  EXPECT_EQ(state_of(StepRow{&step, nullptr, kAnswered}), model::JobState::kPending);
  EXPECT_EQ(run_time(StepRow{&step, nullptr, kAnswered}), base::Duration{});
  step.set_is_ending(true);
  EXPECT_EQ(state_of(StepRow{&step, nullptr, kAnswered}), model::JobState::kCompleting);
}

TEST(StepView, BatchScriptsAndAllocationsThatRunHaveARowOfTheirOwn) {
  EXPECT_TRUE(has_own_row(running_job()));
  EXPECT_FALSE(has_own_row(pending_job()));
  wire::Job allocation = running_job(), component = running_job(), single = running_job();
  allocation.mutable_spec()->set_kind(static_cast<uint32_t>(model::JobKind::kAllocation));
  EXPECT_TRUE(has_own_row(allocation));
  component.mutable_spec()->set_het_offset(1);
  EXPECT_FALSE(has_own_row(component));
  single.mutable_spec()->set_kind(static_cast<uint32_t>(model::JobKind::kStep));
  EXPECT_FALSE(has_own_row(single));
}

TEST(StepView, AnAllocationIsShownAsAWhole) {
  wire::Job job = running_job();
  auto& shares = *job.mutable_status()->mutable_placed()->mutable_shares();
  shares.Clear();
  const wire::Step step = running_step();
  for (const wire::StepNode& node : step.nodes()) *shares.Add() = node.share();
  const StepRow row{nullptr, &job, kAnswered};
  EXPECT_EQ(step_id(row), fmt::format("{}.batch", job.id()));
  EXPECT_EQ(node_list(row), "n1");
  job.mutable_spec()->set_kind(static_cast<uint32_t>(model::JobKind::kAllocation));
  EXPECT_EQ(step_id(row), fmt::format("{}.extern", job.id()));
  EXPECT_EQ(name_of(row), "extern");
  EXPECT_EQ(node_list(row), "n[1-2]");
  EXPECT_EQ(task_count(row), 4u);
}

TEST(StepView, PartsOfAGpuAreShards) {
  wire::Step step = running_step();
  for (wire::StepNode& node : *step.mutable_nodes()) {
    node.mutable_share()->set_gpus("0");
    node.mutable_share()->set_gpu_milli(250);
  }
  const StepRow row{&step, nullptr, kAnswered};
  EXPECT_EQ(gpus_per_node(row), "gres/shard:250");
  EXPECT_THAT(tres_of(row), HasSubstr(",gres/shard=500"));
}

TEST(StepText, HasSlurmsKeysAndLayout) {
  use_utc();
  const wire::Job job = running_job();
  const wire::Step step = running_step();
  EXPECT_EQ(show_step_text({&step, &job, kAnswered}, {.detail = true}),
            "StepId=7.3 UserId=1000 StartTime=2027-01-15T07:59:30 TimeLimit=UNLIMITED\n"
            "   State=RUNNING Partition=gpu NodeList=n[1-2]\n"
            "   Nodes=2 CPUs=4 Tasks=4 Name=eval Network=(null)\n"
            "   TRES=cpu=4,mem=4G,node=2,gres/gpu=4\n"
            "     Nodes=n1 Tasks=2 CPU_IDs=0-1 Mem=2048 GRES=gpu:2(IDX:0,4)\n"
            "     Nodes=n2 Tasks=2 CPU_IDs=0-1 Mem=2048 GRES=gpu:2(IDX:0,4)\n"
            "\n");
}

TEST(StepText, NoNameBreaksALine) {
  wire::Step step = running_step();
  step.mutable_request()->set_name("two\nlines\x1b[2J");
  step.set_detail("no\nsuch");
  const std::string text = show_step_text({&step, nullptr, kAnswered}, {.one_line = true});
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("Partition=(null)"));
}

TEST(StepJson, StepsAndScripts) {
  const wire::Job job = running_job();
  const wire::Step step = running_step();
  const auto j = nlohmann::json::parse(steps_json({{nullptr, &job, kAnswered}, {&step, &job, kAnswered}}, kAnswered));
  EXPECT_EQ(j["schema_version"], 1);
  EXPECT_EQ(j["last_update"], kNow);
  EXPECT_EQ(j["steps"][0]["step"], nullptr);
  EXPECT_EQ(j["steps"][0]["name"], "batch");
  EXPECT_EQ(j["steps"][1]["step_id"], "7.3");
  EXPECT_EQ(j["steps"][1]["run_time"], 30);
  EXPECT_EQ(j["steps"][1]["user_name"], "alice");
  EXPECT_EQ(j["steps"][1]["allocation"][1]["gpus"], nlohmann::json({0, 4}));
}

}  // namespace
}  // namespace gw::client
