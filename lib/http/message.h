// What a request over HTTP asks, and what is answered.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/event_stream.h"

namespace gw::http {

/// Whole, with its body. Invariant: its texts hold no byte 0.
struct Request {
  std::string method;                        ///< "GET" also for HEAD, whose answer is sent without its body.
  std::string path;                          ///< Without the query; %XX are decoded.
  std::map<std::string, std::string> query;  ///< Likewise; of a name that comes twice the last.
  std::map<std::string, std::string>
      headers;  ///< Names in lower case; of one that comes twice both values, ", " between.
  std::string body;
  std::string from;  ///< Address of the other end, without its port.

  /// Empty: there is none.
  std::string_view header(const std::string& name) const {
    const auto it = headers.find(name);
    return it == headers.end() ? std::string_view() : std::string_view(it->second);
  }
};

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::shared_ptr<const std::string> body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::shared_ptr<EventStream> stream = {};  ///< In place of the body: sent as it comes, without end.
};

}  // namespace gw::http
