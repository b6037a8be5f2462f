// Serving HTTP GET. See http.h.
#include "io/http.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace gw::io {
namespace {

std::string response(std::string_view status, std::string_view type, std::string_view body,
                     std::string_view more = "") {
  return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n{}", status,
                     type, body.size(), more, body);
}

std::string refusal(std::string_view status, std::string_view more = "") {
  return response(status, "text/plain; charset=utf-8", fmt::format("{}\n", status), more);
}

}  // namespace

struct HttpServer::Visitor {
  std::shared_ptr<Stream> stream;
  std::string head;
  Timer patience;
  uint64_t number = 0;
  bool is_answered = false;
};

base::Result<std::unique_ptr<HttpServer>> HttpServer::open(Loop& loop, const std::string& address,
                                                           std::map<std::string, Page> pages, base::Duration patience) {
  std::unique_ptr<HttpServer> server(new HttpServer(loop, std::move(pages), patience));
  ListenOptions options;
  options.address = address;
  options.backlog = 128;
  GW_TRY(listener, Listener::open(loop, options, [s = server.get()](const auto& stream) { s->on_accept(stream); }));
  server->listener_ = std::move(listener);
  return server;
}

HttpServer::~HttpServer() {
  for (auto& [key, visitor] : visitors_) visitor->stream->on_closed({});  // an answer may still be under way
}

/// Closes one connection if there are as many as may be: the oldest of those that have not asked yet, if there is any.
void HttpServer::make_room() {
  if (visitors_.size() < kMaxConnections) return;
  const auto oldest = std::min_element(visitors_.begin(), visitors_.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->is_answered, a.second->number) < std::pair(b.second->is_answered, b.second->number);
  });
  const std::shared_ptr<Stream> stream = oldest->second->stream;
  visitors_.erase(oldest);
  stream->on_closed({});
  stream->close("others wait");
}

void HttpServer::on_accept(const std::shared_ptr<Stream>& stream) {
  make_room();
  auto visitor = std::make_shared<Visitor>();
  visitor->stream = stream;
  visitor->number = ++visits_;
  visitor->patience = loop_.after(patience_, [s = stream.get()] { s->close("no request came in time"); });
  visitors_[stream.get()] = visitor;
  stream->on_closed([this, key = stream.get()](const std::string&) {
    const auto gone = visitors_.extract(key);
    if (!gone.empty()) loop_.defer([kept = gone.mapped()] {});  // not destroyed from inside its own callback
  });
  stream->on_data([this, v = std::weak_ptr<Visitor>(visitor)](std::string_view bytes) {
    const auto held = v.lock();
    if (!held || held->is_answered) return;
    held->head.append(bytes.substr(0, kMaxHead + 1 - std::min(held->head.size(), kMaxHead)));
    const size_t end = held->head.find("\r\n\r\n");
    if (end == std::string::npos && held->head.size() <= kMaxHead) return;
    held->is_answered = true;
    held->stream->send(end == std::string::npos ? refusal("431 Request Header Fields Too Large")
                                                : answer(std::string_view(held->head).substr(0, end)));
    held->stream->close_after_flush("answered");
  });
}

std::string HttpServer::answer(std::string_view head) const {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const size_t method = line.find(' ');
  const size_t target = method == std::string_view::npos ? method : line.find(' ', method + 1);
  if (target == std::string_view::npos || !line.substr(target + 1).starts_with("HTTP/1."))
    return refusal("400 Bad Request");
  if (line.substr(0, method) != "GET") return refusal("405 Method Not Allowed", "Allow: GET\r\n");
  std::string_view path = line.substr(method + 1, target - method - 1);
  if (constexpr std::string_view kScheme = "http://"; base::iequals(path.substr(0, kScheme.size()), kScheme)) {
    // As to a proxy; a server has to take it too.
    path.remove_prefix(kScheme.size());
    path.remove_prefix(std::min(path.find('/'), path.size()));
  }
  path = path.substr(0, path.find('?'));
  const auto page = pages_.find(std::string(path));
  if (page == pages_.end()) return refusal("404 Not Found");
  return response("200 OK", page->second.content_type, page->second.text());
}

}  // namespace gw::io
