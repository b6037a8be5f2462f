// See controller.h.
#include "ctld/core/controller.h"

#include "ctld/core/api/amend.h"
#include "ctld/core/api/clients.h"
#include "ctld/core/api/figures.h"
#include "ctld/core/api/requests.h"
#include "ctld/core/audit.h"
#include "ctld/core/cluster/pools.h"
#include "ctld/core/cluster/quotas.h"
#include "ctld/core/fingerprint.h"
#include "ctld/core/jobs/plan.h"
#include "ctld/core/jobs/reports.h"
#include "ctld/core/jobs/run.h"
#include "ctld/core/jobs/wait_clock.h"
#include "ctld/core/nodes/messages.h"
#include "ctld/core/nodes/silence.h"
#include "ctld/core/restore.h"
#include "ctld/core/settle.h"
#include "ctld/core/shared/listing.h"
#include "ctld/core/shared/publish.h"
#include "ctld/core/store_state.h"
#include "ctld/core/ticks.h"

namespace gw::ctld {

template <typename Change>
void Controller::transact(Time now, const Change& change) {
  core_.begin(now);
  change();
  settle(core_);
}

Controller::Controller(Settings settings, Time now) : core_(std::move(settings), now) {
  configure_scheduler(core_);
  configure_nodes(core_);
  seed_quotas(core_);
  configure_pools(core_);
}

base::Status Controller::restore(const store::Snapshot& snapshot, Time now) {
  base::Status done;
  transact(now, [&] { done = ctld::restore(core_, snapshot); });
  return done;
}

void Controller::on_request(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  transact(now, [&] { ctld::on_request(core_, conn, caller, request); });
}

void Controller::on_client_gone(Time now, ConnId conn) {
  transact(now, [&] { ctld::on_client_gone(core_, conn); });
}

void Controller::on_piece_taken(Time now, ConnId conn, uint64_t request_id) {
  transact(now, [&] { ctld::on_piece_taken(core_, conn, request_id); });
}

void Controller::on_node_message(Time now, LinkId link, const NodePeer& peer, const wire::NodeToController& message) {
  transact(now, [&] { ctld::on_node_message(core_, link, peer, message); });
}

void Controller::on_node_gone(Time now, LinkId link, const std::string& reason) {
  transact(now, [&] { ctld::on_node_gone(core_, link, reason); });
}

void Controller::on_plan(Time now, const sched::Plan& plan) {
  transact(now, [&] { ctld::on_plan(core_, plan); });
}

void Controller::on_stop(Time now) {
  transact(now, [&] { keep_waits(core_); });
}

void Controller::on_tick(Time now, std::optional<Time> heard_until) {
  transact(now, [&] { ctld::on_tick(core_, heard_until); });
}

std::vector<LinkId> Controller::silent_links(Time now) {
  core_.begin(now);
  return ctld::silent_links(core_);
}

void Controller::on_heard(Time now, LinkId link) {
  transact(now, [&] { ctld::on_heard(core_, link); });
}

bool Controller::looks_for_absent(Time now) const {
  return !core_.watch.absent_due.empty() || core_.timers.is_due(now, TimerKind::kNodeDown);
}

void Controller::on_prepare_unsent(Time now, JobId id, uint32_t attempt, const std::string& why, bool is_final) {
  transact(now, [&] { ctld::on_prepare_unsent(core_, id, attempt, why, is_final); });
}

void Controller::on_reconfigured(Time now, Settings settings, const Reload& reply_to,
                                 const std::vector<std::string>& changes, const std::vector<std::string>& warnings) {
  transact(now, [&] { ctld::on_reconfigured(core_, std::move(settings), reply_to, changes, warnings); });
}

void Controller::on_shell_reply(ConnId conn, wire::ApiReply reply) {
  ctld::on_shell_reply(core_, conn, std::move(reply));
}

void Controller::on_ended_job(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request,
                              const store::JobRow& row) {
  transact(now, [&] { ctld::on_ended_job(core_, conn, caller, request, row); });
}

void Controller::on_program_ended(Time now, JobId job, uint32_t attempt, model::JobProgram program,
                                  const ProgramEnd& end) {
  transact(now, [&] { ctld::on_program_ended(core_, job, attempt, program, end); });
}

void Controller::on_fenced(Time now, const std::string& node, Time since, bool is_dead, const std::string& detail) {
  transact(now, [&] { ctld::on_fenced(core_, node, since, is_dead, detail); });
}

void Controller::on_store_state(const std::string& why) { ctld::on_store_state(core_, why); }

Metrics Controller::metrics(Time now) {
  core_.begin(now);
  return ctld::metrics(core_);
}

base::Status Controller::audit() const { return ctld::audit(core_); }

std::string Controller::fingerprint() const { return ctld::fingerprint(core_); }

}  // namespace gw::ctld
