// What a shepherd writes down and reads for its job and its log.
#include "noded/step/shepherd/step_notes.h"

#include <signal.h>

#include <cstdio>

#include "noded/step/proc/step_clock.h"
#include "noded/step/state/step_folder.h"

namespace gw::noded::step {

void log_note(const wire::StepSpec& spec, const std::string& text) {
  std::fprintf(stderr, "gstepd: job %u.%u %s: %s\n", spec.job(), spec.attempt(), spec.step().c_str(), text.c_str());
}

std::string on_preempt_of(const wire::StepSpec& spec) {
  constexpr std::string_view kVariable = "GANGWAY_ON_PREEMPT=";
  for (const std::string& line : spec.env())
    for (const char* what : {"cancel", "checkpoint"})  // who would rather be suspended, and must end, is requeued
      if (line.starts_with(kVariable) && line.substr(kVariable.size()) == what) return what;
  return "requeue";
}

std::optional<wire::Stop> tell_order(const wire::StepSpec& spec, int64_t grace_us, std::string_view what) {
  std::optional<wire::Stop> order = read_order(spec.dir());
  if (!order || order->preempted_for() == 0) return order;
  // From now, and by this node's clock: that is when it is killed, however long the order was on its way.
  order->set_grace_us(grace_us);
  order->set_until_us(wall_us() + grace_us);
  if (const base::Status told = write_preempt_file(spec, *order, what); !told)
    log_note(spec, "the job is not told why it is preempted: " + told.error().text());
  return order;
}

std::optional<int> signal_of(const std::optional<wire::Stop>& order) {
  if (!order || order->signo() <= 0 || order->signo() >= NSIG) return std::nullopt;
  return static_cast<int>(order->signo());
}

}  // namespace gw::noded::step
