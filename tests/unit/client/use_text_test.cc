// What gstat prints.
#include "client/show/use_text.h"

#include <gtest/gtest.h>

namespace gw::client {
namespace {

wire::StepUsageReply two_nodes() {
  wire::StepUsageReply reply;
  wire::StepUsage& own = *reply.add_steps();
  own.add_nodes()->set_node("n1");
  own.mutable_nodes(0)->set_mem(3 << 20);
  own.mutable_nodes(0)->set_peak_mem(4 << 20);
  own.mutable_nodes(0)->set_cpu_us(90'061'000'000);
  wire::StepUsage& step = *reply.add_steps();
  step.set_step(1);
  uint32_t rank = 0;
  for (const char* name : {"n2", "n1"}) {
    wire::NodeUsage& node = *step.add_nodes();
    node.set_node(name);
    for (int i = 0; i < 2; ++i) {
      wire::TaskUsage& task = *node.add_tasks();
      task.set_rank(rank++);
      task.set_cpu_us(10'000'000 * rank);
      task.set_rss(1024 * rank);
      task.set_peak_rss(2048 * rank);
      task.set_read(4096 * rank);
      task.set_written(1024 * (5 - rank));
      task.set_pages(rank);
    }
    wire::GpuUsage& gpu = *node.add_gpus();
    gpu.set_busy_percent(20 * rank);
    gpu.set_mem(uint64_t{rank} << 30);
  }
  step.add_silent("n3");
  return reply;
}

std::string text(const std::string& format, const UseStyle& style) {
  const wire::StepUsageReply reply = two_nodes();
  const auto fields = parse_use_format(format);
  EXPECT_TRUE(fields) << fields.error().text();
  return fields ? use_text(use_rows(7, reply), *fields, style) : "";
}

TEST(UseText, AddsUpTasks) {
  EXPECT_EQ(text("JobID,NTasks,Nodelist,AveCPU,MinCPU,MinCPUNode,MinCPUTask", {.no_header = true, .bars = true}),
            "7.extern|1|n1|1-01:01:01|1-01:01:01|n1|0\n"
            "7.0|4|n[1-3]|00:00:25|00:00:10|n2|0\n");
  EXPECT_EQ(
      text("averss,MaxRSS,MaxRSSNode,MaxRSSTask,GPUUtil,GPUMem", {.no_header = true, .bars = true, .bar_last = true}),
      "3072K|4096K|n1|0|||\n"
      "2K|8K|n1|3|60%|6144M|\n");
}

TEST(UseText, TellsWhatGoesToDisks) {
  EXPECT_EQ(text("AveDiskRead,MaxDiskRead,MaxDiskReadNode,MaxDiskReadTask,AveDiskWrite,MaxDiskWrite,MaxDiskWriteTask,"
                 "AvePages,MaxPages,MaxPagesTask",
                 {.no_header = true, .bars = true}),
            "0K|0K|n1|0|0K|0K|0|0|0|0\n"
            "10K|16K|n1|3|2K|4K|0|2|4|3\n");
}

TEST(UseText, TellsAllAmountsInOneField) {
  const UseStyle style{.no_header = true, .bars = true};
  const auto of_step = [&](const std::string& format) {
    const std::string all = text(format, style);
    return all.substr(all.find('\n') + 1);
  };
  EXPECT_EQ(of_step("TRESUsageInAve"), "cpu=00:00:25,fs/disk=10240,mem=2K,pages=2,vmem=0K\n");
  EXPECT_EQ(of_step("TRESUsageInMax"), "cpu=00:00:40,fs/disk=16384,mem=8K,pages=4,vmem=0K\n");
  EXPECT_EQ(of_step("TRESUsageInMaxTask"), "cpu=3,fs/disk=3,mem=3,pages=3,vmem=0\n");
  EXPECT_EQ(of_step("tresusageinmin,TRESUsageInMinNode"),
            "cpu=00:00:10,fs/disk=4096,mem=1K,pages=1,vmem=0K|cpu=n2,fs/disk=n2,mem=n2,pages=n2,vmem=n2\n");
  EXPECT_EQ(of_step("TRESUsageOutTot,TRESUsageOutMaxNode,TRESUsageOutMinTask"), "fs/disk=10240|fs/disk=n2|fs/disk=3\n");
  EXPECT_EQ(of_step("AveCPUFreq,ReqCPUFreqMin,ConsumedEnergy"), "||\n") << "nothing measures them";
}

TEST(UseText, ColumnsAreAsWideAsTheyNeedOrAsAsked) {
  EXPECT_EQ(text("JobID,NTasks,Nodelist%8,AveRSS%-8", {}),
            "JobID    NTasks Nodelist AveRSS  \n"
            "7.extern      1       n1 3072K   \n"
            "7.0           4   n[1-3] 2K      \n");
}

TEST(UseText, FieldsThatAreNotThereAreRefused) {
  EXPECT_EQ(parse_use_format("MaxRS").error().what, "Invalid field requested: \"MaxRS\"");
  EXPECT_FALSE(parse_use_format("JobID,"));
  EXPECT_FALSE(parse_use_format("JobID%x"));
  EXPECT_NE(use_field_names().find("MaxVMSizeTask"), std::string::npos);
}

TEST(UseText, JsonNamesWhoIsSilent) {
  const wire::StepUsageReply reply = two_nodes();
  const std::string json = use_json(use_rows(7, reply), 5'000'000);
  EXPECT_NE(json.find("\"step_id\": \"7.0\""), std::string::npos);
  EXPECT_NE(json.find("\"n3\""), std::string::npos);
  EXPECT_NE(json.find("\"busy_percent\": 40"), std::string::npos);
  EXPECT_NE(json.find("\"last_update\": 5"), std::string::npos);
}

}  // namespace
}  // namespace gw::client
