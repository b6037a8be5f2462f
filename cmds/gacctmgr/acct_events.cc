// sacctmgr's lists of what happened: events of nodes that were out of use, and transactions, which are the changes of
// the tree of quotas. Both from the last events that concern no job (kMostEvents).
#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <map>

#include "base/hostlist.h"
#include "base/text.h"
#include "client/show/field_table.h"
#include "cmds/gacctmgr/acct.h"
#include "cmds/shared/past_time.h"
#include "wire/bounds.h"

namespace gw::cmds {
namespace {

using base::Result;
using base::Time;
using client::Program;
using client::TableField;
using wire::HistoryEvent;

struct EventQuery {
  std::vector<std::string> nodes, users, actions, states, reasons;
  std::string format;
  Time from, to;  ///< Zero: no bound.
};

/// A time in which a node was out of use.
struct NodeEventRow {
  std::string cluster, node, state, reason, user;
  Time from, to;  ///< `to` zero: it lasts.
};
struct TransactionRow {
  Time at;
  std::string action, actor, where, info;
};

std::string time_or(Time t, std::string_view otherwise) { return t ? base::format_time(t) : std::string(otherwise); }

const std::vector<TableField<NodeEventRow>>& event_columns() {
  using R = NodeEventRow;
  static const std::vector<TableField<R>> kColumns = {
      {{"cluster"}, "Cluster", [](const R& r) { return r.cluster; }, true},
      {{"node_name", "nodes"}, "NodeName", [](const R& r) { return r.node; }, true},
      {{"time_start", "start"}, "TimeStart", [](const R& r) { return base::format_time(r.from); }, true},
      {{"time_end", "end"}, "TimeEnd", [](const R& r) { return time_or(r.to, "Unknown"); }, true},
      {{"state"}, "State", [](const R& r) { return r.state; }, true},
      {{"reason"}, "Reason", [](const R& r) { return r.reason; }, true},
      {{"user"}, "User", [](const R& r) { return r.user; }, true}};
  return kColumns;
}

const std::vector<TableField<TransactionRow>>& transaction_columns() {
  using R = TransactionRow;
  static const std::vector<TableField<R>> kColumns = {
      {{"time", "timestamp"}, "Time", [](const R& r) { return base::format_time(r.at); }, true},
      {{"action"}, "Action", [](const R& r) { return r.action; }, true},
      {{"actor"}, "Actor", [](const R& r) { return r.actor; }, true},
      {{"where"}, "Where", [](const R& r) { return r.where; }, true},
      {{"info"}, "Info", [](const R& r) { return r.info; }, true}};
  return kColumns;
}

/// "root(0)"
std::string user_text(const HistoryEvent& e) {
  if (!e.has_uid()) return "";
  static std::map<uint32_t, std::string> known;
  const auto [it, is_new] = known.try_emplace(e.uid());
  if (is_new) {
    const passwd* entry = ::getpwuid(e.uid());
    it->second = fmt::format("{}({})", entry == nullptr ? std::to_string(e.uid()) : entry->pw_name, e.uid());
  }
  return it->second;
}

std::string user_name(const HistoryEvent& e) {
  const std::string text = user_text(e);
  return text.substr(0, text.find('('));
}

bool is_wanted(const std::vector<std::string>& wanted, const std::string& one) {
  return wanted.empty() ||
         std::any_of(wanted.begin(), wanted.end(), [&](const std::string& name) { return base::iequals(name, one); });
}

/// "down" also means "DOWN*", as in Slurm.
bool is_state_wanted(const std::vector<std::string>& wanted, std::string_view state) {
  if (state.ends_with('*')) state.remove_suffix(1);
  return is_wanted(wanted, std::string(state));
}

Result<EventQuery> parse_query(Args words, Time now) {
  EventQuery query;
  for (const std::string& word : words) {
    if (base::iequals(word, "where") || base::iequals(word, "all_time")) continue;
    GW_TRY(setting, parse_acct_setting(word));
    if (setting.key == "format") {
      query.format = setting.value;
    } else if (setting.key == "start" || setting.key == "end") {
      const bool is_start = setting.key == "start";
      GW_TRY(at, is_start ? parse_past(setting.value, now) : parse_past_end(setting.value, now));
      (is_start ? query.from : query.to) = at;
    } else if (setting.key == "nodes" || setting.key == "node" || setting.key == "nodename") {
      GW_TRY(names, base::expand_hostlist(setting.value));
      query.nodes = std::move(names);
    } else if (setting.key == "user" || setting.key == "users" || setting.key == "actor" || setting.key == "actors") {
      GW_TRY(names, name_list(setting.key, setting.value));
      query.users = std::move(names);
    } else if (setting.key == "action" || setting.key == "actions") {
      GW_TRY(names, name_list(setting.key, setting.value));
      query.actions = std::move(names);
    } else if (setting.key == "state" || setting.key == "states") {
      GW_TRY(names, name_list(setting.key, setting.value));
      query.states = std::move(names);
    } else if (setting.key == "reason" || setting.key == "reasons") {
      GW_TRY(names, name_list(setting.key, setting.value));
      query.reasons = std::move(names);
    } else if (setting.key != "cluster" && setting.key != "clusters") {
      const std::vector<std::string> known = {"start",  "end",    "nodes",  "user",  "actor",
                                              "action", "states", "reason", "format"};
      const std::string hint = base::did_you_mean(setting.key, known);
      return base::invalid("unknown key \"" + base::printable(setting.key, 60) + "\" of show",
                           hint.empty() ? "known: " + base::join(known, ", ") : hint);
    }
  }
  return query;
}

bool is_within(const EventQuery& query, Time from, Time to) {
  return (!query.to || from <= query.to) && (!query.from || !to || to >= query.from);
}

std::vector<NodeEventRow> node_rows(const EventQuery& query, const wire::ListEventsReply& list,
                                    const std::string& cluster) {
  // What takes a node out of use, and its state from then on.
  static const std::map<std::string_view, std::string_view> kBegins = {
      {"drained", "DRAIN"}, {"set down", "DOWN"}, {"out of reach", "DOWN*"}, {"dead", "DOWN*"}};
  std::vector<NodeEventRow> rows;
  std::map<std::string, size_t> open;
  for (const HistoryEvent& e : list.events()) {
    if (e.node().empty()) continue;
    const auto begins = kBegins.find(e.kind());
    const bool ends = e.kind() == "resumed" ||
                      (e.kind() == "registered" && open.contains(e.node()) && rows[open[e.node()]].state == "DOWN*");
    if (begins == kBegins.end() && !ends) continue;
    if (const auto it = open.find(e.node()); it != open.end()) {
      rows[it->second].to = {e.time_us()};
      open.erase(it);
    }
    if (ends) continue;
    open[e.node()] = rows.size();
    std::string reason = e.text();
    if (const std::string by = "by " + user_name(e) + ": "; reason.starts_with(by)) reason.erase(0, by.size());
    rows.push_back({cluster, e.node(), std::string(begins->second), reason, user_text(e), {e.time_us()}, {}});
  }
  std::erase_if(rows, [&](const NodeEventRow& r) {
    const std::string user = r.user.substr(0, r.user.find('('));
    return !is_state_wanted(query.states, r.state) || !is_wanted(query.reasons, r.reason) ||
           !is_wanted(query.nodes, r.node) || !is_wanted(query.users, user) || !is_within(query, r.from, r.to);
  });
  return rows;
}

std::vector<TransactionRow> transaction_rows(const EventQuery& query, const wire::ListEventsReply& list) {
  std::vector<TransactionRow> rows;
  for (const HistoryEvent& e : list.events()) {
    if (e.kind() != "quotas changed") continue;
    TransactionRow row{{e.time_us()}, "", user_name(e), "", e.text()};
    const bool is_user = row.info.starts_with("user ");
    const std::string_view of = is_user ? "Users" : "QOS";
    const std::string rest = row.info.substr(is_user || row.info.starts_with("QOS ") ? row.info.find(' ') + 1 : 0);
    row.where = "name='" + rest.substr(0, rest.find_first_of(" :")) + "'";
    const std::string_view done = std::string_view(rest).substr(std::min(rest.find_first_of(" :"), rest.size()));
    const std::string_view what = done.starts_with(" added below ") ? "Add "
                                  : done.starts_with(" deleted")    ? "Remove "
                                                                    : "Modify ";
    row.action = std::string(what) + std::string(of);
    if (const std::string by = " by " + row.actor; row.info.ends_with(by)) row.info.resize(row.info.size() - by.size());
    if (is_wanted(query.users, row.actor) && is_wanted(query.actions, row.action) && is_within(query, row.at, row.at))
      rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

int acct_show_events(const Program& program, const AcctOptions& o, AcctEntity entity, Args words) {
  if (o.json)
    return failed(program, {base::ErrorCode::kInvalid, "this list is there as a table alone", "-P is for programs"});
  const auto config = client::load_config();
  if (!config) return failed(program, config.error());
  const auto query = parse_query(words, base::SystemClock().now());
  if (!query) return failed(program, query.error());
  wire::ApiRequest request;
  request.mutable_list_events()->set_last(wire::kMostEvents);
  request.mutable_list_events()->set_of_no_job(true);
  // What began before may last in a time, and what ends after it began in it; a change is over at once.
  if (entity == AcctEntity::kTransaction) {
    request.mutable_list_events()->set_since_us(query->from.us);
    request.mutable_list_events()->set_until_us(query->to.us);
  }
  const auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  const auto text =
      entity == AcctEntity::kEvent
          ? client::field_table(query->format, "Cluster,NodeName,TimeStart,TimeEnd,State,Reason,User", event_columns(),
                                node_rows(*query, reply->list_events(), config->cluster), o.style)
          : client::field_table(query->format, "Time,Action,Actor,Where,Info", transaction_columns(),
                                transaction_rows(*query, reply->list_events()), o.style);
  return text ? printed(*text) : failed(program, text.error());
}

}  // namespace gw::cmds
