// See run_start.h.
#include "noded/core/run_start.h"

#include <utility>

#include "noded/core/node_allocation.h"
#include "noded/core/programs.h"
#include "noded/core/step_spec.h"

namespace gw::noded {

namespace {

/// A run without script here: only its share is held.
void contain(Core& core, Run& run) {
  run.stage = Stage::kLaunching;
  run.prepare.reset();
  core.out.add(PrepareShare{run.record});
}

}  // namespace

base::Status check_user(const AgentConfig& config, uint32_t uid, bool allow_root) {
  if (uid == 0 && !allow_root)
    return base::fail(base::ErrorCode::kDenied, "root may not run jobs here", "jobs.allow_root_jobs");
  if (config.own_uid != 0 && uid != config.own_uid)
    return base::fail(base::ErrorCode::kDenied,
                      "the node daemon of " + config.node.name + " runs as uid " + std::to_string(config.own_uid) +
                          " and cannot start jobs of uid " + std::to_string(uid),
                      "start gnoded as root");
  return {};
}

bool begin(Core& core, Run& run) {
  const wire::Prepare& order = *run.prepare;
  run.deadline = base::Time::never();
  base::Status status = check_user(core.config, order.spec().uid(), order.allow_root());
  if (status) status = check_share(core.config.node, order.share());
  if (!status) {
    const bool node_fault = status.error().code != base::ErrorCode::kDenied;
    fail_start(core, run, model::EndReason::kLaunchFailed, status.error().text(), node_fault);
    return false;
  }
  *run.record.mutable_containment() = make_containment(core.config.node, order);
  if (run.has_shepherd() || has_programs(core.config.node)) {
    run.stage = Stage::kLookup;
    core.out.add(LookupUser{run.key, order.spec().uid()});
  } else {
    contain(core, run);
  }
  return true;
}

void admit(Core& core, Run& run, const UserInfo& user) {
  if (!run.key.is_step() && has_programs(core.config.node) && begin_prolog(core, run, user))
    run.user = user;
  else
    launch(core, run, user);
}

void launch(Core& core, Run& run, const UserInfo& user) {
  if (!run.has_shepherd()) return contain(core, run);
  const NodeFacts& node = core.config.node;
  run.stage = Stage::kLaunching;
  wire::StepSpec spec = run.key.is_step() ? make_access_spec(node, *run.start, user, core.now,
                                                             unclaimed_by_others(node, core.runs.all(), run.key))
                                          : make_step_spec(node, *run.prepare, user, core.now);
  if (run.key.is_step()) core.places.knows(run.key, spec.access());
  *spec.mutable_containment() = run.record.containment();
  // By the run's own record: that of the job, and of all its steps, whatever an order says.
  spec.set_lease_us(run.record.lease_us());
  spec.set_lease_age_us(core.leases.age().us);
  spec.set_heard_boot_us(core.leases.last_contact().us);
  core.out.add(LaunchShepherd{run.record, std::move(spec)});
  run.prepare.reset();  // the script may be large
  run.start.reset();
}

void fail_start(Core& core, Run& run, model::EndReason reason, const std::string& detail, bool node_fault) {
  core.out.say(node_fault ? Level::kError : Level::kInfo, "run " + run.key.text() + " cannot start: " + detail);
  run.exit.emplace().set_reason(static_cast<uint32_t>(reason));
  run.exit->set_detail(detail);
  run.exit->set_never_started(true);
  run.exit->set_node_fault(node_fault);
  run.exit->set_ended_us(core.now.us);
}

void go(Core& core, Run& run) {
  run.stage = run.has_shepherd() ? Stage::kStarting : Stage::kStarted;
  run.was_prepared = true;
  if (!run.has_shepherd()) return;
  if (run.hosts) core.out.add(KeepHosts{*run.hosts, true});  // the file is there when the script begins
  wire::ToShepherd message;
  message.mutable_go()->set_at_us(run.started_at_us);
  core.out.tell_shepherd(run, std::move(message));
}

}  // namespace gw::noded
