// Which device files a step may not open: found by name, enforced by the v1 devices controller or a v2 BPF program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "noded/step/containment.h"

namespace gw::contain {

struct Device {
  bool is_block = false;
  uint32_t major = 0;
  uint32_t minor = 0;
  bool operator==(const Device&) const = default;
};

/// The devices of spec.all_devices that spec.allow_devices does not name. A file that does not exist needs no denial.
/// Errors: a path that is no device.
base::Result<std::vector<Device>> denied_devices(const noded::step::ContainSpec& spec);
/// Attaches a program to the v2 group open as `group_fd` that refuses to open or make these devices. Errors: the kernel
/// has no such programs, or this process may not load one.
base::Status deny_by_program(int group_fd, std::span<const Device> denied);

}  // namespace gw::contain
