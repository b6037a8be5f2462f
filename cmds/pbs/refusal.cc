// See refusal.h. Numbers are those of pbs_error.h, whose names the comments have.
#include "cmds/pbs/refusal.h"

#include <fmt/format.h>

#include "base/text.h"

namespace gw::cmds::pbs {
namespace {

using base::Error;
using base::ErrorCode;
using queue::Caller;

struct Fault {
  std::string_view text;
  int code;
};

constexpr Fault kUnauthorized{"Unauthorized Request", 159};                               // PBSE_PERM
constexpr Fault kBadState{"Request invalid for state of job", 170};                       // PBSE_BADSTATE
constexpr Fault kUnknownQueue{"Unknown queue", 172};                                      // PBSE_UNKQUE
constexpr Fault kExceedsLimits{"Job violates queue and/or server resource limits", 188};  // PBSE_EXCQRESC

/// What the controller's words begin with, where PBS has words of its own.
constexpr std::pair<std::string_view, Fault> kBySentence[] = {
    {"Invalid partition name specified", kUnknownQueue},
    {"Requested node configuration is not available", kExceedsLimits},
    {"Requested time limit is invalid", kExceedsLimits},
    {"Node count specification invalid", kExceedsLimits},
    {"CPU count specification invalid", kExceedsLimits},
    {"More processors requested than permitted", kExceedsLimits},
    {"Memory required by task is not available", kExceedsLimits},
    {"Job violates accounting/QOS policy", kExceedsLimits},
};

Fault fault_of(const Error& error) {
  for (const auto& [sentence, fault] : kBySentence)
    if (error.what.starts_with(sentence) || error.sentence.starts_with(sentence)) return fault;
  switch (error.code) {
    case ErrorCode::kDenied:
      return kUnauthorized;
    case ErrorCode::kConflict:
      return kBadState;
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
      return {"cannot connect to server", 111};  // ECONNREFUSED
    default:
      return {"", 1};
  }
}

}  // namespace

int refuse(const Caller& caller, const Error& error, std::string_view subject) {
  const Fault fault = fault_of(error);
  if (fault.text.empty())
    return queue::say(caller, error.text() + (subject.empty() ? "" : " " + std::string(subject)), fault.code);
  queue::say(caller, fmt::format("{}{}{}", fault.text, subject.empty() ? "" : " ", subject), fault.code);
  return queue::say(caller, error.text(), fault.code);
}

int refuse_unknown(const Caller& caller, std::string_view id) {
  return queue::say(caller, "Unknown Job Id " + base::printable(id, 100), kExitUnknownId);
}

int refuse_finished(const Caller& caller, std::string_view id) {
  if (caller.program.name == "qstat")
    return queue::say(caller,
                      base::printable(id, 100) + " Job has finished, use -x or -H to obtain historical job information",
                      kExitFinished);
  if (caller.is_torque())
    return queue::say(caller, std::string(kBadState.text) + " " + base::printable(id, 100), kBadState.code);
  return queue::say(caller, "Job has finished " + base::printable(id, 100), kExitFinished);
}

int refuse_usage(const Caller& caller, const Error& error, std::string_view usage) {
  queue::say(caller, error.text(), kExitUsage);
  client::print_note({"usage", false}, usage);
  return kExitUsage;
}

}  // namespace gw::cmds::pbs
