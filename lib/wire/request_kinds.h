// Every kind of request, described once: who may ask it, whether it changes something, when its answer comes, and what
// becomes of it while the controller cannot write its state. Client and controller read the same rows.
// Invariant: a kind without a row does not compile (request_kinds.cc); a row's name is that of its field in api.proto.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "wire/api.pb.h"

namespace gw::wire {

/// Who may ask.
enum class Grant : uint8_t {
  kNobody = 0,
  kEverybody,  ///< Any authenticated user. What depends on the object of the request its handler asks.
  kOwnJobs,    ///< The owner of the job, operators of its QOS, and administrators; asked for each job.
  kAdmins,     ///< Administrators only.
};

/// What a request does to the controller's state.
enum class Effect : uint8_t {
  kReads,
  kChanges,      ///< Carried out once for each client_id; whoever asks again gets the first answer.
  kChangesByKey  ///< Likewise, but told by a key of its own: asked again it gives the same step.
};

/// When the answer comes.
enum class Answer : uint8_t {
  kAtOnce,
  kWhenItIsSo  ///< When what was asked for has come about, which may take days: no time-out of the client's counts.
};

/// What becomes of a request while the controller cannot write its state.
enum class WhileUnwritable : uint8_t {
  kRefused,
  kStopsRuns,  ///< Jobs that run are told to end; the rest is refused (docs/adr/0006).
  kAnswered    ///< It shows nothing that a crash could take back.
};

struct RequestRow {
  ApiRequest::KindCase kind = ApiRequest::KIND_NOT_SET;
  std::string_view name;
  Grant grant = Grant::kNobody;
  Effect effect = Effect::kReads;
  Answer answer = Answer::kAtOnce;
  WhileUnwritable while_unwritable = WhileUnwritable::kRefused;
};

namespace rows {

using Kind = ApiRequest;
using enum Grant;
using enum Effect;

inline constexpr std::array kAll = std::to_array<RequestRow>({
    // Partition, QOS and the rules for root the handler asks.
    {Kind::kSubmit, "submit", kEverybody, kChanges},
    {Kind::kListJobs, "list_jobs", kEverybody},
    {Kind::kShowJob, "show_job", kEverybody},                             // scripts and environments only of one's own
    {Kind::kWhyJob, "why_job", kEverybody, kReads, Answer::kWhenItIsSo},  // changes are tried of one's own
    {Kind::kWaitJob, "wait_job", kEverybody, kReads, Answer::kWhenItIsSo},
    {Kind::kCancel, "cancel", kOwnJobs, kChanges, Answer::kAtOnce, WhileUnwritable::kStopsRuns},
    {Kind::kUpdateJob, "update_job", kOwnJobs, kChanges},
    {Kind::kJobAction, "job_action", kOwnJobs, kChanges},
    {Kind::kAmendJob, "amend_job", kOwnJobs, kChanges},
    {Kind::kNotifyJob, "notify_job", kOwnJobs},
    {Kind::kCheckpointed, "checkpointed", kOwnJobs, kChanges},
    {Kind::kProgress, "progress", kOwnJobs, kChanges},
    {Kind::kListPriorities, "list_priorities", kEverybody},

    // Who may only watch a step, and who begins one, the handlers ask.
    {Kind::kCreateStep, "create_step", kOwnJobs, kChangesByKey, Answer::kWhenItIsSo},
    {Kind::kTicket, "ticket", kOwnJobs},
    {Kind::kListSteps, "list_steps", kEverybody},
    {Kind::kSignalStep, "signal_step", kOwnJobs, kChanges},
    {Kind::kEndAllocation, "end_allocation", kOwnJobs, kChanges},
    {Kind::kStepUsage, "step_usage", kOwnJobs},

    {Kind::kListNodes, "list_nodes", kEverybody},
    {Kind::kUpdateNode, "update_node", kAdmins, kChanges},
    {Kind::kListPartitions, "list_partitions", kEverybody},
    {Kind::kCreatePartition, "create_partition", kAdmins, kChanges},
    {Kind::kUpdatePartition, "update_partition", kAdmins, kChanges},
    {Kind::kDeletePartition, "delete_partition", kAdmins, kChanges},
    {Kind::kListReservations, "list_reservations", kEverybody},
    {Kind::kCreateReservation, "create_reservation", kAdmins, kChanges},
    {Kind::kUpdateReservation, "update_reservation", kAdmins, kChanges},
    {Kind::kDeleteReservation, "delete_reservation", kAdmins, kChanges},

    // Operators may change what is below their QOS: asked for each change.
    {Kind::kChangeQuotas, "change_quotas", kEverybody, kChanges},
    {Kind::kListQuotas, "list_quotas", kEverybody},
    {Kind::kShowShares, "show_shares", kEverybody},
    {Kind::kExplainQuota, "explain_quota", kEverybody},
    {Kind::kListOffers, "list_offers", kEverybody},  // of QOS and partitions that one may use

    {Kind::kPing, "ping", kEverybody, kReads, Answer::kAtOnce, WhileUnwritable::kAnswered},
    // It tells no more than the counts of a ping.
    {Kind::kAwaitChange, "await_change", kEverybody, kReads, Answer::kWhenItIsSo},
    {Kind::kShowConfig, "show_config", kEverybody},
    {Kind::kReconfigure, "reconfigure", kAdmins, kChanges},
    {Kind::kBackup, "backup", kAdmins, kReads, Answer::kWhenItIsSo},
    {Kind::kTakeSnapshot, "take_snapshot", kAdmins, kReads, Answer::kWhenItIsSo},
    {Kind::kListHeldAside, "list_held_aside", kEverybody},
    {Kind::kDeleteHeldAside, "delete_held_aside", kAdmins, kChanges},
    {Kind::kListAudit, "list_audit", kAdmins},
    {Kind::kSetLogLevel, "set_log_level", kAdmins, kChanges},
    // One's own; those of others administrators may list and revoke: asked for each.
    {Kind::kMakeToken, "make_token", kEverybody, kChanges},
    {Kind::kListTokens, "list_tokens", kEverybody},
    {Kind::kRevokeTokens, "revoke_tokens", kEverybody, kChanges},
    {Kind::kActFor, "act_for", kEverybody},  // gwebd alone: the handler asks
    // What they tell of is in lists that everybody may ask for, job by job and node by node.
    {Kind::kListEvents, "list_events", kEverybody},
    {Kind::kListRecords, "list_records", kEverybody},
    {Kind::kSumRecords, "sum_records", kEverybody},
    {Kind::kShowFigures, "show_figures", kEverybody},  // to begin anew is for administrators
});
inline constexpr RequestRow kNone;

}  // namespace rows

/// The row of a kind; KIND_NOT_SET has one that nobody may ask.
constexpr const RequestRow& row_of(ApiRequest::KindCase kind) {
  for (const RequestRow& row : rows::kAll)
    if (row.kind == kind) return row;
  return rows::kNone;
}

/// May a program ask it that acts for a user by a token? Neither what administrators alone do, nor what would give the
/// program more, or for longer, than the token does.
constexpr bool is_open_to_tokens(ApiRequest::KindCase kind) {
  using Kind = ApiRequest;
  constexpr Kind::KindCase kOpen[] = {
      Kind::kSubmit,           Kind::kListJobs,       Kind::kShowJob,    Kind::kWhyJob,       Kind::kCancel,
      Kind::kJobAction,        Kind::kListPriorities, Kind::kListSteps,  Kind::kListNodes,    Kind::kListPartitions,
      Kind::kListReservations, Kind::kListQuotas,     Kind::kShowShares, Kind::kExplainQuota, Kind::kPing,
      Kind::kListEvents,       Kind::kListRecords,    Kind::kSumRecords};
  for (const Kind::KindCase open : kOpen)
    if (open == kind) return true;
  return false;
}
/// The same of this very request: of what is done to jobs holding, releasing and queueing again.
inline bool is_open_to_tokens(const ApiRequest& request) {
  const JobAction action = request.job_action().action();
  const bool is_open = action == kUserHold || action == kRelease || action == kRequeue;
  return is_open_to_tokens(request.kind_case()) && (!request.has_job_action() || is_open);
}

/// Does its answer come when it is so, not at once? A submission that is only tested waits for the scheduler.
inline bool waits(const ApiRequest& request) {
  return row_of(request.kind_case()).answer == Answer::kWhenItIsSo || request.submit().test_only();
}

/// Does this very request change something? A trial run of one that could does not.
inline bool is_change(const ApiRequest& request) {
  const bool is_trial = request.submit().test_only() || request.change_quotas().dry_run();
  return row_of(request.kind_case()).effect == Effect::kChanges && !is_trial;
}

}  // namespace gw::wire
