// `gangway progress --read`: what a job prints goes through this program, which tells the controller of the steps in
// it. Invariant: what comes in goes out at once, byte by byte, whatever the controller does.
#pragma once

#include <functional>

#include "base/time.h"
#include "cmds/gangway/verbs/progress_lines.h"

namespace gw::cmds {

/// Until the input ends, or nobody reads the output. `tell` is called with the latest, in a thread of its own, once in
/// `every` at most, and at the end. Error: the input cannot be read, or the output not written.
base::Status read_through(int in, int out, ProgressLines lines, base::Duration every,
                          const std::function<void(const wire::ProgressRequest&)>& tell);

}  // namespace gw::cmds
