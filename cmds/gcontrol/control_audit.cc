// gcontrol show audit: who did what to what is not his own, and what was refused to whom; and gcontrol setdebug.
#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "client/show/show_json.h"
#include "cmds/gcontrol/control_verbs.h"
#include "cmds/shared/past_time.h"
#include "wire/bounds.h"

namespace gw::cmds {
namespace {

using client::Program;
using wire::AuditRecord;

std::string doer(const AuditRecord& r) { return r.has_uid() ? actor_name(r.uid()) : "-"; }

std::string text_of(const AuditRecord& r) {
  const std::string text = base::printable(r.text(), 1000);
  if (r.object().empty()) return text;
  return base::printable(r.object(), 1000) + (text.empty() ? "" : ": " + text);
}

std::string audit_table(const wire::ListAuditReply& reply) {
  using Cells = std::array<std::string, 4>;
  std::vector<Cells> rows = {{"TIME", "USER", "WHAT", ""}};
  for (const AuditRecord& r : reply.records())
    rows.push_back(
        {base::format_time({r.time_us()}), doer(r), base::printable(r.kind(), 100), r.is_refusal() ? "REFUSED" : ""});
  std::array<size_t, 4> widths{};
  for (const Cells& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t i = 0; i < rows[r].size(); ++i)
      if (widths[i] > 0) out += fmt::format("{:<{}} ", rows[r][i], widths[i]);
    out += r == 0 ? "TEXT\n" : text_of(reply.records(static_cast<int>(r) - 1)) + "\n";
  }
  return out;
}

using Json = nlohmann::ordered_json;

std::string json_of(const wire::ListAuditReply& reply) {
  Json records = Json::array();
  for (const AuditRecord& r : reply.records())
    records.push_back({{"seq", r.seq()},
                       {"time_us", r.time_us()},
                       {"uid", r.has_uid() ? Json(r.uid()) : Json(nullptr)},
                       {"user", r.has_uid() ? Json(doer(r)) : Json(nullptr)},
                       {"kind", r.kind()},
                       {"object", r.object()},
                       {"text", r.text()},
                       {"refused", r.is_refusal()}});
  const Json all = {{"schema_version", client::kSchemaVersion},
                    {"audit", std::move(records)},
                    {"last_update", base::Time{reply.now_us()}.seconds()}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

base::Result<uint32_t> uid_of(const std::string& name) {
  if (const auto uid = base::parse_int(name, 0, UINT32_MAX - 1, "user")) return static_cast<uint32_t>(*uid);
  const passwd* entry = ::getpwnam(name.c_str());
  if (entry == nullptr) return base::invalid("show audit: there is no user " + base::printable(name, 60));
  return entry->pw_uid;
}

}  // namespace

base::Result<wire::ApiRequest> audit_request(Args words, base::Time now) {
  static constexpr std::string_view kKeys = "keys: user=NAME, last=COUNT, start=TIME, end=TIME";
  wire::ApiRequest request;
  wire::ListAuditRequest& asked = *request.mutable_list_audit();
  GW_TRY(settings, parse_settings(words));
  for (const auto& [key, value] : settings) {
    if (key == "user") {
      GW_TRY(uid, uid_of(value));
      asked.set_uid(uid);
    } else if (key == "last") {
      GW_TRY(last, base::parse_int(value, 1, wire::kMostEvents, "last"));
      asked.set_last(static_cast<uint32_t>(last));
    } else if (key == "start" || key == "end") {
      GW_TRY(time, key == "start" ? parse_past(value, now) : parse_past_end(value, now));
      key == "start" ? asked.set_since_us(time.us) : asked.set_until_us(time.us);
    } else {
      const std::vector<std::string> known = {"user", "last", "start", "end"};
      const std::string meant = base::did_you_mean(key, known);
      return base::invalid("show audit: unknown key " + base::printable(key, 60),
                           meant.empty() ? std::string(kKeys) : meant);
    }
  }
  return request;
}

int show_audit(const Program& program, const ControlOptions& o, Args words) {
  auto request = audit_request(words, base::SystemClock().now());
  if (!request) return failed(program, request.error());
  auto reply = ask(program, std::move(*request));
  if (!reply) return failed(program, reply.error());
  const wire::ListAuditReply& list = reply->list_audit();
  if (o.json) return printed(json_of(list));
  return printed(list.records().empty() ? "Nothing to show\n" : audit_table(list));
}

int control_setdebug(const Program& program, const ControlOptions& o, Args words) {
  // Slurm's levels by name and number, as far as there is a difference here.
  static constexpr std::pair<std::string_view, std::string_view> kLevels[] = {
      {"quiet", "error"},    {"fatal", "error"},  {"error", "error"},  {"info", "info"},    {"verbose", "info"},
      {"debug", "debug"},    {"debug2", "debug"}, {"debug3", "debug"}, {"debug4", "debug"}, {"debug5", "debug"},
      {"0", "error"},        {"1", "error"},      {"2", "error"},      {"3", "info"},       {"4", "info"},
      {"5", "debug"},        {"6", "debug"},      {"7", "debug"},      {"8", "debug"},      {"9", "debug"},
      {"warning", "warning"}};
  constexpr std::string_view kHint = "error, warning, info or debug";
  if (words.empty())
    return failed(program, {base::ErrorCode::kInvalid, "setdebug: no level given", std::string(kHint)});
  if (words.size() > 1) return refuse_operand(program, words[1], "setdebug takes a level");
  const std::string word = base::to_lower(words.front());
  const auto level =
      std::find_if(std::begin(kLevels), std::end(kLevels), [&](const auto& l) { return l.first == word; });
  if (level == std::end(kLevels))
    return failed(program, {base::ErrorCode::kInvalid, "setdebug: there is no level " + base::printable(word, 60),
                            std::string(kHint)});
  wire::ApiRequest request;
  request.mutable_set_log_level()->set_level(std::string(level->second));
  const auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  if (!o.quiet && !program.is_slurm) return printed(fmt::format("the controller logs {} now\n", level->second));
  return client::kExitOk;
}

}  // namespace gw::cmds
