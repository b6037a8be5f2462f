// One run on this node as the agent sees it: plain data, changed by the machines of the agent alone (core.h).
// Invariants: `prepare` and `start` are held until the launch only; a run in kClean has no process left on this node;
// Done is reported from kClean alone; the run of a job gets there after those of its steps.
#pragma once

#include <map>
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
  kProlog,     ///< The node's prolog runs. Nothing else exists yet.
  kLaunching,  ///< The shepherd is being launched, or the share contained.
  kAdopting,   ///< Found on disk after a restart; its shepherd has not told yet where it stands.
  kPrepared,   ///< Waits for Go; of a step: its shepherd listens.
  kStarting,   ///< The shepherd was told to go.
  kStarted,    ///< The script or the step runs; without a shepherd here: the gang was started.
  kAwaiting,   ///< Nothing of its own is left: it waits for the end of the job's steps.
  kReleasing,  ///< No shepherd (any more): the containment ends what is left.
  kEpilog,     ///< Every process is gone; the node's epilog runs.
  kClean,      ///< Every process is gone; waits for the controller's acknowledgement.
};

/// How the shepherd of a step is reached, once it listens.
struct StepAccess {
  std::string address, key;
};

/// The order to end a run: by the controller, by the lease, or by ourselves.
struct StopOrder {
  bool is_asked = false;
  bool kill_now = false;
  int64_t grace_us = 0;            ///< Until it is asked: that of the record.
  uint32_t cause = 0;              ///< model::StopCause: what the job's output says of it.
  std::optional<wire::Stop> word;  ///< The controller's, where it says more than when.
};

/// Suspensions of a job are numbered by rounds. A run has one of its own, the job's run also that of the job.
struct Suspension {
  std::optional<wire::Suspend> order;  ///< It is to be suspended.
  uint32_t resume_round = 0;           ///< Else: it resumes after this round; 0: it never was suspended.
  uint32_t answered_round = 0;         ///< The one that its own shepherd has answered last,
  std::string problem;                 ///< and what was in its way.
  bool is_told = false;                ///< Of a job: the controller was told what became of it.

  /// A later round was ordered.
  bool is_after(uint32_t round) const { return order && round < order->round(); }
};

/// What the controller was told of the end of a run.
struct EndReports {
  bool is_exit_acked = false;
  uint64_t exit_link = 0;  ///< Number of the link that BatchExited was sent over last.
  base::Time at;           ///< When BatchExited or Done was sent last.
};

/// What one GPU of a run did, as it was looked at.
struct SeenGpu {
  base::Duration seen, busy, idle;
  uint32_t most_busy = 0;
  uint64_t most_mem = 0;
};

struct Run {
  RunKey key;
  Stage stage = Stage::kQueued;
  wire::RunRecord record;
  std::shared_ptr<const wire::Prepare> prepare;
  std::shared_ptr<const wire::StartStep> start;  ///< Of a step.
  std::optional<UserInfo> user;                  ///< In kProlog only.
  StepAccess access;                             ///< Of a step.

  bool is_connected = false;          ///< The shepherd listens.
  bool was_prepared = false;          ///< The controller counts on it: failures are told by BatchExited.
  bool go_asked = false;              ///< Go came after Prepare; the shepherd waits for it.
  bool must_release = false;          ///< kAwaiting: then the containment ends what is left.
  bool is_stale = false;              ///< Of an earlier boot: cleaned up without a report.
  std::optional<wire::Resize> hosts;  ///< Of an elastic gang: the nodes that it starts with.
  StopOrder stop;
  Suspension suspension;

  int64_t started_at_us = 0;
  std::map<uint32_t, SeenGpu> gpus;  ///< Those that were looked at,
  base::Time gpus_seen;              ///< the last time.
  std::optional<wire::StepExit> exit;
  wire::Done done;  ///< Filled in step by step; sent from kClean.
  EndReports reports;
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
  bool fails_prepare() const { return exit && exit->never_started() && !was_prepared && !stop.is_asked; }
};

/// A run found on disk at the start.
struct RecoveredRun {
  wire::RunRecord record;
  bool shepherd_answers = false;  ///< on_shepherd_connected follows, or on_shepherd_gone.
  bool has_step_dir = false;
  std::optional<wire::StepExit> exit;  ///< The exit record, if the step has one.
};

}  // namespace gw::noded
