// Names of states, events and reasons.
// Invariant: each table has one entry for every enumerator, in order.
#include "model/job_state.h"

#include <string>
#include <vector>

#include "base/check.h"
#include "base/text.h"

namespace gw::model {
namespace {

struct StateName {
  std::string_view long_form;
  std::string_view short_form;
};
constexpr std::array<StateName, kJobStateCount> kStateNames = {{
    {"PENDING", "PD"},
    {"CONFIGURING", "CF"},
    {"RUNNING", "R"},
    {"SUSPENDED", "S"},
    {"COMPLETING", "CG"},
    {"COMPLETED", "CD"},
    {"FAILED", "F"},
    {"CANCELLED", "CA"},
    {"TIMEOUT", "TO"},
    {"NODE_FAIL", "NF"},
    {"OUT_OF_MEMORY", "OOM"},
    {"PREEMPTED", "PR"},
    {"DEADLINE", "DL"},
    {"BOOT_FAIL", "BF"},
}};
constexpr std::array<std::string_view, 16> kEventNames = {"place",
                                                          "go",
                                                          "suspend",
                                                          "resume",
                                                          "stop",
                                                          "requeue",
                                                          "revive",
                                                          "end-completed",
                                                          "end-failed",
                                                          "end-cancelled",
                                                          "end-timeout",
                                                          "end-node-fail",
                                                          "end-out-of-memory",
                                                          "end-preempted",
                                                          "end-deadline",
                                                          "end-boot-fail"};
constexpr std::array<std::string_view, 23> kWaitNames = {"None",
                                                         "Priority",
                                                         "Resources",
                                                         "BeginTime",
                                                         "JobHeldUser",
                                                         "JobHeldAdmin",
                                                         "PartitionDown",
                                                         "PartitionInactive",
                                                         "ReqNodeNotAvail",
                                                         "QOSJobLimit",
                                                         "Cleaning",
                                                         "JobLaunchFailure",
                                                         "NodeUnreachable",
                                                         "PartitionTimeLimit",
                                                         "PartitionNodeLimit",
                                                         "Controller",
                                                         "Reservation",
                                                         "DEADLINE",
                                                         "Dependency",
                                                         "DependencyNeverSatisfied",
                                                         "JobArrayTaskLimit",
                                                         "Licenses",
                                                         "QOSGrpGRESMinutes"};
constexpr std::array<std::string_view, 17> kEndNames = {
    "None",        "NonZeroExitCode", "RaisedSignal",     "TimeLimit",
    "NodeDown",    "OutOfMemory",     "JobLaunchFailure", "OutputPath",
    "WorkDir",     "UnknownUser",     "ShepherdDied",     "Cancelled",
    "DeadLine",    "LeaseExpired",    "Prolog",           "DependencyNeverSatisfied",
    "PrologNotRun"};
static_assert(kEventNames.size() == static_cast<size_t>(JobEvent::kEndBootFail) + 1);
static_assert(kWaitNames.size() == static_cast<size_t>(kLastWaitReason) + 1);
static_assert(kEndNames.size() == static_cast<size_t>(kLastEndReason) + 1);

template <typename Table, typename Enum>
std::string_view entry(const Table& table, Enum e) {
  const auto i = static_cast<size_t>(e);
  GW_CHECK(i < table.size());
  return table[i];
}

}  // namespace

std::string_view long_name(JobState s) {
  GW_CHECK(static_cast<int>(s) < kJobStateCount);
  return kStateNames[static_cast<size_t>(s)].long_form;
}

std::string_view short_name(JobState s) {
  GW_CHECK(static_cast<int>(s) < kJobStateCount);
  return kStateNames[static_cast<size_t>(s)].short_form;
}

base::Result<JobState> parse_job_state(std::string_view text) {
  std::vector<std::string> candidates;
  for (size_t i = 0; i < kStateNames.size(); ++i) {
    if (base::iequals(text, kStateNames[i].long_form) || base::iequals(text, kStateNames[i].short_form))
      return static_cast<JobState>(i);
    candidates.emplace_back(kStateNames[i].long_form);
  }
  if (base::iequals(text, "canceled")) return JobState::kCancelled;
  std::string upper(text);
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  std::string hint = base::did_you_mean(upper, candidates);
  if (hint.empty()) hint = "states are " + base::join(candidates, ", ");
  return base::invalid("Invalid job state specified: " + base::printable(text), std::move(hint));
}

std::string_view name(JobEvent e) { return entry(kEventNames, e); }
std::string_view name(WaitReason r) { return entry(kWaitNames, r); }
std::string_view name(EndReason r) { return entry(kEndNames, r); }

}  // namespace gw::model
