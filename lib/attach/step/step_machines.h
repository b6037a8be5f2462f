// The machines of a step's client, those below first: each knows the ones above it here alone.
#pragma once

#include <optional>
#include <vector>

#include "attach/step/step_farewell.h"
#include "attach/step/step_input.h"
#include "attach/step/step_nodes.h"
#include "attach/step/step_outputs.h"
#include "attach/step/step_reports.h"
#include "attach/step/step_start.h"
#include "attach/step/step_verdict.h"

namespace gw::attach {

struct StepMachines {
  /// The loop and the sinks outlive it.
  StepMachines(io::Loop& loop, StepOptions of, std::vector<NodePlan> plans, Sink& out, Sink& error)
      : options(std::move(of)),
        reports(loop, options, verdict, nodes_by_rank(plans, options.tasks)),
        nodes(loop, options, std::move(plans), [this](const std::string& text) { reports.say(false, text); }),
        start(options, nodes),
        outputs(options, nodes, reports.tasks().size(), out, error),
        input(loop, options, nodes),
        farewell(loop, options, nodes, outputs, input, reports, verdict) {}
  StepMachines(const StepMachines&) = delete;
  StepMachines& operator=(const StepMachines&) = delete;

  const StepOptions options;
  StepVerdict verdict;
  StepReports reports;
  StepNodes nodes;
  StepStart start;
  StepOutputs outputs;
  StepInput input;
  StepFarewell farewell;
  std::optional<stream::Joined> screen;  ///< It joined a step that has a terminal, whose size is this.
  io::Callback running_fn;
};

}  // namespace gw::attach
