// What goes wrong, and how scripts end. See cluster.h.
#include "tests/sim/cluster.h"

namespace gw::sim_cluster {

void Cluster::plan_fault() {
  box_.agenda.after(faults_.between(base::milliseconds(200), base::seconds(storm_ * 2)), [this] {
    if (!box_.has_faults) return;
    const uint32_t what = faults_(10);
    Node& one = node(faults_.any(names_));
    if (what < 3) fault_of_controller();
    if (what >= 3 && what < 6) fault_of_node(one);
    if (what >= 6) fault_of_network(one);
    plan_fault();
  });
}

void Cluster::fault_of_controller() {
  if (!shell_.is_up()) return;
  is_leaving_ = false;
  death_ = faults_.chance(60) ? Death::kPower : Death::kProcess;
  is_silent_ = false;
  switch (faults_(8)) {
    case 0:
    case 1:
      return shell_.crash(faults_.chance(50));
    case 2:
      death_ = Death::kNone;
      is_leaving_ = true;
      return shell_.leave();
    case 3:
      disk_.set_full(true);
      return box_.agenda.after(faults_.between(base::milliseconds(500), base::seconds(8)),
                               [this] { disk_.set_full(false); });
    case 4:
    case 5:
      return disk_.lose_power_at(1 + faults_(30));
    default:
      return shell_.crash_after(1 + faults_(30));
  }
}

void Cluster::fault_of_node(Node& one) {
  if (!one.machine->is_on()) return;
  const std::string& name = one.machine->name();
  const uint32_t what = faults_(8);
  if (what == 0) return power_off(one);
  if (what == 1) {
    box_.trace.say(box_.now(), "{} reboots", name);
    power_off(one);
    return boot(one);
  }
  if (what < 4) {
    box_.trace.say(box_.now(), "{}: the daemon dies", name);
    one.machine->kill_daemon();
  } else {
    one.machine->kill_daemon_after(1 + faults_(12));
  }
  after_node(one);
}

void Cluster::fault_of_network(Node& one) {
  const std::string name = one.machine->name();
  const uint32_t what = faults_(6);
  if (what < 2) return network_.tear(name);
  const uint32_t ways = faults_(4);
  network_.cut(name, ways != 0, ways != 1);
  if (faults_.chance(40)) network_.tear(name);
  const Duration time = faults_.chance(30) ? faults_.between(base::seconds(40), base::seconds(200))
                                           : faults_.between(base::milliseconds(100), base::seconds(30));
  box_.agenda.after(time, [this, name] { network_.heal(name); });
}

/// Scripts and steps end by themselves, and owners of allocations are done with them.
void Cluster::end_something() {
  const auto nodes = static_cast<int64_t>(names_.size());
  const Duration next = box_.has_faults ? box_.random.between(Duration{200'000}, Duration{60'000'000 / (nodes / 2 + 1)})
                                        : box_.random.between(base::milliseconds(10), base::milliseconds(500));
  box_.agenda.after(next, [this] {
    Node& one = node(box_.random.any(names_));
    if (one.machine->end_something(box_.now(), box_.random(1'000))) after_node(one);
    if (box_.random.chance(10)) end_allocations();
    end_something();
  });
}

void Cluster::end_allocations() {
  for (const auto& [id, row] : kept_->rows().jobs) {
    wire::JobStatus status;
    wire::JobSpec spec;
    if (!status.ParseFromString(row.status) || !spec.ParseFromString(row.spec)) continue;
    const bool is_held = spec.kind() == static_cast<uint32_t>(model::JobKind::kAllocation);
    if (!is_held || status.placed().started_us() == 0 || !users_->jobs().contains(id.value)) continue;
    wire::ApiRequest request;
    request.mutable_end_allocation()->set_job_id(id.value);
    return clients_.ask(users_->jobs().at(id.value), request, {});
  }
}

}  // namespace gw::sim_cluster
