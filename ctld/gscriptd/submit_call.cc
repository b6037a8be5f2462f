// See submit_call.h.
#include "ctld/gscriptd/submit_call.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hostlist.h"
#include "base/text.h"
#include "client/show/show_json.h"
#include "wire/convert.h"
#include "wire/job_attributes.h"

namespace gw::ctld {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestAnswer = 256 << 10;

base::Status wants(std::string_view key, std::string_view what) {
  return base::invalid("\"" + std::string(key) + "\" wants " + std::string(what));
}

/// Within 32 bits, so that it fits every field.
bool is_whole(const Json& value) {
  if (value.is_number_unsigned()) return value.get<uint64_t>() <= INT32_MAX;
  return value.is_number_integer() && value.get<int64_t>() >= INT32_MIN;
}

// ---- Keys of the job itself

/// One that the table of attributes keeps in one field.
base::Status set_kept(const wire::JobAttribute& a, const Json& value, model::JobSpec& spec) {
  const auto put = [&](wire::AttributeValue v) -> base::Status {
    a.kept.set(spec, v);
    return {};
  };
  switch (a.kept.form) {
    case wire::Form::kText:
      return value.is_string() ? put(value.get<std::string>()) : wants(a.json_key, "a text");
    case wire::Form::kFlag:
      return value.is_boolean() ? put(value.get<bool>()) : wants(a.json_key, "true or false");
    case wire::Form::kNumber:
      return is_whole(value) ? put(value.get<int64_t>()) : wants(a.json_key, "a whole number");
    default:
      break;
  }
  if (value.is_null()) return put(int64_t{0});
  if (a.kept.form == wire::Form::kLength && value == "UNLIMITED") return put(base::kUnlimited.us);
  constexpr uint64_t kMostSeconds = uint64_t{1} << 40;
  const bool is_time = value.is_number_unsigned() && value.get<uint64_t>() <= kMostSeconds;
  if (!is_time) return wants(a.json_key, "seconds, as a whole number");
  return put(value.get<int64_t>() * 1'000'000);
}

/// A list of texts, or a text with commas.
base::Result<std::vector<std::string>> words_of(std::string_view key, const Json& value) {
  if (value.is_string()) return base::split(value.get<std::string>(), ',');
  const bool is_list =
      value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& v) { return v.is_string(); });
  if (!is_list) return tl::unexpected(wants(key, "a list of texts").error());
  return value.get<std::vector<std::string>>();
}

base::Status set_of_job(std::string_view key, const Json& value, model::JobSpec& spec) {
  if (key == "partitions") {
    GW_TRY(names, words_of(key, value));
    spec.partitions = std::move(names);
    return {};
  }
  if (key == "hold") {
    if (!value.is_boolean()) return wants(key, "true or false");
    spec.hold_user = value.get<bool>();
    return {};
  }
  for (const wire::JobAttribute& a : wire::kJobAttributes)
    if (a.json_key == key && a.kept.number != 0 && key != "current_working_directory") return set_kept(a, value, spec);
  return base::invalid("\"" + base::printable(key, 60) + "\" of a job cannot be set");
}

// ---- Keys of its request

struct Amount {
  std::string_view key;
  uint64_t model::Request::*wide;
  uint32_t model::Request::*narrow;
};
constexpr std::array kAmounts = {Amount{"memory_per_node_mb", &model::Request::mem_per_node_mb, nullptr},
                                 Amount{"memory_per_cpu_mb", &model::Request::mem_per_cpu_mb, nullptr},
                                 Amount{"memory_per_gpu_mb", &model::Request::mem_per_gpu_mb, nullptr},
                                 Amount{"cpus_per_task", nullptr, &model::Request::cpus_per_task},
                                 Amount{"cpus_per_gpu", nullptr, &model::Request::cpus_per_gpu},
                                 Amount{"max_switches", nullptr, &model::Request::max_switches}};

base::Status set_hosts(std::string_view key, const Json& value, std::vector<std::string>& hosts) {
  if (value.is_string()) {
    GW_TRY(names, base::expand_hostlist(value.get<std::string>()));
    hosts = std::move(names);
    return {};
  }
  GW_TRY(names, words_of(key, value));
  hosts = std::move(names);
  return {};
}

base::Status set_of_request(std::string_view key, const Json& value, model::Request& request) {
  if (key == "nodelist") return set_hosts(key, value, request.nodelist);
  if (key == "exclude") return set_hosts(key, value, request.exclude);
  if (key == "exclusive") {
    if (!value.is_boolean()) return wants(key, "true or false");
    request.exclusive = value.get<bool>();
    return {};
  }
  if (key == "gpu_type") {
    if (!value.is_string()) return wants(key, "a text");
    request.gpu_type = value.get<std::string>();
    return {};
  }
  for (const Amount& amount : kAmounts) {
    if (amount.key != key) continue;
    if (!value.is_number_unsigned() || value.get<uint64_t>() > UINT32_MAX) return wants(key, "a whole number");
    // Of the three ways to say how much memory one holds.
    if (amount.wide != nullptr) request.mem_per_node_mb = request.mem_per_cpu_mb = request.mem_per_gpu_mb = 0;
    if (amount.wide != nullptr) request.mem_all = false;
    if (amount.wide != nullptr) request.*amount.wide = value.get<uint64_t>();
    if (amount.narrow != nullptr) request.*amount.narrow = static_cast<uint32_t>(value.get<uint64_t>());
    return {};
  }
  return base::invalid("\"" + base::printable(key, 60) + "\" of a request cannot be set");
}

base::Status set_all(const Json& keys, model::JobSpec& spec) {
  for (const auto& [key, value] : keys.items()) {
    if (key == "features") {
      if (!value.is_string()) return wants(key, "a text, such as \"ib&nvlink\"");
      GW_TRY(features, model::parse_features(value.get<std::string>()));
      spec.request.features = std::move(features);
    } else if (key == "request") {
      if (!value.is_object()) return wants(key, "an object");
      for (const auto& [name, one] : value.items()) GW_TRY_STATUS(set_of_request(name, one, spec.request));
    } else {
      GW_TRY_STATUS(set_of_job(key, value, spec));
    }
  }
  return {};
}

base::Result<std::string> text_of(const Json& answer, const char* key) {
  constexpr size_t kMost = 1000;
  const auto it = answer.find(key);
  if (it == answer.end()) return std::string();
  if (!it->is_string()) return base::invalid(std::string("\"") + key + "\" wants a text");
  return base::printable(it->get<std::string>(), kMost);
}

base::Result<Json> parse(const std::string& text) {
  if (base::trim(text).empty()) return Json::object();
  Json answer = Json::parse(text, nullptr, false);
  if (!answer.is_object()) return base::invalid("it printed no JSON object: " + base::printable(text, 200));
  for (const auto& [key, value] : answer.items())
    if (key != "refuse" && key != "set" && key != "tell")
      return base::invalid("its answer has the key \"" + base::printable(key, 60) +
                           "\": there are refuse, set and tell");
  return answer;
}

}  // namespace

base::Result<program::ProgramCall> submit_call(const wire::ScriptSubmit& submit, const config::Config& config) {
  if (config.submit_program.empty())
    return base::fail(base::ErrorCode::kUnavailable, "submit_hook.program of the configuration names no program");
  Json input = {{"schema_version", client::kSchemaVersion},
                {"cluster", config.cluster},
                {"user_name", submit.user()},
                {"user_id", submit.uid()},
                {"group_name", submit.group()},
                {"group_id", submit.gid()},
                {"groups", std::vector<std::string>(submit.groups().begin(), submit.groups().end())},
                {"jobs", Json::array()}};
  for (const wire::JobSpec& job : submit.jobs()) input["jobs"].push_back(Json::parse(client::spec_json(job)));
  const uint32_t kind = submit.jobs().empty() ? 0 : submit.jobs(0).kind();
  input["kind"] = kind == static_cast<uint32_t>(model::JobKind::kBatch) ? "batch" : "interactive";
  input["array_tasks"] = submit.array_tasks().empty() ? Json() : Json(submit.array_tasks());
  input["script"] = submit.script();
  input["script_is_whole"] = submit.script_is_whole();
  input["test_only"] = submit.test_only();
  program::ProgramCall call;
  call.program = config.submit_program;
  call.limit = config.submit_limit;
  call.input = input.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (call.input.size() > program::kMostProgramInput)
    return base::invalid("it is too long for the site's submission program",
                         "shorten the arguments, the comment or the script's first 32 KiB");
  call.most_output = kLongestAnswer;
  call.keeps_errors_apart = true;
  return call;
}

base::Result<wire::ScriptVerdict> read_verdict(const wire::ScriptSubmit& submit, const program::ProgramResult& result) {
  if (result.exit_code != 0)
    return base::invalid("exit code " + std::to_string(result.exit_code) + " " + base::printable(result.text, 200));
  GW_TRY(answer, parse(result.text));
  wire::ScriptVerdict verdict;
  GW_TRY(refusal, text_of(answer, "refuse"));
  GW_TRY(tell, text_of(answer, "tell"));
  verdict.set_tell(tell);
  if (answer.contains("refuse")) verdict.set_refusal(refusal.empty() ? "it is not allowed here" : refusal);
  const auto keys = answer.find("set");
  if (keys != answer.end() && !keys->is_object()) return base::invalid("\"set\" wants an object");
  for (const wire::JobSpec& job : submit.jobs()) {
    if (keys == answer.end()) break;
    GW_TRY(spec, wire::from_wire(job));
    GW_TRY_STATUS(set_all(*keys, spec));
    *verdict.add_jobs() = wire::to_wire(spec);
  }
  return verdict;
}

}  // namespace gw::ctld
