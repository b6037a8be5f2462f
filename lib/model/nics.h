// Which network adapter each GPU of a node should use. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gw::model {

/// Where a device hangs in its node; the numbers are those of model::Gpu and model::Nic.
struct DeviceSpot {
  uint32_t pcie_switch = 0;
  uint32_t host_bridge = 0;
  uint32_t numa = 0;
  uint32_t socket = 0;
  bool is_fast = false;  ///< Of an adapter: InfiniBand and the like.
};

/// The adapters worth choosing from: the fast ones if there are any, else all.
std::vector<uint32_t> eligible_nics(std::span<const DeviceSpot> nics);
/// Of each GPU the nearest adapter; those that several GPUs have equally near they take in turn. UINT32_MAX: there is
/// none.
std::vector<uint32_t> nic_of_gpus(std::span<const DeviceSpot> gpus, std::span<const DeviceSpot> nics);

}  // namespace gw::model
