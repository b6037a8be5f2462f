// The configuration of a private cluster, made from the options of `gangway dev`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmds/gangway/dev/dev_layout.h"

namespace gw::cmds {

/// Most emulated nodes on one machine.
constexpr uint32_t kMaxDevNodes = 4096;

/// What `gangway dev up` and `dev run` take.
struct DevOptions {
  std::string dir;  ///< Empty: the default folder.
  uint32_t nodes = 4;
  std::vector<std::string> topologies = {"dgx-h100"};  ///< Dealt to the nodes in turn; files by absolute path.
  std::string config;                                  ///< File whose keys go over the generated ones; may be empty.
};

/// Checks that each topology can be read, and makes paths of files absolute. Errors name the topology.
base::Status check_topologies(DevOptions& options);

/// A TCP port on the loopback address that nobody listens on, outside the range that the system gives to connections.
base::Result<uint16_t> free_port();

/// The text of gangway.yaml. Errors: options.config cannot be read or merged.
base::Result<std::string> dev_config_text(const DevLayout& layout, const DevOptions& options, uint16_t port);

}  // namespace gw::cmds
