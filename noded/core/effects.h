// What the agent wants done: values that the shell carries out in the given order.
// Invariant: an effect holds all it needs; carrying one out never asks the agent anything.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "noded/core/facts.h"
#include "wire/node.pb.h"
#include "wire/step.pb.h"

namespace gw::noded {

/// Dial the controller; answered by on_link_up or on_link_down.
struct Connect {};
/// Give the link up; no on_link_down follows.
struct Disconnect {
  std::string why;
};
struct SendToController {
  wire::NodeToController message;
};
/// Find a user; answered by on_user.
struct LookupUser {
  RunKey run;
  uint32_t uid = 0;
};
/// Write the record, then launch the shepherd and keep in touch with it; answered by on_shepherd_connected or
/// on_launch_failed.
struct LaunchShepherd {
  wire::RunRecord record;
  wire::StepSpec spec;
};
/// Lost without notice if the shepherd is not connected: the agent sends again when it is.
struct ToShepherd {
  RunKey run;
  wire::ToShepherd message;
};
/// Write what the controller said of the end of a run into its step folder, where the shepherd looks when it is told to
/// stop: a preempted job has a signal of its own, and is told why.
struct KeepOrder {
  RunKey run;
  wire::Stop order;
};
/// Write which nodes an elastic gang has, where its script looks, and send the script its signal, unless they are as
/// they were written last.
struct KeepHosts {
  wire::Resize order;
  bool is_first = false;  ///< The script has not begun: there is nobody to signal.
};
/// Write the record, then set up the containment of a run without script here; answered by on_share_prepared.
struct PrepareShare {
  wire::RunRecord record;
};
/// End every process that the containment of the run holds, and remove it; answered by on_share_released. Must be fit
/// to be called for a containment that does not exist.
struct ReleaseShare {
  RunKey run;
  wire::Containment containment;
};
/// Write the record, then run the node's prolog or epilog, within its limit, with the record's program_env; answered by
/// on_program_ended.
struct RunProgram {
  wire::RunRecord record;
  NodeProgram which = NodeProgram::kProlog;
};
/// Write the record anew.
struct PersistRun {
  wire::RunRecord record;
};
/// Remove the record, and the step folder if no shepherd answers for it.
struct ForgetRun {
  RunKey run;
};
/// Write which state the controller works from, synced: another daemon, also after a reboot, is to know it.
struct KeepMark {
  wire::StateMark mark;
};
/// Write what the controller is still to be told of failed programs, synced.
struct KeepUnfit {
  wire::UnfitList unfit;
};
/// Look at what the share without a shepherd uses, and tell the controller in the message's place.
struct MeasureShare {
  wire::Usage told;
  wire::Containment containment;
  std::string gpus;
};
/// Tell the controller what a run uses, with what its GPUs do, where that can be known.
struct MeasureGpus {
  wire::Usage told;
  std::string gpus;  ///< "0-3"
};
enum class Level { kDebug, kInfo, kWarn, kError };
/// A line for the log.
struct Say {
  Level level = Level::kInfo;
  std::string text;
};

using Effect = std::variant<Connect, Disconnect, SendToController, LookupUser, LaunchShepherd, ToShepherd, KeepOrder,
                            KeepHosts, PrepareShare, ReleaseShare, RunProgram, PersistRun, ForgetRun, KeepMark,
                            KeepUnfit, MeasureShare, MeasureGpus, Say>;
using Effects = std::vector<Effect>;

}  // namespace gw::noded
