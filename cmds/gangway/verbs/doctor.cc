// gangway doctor: runs the checks and prints what they found.
#include "cmds/gangway/verbs/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "client/conn/private_cluster.h"
#include "cmds/gangway/shared/verbs.h"

namespace gw::cmds {
namespace {

const client::CommandDoc kDoc = {
    "check this host: MUNGE, clocks, ports, cgroups, users, disk, versions",
    "[OPTIONS]",
    "Looks at everything that a node, a controller or a login host needs, and says how to mend what is wrong. It "
    "changes "
    "nothing. Run it on each host; as root it sees more.",
    {{"0", "nothing failed; there may be warnings"}, {"1", "something failed"}},
    {{"GANGWAY_CONF", "path of the configuration"}},
    {{"gangway doctor --json", "for programs"}},
    {},
};

std::string_view word(Health h) {
  switch (h) {
    case Health::kOk:
      return "OK";
    case Health::kWarn:
      return "WARN";
    case Health::kFail:
      return "FAIL";
  }
  return "FAIL";
}

std::string_view colour_of(Health h) {
  switch (h) {
    case Health::kOk:
      return "\033[32m";
    case Health::kWarn:
      return "\033[33m";
    case Health::kFail:
      return "\033[31m";
  }
  return "";
}

void append(Findings& all, Findings more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

Findings run_checks() {
  Findings all;
  const std::string path = config::default_path();
  const auto client_part = config::load_client_part(path);
  const auto whole = config::load(path);  // all its mistakes, those of the client's part among them
  if (whole) {
    all.push_back({Health::kOk, "config", fmt::format("{} is good: cluster {}", path, whole->cluster), ""});
  } else {
    const base::Error error = client::explain_no_config(whole.error(), path);
    all.push_back({Health::kFail, "config", error.what, error.hint});
  }
  if (!client_part) {
    append(all, check_munge({}));
    append(all, check_containment({}));
    return all;
  }
  const config::Config& config = whole ? *whole : *client_part;
  append(all, check_munge(config));
  append(all, check_controller(path, config));
  append(all, check_nodes(path));
  append(all, check_containment(config));
  append(all, check_users(config));
  append(all, check_disks(config));
  return all;
}

}  // namespace

std::string findings_text(const Findings& findings, bool colour) {
  std::string out;
  for (const Finding& f : findings) {
    const std::string level = colour ? fmt::format("{}{:<4}\033[0m", colour_of(f.health), word(f.health))
                                     : fmt::format("{:<4}", word(f.health));
    const auto lines = base::split(f.text, '\n');
    out += fmt::format("{}  {:<11} {}\n", level, f.check, base::join(lines, fmt::format("\n{:<18}", "")));
    if (!f.remedy.empty()) out += fmt::format("{:<19}remedy: {}\n", "", f.remedy);
  }
  return out;
}

std::string findings_json(const Findings& findings) {
  nlohmann::json list = nlohmann::json::array();
  for (const Finding& f : findings) {
    list.push_back({{"check", f.check}, {"level", word(f.health)}, {"text", f.text}, {"remedy", f.remedy}});
  }
  const nlohmann::json out = {{"schema_version", 1}, {"ok", !has_failure(findings)}, {"findings", list}};
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

bool has_failure(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.health == Health::kFail; });
}

int doctor_verb(const Invocation& call) {
  bool json = false;
  std::vector<std::string> operands;
  if (const auto code = parse_verb(call, kDoc, {flag("json", 0, "as JSON, with schema_version", json)}, operands)) {
    return *code;
  }
  if (!operands.empty()) {
    return failed(call.program,
                  {base::ErrorCode::kInvalid, "unexpected \"" + operands[0] + "\"", "it takes no operands"});
  }
  const Findings findings = run_checks();
  const std::string text = json ? findings_json(findings) : findings_text(findings, client::use_colour(STDOUT_FILENO));
  if (!client::print_out(text)) return client::kExitFailed;
  return has_failure(findings) ? client::kExitFailed : client::kExitOk;
}

}  // namespace gw::cmds
