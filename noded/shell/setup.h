// From command line and configuration to what the daemon needs.
// Invariant: everything that can be wrong is found here, before anything is started.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "link/dial_link.h"
#include "noded/core/facts.h"
#include "noded/shell/options.h"

namespace gw::noded {

struct Setup {
  config::Config config;
  NodeFacts node;  ///< steps_dir is set when the state folder is open.
  std::string state_dir;
  std::string gstepd;
  std::string plugin_dir;
  std::string munge_socket;
  std::string warning;  ///< About the node, for administrators.
  link::DialLinkOptions dial;
  std::vector<std::string> notes;  ///< What --check prints, and the log at the start.
};

/// Errors: the configuration's; a node that it does not know (did you mean); the topology's; containment that cannot be
/// used here; no gstepd.
base::Result<Setup> make_setup(const DaemonOptions& options);

/// Processes that a job may have: what is configured (0: no limit), but never more than half of the numbers that the
/// machine has for processes (`pid_max`; 0: not known), so that a fork bomb leaves some to end it with.
uint32_t process_limit(uint32_t configured, uint64_t pid_max);

}  // namespace gw::noded
