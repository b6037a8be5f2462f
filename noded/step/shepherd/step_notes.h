// What a shepherd writes down and reads for its job and its log.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wire/node.pb.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

/// To the log.
void log_note(const wire::StepSpec& spec, const std::string& text);
/// What becomes of the job if it is preempted, as the node daemon says it to the job, and so to us.
std::string on_preempt_of(const wire::StepSpec& spec);
/// What the controller said beside when; the job can read of whom it is preempted for, and what becomes of it then.
std::optional<wire::Stop> tell_order(const wire::StepSpec& spec, int64_t grace_us, std::string_view what);
/// The signal that the order names; nothing if it names none.
std::optional<int> signal_of(const std::optional<wire::Stop>& order);

}  // namespace gw::noded::step
