// gacctmgr show, and what the controller says to a change. See acct.h.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cmds/gacctmgr/acct.h"
#include "model/qos.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Result;
using client::Program;

/// Words of Slurm that add columns or rows which are there anyway.
constexpr std::string_view kIgnored[] = {"where", "set", "withassoc", "withassocs", "wopinfo", "wopi", "withcoord"};

/// KEY=VALUE of a query.
base::Status take_setting(client::QuotaQuery& query, const std::string& word) {
  GW_TRY(setting, parse_acct_setting(word));
  const std::string& key = setting.key;
  if (key == "format") return query.format = setting.value, base::Status{};
  if (key == "cluster" || key == "clusters") return {};
  const bool is_qos = key == "account" || key == "accounts" || key == "qos";
  if (!is_qos && key != "name" && key != "names" && key != "user" && key != "users") {
    const std::vector<std::string> known = {"format", "name", "user", "account", "qos"};
    std::string hint = base::did_you_mean(key, known);
    return invalid(fmt::format("unknown key \"{}\" of show", base::printable(key, 60)),
                   hint.empty() ? "known: " + base::join(known, ", ") : std::move(hint));
  }
  GW_TRY(names, name_list(key, setting.value));
  auto& to = is_qos ? query.qos : query.names;
  to.insert(to.end(), names.begin(), names.end());
  return {};
}

/// Those named, or all.
wire::ListQuotasReply narrowed(const wire::ListQuotasReply& list, const std::vector<std::string>& names) {
  wire::ListQuotasReply out = list;
  out.clear_qos();
  for (const wire::Qos& q : list.qos())
    if (names.empty() || std::find(names.begin(), names.end(), q.name()) != names.end()) *out.add_qos() = q;
  return out;
}

Result<std::string> shown(const AcctOptions& o, AcctEntity entity, client::QuotaQuery query,
                          const wire::ListQuotasReply& list) {
  const bool is_of_qos = entity == AcctEntity::kQos || entity == AcctEntity::kAccount || entity == AcctEntity::kTree;
  if (is_of_qos) query.names.insert(query.names.end(), query.qos.begin(), query.qos.end());
  if (o.json) return client::quotas_json(is_of_qos ? narrowed(list, query.names) : list);
  if (entity == AcctEntity::kTree) query.tree = true;
  if (is_of_qos) return client::qos_table(list, query, o.style);
  if (entity == AcctEntity::kBudget) return client::budget_table(list, query, o.style);
  if (entity == AcctEntity::kUser) return client::user_table(list, query, o.style);
  return client::association_table(list, query, o.style);
}

/// In the columns of Slurm; in the own ones only where one is named that Slurm has not.
Result<std::string> shown_as_slurm(const AcctOptions& o, AcctEntity entity, client::QuotaQuery query,
                                   const wire::ListQuotasReply& list) {
  GW_TRY(config, client::load_config());
  auto own = query.format.empty() ? Result<std::string>() : shown(o, entity, query, list);
  if (entity == AcctEntity::kQos || entity == AcctEntity::kAccount)
    query.names.insert(query.names.end(), query.qos.begin(), query.qos.end());
  auto text = slurm_account_table(entity, query, o.style, list, config);
  return !text && own && !query.format.empty() ? own : text;
}

bool as_slurm(const Program& program, AcctEntity entity, const AcctOptions& o, const client::QuotaQuery& query) {
  const bool has_columns = entity == AcctEntity::kQos || entity == AcctEntity::kAccount ||
                           entity == AcctEntity::kUser || entity == AcctEntity::kAssociation;
  return program.is_slurm && has_columns && !o.json && !query.tree;
}

}  // namespace

Result<client::QuotaQuery> acct_query(Args words) {
  client::QuotaQuery query;
  for (const std::string& word : words) {
    const auto is = [&](std::string_view one) { return base::iequals(word, one); };
    if (is("tree")) {
      query.tree = true;
    } else if (is("withassoc") || is("withassocs")) {
      query.associations = true;
    } else if (std::any_of(std::begin(kIgnored), std::end(kIgnored), is)) {
      continue;
    } else if (word.find('=') != std::string::npos) {
      GW_TRY_STATUS(take_setting(query, word));
    } else {
      GW_TRY(names, name_list("show", word));
      query.names.insert(query.names.end(), names.begin(), names.end());
    }
  }
  return query;
}

int acct_show(const Program& program, const AcctOptions& o, AcctEntity entity, Args words) {
  auto query = acct_query(words);
  if (!query) return failed(program, query.error());
  query->associations |= o.associations;
  wire::ApiRequest request;
  request.mutable_list_quotas();
  auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  auto text = as_slurm(program, entity, o, *query) ? shown_as_slurm(o, entity, *query, reply->list_quotas())
                                                   : shown(o, entity, *query, reply->list_quotas());
  return text ? printed(*text) : failed(program, text.error());
}

namespace {

Result<wire::ApiReply> send(const Program& program, const QuotaChanges& changes) {
  wire::ApiRequest request;
  *request.mutable_change_quotas() = changes.request;
  return ask(program, std::move(request));
}

/// Tries the change, says what it would be, and asks. The exit code if nothing is to be changed.
std::optional<int> confirm(const Program& program, const AcctOptions& o, QuotaChanges& changes) {
  changes.request.set_dry_run(true);
  const auto tried = send(program, changes);
  if (!tried) {
    const bool is_there = tried.error().what.ends_with("exists already") && changes.told.size() == 1;
    if (is_there && changes.told.front().verb == "add" && !o.quiet) printed(told_nothing(changes));
    return failed(program, tried.error());
  }
  const wire::ChangeQuotasReply& would = tried->change_quotas();
  if (would.changes().empty()) {
    const int said = o.quiet ? client::kExitOk : printed(told_nothing(changes));
    return said == client::kExitOk ? client::kExitFailed : said;
  }
  // Who is asked sees all of it; who is not has asked for it by its name.
  std::string told = told_changes(changes);
  if (!o.immediate || changes.told.empty()) {
    told += " Settings\n";
    for (const std::string& line : would.changes()) told += "  " + base::printable(line, SIZE_MAX) + "\n";
    for (const std::string& line : would.effects()) told += "  " + base::printable(line, SIZE_MAX) + "\n";
  }
  if (!o.quiet || !o.immediate)
    if (const int said = printed(told); said != client::kExitOk) return said;
  if (o.immediate || is_confirmed()) return std::nullopt;
  return printed(" Changes Discarded\n");
}

}  // namespace

int acct_change(const Program& program, const AcctOptions& o, QuotaChanges changes) {
  for (const std::string& note : changes.notes) client::print_note(program, note);
  changes.request.set_force(o.force);
  const bool asks = program.is_slurm && !o.json && !o.dry_run;
  if (program.is_slurm && o.json && !o.dry_run && !o.immediate)
    return failed(program, {base::ErrorCode::kInvalid, "nobody can be asked where the answer is JSON",
                            "--immediate changes without asking, --dry-run changes nothing"});
  if (asks)
    if (const auto code = confirm(program, o, changes)) return *code;
  changes.request.set_dry_run(o.dry_run);
  auto reply = send(program, changes);
  if (!reply) return failed(program, reply.error());
  const wire::ChangeQuotasReply& told = reply->change_quotas();
  if (asks) {
    if (program.verbose > 0)
      for (const std::string& line : told.changes()) client::print_note(program, base::printable(line, SIZE_MAX));
    if (!o.quiet)
      for (const std::string& line : told.effects()) client::print_note(program, base::printable(line, SIZE_MAX));
    return client::kExitOk;
  }
  if (o.json) return printed(client::quota_changes_json(told, o.dry_run));
  if (o.quiet) return client::kExitOk;
  std::string out;
  for (const std::string& line : told.changes()) out += base::printable(line, SIZE_MAX) + "\n";
  for (const std::string& line : told.effects()) out += base::printable(line, SIZE_MAX) + "\n";
  if (out.empty()) out = "nothing to change\n";
  if (o.dry_run) out += "(--dry-run: nothing was changed)\n";
  return printed(out);
}

}  // namespace gw::cmds
