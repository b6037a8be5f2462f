// gcontrol show heldaside, and delete HeldAside=KIND:NAME.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cmds/gcontrol/control_verbs.h"

namespace gw::cmds {
namespace {

using client::Program;

constexpr std::string_view kKey = "heldaside";

std::string held_json(const wire::ListHeldAsideReply& list) {
  nlohmann::ordered_json j;
  j["schema_version"] = 1;
  j["held_aside"] = nlohmann::ordered_json::array();
  for (const wire::HeldRow& row : list.rows())
    j["held_aside"].push_back({{"kind", row.kind()},
                               {"name", row.name()},
                               {"reason", row.reason()},
                               {"since", row.since_us() / 1'000'000},
                               {"nodes", row.nodes()}});
  return j.dump(2) + "\n";
}

std::string held_text(const wire::HeldRow& row, bool one_line) {
  const std::string_view gap = one_line ? " " : "\n   ";
  std::string out = fmt::format("HeldAside={}:{}{}Reason={}{}Since={}", row.kind(), base::printable(row.name(), 300),
                                gap, base::printable(row.reason(), 1000), gap, base::format_time({row.since_us()}));
  if (!row.nodes().empty()) out += fmt::format("{}Nodes={}", gap, base::printable(row.nodes(), 10'000));
  return out + (one_line ? "\n" : "\n\n");
}

}  // namespace

int show_held(const Program& program, const ControlOptions& o, Args words) {
  if (!words.empty()) return refuse_operand(program, words.front(), "show heldaside takes no arguments");
  wire::ApiRequest request;
  request.mutable_list_held_aside();
  auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  const wire::ListHeldAsideReply& list = reply->list_held_aside();
  if (o.json) return printed(held_json(list));
  std::string out;
  for (const wire::HeldRow& row : list.rows()) out += held_text(row, o.style.one_line);
  return printed(out.empty() ? "No rows are held aside\n" : out);
}

bool is_about_held(Args words) {
  return !words.empty() && base::to_lower(words.front()).substr(0, kKey.size()) == kKey;
}

base::Result<wire::ApiRequest> held_deletion(Args words) {
  std::string row = words.front().substr(kKey.size());
  const bool is_alone = row.empty() ? words.size() == 2 : words.size() == 1 && row.starts_with('=');
  if (row.empty())
    row = words.back();
  else
    row.erase(0, 1);
  const size_t colon = row.find(':');
  if (!is_alone || colon == std::string::npos || colon == 0 || colon + 1 == row.size())
    return base::invalid("delete: expected one row that is held aside", "such as: delete HeldAside=job:7");
  wire::ApiRequest request;
  request.mutable_delete_held_aside()->set_kind(row.substr(0, colon));
  request.mutable_delete_held_aside()->set_name(row.substr(colon + 1));
  return request;
}

int delete_held(const Program& program, Args words) {
  auto request = held_deletion(words);
  if (!request) return failed(program, request.error());
  auto reply = ask(program, std::move(*request));
  return reply ? client::kExitOk : failed(program, reply.error());
}

}  // namespace gw::cmds
