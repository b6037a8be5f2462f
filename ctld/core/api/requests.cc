// See requests.h.
#include "ctld/core/api/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "ctld/core/admission/budgets.h"
#include "ctld/core/admission/submit.h"
#include "ctld/core/admission/update_job.h"
#include "ctld/core/api/amend.h"
#include "ctld/core/api/await_change.h"
#include "ctld/core/api/cancel.h"
#include "ctld/core/api/checkpoints.h"
#include "ctld/core/api/figures.h"
#include "ctld/core/api/held.h"
#include "ctld/core/api/job_actions.h"
#include "ctld/core/api/list_offers.h"
#include "ctld/core/api/notify.h"
#include "ctld/core/api/priorities.h"
#include "ctld/core/api/progress.h"
#include "ctld/core/api/query.h"
#include "ctld/core/api/tokens.h"
#include "ctld/core/api/why.h"
#include "ctld/core/cluster/nodes.h"
#include "ctld/core/cluster/partitions.h"
#include "ctld/core/cluster/quotas.h"
#include "ctld/core/cluster/reservations.h"
#include "ctld/core/names.h"
#include "ctld/core/shared/permissions.h"
#include "ctld/core/shared/replies.h"
#include "ctld/core/shared/sight.h"
#include "ctld/core/steps/requests.h"

namespace gw::ctld {

using base::ErrorCode;
using base::Status;

namespace {

void ask_scheduler(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (request.has_list_offers()) return list_offers(core, conn, caller, request);
  if (!request.has_explain_quota()) {
    core.out.send(AskScheduler{conn, request});
    return;
  }
  wire::ApiRequest asked = request;
  wire::ExplainQuotaRequest& explain = *asked.mutable_explain_quota();
  const auto qos_of = [&](uint32_t id, std::string* qos) -> Status {
    if (id != 0) {
      GW_TRY(job, seen_job(core, caller, id));
      *qos = job->spec.qos;
      return {};
    }
    if (*qos == model::kRootQos || *qos == core.settings.default_qos || core.quotas.qos.contains(*qos)) return {};
    return tl::unexpected(invalid_name(ErrorCode::kNotFound, NameOf::kQos, *qos, keys_of(core.quotas.qos)));
  };
  for (const Status& done : {qos_of(explain.preemptor_job(), explain.mutable_preemptor()),
                             qos_of(explain.from_job(), explain.mutable_from())})
    if (!done) return core.out.refuse(conn, request.id(), done.error());
  const Sight sight(core, caller);
  if (!sight.sees_use_of(explain.preemptor()) || !sight.sees_use_of(explain.from()))
    return core.out.refuse(conn, request.id(),
                           {ErrorCode::kDenied, "what QOS hold that one may not submit to is private here",
                            "an administrator can say it (private: in the configuration)"});
  core.out.send(AskScheduler{conn, std::move(asked)});
}

void set_log_level(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  constexpr std::array<std::string_view, 4> kLevels = {"debug", "info", "warning", "error"};
  const std::string& level = request.set_log_level().level();
  if (std::find(kLevels.begin(), kLevels.end(), level) == kLevels.end())
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kInvalid, "there is no log level " + base::printable(level),
                            "debug, info, warning and error are"});
  core.out.send(SetLogLevel{level});
  core.out.event("log level", level + " by " + caller.user, caller.uid);
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(core, conn, caller, request, std::move(out));
}

/// What the shell carries out.
void ask_shell(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (!request.has_set_log_level() && !request.reconfigure().check_only())
    core.out.audit(std::string(wire::row_of(request.kind_case()).name), "",
                   request.has_backup() ? "to " + base::printable(request.backup().path(), 500) : "asked for",
                   caller.uid);
  if (request.has_reconfigure())
    core.out.send(Reload{conn, request.id(), request.reconfigure().check_only(), caller.uid});
  else if (request.has_set_log_level())
    set_log_level(core, conn, caller, request);
  else if (request.has_backup())
    core.out.send(MakeBackup{conn, request.id(), request.backup().path()});
  else
    core.out.send(TakeSnapshot{conn, request.id()});
}

/// Which they are the store alone knows. A job or a node that nothing is known of is most likely a slip.
void list_events(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  constexpr uint32_t kUsual = 100;
  constexpr size_t kTextBytes = 1000;
  const wire::ListEventsRequest& q = request.list_events();
  if (q.job() != 0 && !q.node().empty())
    return core.out.refuse(conn, request.id(),
                           base::Error{ErrorCode::kInvalid, "events of a job or of a node, not of both", ""});
  if (q.of_no_job() && (q.job() != 0 || !q.node().empty()))
    return core.out.refuse(conn, request.id(),
                           base::Error{ErrorCode::kInvalid, "events of no job are not of a job or of a node", ""});
  // No index knows times: what they leave out is read, too.
  if ((q.since_us() != 0 || q.until_us() != 0) && !q.of_no_job() && q.job() == 0 && q.node().empty())
    return core.out.refuse(
        conn, request.id(),
        base::Error{ErrorCode::kInvalid, "events of a time are told of a job, of a node, or of what concerns no job",
                    ""});
  const Sight sight(core, caller);
  const model::Job* job = core.jobs.find(JobId(q.job()));
  if (!sight.sees_all() && (q.job() == 0 || (job != nullptr && !sight.sees(*job))))
    return core.out.refuse(
        conn, request.id(),
        q.job() != 0
            ? no_such_job(JobId(q.job()))
            : base::Error{base::ErrorCode::kDenied, "events that are not of a job of one's own are private here",
                          "an administrator can show them (private: in the configuration)"});
  ReadStored read{.conn = conn, .reader_uid = caller.uid};
  read.seen = sight.jobs();
  if (q.job() != 0 && job == nullptr) read.job = JobId(q.job());  // whose it was the store knows
  read.events = {JobId(q.job()),
                 q.node(),
                 q.of_no_job(),
                 {q.since_us()},
                 q.until_us() == 0 ? base::Time::never() : base::Time{q.until_us()},
                 q.last() == 0 ? kUsual : q.last(),
                 kTextBytes};
  if (q.job() != 0 && !core.jobs.contains(JobId(q.job())))
    read.if_no_events = {ErrorCode::kNotFound, "there are no events of job " + read.events.job.text(),
                         "retention.events says for how long they are kept"};
  if (!q.node().empty() && core.nodes.find(q.node()) == nullptr)
    read.if_no_events = {ErrorCode::kNotFound, "there are no events of node " + base::printable(q.node()),
                         name_hint(q.node(), core.nodes.names())};
  read.reply.set_id(request.id());
  read.reply.mutable_list_events()->set_now_us(core.now.us);
  core.out.send(std::move(read));
}

void list_audit(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  constexpr uint32_t kUsual = 100;
  const wire::ListAuditRequest& q = request.list_audit();
  ReadStored read{.conn = conn, .reader_uid = caller.uid};
  if (q.has_uid()) read.audit.uid = q.uid();
  read.audit.since = {q.since_us()};
  if (q.until_us() != 0) read.audit.until = {q.until_us()};
  read.audit.most = q.last() == 0 ? kUsual : q.last();
  read.reply.set_id(request.id());
  read.reply.mutable_list_audit()->set_now_us(core.now.us);
  core.out.send(std::move(read));
}

/// What is lent follows from what all hold together.
bool is_of_all(wire::RecordFilter filter) {
  filter.clear_since_us();
  filter.clear_until_us();
  return filter.ByteSizeLong() == 0;
}

void sum_records(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  SumRecords sum{conn, request.id(), caller.uid, request.sum_records(), core.now, core.settings.cluster, {}};
  if (sum.query.lending() && (!is_of_all(sum.query.filter()) || sum.query.by_size() > 0))
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kInvalid, "what QOS lent is told of all jobs of a time together",
                            "without other conditions than from when until when"});
  const Sight sight(core, caller);
  if (sight.hidden().usage || sight.hidden().jobs) sum.seen = sight.own_jobs();
  if (sum.query.lending() && !sum.seen.all)
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kDenied, "what QOS lent tells what others used, which is private here",
                            "an administrator can say it (private: in the configuration)"});
  if (sum.query.lending()) sum.quotas = core.quotas.tree();
  core.out.send(std::move(sum));
}

void ask_store(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (request.has_list_events()) return list_events(core, conn, caller, request);
  if (request.has_list_audit()) return list_audit(core, conn, caller, request);
  if (request.has_sum_records()) return sum_records(core, conn, caller, request);
  core.out.send(ReadRecords{conn, request.id(), caller.uid, request.list_records(), core.now, core.settings.cluster,
                            Sight(core, caller).jobs()});
}

void reservation_request(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (request.has_list_reservations())
    list_reservations(core, conn, request);
  else if (request.has_create_reservation())
    create_reservation(core, conn, caller, request);
  else if (request.has_update_reservation())
    update_reservation(core, conn, caller, request);
  else
    delete_reservation(core, conn, caller, request);
}

void cluster_request(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (request.has_list_nodes())
    list_nodes(core, conn, caller, request);
  else if (request.has_update_node())
    update_node(core, conn, caller, request);
  else if (request.has_list_partitions())
    list_partitions(core, conn, request);
  else if (request.has_create_partition())
    create_partition(core, conn, caller, request);
  else if (request.has_update_partition())
    update_partition(core, conn, caller, request);
  else
    delete_partition(core, conn, caller, request);
}

void ask_about_jobs(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (request.has_list_jobs())
    list_jobs(core, conn, caller, request);
  else if (request.has_list_priorities())
    list_priorities(core, conn, caller, request);
  else if (request.has_show_job())
    show_job(core, conn, caller, request);
  else if (request.has_wait_job())
    wait_job(core, conn, caller, request);
  else
    why_job(core, conn, caller, request);
}

void job_request(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (request.has_submit())
    submit(core, conn, caller, request);
  else if (request.has_cancel())
    cancel(core, conn, caller, request);
  else if (request.has_update_job())
    update_job(core, conn, caller, request);
  else if (request.has_amend_job())
    amend_job(core, conn, caller, request);
  else if (request.has_notify_job())
    notify_job(core, conn, caller, request);
  else if (request.has_checkpointed())
    checkpointed(core, conn, caller, request);
  else if (request.has_progress())
    report_progress(core, conn, caller, request);
  else
    job_action(core, conn, caller, request);
}

void quota_request(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (request.has_list_quotas()) return list_quotas(core, conn, request);
  change_quotas(core, conn, caller, request);
}

/// What it knows of itself.
void ask_controller(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (request.has_show_figures()) return show_figures(core, conn, caller, request);
  if (request.has_show_config()) return show_config(core, conn, request);
  if (request.has_await_change()) return await_change(core, conn, request);
  ping(core, conn, request);
}

void dispatch(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  using Kind = wire::ApiRequest;
  switch (request.kind_case()) {
    case Kind::kListJobs:
    case Kind::kListPriorities:
    case Kind::kShowJob:
    case Kind::kWaitJob:
    case Kind::kWhyJob:
      return ask_about_jobs(core, conn, caller, request);
    case Kind::kSubmit:
    case Kind::kCancel:
    case Kind::kUpdateJob:
    case Kind::kJobAction:
    case Kind::kAmendJob:
    case Kind::kNotifyJob:
    case Kind::kCheckpointed:
    case Kind::kProgress:
      return job_request(core, conn, caller, request);
    case Kind::kListNodes:
    case Kind::kUpdateNode:
    case Kind::kListPartitions:
    case Kind::kCreatePartition:
    case Kind::kUpdatePartition:
    case Kind::kDeletePartition:
      return cluster_request(core, conn, caller, request);
    case Kind::kListReservations:
    case Kind::kCreateReservation:
    case Kind::kUpdateReservation:
    case Kind::kDeleteReservation:
      return reservation_request(core, conn, caller, request);
    case Kind::kChangeQuotas:
    case Kind::kListQuotas:
      return quota_request(core, conn, caller, request);
    case Kind::kShowShares:
    case Kind::kExplainQuota:
    case Kind::kListOffers:
      return ask_scheduler(core, conn, caller, request);
    case Kind::kCreateStep:
    case Kind::kTicket:
    case Kind::kListSteps:
    case Kind::kSignalStep:
    case Kind::kEndAllocation:
    case Kind::kStepUsage:
      return step_request(core, conn, caller, request);
    case Kind::kListHeldAside:
    case Kind::kDeleteHeldAside:
      return held_request(core, conn, caller, request);
    case Kind::kListAudit:
    case Kind::kListEvents:
    case Kind::kListRecords:
    case Kind::kSumRecords:
      return ask_store(core, conn, caller, request);
    case Kind::kShowFigures:
    case Kind::kShowConfig:
    case Kind::kAwaitChange:
    case Kind::kPing:
      return ask_controller(core, conn, caller, request);
    case Kind::kReconfigure:
    case Kind::kBackup:
    case Kind::kTakeSnapshot:
    case Kind::kSetLogLevel:
      return ask_shell(core, conn, caller, request);
    case Kind::kMakeToken:
    case Kind::kListTokens:
    case Kind::kRevokeTokens:
    case Kind::kActFor:
      return token_request(core, conn, caller, request);
    case Kind::KIND_NOT_SET:;
  }
}

/// The one job that a request to change something is about; 0: several, or none.
uint32_t job_of(const wire::ApiRequest& request) {
  switch (request.kind_case()) {
    case wire::ApiRequest::kAmendJob:
      return request.amend_job().id();
    case wire::ApiRequest::kNotifyJob:
      return request.notify_job().id();
    case wire::ApiRequest::kCheckpointed:
      return request.checkpointed().job_id();
    case wire::ApiRequest::kProgress:
      return request.progress().job_id();
    case wire::ApiRequest::kCreateStep:
      return request.create_step().job_id();
    case wire::ApiRequest::kTicket:
      return request.ticket().job_id();
    case wire::ApiRequest::kSignalStep:
      return request.signal_step().job_id();
    case wire::ApiRequest::kEndAllocation:
      return request.end_allocation().job_id();
    case wire::ApiRequest::kShowJob:
      return request.show_job().script() || request.show_job().environment() ? request.show_job().id() : 0;
    default:
      return 0;
  }
}

/// What was denied since the outbox held `before` messages, in one line: the first words, and of how many things.
void audit_denied(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request, size_t before) {
  constexpr size_t kTextBytes = 500;
  constexpr uint32_t kMostInAnHour = 200;
  if (request.has_act_for() && caller.uid == core.settings.web_uid) return;  // anybody may show gwebd anything
  size_t count = 0;
  std::string first;
  // Of a job that is hidden the answer says that there is none: here it is what it was.
  const bool are_hidden = core.settings.private_data.jobs && !is_admin(core.settings, caller);
  const auto look_at = [&](const wire::Error& error, uint32_t job) {
    const auto code = static_cast<base::ErrorCode>(error.code());
    const bool is_hidden = are_hidden && code == base::ErrorCode::kNotFound && core.jobs.contains(JobId(job));
    if (code != base::ErrorCode::kDenied && !is_hidden) return;
    if (count++ > 0) return;
    first = is_hidden ? fmt::format("job {} is somebody else's", job) : base::printable(error.what(), kTextBytes);
  };
  const std::vector<Outgoing>& out = core.out.messages();
  for (size_t i = before; i < out.size(); ++i) {
    const Reply* reply = std::get_if<Reply>(&out[i]);
    if (reply == nullptr || reply->conn != conn) continue;
    if (reply->reply.has_error()) look_at(reply->reply.error(), job_of(request));
    for (const wire::JobFault& fault : reply->reply.cancel().faults()) look_at(fault.error(), fault.id());
    for (const wire::JobFault& fault : reply->reply.jobs().faults()) look_at(fault.error(), fault.id());
  }
  if (count == 0) return;
  // Whoever tries on and on fills no disk.
  const MailRate::Answer answer = core.clients.refusal_rate.take(core.now, caller.uid, kMostInAnHour);
  if (answer == MailRate::Answer::kDrop) return;
  const std::string text = count == 1 ? first : fmt::format("{} (and {} more)", first, count - 1);
  core.out.audit(std::string(wire::row_of(request.kind_case()).name), "",
                 answer == MailRate::Answer::kSend ? text : text + "; what else is refused is not written down for now",
                 caller.uid, /*is_refusal=*/true);
}

void answer_request(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

}  // namespace

void on_request(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const size_t before = core.out.messages().size();
  answer_request(core, conn, caller, request);
  audit_denied(core, conn, caller, request, before);
}

namespace {

void answer_request(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::RequestRow& row = wire::row_of(request.kind_case());
  const bool is_changing = row.effect == wire::Effect::kChanges && !request.client_id().empty();
  if (const base::Duration wait = wait_of(core, caller, request, is_changing); wait.us > 0)
    return refuse_for_now(core, conn, request.id(), wait);
  if (row.grant == Grant::kNobody)
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kProtocol, "the controller does not know this kind of request",
                            "the command may be newer than the controller"});
  if (const Status allowed = check_token(core, caller, request); !allowed)
    return core.out.refuse(conn, request.id(), allowed.error());
  const Role role = is_admin(core.settings, caller) ? Role::kAdmin : Role::kOther;
  // What concerns single jobs is asked again for each of them.
  if (!is_allowed(row.grant, role) && row.grant != Grant::kOwnJobs)
    return core.out.refuse(conn, request.id(), {base::ErrorCode::kDenied, "permission denied", denial(row.grant)});
  if (is_changing && answer_again(core, conn, caller, request)) return;
  if (!core.stored.fault.empty() && row.while_unwritable == wire::WhileUnwritable::kStopsRuns)
    return cancel_unwritten(core, conn, caller, request);
  if (!core.stored.fault.empty() && row.while_unwritable == wire::WhileUnwritable::kRefused)
    return refuse_for_store(core, conn, request.id());
  dispatch(core, conn, caller, request);
}

}  // namespace

}  // namespace gw::ctld
