// The controller's core: one deterministic state machine. Everything that happens is an on_x() call with the time in
// it, and each is one transaction over the tables (core.h): a machine changes them, what follows from that is settled
// (settle.h), and what should be done about it is fetched as Effects (commit.h). Invariants: no clock, socket, thread,
// file or randomness; same calls, same effects. A job's change of state and the rows that record it are in the same
// Effects. Every resource that a job holds is in the ledger, and nothing else is.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ctld/core/api/metrics.h"
#include "ctld/core/authorize.h"
#include "ctld/core/commit.h"
#include "ctld/core/core.h"
#include "ctld/core/effects.h"
#include "ctld/core/shared/private_replies.h"
#include "sched/cycle/plan.h"

namespace gw::ctld {

class Controller {
 public:
  Controller(Settings settings, Time now);
  /// The clock that leases count by; to be told before each of the calls below, since they are counted by nothing else.
  void set_lease_clock(base::BootTime now) { core_.watch.leases.turn(now); }
  /// Takes over what the store holds; to be called once, before anything else. Rows that cannot be read are held aside.
  /// Error: what the others say does not add up.
  base::Status restore(const store::Snapshot& snapshot, Time now);

  void on_request(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request);
  void on_client_gone(Time now, ConnId conn);
  /// A piece of the list that this request asked for was written to the client: the next one is wanted.
  void on_piece_taken(Time now, ConnId conn, uint64_t request_id);
  void on_node_message(Time now, LinkId link, const NodePeer& peer, const wire::NodeToController& message);
  void on_node_gone(Time now, LinkId link, const std::string& reason);
  void on_plan(Time now, const sched::Plan& plan);
  /// For what the shell has measured or foreseen beside plans: it is shown, and decides nothing.
  Planning& planning() { return core_.planning; }
  /// For what is sent to clients.
  Privacy privacy() const { return Privacy(core_); }
  /// The controller is about to end: what is kept from time to time alone is kept now.
  void on_stop(Time now);
  /// Whoever came by `heard_until` and may be a node has been heard; without it, all until now. A node that is away is
  /// given up only when that is so of its deadline.
  void on_tick(Time now, std::optional<Time> heard_until = {});
  /// Links that on_tick(now) would give up for their silence. What waits unread on one is a sign of life: on_heard().
  std::vector<LinkId> silent_links(Time now);
  void on_heard(Time now, LinkId link);
  /// Some who may have been nodes were turned away for want of room: they need time to come again.
  void on_turned_away(Time at) { core_.watch.turned_away = std::max(core_.watch.turned_away, at); }
  /// Some node may be given up because it has not come back.
  bool looks_for_absent(Time now) const;
  /// The shell could not send the order to prepare a run. `is_final`: no retry can mend it (too long for a message, the
  /// script is gone), so the job fails; else it is queued again with back-off. The node is not at fault.
  void on_prepare_unsent(Time now, JobId id, uint32_t attempt, const std::string& why, bool is_final);
  /// New settings are in force (nodes, partitions, limits). `reply_to` gets the changes.
  void on_reconfigured(Time now, Settings settings, const Reload& reply_to, const std::vector<std::string>& changes,
                       const std::vector<std::string>& warnings);
  /// A request that the shell carried out came to an end.
  void on_shell_reply(ConnId conn, wire::ApiReply reply);
  /// The row that a FetchEnded effect has asked for.
  void on_ended_job(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request,
                    const store::JobRow& row);
  /// `since` is that of the Fence effect: a result from before the node came back proves nothing now.
  void on_fenced(Time now, const std::string& node, Time since, bool is_dead, const std::string& detail);
  void on_program_ended(Time now, JobId job, uint32_t attempt, model::JobProgram program, const ProgramEnd& end);
  /// The store cannot be written (`why` says so), or can again (empty). Changes are refused meanwhile.
  void on_store_state(const std::string& why);

  /// With all that is to be written.
  Effects take_effects() { return ctld::take_effects(core_); }
  /// Without the rows that take_coalesced_rows() gives. They are owed to the group of writes that these effects are in.
  Effects take_effects_early() { return ctld::take_effects_early(core_); }
  bool has_coalesced_rows() const { return ctld::has_coalesced_rows(core_); }
  /// Rows that one node after another changes: as they are now, each once, however often they changed.
  store::Batch take_coalesced_rows() { return ctld::take_coalesced_rows(core_); }

  const std::map<JobId, model::Job>& jobs() const { return core_.jobs.all(); }
  /// What arrays are beside their jobs.
  const ArrayTable& arrays() const { return core_.jobs.arrays(); }
  /// Lists that are under way, answers that are kept.
  const Clients& clients() const { return core_.clients; }
  const std::map<NodeId, model::Node>& nodes() const { return core_.nodes.all(); }
  /// Those of its nodes, for who receives their messages.
  wire::Topologies& topologies() { return core_.nodes.topologies(); }
  const sched::Capacity& ledger() const { return core_.ledger.capacity(); }
  /// Their next() is when on_tick() is wanted next.
  const Timers& timers() const { return core_.timers; }
  /// Figures for monitoring; costs a look at every node, and at no job but those of completing nodes.
  Metrics metrics(Time now);
  const std::map<uint32_t, sched::Used>& use_of_users() const { return core_.usage.users(); }
  /// For tests: do the tables agree with each other (audit.h)?
  base::Status audit() const;
  /// The durable state in canonical bytes: a core rebuilt from the store gives the same as the live one.
  std::string fingerprint() const;

 private:
  Core core_;

  /// One transaction: what `change` does to the tables, and what follows from that.
  template <typename Change>
  void transact(Time now, const Change& change);
};

}  // namespace gw::ctld
