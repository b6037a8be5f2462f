// What qalter changes: options of a submission as settings of `gcontrol update`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gw::cmds::queue {

/// `words` are those of gbatch that qsub's words were translated to. The result is KEY=VALUE words. `left_out`: options
/// that nothing can change any more. Errors: what would need to be submitted anew.
base::Result<std::vector<std::string>> settings_of(const std::vector<std::string>& words,
                                                   std::vector<std::string>& left_out);

}  // namespace gw::cmds::queue
