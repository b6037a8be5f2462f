// What a step's client is told to do, and what its exit codes mean.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/time.h"
#include "stream/client.h"
#include "wire/launch.pb.h"

namespace gw::attach {

/// What a client is to its step.
enum class Part : uint8_t {
  kLaunch,  ///< Says what to run.
  kJoin,    ///< Takes over what runs.
  kWatch,   ///< Sees what runs, and is heard in nothing.
};

/// One node's part: where its shepherd is, and what to launch there (`go` is set here). Of a step that runs the
/// number of tasks is what counts.
struct NodePlan {
  std::string node;
  std::string address;
  auth::Bytes32 key{};
  wire::LaunchTasks launch;
};

struct StepOptions {
  std::string step;  ///< "7.0", for messages.
  Part part = Part::kLaunch;
  bool label = false;
  bool unbuffered = false;  ///< Output is passed on as it comes, also in the middle of lines.
  bool ends_on_bad_exit = false;
  bool quiet_ends = false;                             ///< Tasks that fail say so: nothing is, but of the first killed.
  bool may_detach = false;                             ///< By its key, from a terminal.
  bool keeps_input_open = false;                       ///< Without input here the tasks get no end of it.
  std::optional<uint32_t> only_output, only_error;     ///< Of this task; what others print is passed over.
  size_t tasks = 0;                                    ///< Of the whole step, if they are more than the plans have.
  std::optional<base::Duration> wait_after_first;      ///< After the first task's end; then the others are ended.
  base::Duration grace = base::seconds(2);             ///< Between SIGTERM and SIGKILL.
  base::Duration patience_at_end = base::seconds(20);  ///< For nodes that were told to end the step.
  base::Duration say_lost_after = base::seconds(1);    ///< A connection that is back sooner is not spoken of.
  stream::ClientOptions connection;                    ///< Addresses and keys aside.
  size_t window_budget = size_t{64} << 20;             ///< For all output channels together.
};

/// A message for the user; errors are what made the step fail.
using SayFn = std::function<void(bool is_error, const std::string& text)>;

/// What the exit code of a step is when nobody reads its output any more: as of a program that SIGPIPE ended.
constexpr int kExitPipe = 141;
/// The same where another client took the step over; nothing is said of that.
constexpr int kExitTakenOver = 75;

}  // namespace gw::attach
