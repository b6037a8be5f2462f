// The API: which paths there are, what each asks of the controller, and what is made of its answers. Pure.
// Invariants: whatever is asked, the answer is JSON or an error; a GET asks for nothing but kinds of requests that only
// read; each parameter of a path is in its row of the table, which the document of the API is made of.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "wire/api.pb.h"

namespace gw::webd {

/// What was asked for: GET "/api/v1/jobs" with {"state": "PENDING"}.
struct Asked {
  std::string method = "GET";
  std::string path;
  std::map<std::string, std::string> query = {};
  std::string body = {};
  std::string from = {};  ///< Address of who asks.
  base::Time now = {};    ///< For times that are said relative to it.
};

/// The answers of the controller, in the order of the requests.
using Replies = std::vector<base::Result<wire::ApiReply>>;

/// What the controller is asked, and what becomes of it.
struct Question {
  std::vector<wire::ApiRequest> requests;
  /// What else is asked once they are answered; empty: nothing.
  std::function<std::vector<wire::ApiRequest>(const Replies& replies)> more = {};
  /// All replies as one JSON text that ends with a newline. Errors: the controller's.
  std::function<base::Result<std::string>(Replies& replies)> json;
  bool is_history =
      false;  ///< Of what is over for the most part, and takes long to sum up: an answer is good for a while.
  bool is_change = false;  ///< It changes something: asked once for each who asks, and by a token alone.
};

/// A parameter of a path.
struct Parameter {
  std::string_view name, doc;
};

/// A path, as the document of the API tells it: "/api/v1/jobs/{id}".
struct Route {
  std::string_view method, pattern, doc;
  std::span<const Parameter> parameters;  ///< Of GET in the query, of POST keys of the body.
};
std::vector<Route> routes();

constexpr std::string_view kApiRoot = "/api/v1";

/// The methods that a path takes: "GET", "GET, POST"; empty: there is no such path.
std::string methods_of(std::string_view path);
/// Errors: kNotFound: no such path, or not by this method; kInvalid: a parameter that there is not, or a value that it
/// cannot have.
base::Result<Question> question_of(const Asked& asked);

/// The status of HTTP that stands for an error, and its JSON: {"error": {"code", "message", "hint"}}.
int status_of(base::ErrorCode code);
std::string error_json(const base::Error& error);
/// The same with a code of its own.
std::string error_json(std::string_view code, std::string_view message, std::string_view hint = {});

}  // namespace gw::webd
