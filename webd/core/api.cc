// See api.h.
#include "webd/core/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text.h"
#include "webd/core/changes.h"
#include "webd/core/openapi.h"
#include "webd/core/reads.h"
#include "webd/core/use_history.h"

namespace gw::webd {
namespace {

using base::Result;
using Query = std::map<std::string, std::string>;

constexpr Parameter kJobParameters[] = {
    {"state",
     "States, with commas: RUNNING,PENDING. `all`: also those that have ended. Without it: all that have not."},
    {"user", "Users, by name, with commas."},
    {"partition", "Partitions, with commas."},
    {"qos", "QOS, with commas."},
    {"account", "Accounts, with commas."},
    {"name", "Names of jobs, with commas."},
    {"node", "Jobs on these nodes: n1,n[5-8]."},
    {"fields", "Keys of a job that are shown, with commas; without it all."},
    {"limit", "So many jobs at most, 1 to 10000; without it 500."},
    {"offset", "So many are left out first."},
};
constexpr Parameter kNodeParameters[] = {
    {"name", "Nodes, as a host list: n1,n[5-8]. Without it all."},
};
constexpr Parameter kUseParameters[] = {
    {"days", "So many until today, 1 to 92; without it 14."},
};
constexpr Parameter kEventParameters[] = {
    {"job", "Events of this job."},
    {"node", "Events of this node."},
    {"limit", "So many of the newest, 1 to 1000; without it 100."},
};

constexpr Parameter kSubmitKeys[] = {
    {"script", "The batch script, with its lines #GBATCH, #SBATCH or #PBS."},
    {"options",
     "List of words as gbatch takes them: [\"--gpus-per-node=8\", \"-t\", \"1:00:00\"]. Files are not read."},
    {"arguments", "List of words that the script gets."},
    {"chdir", "Folder in which it runs, absolute; or the option --chdir."},
    {"environment", "Object of variables, beside those of a login on the node."},
};
constexpr Parameter kCancelKeys[] = {
    {"signal", "Number of a signal that is sent in place of ending it."},
};

Result<Question> openapi(const std::string& /*name*/, const Asked& /*asked*/) {
  Question q;
  q.json = [](Replies& /*replies*/) -> Result<std::string> { return openapi_json(); };
  return q;
}

struct Row {
  Route route;
  Make make;
};

/// "{}" stands for one name of the path.
constexpr Row kRows[] = {
    {{"GET", "/api/v1/ping", "Is the controller there, and how much it does.", {}}, &ping},
    {{"GET",
      "/api/v1/cluster",
      "The whole cluster in little: each node with its state and GPUs, and how many jobs wait and run.",
      {}},
     &show_cluster},
    {{"GET", "/api/v1/jobs", "Jobs, as `gqueue --json` shows them.", kJobParameters}, &list_jobs},
    {{"GET", "/api/v1/jobs/{id}", "One job with its history, as `gcontrol show job --json` shows it.", {}}, &show_job},
    {{"GET",
      "/api/v1/jobs/{id}/why",
      "Why it waits, or runs where it does, as `gangway why --json` says; `text`: in words.",
      {}},
     &why_job},
    {{"GET", "/api/v1/nodes", "Nodes, as `ginfo --json` shows them.", kNodeParameters}, &list_nodes},
    {{"GET", "/api/v1/nodes/{name}", "One node with its GPUs, network cards and the links between its GPUs.", {}},
     &show_node},
    {{"GET", "/api/v1/partitions", "Partitions.", {}}, &list_partitions},
    {{"GET", "/api/v1/reservations", "Reservations.", {}}, &list_reservations},
    {{"GET", "/api/v1/quotas", "QOS with their quotas, users and budgets.", {}}, &list_quotas},
    {{"GET", "/api/v1/shares", "What each QOS is guaranteed, due, holds and lends, as `gshare --json` shows it.", {}},
     &show_shares},
    {{"GET", "/api/v1/use", "Hours of GPUs and processors that were held, by day and QOS.", kUseParameters}, &show_use},
    {{"GET", "/api/v1/events", "What happened, of a job or of a node; without either what all may see.",
      kEventParameters},
     &list_events},
    {{"POST", "/api/v1/jobs", "Submits a batch job. By a token.", kSubmitKeys}, &submit_job},
    {{"POST", "/api/v1/jobs/{id}/cancel", "Ends a job, or sends it a signal. By a token.", kCancelKeys}, &cancel_job},
    {{"POST", "/api/v1/jobs/{id}/hold", "Keeps a job that waits from starting. By a token.", {}}, &hold_job},
    {{"POST", "/api/v1/jobs/{id}/release", "Lets a held job start. By a token.", {}}, &release_job},
    {{"POST", "/api/v1/jobs/{id}/requeue", "Ends its run, and queues it again. By a token.", {}}, &requeue_job},
    // These two the server itself answers.
    {{"GET", "/api/v1/me", "Whose the token is, what it may, and until when; without one `user` is null.", {}},
     nullptr},
    {{"GET", "/api/v1/stream", "Server-sent events: `version`, another number each time that something changed.", {}},
     nullptr},
    {{"GET", "/api/v1/openapi.json", "This description of the API.", {}}, &openapi},
};

/// The part of the path that stands where the pattern has a name; nothing: the pattern is another one.
std::optional<std::string> matched(std::string_view pattern, std::string_view path) {
  const size_t open = pattern.find('{');
  if (open == std::string_view::npos) return pattern == path ? std::optional<std::string>("") : std::nullopt;
  const std::string_view before = pattern.substr(0, open), after = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= before.size() + after.size() || !path.starts_with(before) || !path.ends_with(after)) return {};
  const std::string_view name = path.substr(before.size(), path.size() - before.size() - after.size());
  if (name.find('/') != std::string_view::npos) return {};
  return std::string(name);
}

/// Of a GET the parameters are in the query; of a POST they are keys of the body, which who makes the question reads.
base::Status check_parameters(const Route& route, const Query& query) {
  std::vector<std::string> known;
  if (route.method == "GET")
    for (const Parameter& parameter : route.parameters) known.emplace_back(parameter.name);
  for (const auto& [name, value] : query) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string hint = base::did_you_mean(name, known);
    return base::invalid(
        fmt::format("{} {} has no parameter {}", route.method, route.pattern, base::printable(name, 60)),
        !hint.empty()   ? hint
        : known.empty() ? "it has none"
                        : "it has " + base::join(known, ", "));
  }
  return {};
}

std::string_view code_of(base::ErrorCode code) {
  switch (code) {
    case base::ErrorCode::kInvalid:
      return "invalid";
    case base::ErrorCode::kNotFound:
      return "not_found";
    case base::ErrorCode::kDenied:
      return "denied";
    case base::ErrorCode::kConflict:
      return "conflict";
    case base::ErrorCode::kUnavailable:
      return "unavailable";
    case base::ErrorCode::kTimeout:
      return "timeout";
    case base::ErrorCode::kProtocol:
      return "protocol";
    case base::ErrorCode::kInternal:
      break;
  }
  return "internal";
}

}  // namespace

std::vector<Route> routes() {
  std::vector<Route> out;
  for (const Row& row : kRows) out.push_back(row.route);
  return out;
}

std::string methods_of(std::string_view path) {
  std::string out;
  for (const Row& row : kRows)
    if (matched(row.route.pattern, path)) out += (out.empty() ? "" : ", ") + std::string(row.route.method);
  return out;
}

Result<Question> question_of(const Asked& asked) {
  for (const Row& row : kRows) {
    if (row.route.method != asked.method || row.make == nullptr) continue;
    const std::optional<std::string> name = matched(row.route.pattern, asked.path);
    if (!name) continue;
    GW_TRY_STATUS(check_parameters(row.route, asked.query));
    return row.make(*name, asked);
  }
  return base::fail(base::ErrorCode::kNotFound, "there is no " + base::printable(asked.path),
                    "/api/v1/openapi.json lists what there is");
}

int status_of(base::ErrorCode code) {
  switch (code) {
    case base::ErrorCode::kInvalid:
      return 400;
    case base::ErrorCode::kDenied:
      return 403;
    case base::ErrorCode::kNotFound:
      return 404;
    case base::ErrorCode::kConflict:
      return 409;
    case base::ErrorCode::kProtocol:
      return 502;
    case base::ErrorCode::kUnavailable:
      return 503;
    case base::ErrorCode::kTimeout:
      return 504;
    case base::ErrorCode::kInternal:
      break;
  }
  return 500;
}

std::string error_json(std::string_view code, std::string_view message, std::string_view hint) {
  nlohmann::ordered_json j;
  j["error"]["code"] = code;
  j["error"]["message"] = message;
  j["error"]["hint"] = hint;
  return j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string error_json(const base::Error& error) { return error_json(code_of(error.code), error.what, error.hint); }

}  // namespace gw::webd
