// The suspension of a step that runs: it is warned if it asked for that, is suspended after its grace, and resumes.
// Invariants: an order of an earlier round than the last changes nothing; only a step that the containment has frozen
// is reported as suspended without a problem.
#pragma once

#include <cstdint>
#include <string>

#include "base/state_machine.h"
#include "noded/step/shepherd/announcements.h"
#include "noded/step/shepherd/step_processes.h"

namespace gw::noded::step {

struct SuspensionStates {
  /// It runs.
  struct Going {};
  /// It has been warned, and is suspended then (monotonic microseconds).
  struct Suspending {
    int64_t freeze_at = 0;
  };
  /// It is suspended, or could not be made to.
  struct Suspended {
    std::string problem;
  };
  using Machine =
      base::StateMachine<base::Transitions<base::From<Going>::To<Suspending>, base::From<Going>::To<Suspended>,
                                           base::From<Suspending>::To<Suspended>, base::From<Suspending>::To<Going>,
                                           base::From<Suspended>::To<Suspending>, base::From<Suspended>::To<Suspended>,
                                           base::From<Suspended>::To<Going>>,
                         Going, Suspending, Suspended>;
};

class StepSuspension : private SuspensionStates {
 public:
  /// All outlive it.
  StepSuspension(const wire::StepSpec& spec, StepProcesses& processes, Announcements& announcements)
      : spec_(spec), processes_(processes), announcements_(announcements) {}

  void suspend(const wire::StepSuspend& request);
  void resume(const wire::StepResume& request);
  /// When it is suspended; 0 if that is not to come.
  int64_t freeze_at() const;
  void on_timer(int64_t now);

 private:
  const wire::StepSpec& spec_;
  StepProcesses& processes_;
  Announcements& announcements_;
  uint32_t round_ = 0;  // of the last order
  Machine state_;

  void freeze();
};

}  // namespace gw::noded::step
