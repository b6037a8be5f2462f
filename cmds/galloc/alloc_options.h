// The options of galloc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/options/option_table.h"
#include "cmds/request/job_options.h"

namespace gw::cmds {

struct AllocOptions {
  BatchOptions job;
  std::string chdir;
  std::string from_offer;  ///< Empty: of no offer.
  bool no_shell = false, shell_on_node = false, preemptible = false, test_only = false, quiet = false, ignored = false;
  std::optional<bool> bell;  ///< Not given: after a wait.
  std::optional<uint32_t> immediate_seconds;
};

/// The table; its handlers write into `options`, which must outlive it.
std::vector<client::Option> alloc_table(AllocOptions& options, client::CommonFlags& flags, base::Time now);
/// The pages of galloc.
client::CommandDoc alloc_doc();

}  // namespace gw::cmds
