// The verbs of gacctmgr, and how its words become one change of the tree of quotas.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/show/quota_text.h"
#include "cmds/shared/commands.h"
#include "config/config.h"

namespace gw::cmds {

/// Options of gacctmgr.
struct AcctOptions {
  client::QuotaTableStyle style;
  bool quiet = false, json = false, dry_run = false, force = false, associations = false, immediate = false,
       ignored = false;
};

/// What the words name. An account is a second name of a QOS.
enum class AcctEntity {
  kNone,
  kQos,
  kAccount,
  kUser,
  kAssociation,
  kTree,
  kBudget,
  kJob,
  kCoordinator,
  kCluster,
  kTres,
  kConfig,
  kEvent,
  kTransaction
};
/// Unambiguous beginnings, in any case, also of the plural.
AcctEntity acct_entity(std::string_view word);
/// "add", "modify", "delete", "show", "dump", "load" for these and their other names and beginnings; empty: none.
std::string acct_verb(std::string_view word);

/// What may be wrong with an entity's or verb's word, and what there is.
base::Error unknown_entity(std::string_view word);
base::Error unknown_verb_of_acct(std::string_view word);

/// The words of a command line, without options, split at each `--`.
using Segments = std::vector<std::vector<std::string>>;

/// What sacctmgr says of a change: "Adding Account(s)", and which.
struct AcctTold {
  std::string verb, title;
  std::vector<std::string> names;
};

struct QuotaChanges {
  wire::ChangeQuotasRequest request;
  std::vector<std::string> notes;  ///< Words of Slurm that have no meaning here.
  std::vector<AcctTold> told;      ///< In the order of the segments.
};
/// The one transaction that all segments mean together. A segment without a verb has that of the one before.
/// `is_slurm`: called as sacctmgr, where 0 bounds and -1 does not. Errors: unknown words (did you mean), bad values,
/// users whom this host does not know, nothing to change.
base::Result<QuotaChanges> quota_changes(const Segments& segments, bool is_slurm);

/// Does the KEY=VALUE words to `patch`. Errors as above.
base::Status patch_from_words(std::span<const std::string> words, bool is_slurm, wire::QosPatch& patch,
                              std::vector<std::string>& notes);
/// What `budget=` says, for a QOS or a user; empty and none: no GPU-seconds.
base::Result<wire::GpuBudget> budget_word(std::string_view value);
/// Is there such a user, or such a @group, on this host?
base::Status check_role_name(const std::string& name);

/// KEY=VALUE; the key in lower case and without underscores.
struct AcctSetting {
  std::string key;
  std::string value;
  char sign = 0;  ///< '+' and '-' for `KEY+=` and `KEY-=`.
};
base::Result<AcctSetting> parse_acct_setting(std::string_view word);
/// The names between commas. Errors: an empty one.
base::Result<std::vector<std::string>> name_list(std::string_view what, std::string_view text);

/// What the words behind `show ENTITY` ask for.
base::Result<client::QuotaQuery> acct_query(Args words);
int acct_show(const client::Program& program, const AcctOptions& o, AcctEntity entity, Args words);
/// Accounts, users, associations and QOS in the columns of sacctmgr. Errors: unknown columns.
base::Result<std::string> slurm_account_table(AcctEntity entity, const client::QuotaQuery& query,
                                              client::QuotaTableStyle style, const wire::ListQuotasReply& list,
                                              const config::Config& config);
/// The same of clusters, trackable resources and the configuration.
int acct_show_cluster(const client::Program& program, const AcctOptions& o, AcctEntity entity, Args words);
/// The same of what happened: nodes that were out of use, and changes of the tree.
int acct_show_events(const client::Program& program, const AcctOptions& o, AcctEntity entity, Args words);
/// What is about to be changed, and that there is nothing to change, in sacctmgr's words.
std::string told_changes(const QuotaChanges& changes);
std::string told_nothing(const QuotaChanges& changes);
/// Asks on standard output and input; no answer within 30 s is no.
bool is_confirmed();
/// Sends the changes and prints what the controller says. Under Slurm's name after it was asked for.
int acct_change(const client::Program& program, const AcctOptions& o, QuotaChanges changes);
/// `modify job where jobid=IDS set derivedexitcode=N comment=TEXT`: of jobs that have ended, `words` behind the entity.
int acct_modify_jobs(const client::Program& program, const AcctOptions& o, Args words);
int acct_dump(const client::Program& program, const AcctOptions& o, Args words);
int acct_load(const client::Program& program, const AcctOptions& o, Args words);

/// The request that gives the controller the whole tree of a file, parents first.
base::Result<wire::ChangeQuotasRequest> load_request(std::string_view text, const std::string& path);
/// Is it what `sacctmgr dump` of Slurm writes? Such a file begins with its cluster.
bool is_slurm_dump(std::string_view text);
/// The whole tree that it means: accounts become QOS, users those who may submit to them. What has no counterpart is
/// noted, and so are users whom this host does not know; these are left out. Errors, all with their lines: what is none
/// of its lines, keys that nobody has, bad values, an account twice or without a parent.
base::Result<QuotaChanges> slurm_dump_changes(std::string_view text, const std::string& path);
/// The text of the file that the controller's tree makes.
std::string dump_text(const wire::ListQuotasReply& list);

}  // namespace gw::cmds
