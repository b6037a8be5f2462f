// See openapi.h.
#include "webd/core/openapi.h"

#include <nlohmann/json.hpp>

#include "webd/core/api.h"

namespace gw::webd {
namespace {

using Json = nlohmann::ordered_json;

Json text_parameter(std::string_view name, std::string_view where, std::string_view doc) {
  return {{"name", name},
          {"in", where},
          {"required", where == "path"},
          {"description", doc},
          {"schema", {{"type", "string"}}}};
}

Json response(const char* doc, const char* schema) {
  return {{"description", doc}, {"content", {{"application/json", {{"schema", {{"$ref", schema}}}}}}}};
}

Json operation(const Route& route) {
  Json parameters = Json::array();
  const size_t open = route.pattern.find('{');
  if (open != std::string_view::npos) {
    const std::string_view name = route.pattern.substr(open + 1, route.pattern.find('}') - open - 1);
    parameters.push_back(text_parameter(name, "path", name == "id" ? "Number of the job." : "Name of the node."));
  }
  Json out{{"summary", route.doc}};
  if (route.method == "GET") {
    for (const Parameter& p : route.parameters) parameters.push_back(text_parameter(p.name, "query", p.doc));
  } else {
    Json keys = Json::object();
    for (const Parameter& p : route.parameters) keys[std::string(p.name)] = {{"description", p.doc}};
    const Json body{{"type", "object"}, {"properties", std::move(keys)}, {"additionalProperties", false}};
    out["requestBody"]["content"]["application/json"]["schema"] = body;
    out["security"] = Json::array({Json{{"token", Json::array()}}});
  }
  out["parameters"] = std::move(parameters);
  out["responses"]["200"] = response("What was asked for.", "#/components/schemas/Answer");
  out["responses"]["default"] = response("What is wrong, why, and how to mend it.", "#/components/schemas/Error");
  return out;
}

}  // namespace

std::string openapi_json() {
  Json j{{"openapi", "3.1.0"},
         {"info",
          {{"title", "Gangway"},
           {"version", "1"},
           {"description",
            "A cluster's jobs, nodes and quotas. Keys may be added to answers; schema_version grows when "
            "one goes or changes its meaning."}}}};
  for (const Route& route : routes())
    j["paths"][std::string(route.pattern)][route.method == "GET" ? "get" : "post"] = operation(route);
  const Json text{{"type", "string"}};
  j["components"]["securitySchemes"]["token"] = {
      {"type", "http"}, {"scheme", "bearer"}, {"description", "What gangway token make prints."}};
  j["components"]["schemas"]["Answer"] = {{"type", "object"}};
  j["components"]["schemas"]["Error"] = {{"type", "object"},
                                         {"required", {"error"}},
                                         {"properties",
                                          {{"error",
                                            {{"type", "object"},
                                             {"required", {"code", "message", "hint"}},
                                             {"properties", {{"code", text}, {"message", text}, {"hint", text}}}}}}}};
  return j.dump() + "\n";
}

}  // namespace gw::webd
