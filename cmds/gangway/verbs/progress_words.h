// The words of `gangway progress`. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "wire/api.pb.h"

namespace gw::cmds {

/// As they were written; empty: left out.
struct ProgressWords {
  std::string step, of, rate;
};

/// Errors: nothing is told; no numbers, or ones that nobody counts to; more steps than there are.
base::Result<wire::ProgressRequest> progress_request(const ProgressWords& words);

}  // namespace gw::cmds
