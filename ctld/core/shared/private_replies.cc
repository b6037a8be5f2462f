// See private_replies.h.
#include "ctld/core/shared/private_replies.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/counted.h"
#include "base/text.h"
#include "ctld/core/names.h"
#include "ctld/core/shared/sight.h"
#include "model/outlook.h"
#include "wire/blockers.h"
#include "wire/convert.h"

namespace gw::ctld {
namespace {

using google::protobuf::RepeatedField;
using google::protobuf::RepeatedPtrField;
using Kind = wire::ApiReply;

/// Those that `is_seen` says no of go; how many.
template <typename T>
uint32_t leave_out(RepeatedPtrField<T>& all, const auto& is_seen) {
  const auto end = std::remove_if(all.begin(), all.end(), [&](const T& one) { return !is_seen(one); });
  const auto gone = static_cast<int>(all.end() - end);
  all.DeleteSubrange(all.size() - gone, gone);
  return static_cast<uint32_t>(gone);
}
uint32_t leave_out_jobs(const Sight& sight, RepeatedField<uint32_t>& ids) {
  const auto end = std::remove_if(ids.begin(), ids.end(), [&](uint32_t id) { return !sight.sees_job(id); });
  const auto gone = ids.end() - end;
  ids.Truncate(ids.size() - static_cast<int>(gone));
  return static_cast<uint32_t>(gone);
}

/// A list of users: a list that became empty would mean everybody.
void hide_names(const Sight& sight, RepeatedPtrField<std::string>& names) {
  const uint32_t gone = leave_out(names, [&](const std::string& name) { return sight.sees_user(name); });
  if (gone > 0) names.Add(fmt::format("{} of others", base::counted(gone, "name")));
}

void hide(const Sight& sight, wire::Blocker& b) {
  const auto kind = static_cast<model::BlockerKind>(b.kind());
  const bool rules_a_node_out = b.nodes() > 0;
  // Of these it is the number of a job; else it is words.
  if (b.scope() == static_cast<uint32_t>(model::BlockerScope::kQos) || kind == model::BlockerKind::kStrictOrder) {
    if (const auto id = base::parse_int(b.held_by(), 0, UINT32_MAX, "job"); id && !sight.sees_job(uint32_t(*id)))
      b.set_held_by(std::string(kHiddenJob));
  } else if (rules_a_node_out && sight.hidden().nodes) {
    b.clear_held_by();  // "drained: disk of n7"
  } else {
    b.set_held_by(sight.without_names(b.held_by()));
  }
}

void hide(const Sight& sight, RepeatedPtrField<wire::Blocker>& blockers) {
  for (wire::Blocker& b : blockers) hide(sight, b);
}

void hide(const Sight& sight, wire::Outcome& outcome) {
  if (outcome.preempted_for() != 0 && !sight.sees_job(outcome.preempted_for())) outcome.clear_preempted_for();
  if (outcome.reason() == static_cast<uint32_t>(model::EndReason::kCancelledByUser) &&
      !sight.sees_uid(outcome.cancelled_by()))
    outcome.set_cancelled_by(UINT32_MAX);
  outcome.set_detail(sight.without_names(outcome.detail()));
}

void hide(const Sight& sight, wire::Suspension& s) {
  if (s.for_job() != 0 && !sight.sees_job(s.for_job())) s.set_for_job(UINT32_MAX);
  if (!sight.sees_user(s.who())) s.set_who("somebody else");
  s.set_detail(sight.without_names(s.detail()));
}

/// Of a job that the caller may see: what it tells of others.
void hide(const Sight& sight, wire::JobStatus& status) {
  status.set_last_failure(sight.without_names(status.last_failure()));
  if (status.has_waiting()) {
    wire::Waiting& waiting = *status.mutable_waiting();
    hide(sight, *waiting.mutable_blockers());
    waiting.set_detail(waiting.blockers().empty() ? sight.without_names(waiting.detail())
                                                  : model::words(wire::blockers_from(waiting.blockers())));
  } else if (status.has_placed()) {
    wire::Placed& placed = *status.mutable_placed();
    if (placed.has_outcome()) hide(sight, *placed.mutable_outcome());
    if (placed.has_suspension()) hide(sight, *placed.mutable_suspension());
  } else if (status.has_ended() && status.ended().has_outcome()) {
    hide(sight, *status.mutable_ended()->mutable_outcome());
  }
}

bool is_seen(const Sight& sight, const wire::JobSpec& spec) { return sight.jobs().has(spec.uid(), spec.qos()); }

void hide(const Sight& sight, wire::Outlook& outlook) {
  outlook.set_victims_more(outlook.victims_more() + leave_out_jobs(sight, *outlook.mutable_victims()));
  outlook.set_waits_for_more(outlook.waits_for_more() + leave_out_jobs(sight, *outlook.mutable_waits_for()));
  hide(sight, *outlook.mutable_blockers());
  if (sight.hidden().nodes) outlook.clear_nodes();  // which are free
}

/// `owner`: of the job that they are about, whom its readers know; else nobody.
void hide(const Sight& sight, RepeatedPtrField<wire::HistoryEvent>& events, uint32_t owner = UINT32_MAX) {
  for (wire::HistoryEvent& event : events) {
    const bool is_by_owner = event.has_uid() && event.uid() == owner;
    // What others ask for is theirs, as is what they use.
    if (event.kind() == model::kByQuotas &&
        (sight.hidden().usage || sight.hidden().users || sight.without_jobs(event.text()) != event.text()))
      event.set_text("the figures are private");
    event.set_text(is_by_owner ? sight.without_jobs(event.text()) : sight.without_names(event.text()));
    // Where others are to leave, or could be moved to. Where the job itself was it may know.
    if (event.kind() == "would move" || event.kind() == "nominated") event.set_text(sight.without_nodes(event.text()));
    if (event.has_uid() && !is_by_owner && !sight.sees_uid(event.uid())) event.clear_uid();
  }
}

void hide_in(const Sight& sight, wire::ListJobsReply& list) {
  leave_out(*list.mutable_jobs(), [&](const wire::Job& job) { return is_seen(sight, job.spec()); });
  for (wire::Job& job : *list.mutable_jobs()) hide(sight, *job.mutable_status());
}

/// An answer about one job, which the handler would have refused were it not the caller's to see.
template <typename Answer>
bool hide_in(const Sight& sight, Answer& answer) {
  if (!is_seen(sight, answer.job().spec())) return false;
  hide(sight, *answer.mutable_job()->mutable_status());
  return true;
}

void hide_rest(const Sight& sight, wire::WhyJobReply& why) {
  hide(sight, *why.mutable_outlook());
  const uint32_t gone =
      leave_out(*why.mutable_ahead(), [&](const wire::JobAhead& job) { return sight.sees_job(job.id()); });
  why.set_more_ahead(why.more_ahead() + gone);
  for (wire::JobOffer& offer : *why.mutable_offers()) hide(sight, *offer.mutable_outlook());
  for (wire::QuotaHolder& holder : *why.mutable_quota_holders()) holder.set_why(sight.without_jobs(holder.why()));
  // Who borrows is what others use; how much is missing on the way up is the job's own business.
  leave_out(*why.mutable_quota_holders(), [&](const wire::QuotaHolder& h) { return sight.sees_use_of(h.name()); });
}

/// Administrators write into them what they like: whoever may not see jobs or users is told that there is one.
void hide_reasons(const Sight& sight, wire::Node& node) {
  if (!sight.hidden().jobs && !sight.hidden().users) return;
  constexpr std::string_view kPrivate = "private";
  if (!node.reason().empty()) node.set_reason(std::string(kPrivate));
  for (auto& [gpu, reason] : *node.mutable_offline_gpus()) reason = kPrivate;
  node.set_warning(sight.without_names(node.warning()));
  if (!sight.sees_user(node.reason_user())) {
    node.clear_reason_user();
    node.clear_reason_uid();
  }
}

void hide_in(const Sight& sight, wire::ListNodesReply& list) {
  // Of jobs the handlers count, who know whether the question was about somebody; nodes that were named are refused.
  if (const uint32_t gone =
          leave_out(*list.mutable_nodes(), [&](const wire::Node& node) { return sight.sees_node(node.name()); });
      gone > 0)
    list.add_hidden(gone);
  for (wire::Node& node : *list.mutable_nodes()) {
    node.set_hidden_jobs(leave_out_jobs(sight, *node.mutable_jobs()));
    auto& by_gpu = *node.mutable_gpu_jobs();
    for (auto it = by_gpu.begin(); it != by_gpu.end();)
      it = sight.sees_job(it->second) ? std::next(it) : by_gpu.erase(it);
    if (sight.hidden().jobs) node.clear_foreign_runs();
    hide_reasons(sight, node);
  }
}

void hide_in(const Sight& sight, wire::ListPartitionsReply& list) {
  for (wire::Partition& p : *list.mutable_partitions()) {
    if (sight.hidden().nodes)
      leave_out(*p.mutable_nodes(), [&](const std::string& name) { return sight.sees_node(name); });
    hide_names(sight, *p.mutable_allow_users());
    hide_names(sight, *p.mutable_deny_users());
    for (wire::KeyOrigin& origin : *p.mutable_origins()) {
      if (origin.by().empty() || sight.sees_user(origin.by())) continue;
      origin.set_by("somebody else");
      origin.clear_by_uid();
    }
  }
}

void hide_in(const Sight& sight, wire::ListReservationsReply& list) {
  for (wire::Reservation& r : *list.mutable_reservations()) {
    if (sight.hidden().nodes)
      leave_out(*r.mutable_nodes(), [&](const std::string& name) { return sight.sees_node(name); });
    r.set_hidden_jobs(leave_out_jobs(sight, *r.mutable_jobs()));
    hide_names(sight, *r.mutable_users());
    if (!sight.sees_user(r.creator())) r.clear_creator();
  }
}

void hide(const Sight& sight, RepeatedPtrField<wire::Qos>& all) {
  for (wire::Qos& qos : all) {
    hide_names(sight, *qos.mutable_users());
    hide_names(sight, *qos.mutable_operators());
  }
}

void hide_in(const Sight& sight, wire::ListQuotasReply& list) {
  hide(sight, *list.mutable_qos());
  list.set_hidden(
      leave_out(*list.mutable_users(), [&](const wire::QuotaUser& u) { return sight.sees_user(u.name()); }));
  const model::PrivateData& hidden = sight.hidden();
  leave_out(*list.mutable_budgets(), [&](const wire::BudgetUse& use) {
    return use.is_user() ? sight.is_self(use.name()) || !(hidden.usage || hidden.users) : sight.sees_use_of(use.name());
  });
  leave_out(*list.mutable_past(), [&](const wire::PastUse& use) {
    return use.qos().empty() ? sight.is_self(use.uid()) || !(hidden.usage || hidden.users)
                             : sight.sees_use_of(use.qos());
  });
}

void hide_in(const Sight& sight, wire::ShowSharesReply& shares) {
  // Who names a job must not learn from a count that it is there.
  leave_out(*shares.mutable_labels(), [&](const wire::JobLabel& label) { return sight.sees_job(label.job_id()); });
  shares.set_hidden(
      leave_out(*shares.mutable_qos(), [&](const wire::QosShare& qos) { return sight.sees_use_of(qos.name()); }));
  leave_out(*shares.mutable_loans(), [&](const wire::QuotaLoan& loan) {
    return sight.sees_use_of(loan.from()) && sight.sees_use_of(loan.to());
  });
}

/// "job 7: 4 gpu, borrowed at a": a line for each job that could be taken; how many more there are is not told, since
/// the question names a QOS, which may be one person's.
void hide_in(const Sight& sight, wire::ExplainQuotaReply& told) {
  leave_out(*told.mutable_lines(),
            [&](const std::string& line) { return !line.starts_with("job ") || sight.without_jobs(line) == line; });
  for (std::string& line : *told.mutable_lines()) line = sight.without_jobs(line);
}

void hide_in(const Sight& sight, wire::SubmitReply& told) {
  if (!told.has_outlook()) return;
  hide(sight, *told.mutable_outlook());
  if (static_cast<model::When>(told.outlook().when()) == model::When::kNow) {
    told.set_test_verdict(sight.without_nodes(told.test_verdict()));
  } else if (!told.outlook().blockers().empty()) {
    told.set_test_verdict(model::words(wire::blockers_from(told.outlook().blockers())));
  }
  if (!sight.hidden().nodes) return;
  for (wire::TestedStart& start : *told.mutable_test_starts()) start.clear_nodes();
}

void hide_in(const Sight& sight, wire::ShowConfigReply& config) {
  constexpr std::string_view kUsers[] = {"admins", ".allow_users", ".deny_users", ".users", ".operators"};
  for (wire::ConfigEntry& entry : *config.mutable_entries()) {
    const std::string_view key = entry.key();
    const bool is_of_users =
        std::any_of(std::begin(kUsers), std::end(kUsers), [&](auto k) { return key.ends_with(k); });
    const bool is_of_nodes = key.starts_with("network.") || key.ends_with(".nodes");
    if ((is_of_users && sight.hidden().users) || (is_of_nodes && sight.hidden().nodes)) entry.set_value("(private)");
  }
  if (sight.hidden().nodes)
    leave_out(*config.mutable_entries(),
              [](const wire::ConfigEntry& entry) { return !entry.key().starts_with("nodes."); });
  hide(sight, *config.mutable_qos());
}

void hide_in(const Sight& sight, wire::ListRecordsReply& list) {
  leave_out(*list.mutable_records(), [&](const wire::JobRecord& r) { return is_seen(sight, r.spec()); });
  for (wire::JobRecord& record : *list.mutable_records()) {
    hide(sight, *record.mutable_status());
    for (wire::PastRun& run : *record.mutable_runs())
      if (run.has_outcome()) hide(sight, *run.mutable_outcome());
  }
}

/// Answers of whole things, which were the caller's to see or are refused.
bool hide_in_answer(const Sight& sight, wire::ApiReply& reply) {
  switch (reply.kind_case()) {
    case Kind::kShowJob:
      hide(sight, *reply.mutable_show_job()->mutable_history(), reply.show_job().job().spec().uid());
      return hide_in(sight, *reply.mutable_show_job());
    case Kind::kWaitJob:
      return hide_in(sight, *reply.mutable_wait_job());
    case Kind::kWhyJob:
      hide_rest(sight, *reply.mutable_why_job());
      return hide_in(sight, *reply.mutable_why_job());
    case Kind::kListEvents:
      leave_out(*reply.mutable_list_events()->mutable_events(),
                [&](const wire::HistoryEvent& event) { return event.job() != 0; });
      hide(sight, *reply.mutable_list_events()->mutable_events());
      return true;
    default:
      return true;
  }
}

void hide_in_list(const Sight& sight, wire::ApiReply& reply) {
  switch (reply.kind_case()) {
    case Kind::kListJobs:
      return hide_in(sight, *reply.mutable_list_jobs());
    case Kind::kListNodes:
      return hide_in(sight, *reply.mutable_list_nodes());
    case Kind::kListPartitions:
      return hide_in(sight, *reply.mutable_list_partitions());
    case Kind::kListReservations:
      return hide_in(sight, *reply.mutable_list_reservations());
    case Kind::kListPriorities: {
      wire::ListPrioritiesReply& list = *reply.mutable_list_priorities();
      const auto is_own = [&](const wire::JobPriority& job) { return sight.jobs().has(job.uid(), job.qos()); };
      leave_out(*list.mutable_jobs(), is_own);
      return;
    }
    case Kind::kListSteps: {
      const auto is_own = [&](const wire::Step& step) { return sight.sees_job(step.job()); };
      leave_out(*reply.mutable_list_steps()->mutable_steps(), is_own);
      return;
    }
    case Kind::kListRecords:
      return hide_in(sight, *reply.mutable_list_records());
    default:
      return;
  }
}

void hide_in_figures(const Sight& sight, wire::ApiReply& reply) {
  const auto is_own = [&](const auto& figures) {
    return sight.is_self(figures.uid()) || !(sight.hidden().users || sight.hidden().usage);
  };
  switch (reply.kind_case()) {
    case Kind::kListQuotas:
      return hide_in(sight, *reply.mutable_list_quotas());
    case Kind::kShowShares:
      return hide_in(sight, *reply.mutable_show_shares());
    case Kind::kExplainQuota:
      return hide_in(sight, *reply.mutable_explain_quota());
    case Kind::kShowConfig:
      return hide_in(sight, *reply.mutable_show_config());
    case Kind::kShowFigures:
      leave_out(*reply.mutable_show_figures()->mutable_users(), is_own);
      leave_out(*reply.mutable_show_figures()->mutable_slowest(), is_own);
      return;
    case Kind::kSubmit:
      return hide_in(sight, *reply.mutable_submit());
    case Kind::kError: {
      wire::Error& error = *reply.mutable_error();
      // What is not found was named by the caller: with the name he learns no more than without.
      if (static_cast<base::ErrorCode>(error.code()) != base::ErrorCode::kNotFound)
        error.set_what(sight.without_nodes(error.what()));
      error.set_hint(sight.without_nodes(error.hint()));
      return;
    }
    default:
      return;
  }
}

}  // namespace

bool Privacy::hides_anything(const Caller& caller) const {
  return core_.settings.private_data.any() && !is_admin(core_.settings, caller);
}

void Privacy::keep(const Caller& caller, wire::ApiReply& reply) const {
  if (!hides_anything(caller) || reply.has_ping() || reply.has_ok()) return;
  const Sight sight(core_, caller);
  switch (reply.kind_case()) {
    case Kind::kShowJob:
    case Kind::kWaitJob:
    case Kind::kWhyJob:
    case Kind::kListEvents: {
      if (hide_in_answer(sight, reply)) return;
      const uint64_t id = reply.id();
      reply.Clear();
      reply.set_id(id);
      *reply.mutable_error() = wire::to_wire({base::ErrorCode::kNotFound, "Invalid job id specified", ""});
      return;
    }
    case Kind::kListJobs:
    case Kind::kListNodes:
    case Kind::kListPartitions:
    case Kind::kListReservations:
    case Kind::kListPriorities:
    case Kind::kListSteps:
    case Kind::kListRecords:
      return hide_in_list(sight, reply);
    case Kind::kListQuotas:
    case Kind::kShowShares:
    case Kind::kExplainQuota:
    case Kind::kShowConfig:
    case Kind::kShowFigures:
    case Kind::kSubmit:
    case Kind::kError:
      return hide_in_figures(sight, reply);
    // Of what the caller named and may do, or nothing of anybody. Sums are made of what the caller may see.
    case Kind::kOk:
    case Kind::kCancel:
    case Kind::kJobs:
    case Kind::kChangeQuotas:
    case Kind::kStep:
    case Kind::kStepUsage:
    case Kind::kSumRecords:
    case Kind::kListOffers:
    case Kind::kPing:
    case Kind::kAwaitChange:
    // Administrators' alone.
    case Kind::kReconfigure:
    case Kind::kBackup:
    case Kind::kCreateReservation:
    case Kind::kSnapshot:
    case Kind::kListHeldAside:
    case Kind::kListAudit:
    // Of one's own.
    case Kind::kListTokens:
    case Kind::kActFor:
    case Kind::KIND_NOT_SET:
      return;
  }
}

}  // namespace gw::ctld
