// See changes.h.
#include "webd/core/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "client/show/show_json.h"
#include "webd/core/reads.h"
#include "webd/core/submission.h"
#include "wire/convert.h"

namespace gw::webd {

using base::Result;
using Made = Result<Question>;

namespace {

using Json = nlohmann::ordered_json;
using Body = nlohmann::json;

constexpr const char* kListExample = R"(["-N2", "-t", "60"])";
constexpr const char* kObjectExample = R"({"NAME": "value"})";

/// So deep are the objects and lists of a text at most; what is in quotes counts for nothing.
size_t depth_of(std::string_view text) {
  size_t depth = 0, deepest = 0;
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') is_quoted = !is_quoted;
    if (is_quoted && c == '\\') ++i;
    if (is_quoted) continue;
    if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
    if ((c == '}' || c == ']') && depth > 0) --depth;
  }
  return deepest;
}

/// The object of a body, which may be empty; it has no other keys than `known`. Its objects are maps: a list of keys
/// would take a time that grows with their square.
Result<Body> object_of(const Asked& asked, const std::vector<std::string>& known) {
  constexpr size_t kDeepest = 4;
  if (asked.body.empty()) return Body::object();
  Body j = depth_of(asked.body) > kDeepest ? Body(Body::value_t::discarded)
                                           : Body::parse(asked.body, nullptr, /*allow_exceptions=*/false);
  if (j.is_discarded() || !j.is_object()) return base::invalid("the body is no JSON object", kObjectExample);
  for (const auto& [key, value] : j.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string hint = base::did_you_mean(key, known);
    return base::invalid("the body has no key " + base::printable(key, 60), !hint.empty() ? hint
                                                                            : known.empty()
                                                                                ? "it has none"
                                                                                : "it has " + base::join(known, ", "));
  }
  return j;
}

Result<std::string> text_at(const Body& j, const std::string& key) {
  if (!j.contains(key)) return std::string();
  if (!j[key].is_string()) return base::invalid(key + " is no text");
  return j[key].get<std::string>();
}

Result<std::vector<std::string>> words_at(const Body& j, const std::string& key) {
  std::vector<std::string> out;
  if (!j.contains(key)) return out;
  if (!j[key].is_array()) return base::invalid(key + " is no list of texts", kListExample);
  for (const Body& word : j[key]) {
    if (!word.is_string()) return base::invalid(key + " is no list of texts", kListExample);
    out.push_back(word.get<std::string>());
    if (out.back().find('\0') != std::string::npos) return base::invalid(key + ": a byte 0");
  }
  return out;
}

Result<Submitted> submitted_of(const Body& j) {
  Submitted out;
  GW_TRY(script, text_at(j, "script"));
  GW_TRY(options, words_at(j, "options"));
  GW_TRY(arguments, words_at(j, "arguments"));
  GW_TRY(chdir, text_at(j, "chdir"));
  if (j.contains("environment") && !j["environment"].is_object())
    return base::invalid("environment is no object of texts", kObjectExample);
  if (j.contains("environment"))
    for (const auto& [name, value] : j["environment"].items()) {
      if (!value.is_string()) return base::invalid("environment is no object of texts", kObjectExample);
      out.environment[name] = value.get<std::string>();
    }
  out.script = std::move(script);
  out.options = std::move(options);
  out.arguments = std::move(arguments);
  out.chdir = std::move(chdir);
  return out;
}

/// The first of what could not be done, where nothing was.
template <typename Reply>
Result<std::string> done_json(const Reply& reply) {
  if (reply.done().empty() && !reply.faults().empty()) return tl::unexpected(wire::from_wire(reply.faults(0).error()));
  const Json j{{"schema_version", client::kSchemaVersion},
               {"jobs", std::vector<uint32_t>(reply.done().begin(), reply.done().end())}};
  return j.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Made act_on(const std::string& name, const Asked& asked, wire::JobAction action) {
  GW_TRY(id, job_number(name));
  if (const auto none = object_of(asked, {}); !none) return tl::unexpected(none.error());
  Question q;
  q.is_change = true;
  wire::JobActionRequest& request = *q.requests.emplace_back().mutable_job_action();
  request.add_ids(id);
  request.set_action(action);
  q.json = [](Replies& replies) -> Result<std::string> {
    if (!replies[0]) return tl::unexpected(replies[0].error());
    return done_json(replies[0]->jobs());
  };
  return q;
}

std::string submitted_json(const wire::SubmitReply& reply, const std::vector<std::string>& notes) {
  Json j{{"schema_version", client::kSchemaVersion}};
  j["job_id"] = reply.job_id() == 0 ? Json(nullptr) : Json(reply.job_id());
  j["cluster"] = reply.cluster();
  j["notes"] = notes;
  for (const std::string& warning : reply.warnings()) j["notes"].push_back(warning);
  j["test_verdict"] = reply.test_verdict().empty() ? Json(nullptr) : Json(reply.test_verdict());
  j["estimated_start"] = reply.estimated_start_us() == 0 ? Json(nullptr) : Json(reply.estimated_start_us() / 1'000'000);
  return j.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Made submit_job(const std::string& /*name*/, const Asked& asked) {
  GW_TRY(j, object_of(asked, {"script", "options", "arguments", "chdir", "environment"}));
  GW_TRY(submitted, submitted_of(j));
  std::vector<std::string> notes;
  GW_TRY(submit, submission_of(std::move(submitted), asked.from, asked.now, notes));
  Question q;
  q.is_change = true;
  *q.requests.emplace_back().mutable_submit() = std::move(submit);
  q.json = [notes](Replies& replies) -> Result<std::string> {
    if (!replies[0]) return tl::unexpected(replies[0].error());
    return submitted_json(replies[0]->submit(), notes);
  };
  return q;
}

Made cancel_job(const std::string& name, const Asked& asked) {
  constexpr int kMostSignal = 64;
  GW_TRY(id, job_number(name));
  GW_TRY(j, object_of(asked, {"signal"}));
  Question q;
  q.is_change = true;
  wire::CancelRequest& cancel = *q.requests.emplace_back().mutable_cancel();
  cancel.mutable_filter()->add_ids(id);
  if (j.contains("signal")) {
    if (!j["signal"].is_number_integer() || j["signal"] < 1 || j["signal"] > kMostSignal)
      return base::invalid("signal is no number from 1 to 64");
    cancel.set_signo(j["signal"].get<int>());
  }
  q.json = [](Replies& replies) -> Result<std::string> {
    if (!replies[0]) return tl::unexpected(replies[0].error());
    return done_json(replies[0]->cancel());
  };
  return q;
}

Made hold_job(const std::string& name, const Asked& asked) { return act_on(name, asked, wire::kUserHold); }
Made release_job(const std::string& name, const Asked& asked) { return act_on(name, asked, wire::kRelease); }
Made requeue_job(const std::string& name, const Asked& asked) { return act_on(name, asked, wire::kRequeue); }

}  // namespace gw::webd
