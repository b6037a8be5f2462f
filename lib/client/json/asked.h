// Who asked what: the "meta" of the JSON of Slurm's commands.
#pragma once

#include <string>
#include <vector>

namespace gw::client::slurm {

struct Asked {
  std::string cluster;
  std::vector<std::string> command;  ///< {"show", "jobs"}
};

}  // namespace gw::client::slurm
