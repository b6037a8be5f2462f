// The node agent: each call sets the time, has one machine answer it, and hands out what is to be done.
#include "noded/core/agent.h"

#include "noded/core/adoption.h"
#include "noded/core/controller.h"
#include "noded/core/leases.h"
#include "noded/core/link.h"
#include "noded/core/registration.h"
#include "noded/core/shepherds.h"
#include "noded/core/ticks.h"

namespace gw::noded {

template <typename Call>
Effects NodeAgent::serve(base::Time now, const Call& call) {
  core_.now = now;
  call();
  return core_.out.take();
}

Effects NodeAgent::on_recovered(base::Time now, const std::vector<RecoveredRun>& found) {
  return serve(now, [&] { noded::on_recovered(core_, found); });
}

Effects NodeAgent::on_link_up(base::Time now) {
  return serve(now, [&] { noded::on_link_up(core_); });
}

Effects NodeAgent::on_link_down(base::Time now, const std::string& why) {
  return serve(now, [&] { noded::on_link_down(core_, why); });
}

Effects NodeAgent::on_controller(base::Time now, const wire::ControllerToNode& message) {
  return serve(now, [&] { noded::on_controller(core_, message); });
}

Effects NodeAgent::on_user(base::Time now, RunKey run, const base::Result<UserInfo>& user) {
  return serve(now, [&] { noded::on_user(core_, run, user); });
}

Effects NodeAgent::on_program_ended(base::Time now, RunKey run, NodeProgram which, const base::Status& status) {
  return serve(now, [&] { noded::on_program_ended(core_, run, which, status); });
}

Effects NodeAgent::on_shepherd_connected(base::Time now, RunKey run) {
  return serve(now, [&] { noded::on_shepherd_connected(core_, run); });
}

Effects NodeAgent::on_shepherd(base::Time now, RunKey run, const wire::FromShepherd& message) {
  return serve(now, [&] { noded::on_shepherd(core_, run, message); });
}

Effects NodeAgent::on_shepherd_lost(base::Time now, RunKey run) {
  return serve(now, [&] { noded::on_shepherd_lost(core_, run); });
}

Effects NodeAgent::on_shepherd_gone(base::Time now, RunKey run, int code, int signo,
                                    const std::optional<wire::StepExit>& exit) {
  return serve(now, [&] { noded::on_shepherd_gone(core_, run, {code, signo, exit}); });
}

Effects NodeAgent::on_launch_failed(base::Time now, RunKey run, const std::string& why) {
  return serve(now, [&] { noded::on_launch_failed(core_, run, why); });
}

Effects NodeAgent::on_share_prepared(base::Time now, RunKey run, const base::Status& status) {
  return serve(now, [&] { noded::on_share_prepared(core_, run, status); });
}

Effects NodeAgent::on_share_released(base::Time now, RunKey run, const std::string& problem) {
  return serve(now, [&] { noded::on_share_released(core_, run, problem); });
}

Effects NodeAgent::on_gpu_looks(base::Time now, const GpuLooks& looks) {
  return serve(now, [&] { noded::on_gpu_looks(core_, looks); });
}

Effects NodeAgent::on_tick(base::Time now) {
  return serve(now, [&] { noded::on_tick(core_); });
}

base::Time NodeAgent::next_wakeup() const { return noded::next_wakeup(core_); }

base::BootTime NodeAgent::next_lease_end() const { return noded::next_lease_end(core_); }

}  // namespace gw::noded
