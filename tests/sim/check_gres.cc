// No generic resource twice. See check_gres.h.
#include "tests/sim/check_gres.h"

#include <set>

#include "wire/convert.h"

namespace gw::sim_cluster {
namespace {

constexpr char kGres[] = "no more of a generic resource is in use than a node has";

}  // namespace

void GresChecker::on_node_heard(const std::string& /*node*/, const wire::ControllerToNode& message) {
  if (!message.has_prepare() || message.prepare().spec().request().gres().empty()) return;
  const auto asked = wire::gres_from(message.prepare().spec().request().gres());
  if (!asked) fail(kGres, "a node was sent generic resources that are none: " + asked.error().text());
  asked_[message.prepare().job()] = *asked;
}

void GresChecker::on_machine(const Machine& machine) {
  std::set<uint32_t> jobs;
  for (const Machine::Seen& one : machine.seen())
    if (one.has_process && asked_.contains(one.run.job)) jobs.insert(one.run.job);
  model::Gres used;
  for (const uint32_t job : jobs) used.add(asked_.at(job));
  if (!there_[machine.name()].covers(used)) fail(kGres, model::format_gres(used) + ": " + machine.text());
}

}  // namespace gw::sim_cluster
