// One run on this node as the agent sees it: plain data, changed by NodeAgent alone.
// Invariants: `prepare` and `start` are held until the launch only; a run in kClean has no process left on this node;
// Done is reported from kClean alone; the run of a job gets there after those of its steps.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "noded/core/facts.h"
#include "wire/node.pb.h"
#include "wire/step.pb.h"

namespace gw::noded {

/// Where a run stands.
enum class Stage : uint8_t {
  kQueued,     ///< Waits until an earlier run of the same job is gone.
  kLookup,     ///< Its user is being looked up. Nothing exists yet.
  kLaunching,  ///< The shepherd is being launched, or the share contained.
  kAdopting,   ///< Found on disk after a restart; its shepherd has not told yet where it stands.
  kPrepared,   ///< Waits for Go; of a step: its shepherd listens.
  kStarting,   ///< The shepherd was told to go.
  kStarted,    ///< The script or the step runs; without a shepherd here: the gang was started.
  kAwaiting,   ///< Nothing of its own is left: it waits for the end of the job's steps.
  kReleasing,  ///< No shepherd (any more): the containment ends what is left.
  kClean,      ///< Every process is gone; waits for the controller's acknowledgement.
};

struct Run {
  RunKey key;
  Stage stage = Stage::kQueued;
  wire::RunRecord record;
  std::shared_ptr<const wire::Prepare> prepare;
  std::shared_ptr<const wire::StartStep> start;  ///< Of a step.
  std::string address, access_key;               ///< Of the shepherd of a step, once it listens.

  bool is_connected = false;  ///< The shepherd listens.
  bool was_prepared = false;  ///< The controller counts on it: failures are told by BatchExited.
  bool go_asked = false;      ///< Go came after Prepare; the shepherd waits for it.
  bool stop_asked = false;    ///< By the controller, by the lease, or by ourselves.
  bool kill_now = false;
  int64_t grace_us = 0;
  std::optional<wire::Stop> order;       ///< The controller's word for it, where it says more than when.
  std::optional<wire::Suspend> suspend;  ///< It is to stand still.
  uint32_t resume_round = 0;             ///< Else: it goes on after this suspension; 0: it never stood still.
  uint32_t stood_round = 0;              ///< The suspension that its own shepherd has answered last,
  std::string stood_problem;             ///< and what was in its way.
  bool told_standing = false;            ///< Of a job: the controller was told what became of its suspension.
  bool must_release = false;             ///< kAwaiting: then the containment ends what is left.
  std::optional<wire::Resize> hosts;     ///< Of an elastic gang: the nodes that it starts with.
  bool is_stale = false;                 ///< Of an earlier boot: cleaned up without a report.

  std::optional<wire::StepExit> exit;
  bool exit_acked = false;
  uint64_t exit_link = 0;  ///< Number of the link that BatchExited was sent over last.
  wire::Done done;         ///< Filled in step by step; sent from kClean.
  int64_t started_at_us = 0;

  base::Time reported;                        ///< When BatchExited or Done was sent last.
  base::Time deadline = base::Time::never();  ///< Of kAdopting and kQueued.

  /// Something of it may still live on this node.
  bool is_live() const { return stage != Stage::kQueued && stage != Stage::kClean; }
  /// Found after a restart; where it stands is not known yet.
  bool is_adopted() const { return was_prepared && (stage == Stage::kAdopting || stage == Stage::kLaunching); }
  /// Its end is under way: its shepherd has no more to say.
  bool is_winding_up() const { return stage >= Stage::kAwaiting; }
  /// A shepherd runs something here: the script, or the tasks of a step. Else only the share is held.
  bool has_shepherd() const { return record.has_script(); }
  /// The script never ran and the controller was never told that it could: told by PrepareFailed.
  bool fails_prepare() const { return exit && exit->never_started() && !was_prepared && !stop_asked; }
};

}  // namespace gw::noded
