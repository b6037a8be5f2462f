// The verbs of gcontrol. Each takes its words and returns an exit code.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/show/job_text.h"
#include "cmds/shared/commands.h"
#include "wire/job_attributes.h"

namespace gw::cmds {

/// Options of gcontrol.
struct ControlOptions {
  client::ShowStyle style;
  bool json = false, history = false, effective = false, quiet = false, all = false;
  uint32_t verbose = 0;
};

/// With -v the line above so many records: from when they are. Otherwise nothing.
std::string last_update(const ControlOptions& o, int64_t now_us, int records);

int control_show(const client::Program& program, const ControlOptions& o, Args words);
int control_update(const client::Program& program, const ControlOptions& o, Args words);
int control_job_action(const client::Program& program, const ControlOptions& o, wire::JobAction action, Args words);
int control_reconfigure(const client::Program& program, const ControlOptions& o, Args words);
int control_ping(const client::Program& program, const ControlOptions& o, Args words);
int control_create(const client::Program& program, const ControlOptions& o, Args words);
int control_delete(const client::Program& program, const ControlOptions& o, Args words);
int show_reservations(const client::Program& program, const ControlOptions& o, Args words);
/// The switches of the network, each with the nodes below it.
int show_topology(const client::Program& program, const ControlOptions& o, Args words);
/// What runs on this machine, by its name in the configuration.
int show_daemons(const client::Program& program, const ControlOptions& o, Args words);
/// Nodes of the cluster that hosts are.
int show_aliases(const client::Program& program, const ControlOptions& o, Args words);
/// Users, accounts and QOS with their limits and what is used of them.
int show_assoc_mgr(const client::Program& program, const ControlOptions& o, Args words);
/// Jobs whose nodes clear up after them.
int control_completing(const client::Program& program, const ControlOptions& o, Args words);
/// Returns once the job runs; kExitFailed where it has ended.
int control_wait_job(const client::Program& program, const ControlOptions& o, Args words);
/// Jobs come before the others of their user.
int control_top(const client::Program& program, const ControlOptions& options, Args words);
/// A line for whoever reads what a job says.
int control_notify(const client::Program& program, const ControlOptions& options, Args words);
/// Rows of the controller's state that cannot be read.
int show_held(const client::Program& program, const ControlOptions& o, Args words);
/// Is this `delete` about one of them?
bool is_about_held(Args words);
/// HeldAside=KIND:NAME as a request. Errors: something else.
base::Result<wire::ApiRequest> held_deletion(Args words);
int delete_held(const client::Program& program, Args words);
/// What happened, and who did it: of a job, of a node, or all.
int show_events(const client::Program& program, const ControlOptions& o, Args words);
/// The words of `show events` as a request. Errors: unknown keys (did you mean), bad values, a job and a node.
base::Result<wire::ApiRequest> events_request(const client::Program& program, Args words);
/// Who did what to what is not his own, and what was refused to whom; administrators only.
int show_audit(const client::Program& program, const ControlOptions& o, Args words);
/// The words of `show audit` as a request. Errors: unknown keys (did you mean), bad values, unknown users.
base::Result<wire::ApiRequest> audit_request(Args words, base::Time now);
/// How much the controller logs, until it is restarted.
int control_setdebug(const client::Program& program, const ControlOptions& o, Args words);
/// Who did something: the user's name, else the number.
std::string actor_name(uint32_t uid);
/// The lines of `show job --history`.
std::string history_text(const wire::ShowJobReply& reply);
/// Asks the controller for a snapshot of its scheduler and writes it to a new file.
int control_snapshot(const client::Program& program, const ControlOptions& o, Args words);
/// The sentence of an error's number, as Slurm counts them.
int control_errnumstr(const client::Program& program, const ControlOptions& o, Args words);
/// Processes of jobs on this machine that the caller may see, with their steps and ranks.
int control_listpids(const client::Program& program, const ControlOptions& o, Args words);
int control_write(const client::Program& program, const ControlOptions& o, Args words);

/// The one of `names` that `word` is, or is a unique beginning of, in any case; empty if none or several.
std::string match_word(std::string_view word, std::span<const std::string_view> names);

/// KEY=VALUE words; keys in lower case. Errors: no `=`, a key that stands twice.
base::Result<std::map<std::string, std::string>> parse_settings(Args words);
/// The request that `update` words mean: a job's, a node's or a partition's. Errors: unknown keys (did you mean), bad
/// values, nothing to change.
base::Result<wire::ApiRequest> update_request(Args words, base::Time now);
/// Says the attribute anew, as its row alone has it: no times.
base::Status update_by_row(const wire::JobAttribute& attribute, wire::UpdateJobRequest& update,
                           const std::string& value);
/// The keys of `update JobId=`, for help.
std::string job_update_keys();
/// A change of a reservation, from KEY=VALUE words in lower-case keys.
base::Result<wire::ApiRequest> reservation_update(const std::string& name,
                                                  const std::map<std::string, std::string>& settings, base::Time now);
/// A new reservation from KEY=VALUE words. Errors: unknown keys and users, neither nodes nor a count, an end before the
/// beginning.
base::Result<wire::ApiRequest> reservation_creation(Args words, base::Time now);
/// Puts the names of all nodes in place of the one name ALL, as Slurm takes it, in requests about nodes and partitions.
base::Status name_all_nodes(client::Connection& connection, wire::ApiRequest& request);

/// Are the words of `create` or `delete` about a partition? A reservation may name one, too.
bool is_about_partition(Args words);
/// A change of a partition, from KEY=VALUE words in lower-case keys.
base::Result<wire::ApiRequest> partition_update(const std::string& name,
                                                const std::map<std::string, std::string>& settings);
/// A new partition from KEY=VALUE words. Errors: unknown keys, bad values, no name, no nodes.
base::Result<wire::ApiRequest> partition_creation(Args words);
int create_partition(const client::Program& program, const ControlOptions& o, Args words);
int delete_partition(const client::Program& program, const ControlOptions& o, Args words);
/// A node list of `show hostlist`: "a,b,c" or the lines of a file (with a slash), compressed.
base::Result<std::string> make_hostlist(const std::string& text, bool sorted);

}  // namespace gw::cmds
