// The words of `nvidia-smi topo -m` for pairs of devices.
#include <fmt/format.h>

#include <algorithm>

#include "topo/render.h"

namespace gw::topo {
namespace {

constexpr uint64_t kMbpsPerNvlink = 25'000;

// Works for two GPUs as for a GPU and a NIC.
template <typename A, typename B>
std::string pcie_word(const A& a, const B& b) {
  if (a.pcie_switch == b.pcie_switch) return "PIX";
  if (a.host_bridge == b.host_bridge) return "PHB";
  if (a.numa == b.numa) return "NODE";
  return a.socket == b.socket ? "PKG" : "SYS";
}

}  // namespace

std::string link_word(const model::NodeTopology& node, uint32_t a, uint32_t b) {
  if (a == b) return "X";
  const uint64_t mbps = node.link_mbps(a, b);
  if (mbps == 0) return pcie_word(node.gpus[a], node.gpus[b]);
  if (node.link_name != "NVLink") return "XGMI";
  return fmt::format("NV{}", std::max<uint64_t>(1, mbps / kMbpsPerNvlink));
}

std::string nic_word(const model::NodeTopology& node, uint32_t gpu, uint32_t nic) {
  return pcie_word(node.gpus[gpu], node.nics[nic]);
}

}  // namespace gw::topo
