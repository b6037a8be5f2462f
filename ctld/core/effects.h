// What the core wants done: values that the shell carries out. Nothing here is done before the writes of the same
// Effects are durable, but for `deltas`, which only feed the scheduler.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/job.h"
#include "sched/cycle/plan.h"
#include "sched/view/view.h"
#include "store/rows.h"
#include "wire/api.pb.h"
#include "wire/node.pb.h"
#include "wire/row_bytes.h"

namespace gw::ctld {

/// A client's connection and a node's link, numbered by the shell; never used again.
using ConnId = uint64_t;
using LinkId = uint64_t;

/// Answer to a request. `at_once`: it shows nothing of the state, so it need not wait for what is being written.
struct Reply {
  ConnId conn = 0;
  wire::ApiReply reply = {};
  bool at_once = false;
  std::string bytes = {};  ///< In place of all of `reply` but its id: serialised, which takes a third of the memory.
  std::shared_ptr<const std::string> shared = {};  ///< Fields beside those of `reply`, serialised, of several answers.
};
/// The answer as its client gets it.
inline std::string serialised(Reply reply) {
  if (!reply.shared) return reply.bytes.empty() ? wire::row_bytes(reply.reply) : std::move(reply.bytes);
  std::string whole;
  whole.reserve(reply.reply.ByteSizeLong() + reply.shared->size());
  reply.reply.AppendToString(&whole);
  whole += *reply.shared;
  return whole;
}
/// The first piece of a list may be made: the client's turn has come to be answered together with others.
struct ListReady {
  ConnId conn = 0;
  uint64_t request_id = 0;
};
/// Message to a node. Where `script_hash` is set the shell puts the script into the Prepare message, and the submission
/// environment in front of what the core has put there; into StartStep the key that tickets are checked with.
/// `at_once`: as with Reply.
struct ToNode {
  LinkId link = 0;
  wire::ControllerToNode message;
  std::string script_hash, env_hash;
  bool at_once = false;
};
/// Close a node's link after what was sent has gone.
struct CloseLink {
  LinkId link = 0;
  std::string reason;
};
/// Whose jobs somebody may see: everybody's, or his own and those at some QOS (private: in the configuration).
struct SeenJobs {
  bool all = true;
  uint32_t uid = 0;
  std::set<std::string, std::less<>> qos = {};
  bool has(uint32_t owner, std::string_view at) const { return all || owner == uid || qos.contains(at); }
};

/// Answer with what only the store has; `reply` holds the rest. A `show_job` without a job in it: the shell looks among
/// the ended ones; then `reader_uid` says who may see script and environment.
struct ReadStored {
  ConnId conn = 0;
  wire::ApiReply reply = {};
  base::JobId job = {};
  store::EventFilter events = {};  ///< None are read if it asks for none.
  store::AuditFilter audit = {};   ///< Likewise.
  base::Error if_no_events =
      {};  ///< The answer to a list of events that would be empty; without words: the empty list.
  bool script = false, environment = false;
  uint32_t reader_uid = 0;
  bool reader_is_admin = false;
  SeenJobs seen = {};
  std::string bytes = {};  ///< All of `reply` when it is whole, serialised.
};
/// The row of an ended job that is in memory no more, which a request is about; answer by on_ended_job(), or an error
/// reply.
struct FetchEnded {
  ConnId conn = 0;
  base::JobId job = {};
  wire::ApiRequest request = {};
};
/// Answer with records, which the store alone has, piece by piece (list_records).
struct ReadRecords {
  ConnId conn = 0;
  uint64_t request_id = 0;
  uint32_t uid = 0;  ///< Who asks.
  wire::ListRecordsRequest query = {};
  base::Time now = {};
  std::string cluster = {};
  SeenJobs seen = {};
};
/// Answer with sums over records (sum_records).
struct SumRecords {
  ConnId conn = 0;
  uint64_t request_id = 0;
  uint32_t uid = 0;  ///< Who asks.
  wire::SumRecordsRequest query = {};
  base::Time now = {};
  std::string cluster = {};
  std::vector<model::Qos> quotas = {};  ///< Where it asks what they lent.
  SeenJobs seen = {};
};
/// Answer with a ticket for a step (auth/ticket.h), which the shell signs and puts into `reply`.
struct SignTicket {
  ConnId conn = 0;
  wire::ApiReply reply;
  uint32_t uid = 0, gid = 0, job = 0, attempt = 0, step = 0;
  uint32_t generation = 0;
  bool watch = false;      ///< May only look.
  std::string client_key;  ///< 32 bytes.
  base::Time now;
};
struct MakeBackup {
  ConnId conn = 0;
  uint64_t request_id = 0;
  std::string path;
};
/// From now on the connection is this user's, by the token that `reply` tells of; then the reply is sent.
struct ActFor {
  ConnId conn = 0;
  uint32_t uid = UINT32_MAX;
  uint32_t gid = UINT32_MAX;
  std::string token;  ///< Its id.
  wire::ApiReply reply = {};
};
/// Answer with a snapshot of the scheduler at its next pass.
struct TakeSnapshot {
  ConnId conn = 0;
  uint64_t request_id = 0;
};
/// Answer from the scheduler's view, between two passes: `request` is show_shares, explain_quota or list_offers.
struct AskScheduler {
  ConnId conn = 0;
  wire::ApiRequest request;
  /// Of the last plan, with what it keeps; for list_offers, else null.
  std::shared_ptr<const std::vector<sched::PlannedStart>> planned = {};
};
/// Answer with what the scheduler would do with a job, and would if it asked for something else: `asked[0]` is the job
/// as it is, the others are as the offers of `reply` have it, which is complete but for the outlooks. Between passes,
/// one question at a time.
struct AskOutlooks {
  ConnId conn = 0;
  uint32_t uid = 0;
  wire::ApiReply reply;
  std::vector<sched::PendingJob> asked;
  std::vector<uint32_t> series;  ///< Of each offer: of those with the same number the first that starts now is enough.
  bool wants_range = false;      ///< Of a job that is not submitted and would wait: when it probably starts.
};
/// Answer with the figures of the controller: `reply` has those of jobs; the scheduler's and those of requests are the
/// shell's.
struct ShowFigures {
  ConnId conn = 0;
  wire::ApiReply reply;
  bool do_reset = false;  ///< Then all of them begin anew.
};
/// Run the fencing program for a node; answer by on_fenced().
struct Fence {
  std::string node;
  base::Time since;
};
/// Run the controller's prolog or epilog for a job; answer by on_program_ended().
struct RunJobProgram {
  uint32_t uid = 0;  ///< Whose job it is.
  base::JobId job;
  uint32_t attempt = 0;
  model::JobProgram program = model::JobProgram::kNone;
  std::vector<std::pair<std::string, std::string>> variables = {};  ///< For its environment.
};
enum class ProgramRun : uint8_t {
  kRan,
  kNotStarted,  ///< It could not be: it is not there, say.
  kNotTaken,    ///< It was not handed on, or turned away: it may be asked for again.
  kUnknown,     ///< It was handed on, and nobody knows what became of it.
};
/// How that came out.
struct ProgramEnd {
  ProgramRun run = ProgramRun::kRan;
  int exit_code = 0;  ///< 128 + signal if it was killed.
  std::string text;   ///< The end of what it printed, or why it did not run.
};
/// Mail somebody. It is sent once at most: what goes wrong is only logged.
struct SendMail {
  uint32_t uid = 0;  ///< Whose job it is about.
  std::string to;    ///< Users and addresses with commas, as model::parse_mail_users() reads them.
  std::string subject, body;
  std::vector<std::pair<std::string, std::string>> variables = {};  ///< For the program's environment.
};
/// Read the configuration again; answer by on_reconfigured() or an error reply.
struct Reload {
  ConnId conn = 0;
  uint64_t request_id = 0;
  bool check_only = false;
  std::optional<uint32_t> uid = {};  ///< Who asked for it; none: whoever may signal the controller.
};
/// Log so much from now on: debug, info, warning or error.
struct SetLogLevel {
  std::string level;
};
/// A line for the system's log: it is in the audit, too.
struct Audited {
  std::string text;
  uint32_t uid = 0;  ///< Whose deed it is: each has a budget of lines.
};
/// A line for the log.
struct Note {
  bool is_warning = false;
  std::string text;
  bool is_in_history = false;  ///< It tells of an event that has a row: of a storm of them not all are written.
};

using Outgoing = std::variant<Reply, ListReady, ToNode, CloseLink, ReadStored, FetchEnded, ReadRecords, SumRecords,
                              SignTicket, MakeBackup, ActFor, TakeSnapshot, AskScheduler, AskOutlooks, ShowFigures,
                              Fence, RunJobProgram, SendMail, Reload, SetLogLevel, Audited, Note>;

struct Effects {
  store::Batch writes;
  std::vector<Outgoing> out;
  std::vector<sched::Delta> deltas;
  bool empty() const { return writes.empty() && out.empty() && deltas.empty(); }
};

}  // namespace gw::ctld
