// Ending a step whose shepherd and launcher are both gone, and naming what this machine can contain.
#include "noded/step/contain/sweep.h"

#include <poll.h>

#include <nlohmann/json.hpp>

#include "noded/step/contain/plugin_loader.h"
#include "noded/step/proc/step_clock.h"
#include "noded/step/proc/tree.h"

namespace gw::noded::step {
namespace {

constexpr int kPassWaitMs = 10;

std::string verdict(const ProbeReport& report) { return report.usable ? "usable" : "not usable: " + report.why_not; }

}  // namespace

std::string sweep_groups(const std::string& plugin_dir, const wire::Containment& containment, int64_t budget_us) {
  if (containment.group().empty()) return {};
  const auto contain = make_containment(plugin_dir, containment.kind());
  if (!contain) return contain.error().text();
  ContainSpec spec;
  spec.group = containment.group();
  (*contain)->attach(spec);
  const int64_t give_up_at = monotonic_us() + budget_us;
  for (;;) {
    const std::vector<pid_t> members = (*contain)->members();
    const base::Status removed = members.empty() ? (*contain)->remove() : base::Status{};
    if (members.empty() && removed) break;
    if (monotonic_us() >= give_up_at)
      return members.empty() ? removed.error().text() : proc::describe(members.front()) + " survives SIGKILL";
    if (!members.empty()) (*contain)->kill_pass();
    ::poll(nullptr, 0, kPassWaitMs);
  }
  if (containment.parent().empty()) (*contain)->remove_parents(spec.group);  // else the job sees to it
  return {};
}

std::string probe_text(const std::string& plugin_dir) {
  const auto choice = choose_containment(plugin_dir, "auto");
  if (!choice) return choice.error().text() + "\n";
  std::string text = "containment: " + choice->kind + "\n";
  for (const ProbeReport& report : choice->reports) {
    text += report.kind + ": " + verdict(report) + "\n";
    for (const ControllerReport& c : report.controllers)
      text += "  " + c.controller + ": " + (c.usable ? "yes" : "no, " + c.why_not) + "\n";
  }
  return text;
}

std::string probe_json(const std::string& plugin_dir) {
  nlohmann::json out{{"schema_version", 1}, {"chosen", nullptr}, {"kinds", nlohmann::json::array()}};
  const auto choice = choose_containment(plugin_dir, "auto");
  if (!choice) {
    out["error"] = choice.error().text();
    return out.dump() + "\n";
  }
  out["chosen"] = choice->kind;
  for (const ProbeReport& report : choice->reports) {
    nlohmann::json kind{{"kind", report.kind}, {"usable", report.usable}, {"why_not", report.why_not}};
    for (const ControllerReport& c : report.controllers)
      kind["controllers"].push_back({{"controller", c.controller}, {"usable", c.usable}, {"why_not", c.why_not}});
    out["kinds"].push_back(kind);
  }
  return out.dump() + "\n";
}

}  // namespace gw::noded::step
