// The drawing and the JSON of a node.
#include "topo/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "topo/canvas.h"
#include "topo/generate.h"
#include "topo/load.h"

namespace gw::topo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<GpuUse> kUses{{0, base::JobId(17), "ana", false},
                                {1, base::JobId(18), "bo", false},
                                {1, base::JobId(19), "", false},
                                {3, {}, "ECC errors", true},
                                {99, base::JobId(20), "x", false}};

TEST(Draw, ShowsTheMachine) {
  const auto text = draw(*load("dgx-h100"), kUses, 100, false);
  EXPECT_THAT(text, HasSubstr("NVIDIA DGX H100\n2 sockets, 2 NUMA nodes, 112 cores x 2 threads, 2T memory\n"));
  EXPECT_THAT(text, HasSubstr("8 h100 GPUs with NVLink, 8 NICs\n"));
  EXPECT_THAT(text, HasSubstr("╭─ socket 0: 56 cores ─"));
  EXPECT_THAT(text, HasSubstr("│ NUMA 0  1T  cores 0-55  CPUs 0-55,112-167 "));
  EXPECT_THAT(text, HasSubstr("│ ├─ PCIe switch 0 "));
  EXPECT_THAT(text, HasSubstr("│ │  ├─ GPU 0       h100        job 17 (ana) "));
  EXPECT_THAT(text, HasSubstr("job 18 (bo) + job 19 "));
  EXPECT_THAT(text, HasSubstr("GPU 2       h100        free "));
  EXPECT_THAT(text, HasSubstr("offline (ECC errors)"));
  EXPECT_THAT(text, HasSubstr("0000:13:00.0"));
  EXPECT_THAT(text, HasSubstr("└─ NIC mlx5_1  infiniband"));
  EXPECT_THAT(text, HasSubstr("GPU1  NV18 X    NV18"));
  EXPECT_THAT(text, HasSubstr("GPU2  NODE   NODE   PIX    PIX    SYS"));
  EXPECT_THAT(text, HasSubstr("NV# = that many NVLinks   PIX = same PCIe switch"));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
}

TEST(Draw, SaysNothingOfUseIfNobodyTold) { EXPECT_THAT(draw(*load("l40s"), {}, 100, false), Not(HasSubstr("free"))); }

TEST(Draw, ColourOnlyAddsCodes) {
  const auto plain = draw(*load("dgx-h100"), kUses, 100, false);
  const auto colour = draw(*load("dgx-h100"), kUses, 100, true);
  EXPECT_THAT(colour, HasSubstr("\033[32mfree\033[0m"));
  EXPECT_THAT(colour, HasSubstr("\033[31moffline (ECC errors)\033[0m"));
  // Blanks at line ends may hide inside codes: compare without them.
  const auto squeezed = [](const std::string& text) {
    std::string out;
    bool code = false;
    for (const char c : text) {
      code = code || c == '\033';
      if (!code && c != ' ') out += c;
      if (c == 'm') code = false;
    }
    return out;
  };
  EXPECT_EQ(squeezed(colour).size(), squeezed(plain).size());
  EXPECT_EQ(squeezed(colour), squeezed(plain));
}

TEST(Draw, KeepsToTheWidth) {
  for (const auto& name : generated_names()) {
    for (const int width : {-5, 60, 61, 80, 133, 100'000}) {
      for (const bool unicode : {true, false}) {
        const auto limit = static_cast<size_t>(std::clamp(width, 60, 400));
        size_t box = 0;
        for (const auto& line : base::split(draw(*load(name), kUses, width, false, unicode), '\n')) {
          EXPECT_LE(text_columns(line), limit) << line;
          const bool boxed = line.starts_with("│") || line.starts_with("|");
          EXPECT_TRUE(!boxed || text_columns(line) == limit) << line;
          box += line.starts_with("╭") || line.starts_with("+") ? 1U : 0U;
        }
        EXPECT_GE(box, 2U);
      }
    }
  }
}

TEST(Draw, AsciiHasNoOtherBytes) {
  for (const char c : draw(*load("dgx-h100"), kUses, 60, false, false)) EXPECT_GE(c, 0);
}

TEST(Draw, HostileLabelsStayOneLine) {
  const auto text = draw(*load("l40s"), {{0, base::JobId(1), "a\nb\033[2J", false}}, 100, false);
  EXPECT_THAT(text, Not(HasSubstr("a\nb")));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
}

TEST(Draw, MachinesWithoutAnything) {
  EXPECT_THAT(draw(model::NodeTopology{}, {}, 80, true), HasSubstr("unnamed machine"));
  EXPECT_THAT(draw(model::flat_topology(4, 1024, 4, "gpu"), kUses, 80, false), HasSubstr("job 17 (ana)"));
  EXPECT_THAT(draw(*load("cpu"), {}, 80, false), HasSubstr("no GPUs, no NICs"));
}

TEST(Draw, UniformWideMatrixIsOneLine) {
  auto node = model::flat_topology(4, 1024, 24, "mi300a");
  node.link_name = "xGMI";
  node.gpu_links.assign(24, std::vector<uint64_t>(24, 100'000));
  for (size_t i = 0; i < 24; ++i) node.gpu_links[i][i] = 0;
  EXPECT_THAT(draw(node, {}, 80, false), HasSubstr("GPU to GPU: XGMI between any two of the 24"));
  node.gpu_links[0][1] = node.gpu_links[1][0] = 0;
  EXPECT_THAT(draw(node, {}, 80, false), HasSubstr("GPU23"));
}

TEST(LinkWords, EveryLevel) {
  auto node = *load("l40s");
  EXPECT_EQ(link_word(node, 0, 0), "X");
  EXPECT_EQ(link_word(node, 0, 1), "PIX");
  EXPECT_EQ(link_word(node, 0, 2), "NODE");
  EXPECT_EQ(link_word(node, 0, 4), "SYS");
  node.gpus[2].host_bridge = node.gpus[0].host_bridge;
  EXPECT_EQ(link_word(node, 0, 2), "PHB");
  node.gpus[3].numa = 1;
  EXPECT_EQ(link_word(node, 0, 3), "PKG");
  EXPECT_EQ(link_word(*load("a100-pcie"), 0, 1), "NV12");
  EXPECT_EQ(nic_word(node, 0, 1), "PIX");
  EXPECT_EQ(nic_word(node, 0, 7), "SYS");
}

TEST(Json, HasTheDocumentedFields) {
  const auto text = to_json(*load("a100-pcie"), kUses);
  const auto all = nlohmann::json::parse(text);
  EXPECT_EQ(all["schema_version"], 1);
  const auto& node = all["node"];
  EXPECT_EQ(node["cores"], 112);
  EXPECT_EQ(node["threads"], 224);
  EXPECT_EQ(node["memory_mb"], 1 << 20);
  ASSERT_EQ(node["gpus"].size(), 8U);
  const auto& gpu = node["gpus"][5];
  EXPECT_EQ(gpu["index"], 5);
  EXPECT_EQ(gpu["model"], "NVIDIA A100-PCIE-40GB");
  EXPECT_EQ(gpu["type"], "a100");
  EXPECT_EQ(gpu["pci"], "0000:54:00.0");
  EXPECT_EQ(gpu["numa"], 1);
  EXPECT_EQ(gpu["socket"], 1);
  EXPECT_EQ(gpu["pcie_switch"], 2);
  EXPECT_EQ(gpu["near_cores"].size(), 56U);
  EXPECT_TRUE(gpu["job"].is_null());
  EXPECT_EQ(node["gpus"][0]["job"], 17);
  EXPECT_EQ(node["gpus"][1]["jobs"].size(), 2U);
  EXPECT_EQ(node["gpus"][3]["offline"], true);
  EXPECT_EQ(node["numa_nodes"].size(), 2U);
  EXPECT_EQ(node["numa_nodes"][1]["cores"].size(), 56U);
  EXPECT_EQ(node["nics"][7]["name"], "mlx5_7");
  ASSERT_EQ(node["links"].size(), 4U);
  EXPECT_EQ(node["links"][1], (nlohmann::json{{"a", 2}, {"b", 3}, {"mbps", 300'000}}));
}

TEST(Json, BadBytesInLabels) {
  const auto all = nlohmann::json::parse(to_json(*load("l40s"), {{0, base::JobId(1), "\xff\xfe", false}}));
  EXPECT_EQ(all["node"]["gpus"][0]["job"], 1);
}

}  // namespace
}  // namespace gw::topo
