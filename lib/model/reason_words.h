// What the reasons mean that people see in lists, and what helps: docs/reasons.md has these tables, and a test compares
// them. Invariant: a row for each reason, in the order of the enumerators (model/job_state.h).
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "model/job_state.h"

namespace gw::model {

struct ReasonWords {
  std::string_view means;
  std::string_view helps;  ///< Empty: to wait, or nothing.
};

inline constexpr std::array<ReasonWords, static_cast<size_t>(kLastWaitReason) + 1> kWaitReasonWords = {{
    {"nothing keeps it from the scheduler, which has not looked at it yet", ""},
    {"what it needs is kept for jobs that are before it, or others of its QOS are first",
     "a shorter time limit, or `--time-min`, may fit before them"},
    {"no place is free for it", "ask for less; `gangway why` tries what would do"},
    {"it was submitted for a later time", "`gcontrol update JobId=N StartTime=now`"},
    {"its owner holds it", "`gcontrol release N`"},
    {"an administrator holds it, or its launch failed again and again", "an administrator releases it"},
    {"no partition that it names starts jobs", "name another partition"},
    {"no longer used", ""},
    {"all nodes that it could run on are away, drained or down", "ask for other nodes; `ginfo -R` says why these are"},
    {"a limit or a guarantee of its QOS, or of one above it, is reached",
     "wait for jobs of the same QOS, or use another QOS"},
    {"an earlier run of it has not left its nodes yet", ""},
    {"its launch failed, and is tried again after a while", "its history says what failed: `gangway why N`"},
    {"no longer used", ""},
    {"no partition that is up allows its time limit", "ask for a shorter time, or another partition"},
    {"no longer used", ""},
    {"no longer used", ""},
    {"its reservation has not begun, or ends too soon", "a shorter time, or without the reservation"},
    {"its deadline can no longer be met", ""},
    {"other jobs must end first", "`gcontrol update JobId=N Dependency=` takes that away"},
    {"what it depends on can never come true", "`gcontrol update JobId=N Dependency=`, or cancel it"},
    {"as many tasks of its array as may run do so", "`gcontrol update JobId=N ArrayTaskThrottle=M`"},
    {"others have the licences that it asks for", ""},
    {"a budget of GPU-hours that it counts for is spent", "use a QOS with a budget left, or wait for its next period"},
}};

inline constexpr std::array<ReasonWords, static_cast<size_t>(kLastEndReason) + 1> kEndReasonWords = {{
    {"it ended by itself, without an error", ""},
    {"its script or program ended with an exit code other than 0", "its output says more: `gangway logs N`"},
    {"a signal that it did not catch ended it", ""},
    {"it ran as long as its time limit", "ask for more time, or save work and requeue"},
    {"a node of it was lost", "it is requeued, unless it said `--no-requeue`"},
    {"it used more memory than it was given", "ask for more with `--mem`"},
    {"it could not be launched on its nodes", "its history says why: `gangway why N`"},
    {"its output file could not be opened", "look at `--output` and at the permissions of its folder"},
    {"its working folder is not there on the node", "look at `--chdir`; is the folder shared?"},
    {"its user is not known on the node", "an administrator looks at the node's users"},
    {"the daemon that watched it on a node died", "an administrator looks at the log of that node"},
    {"somebody cancelled it", ""},
    {"its deadline came", ""},
    {"its nodes could not reach the controller for as long as the lease of its partition", "see `partitions[].lease`"},
    {"the prolog failed", "an administrator looks at the log of the node"},
    {"what it depended on could never come true", ""},
    {"the prolog of the controller could not be run", "an administrator looks at the controller's log"},
}};

constexpr const ReasonWords& words_of(WaitReason reason) {
  const auto i = static_cast<size_t>(reason);
  return kWaitReasonWords[i < kWaitReasonWords.size() ? i : 0];
}
constexpr const ReasonWords& words_of(EndReason reason) {
  const auto i = static_cast<size_t>(reason);
  return kEndReasonWords[i < kEndReasonWords.size() ? i : 0];
}

}  // namespace gw::model
