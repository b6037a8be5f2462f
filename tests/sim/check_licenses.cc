// No licence twice. See check_licenses.h.
#include "tests/sim/check_licenses.h"

namespace gw::sim_cluster {
namespace {

constexpr char kLicenses[] = "no more licences are in use than there are";

}  // namespace

void LicenseChecker::on_node_heard(const std::string& /*node*/, const wire::ControllerToNode& message) {
  if (!message.has_prepare() || message.prepare().spec().licenses().empty()) return;
  const auto asked = model::parse_licenses(message.prepare().spec().licenses());
  if (!asked) fail(kLicenses, "a node was sent the licences \"" + message.prepare().spec().licenses() + "\"");
  asked_[message.prepare().job()] = *asked;
}

void LicenseChecker::on_machine(const Machine& machine) {
  std::map<uint32_t, RunKey>& here = runs_[machine.name()];
  here.clear();
  for (const Machine::Seen& one : machine.seen())
    if (one.has_process && !one.is_frozen && asked_.contains(one.run.job)) here.emplace(one.run.job, one.run.own());
  std::map<uint32_t, RunKey> all;
  for (const auto& [name, runs] : runs_) all.insert(runs.begin(), runs.end());
  model::Licenses used;
  for (const auto& [job, run] : all)
    for (const auto& [name, count] : asked_.at(job)) {
      used[name] += count;
      if (used[name] > there_[name])
        fail(kLicenses, std::to_string(used[name]) + " of " + name + " with " + run.text() + ": " + machine.text());
    }
}

}  // namespace gw::sim_cluster
