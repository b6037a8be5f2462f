// gcontrol show events, and the history of a job: what happened, when, to what, and who did it.
#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "base/text.h"
#include "client/show/show_json.h"
#include "cmds/gcontrol/control_verbs.h"
#include "cmds/shared/job_ids.h"
#include "wire/bounds.h"

namespace gw::cmds {
namespace {

using client::Program;
using wire::HistoryEvent;

/// What it is about, as one would ask for it.
std::string about(const HistoryEvent& e) {
  if (e.job() != 0) return fmt::format("job={}", e.job());
  return e.node().empty() ? "-" : "node=" + base::printable(e.node());
}

/// "-" for the controller itself.
std::string actor(const HistoryEvent& e) { return e.has_uid() ? actor_name(e.uid()) : "-"; }

std::string what(const HistoryEvent& e, size_t width) {
  return fmt::format("{:<{}} {}\n", e.kind(), width, base::printable(e.text(), 1000));
}

/// A table whose columns are as wide as their widest cell.
std::string table(const wire::ListEventsReply& reply) {
  using Cells = std::array<std::string, 4>;
  std::vector<Cells> rows = {{"TIME", "ABOUT", "USER", "EVENT"}};
  for (const HistoryEvent& e : reply.events())
    rows.push_back({base::format_time({e.time_us()}), about(e), actor(e), e.kind()});
  std::array<size_t, 4> widths{};
  for (const Cells& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t i = 0; i < 3; ++i) out += fmt::format("{:<{}} ", rows[r][i], widths[i]);
    out += r == 0 ? fmt::format("{:<{}} TEXT\n", rows[r][3], widths[3])
                  : what(reply.events(static_cast<int>(r) - 1), widths[3]);
  }
  return out;
}

base::Result<std::string> one_node(const std::string& value) {
  GW_TRY(names, base::expand_hostlist(value));
  if (names.size() != 1) return base::invalid("node=" + base::printable(value, 60) + " is not one node");
  return names.front();
}

}  // namespace

std::string actor_name(uint32_t uid) {
  const passwd* entry = ::getpwuid(uid);
  return entry != nullptr ? entry->pw_name : std::to_string(uid);
}

std::string history_text(const wire::ShowJobReply& reply) {
  std::string out = "   History:\n";
  for (const HistoryEvent& e : reply.history())
    out += fmt::format("     {} {}", base::format_time({e.time_us()}), what(e, 16));
  return out + "\n";
}

base::Result<wire::ApiRequest> events_request(const Program& program, Args words) {
  static constexpr std::string_view kKeys = "keys: job=ID or node=NAME, last=COUNT";
  wire::ApiRequest request;
  wire::ListEventsRequest& events = *request.mutable_list_events();
  GW_TRY(settings, parse_settings(words));
  for (const auto& [key, value] : settings) {
    if (key == "job" || key == "jobid") {
      JobIds ids;
      GW_TRY_STATUS(parse_job_ids(value, ids));
      if (ids.size() != 1 || events.job() != 0) return base::invalid("show events: one job at a time");
      GW_TRY(id, number_of(program, ids));
      events.set_job(id);
    } else if (key == "node" || key == "nodename") {
      GW_TRY(name, one_node(value));
      events.set_node(name);
    } else if (key == "last") {
      GW_TRY(count, base::parse_int(value, 1, wire::kMostEvents, "last"));
      events.set_last(static_cast<uint32_t>(count));
    } else {
      const std::vector<std::string> known = {"job", "node", "last"};
      const std::string meant = base::did_you_mean(key, known);
      return base::invalid("show events: unknown key " + base::printable(key, 60),
                           meant.empty() ? std::string(kKeys) : meant);
    }
  }
  if (events.job() != 0 && !events.node().empty())
    return base::invalid("show events: of a job or of a node, not of both", std::string(kKeys));
  return request;
}

int show_events(const Program& program, const ControlOptions& o, Args words) {
  auto request = events_request(program, words);
  if (!request) return failed(program, request.error());
  auto reply = ask(program, std::move(*request));
  if (!reply) return failed(program, reply.error());
  const wire::ListEventsReply& list = reply->list_events();
  if (o.json) return printed(client::events_json(list, actor));
  return printed(list.events().empty() ? "No events\n" : table(list));
}

}  // namespace gw::cmds
