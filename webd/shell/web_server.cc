// See web_server.h.
#include "webd/shell/web_server.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <utility>

#include "auth/token_secret.h"
#include "base/text.h"
#include "client/conn/connection.h"
#include "http/gzip.h"
#include "webd/core/cluster_json.h"
#include "webd/shell/pages.h"

namespace gw::webd {
namespace {

constexpr size_t kPortion = 25;  // of pages that are told of a change at once
constexpr base::Duration kPortionsApart = base::milliseconds(50);
constexpr base::Duration kLeastPause = base::milliseconds(500);
constexpr base::Duration kTryAgain = base::seconds(2);     // where the controller is away
constexpr base::Duration kCheckEvery = base::seconds(10);  // whether the tokens of open pages still hold

using Headers = std::vector<std::pair<std::string, std::string>>;

/// Nothing but what we serve is run or loaded, nobody shows us in a frame, and nobody is told where one came from.
Headers safe_headers() {
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
           "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cross-Origin-Opener-Policy", "same-origin"}};
}

http::Response json_response(int status, std::shared_ptr<const std::string> text) {
  http::Response out;
  out.status = status;
  out.body = std::move(text);
  out.headers = safe_headers();
  out.headers.emplace_back("Cache-Control", "no-store");
  return out;
}

/// Shorter where that pays, and is asked for; each answer is packed once, however many want it.
http::Response answered(const AnswerCache::Text& text, bool is_short) {
  constexpr size_t kWorthIt = 2'000;
  const bool is_packed = is_short && text->plain.size() >= kWorthIt;
  if (is_packed && text->packed == nullptr) text->packed = std::make_shared<const std::string>(http::gzip(text->plain));
  if (!is_packed || text->packed->empty()) return json_response(200, {text, &text->plain});
  http::Response out = json_response(200, text->packed);
  out.headers.emplace_back("Content-Encoding", "gzip");
  out.headers.emplace_back("Vary", "Accept-Encoding");
  return out;
}

http::Response refusal(int status, std::string_view code, std::string_view message, std::string_view hint) {
  return json_response(status, std::make_shared<const std::string>(error_json(code, message, hint)));
}

http::Response error_response(const base::Error& error) {
  http::Response out = json_response(status_of(error.code), std::make_shared<const std::string>(error_json(error)));
  if (out.status == 503) out.headers.emplace_back("Retry-After", "5");
  return out;
}

http::Response page_response(const Page& page, std::string_view known) {
  http::Response out;
  out.type = page.type;
  out.headers = safe_headers();
  out.headers.emplace_back("ETag", page.tag);
  out.headers.emplace_back("Cache-Control", "no-cache");
  if (known == page.tag)
    out.status = 304;
  else
    out.body = page.text;
  return out;
}

/// Each part with its length in front: none can be taken for another.
std::string key_of(const http::Request& request) {
  std::string key = request.path;
  for (const auto& [name, value] : request.query)
    key += fmt::format("\n{}:{}={}:{}", name.size(), name, value.size(), value);
  return key;
}

constexpr std::string_view kTokenHint = "gangway token make prints one";

http::Response wrong_method(const std::string& methods) {
  http::Response out = refusal(405, "method_not_allowed", "this is asked by " + methods, "");
  out.headers.emplace_back("Allow", methods);
  return out;
}

http::Response unauthorized(const base::Error& error) {
  http::Response out = refusal(401, "unauthorized", error.what, error.hint);
  out.headers.emplace_back("WWW-Authenticate", "Bearer");
  return out;
}

bool is_loopback(std::string_view from) {
  return from == "::1" || from == "[::1]" || from.starts_with("127.") || from.starts_with("unix:");
}

bool is_api(std::string_view path) { return path == "/api" || path.starts_with("/api/"); }

}  // namespace

WebServer::WebServer(io::Loop& loop, link::AuthPool& pool, const config::Config& config, bool is_encrypted)
    : loop_(loop),
      pool_(pool),
      controller_(client::ControllerLines::options_for(config)),
      is_encrypted_(is_encrypted),
      hosts_(config.web_listen, config.web_hosts),
      is_open_(config.web_open_to_read),
      everybody_(new Visitor{{}, {loop, pool, controller_}}) {}

base::Result<std::unique_ptr<WebServer>> WebServer::open(io::Loop& loop, link::AuthPool& pool,
                                                         const config::Config& config, const TlsTexts& tls,
                                                         io::Fd socket) {
  constexpr size_t kMostBody = 6 << 20;  // a script, and what JSON makes of it
  std::unique_ptr<WebServer> self(new WebServer(loop, pool, config, !tls.certificate.empty()));
  http::ServerOptions options;
  options.socket = std::move(socket);
  options.certificate = tls.certificate;
  options.key = tls.key;
  options.max_body = kMostBody;
  options.on_trouble = [rare = RareLines(), count = 0](const std::string& text) mutable {
    ++count;
    if (rare.may_say()) spdlog::info("HTTP: {} ({} such since the last line)", text, std::exchange(count, 0));
  };
  GW_TRY(http, http::Server::open(loop, std::move(options),
                                  [web = self.get()](const http::Request& request, const http::Answer& answer) {
                                    web->handle(request, answer);
                                  }));
  self->http_ = std::move(http);
  return self;
}

void WebServer::handle(const http::Request& request, const http::Answer& answer) {
  if (!hosts_.has(request.header("host")))
    return answer(refusal(421, "wrong_host",
                          "this server is not called " + base::printable(request.header("host"), 100),
                          "web.hosts in the configuration names it"));
  if (is_api(request.path)) return serve_api(request, answer);
  const Page* page = page_at(request.path);
  if (page == nullptr)
    return answer(refusal(404, "not_found", "there is no " + base::printable(request.path, 100), "the page is at /"));
  if (request.method != "GET") return answer(wrong_method("GET"));
  answer(page_response(*page, request.header("if-none-match")));
}

void WebServer::serve_api(const http::Request& request, const http::Answer& answer) {
  const std::string_view origin = request.header("origin");
  if ((!origin.empty() && !hosts_.has_origin(origin)) || request.header("sec-fetch-site") == "cross-site")
    return answer(refusal(403, "cross_site", "pages of other servers may not ask here", ""));
  const std::string methods = methods_of(request.path);
  const std::vector<std::string> taken = base::split(methods, ',');
  const auto is_method = [&request](const std::string& one) { return base::trim(one) == request.method; };
  if (!methods.empty() && std::none_of(taken.begin(), taken.end(), is_method)) return answer(wrong_method(methods));
  const auto visitor = visitor_of(request);
  if (!visitor && visitor.error().code == base::ErrorCode::kUnavailable) return answer(error_response(visitor.error()));
  if (!visitor) return answer(unauthorized(visitor.error()));
  if ((*visitor)->key.empty() && request.method != "GET")
    return answer(unauthorized({base::ErrorCode::kDenied, "changes need a token", std::string(kTokenHint)}));
  if ((*visitor)->key.empty() || (*visitor)->lines.token() != nullptr) return serve_for(request, *visitor, answer);
  confirm(*visitor, [this, held = std::make_shared<const http::Request>(request), v = *visitor,
                     answer](const base::Status& known) {
    if (known) return serve_for(*held, v, answer);
    if (!v->lines.is_refused()) return answer(error_response(known.error()));
    note_refusal(held->from);
    answer(unauthorized(known.error()));
  });
}

/// Whoever it is may ask.
void WebServer::serve_for(const http::Request& request, const std::shared_ptr<Visitor>& visitor,
                          const http::Answer& answer) {
  if (request.path == "/api/v1/stream") return serve_stream(visitor, answer);
  auto question = request.path == "/api/v1/me" ? who_is(visitor)
                                               : question_of({request.method, request.path, request.query, request.body,
                                                              request.from, base::SystemClock().now()});
  if (!question) return answer(error_response(question.error()));
  ask(request, visitor, std::move(*question), answer);
}

/// Asked of the controller, so that it is of now.
base::Result<Question> WebServer::who_is(const std::shared_ptr<Visitor>& visitor) {
  Question q;
  q.requests.emplace_back().mutable_ping();
  q.json = [visitor](Replies& replies) -> base::Result<std::string> {
    if (!replies[0]) return tl::unexpected(replies[0].error());
    return me_json(visitor->lines.token());
  };
  return q;
}

// ---- who asks

/// Errors: nobody that may ask; how a token may not come.
base::Result<std::shared_ptr<WebServer::Visitor>> WebServer::visitor_of(const http::Request& request) {
  constexpr std::string_view kBearer = "bearer ";
  const std::string_view said = request.header("authorization");
  if (said.empty() && is_open_) return everybody_;
  if (said.empty())
    return base::fail(base::ErrorCode::kDenied, "this takes a token",
                      std::string(kTokenHint) + "; an administrator can open reading to all (web.open_to_read)");
  if (!is_encrypted_ && !is_loopback(request.from))
    return base::fail(base::ErrorCode::kDenied, "a token is not taken unencrypted",
                      "revoke it, since others may have read it; an administrator can serve TLS (web.certificate)");
  const std::string_view secret = base::trim(said.substr(std::min(said.size(), kBearer.size())));
  if (base::to_lower(said.substr(0, kBearer.size())) != kBearer || !auth::is_token_secret(secret))
    return base::fail(base::ErrorCode::kDenied, "the header Authorization has no token",
                      "Authorization: Bearer gwt_...");
  return visitor_by(std::string(secret));
}

/// Of too many the one that was used longest ago goes.
base::Result<std::shared_ptr<WebServer::Visitor>> WebServer::visitor_by(const std::string& secret) {
  const std::string hash = auth::token_hash(secret);
  const base::Duration now = io::Loop::monotonic();
  if (const auto it = visitors_.find(hash); it != visitors_.end() && !it->second->lines.is_refused()) {
    it->second->used = now;
    return it->second;
  }
  const auto is_unknown = [](const auto& entry) { return entry.second->lines.token() == nullptr; };
  if (static_cast<size_t>(std::count_if(visitors_.begin(), visitors_.end(), is_unknown)) >= kMostUnknown)
    return base::fail(base::ErrorCode::kUnavailable, "too many new tokens at once", "try again in a while");
  constexpr size_t kLines = 2, kMostWaiting = 50;
  client::ControllerLines::Options options = controller_;
  options.token = secret;
  options.lines = kLines;
  options.most_waiting = kMostWaiting;
  const std::shared_ptr<Visitor> made(new Visitor{hash, {loop_, pool_, options}, now});
  visitors_[hash] = made;
  if (visitors_.size() > kMostTokens) {
    const auto oldest = std::min_element(visitors_.begin(), visitors_.end(),
                                         [](const auto& a, const auto& b) { return a.second->used < b.second->used; });
    visitors_.erase(oldest);
  }
  return made;
}

/// Does the controller know the token? Until it has said so nothing that came with it is looked at. One that it does
/// not know, or does not say so in time, is forgotten.
void WebServer::confirm(const std::shared_ptr<Visitor>& visitor, std::function<void(const base::Status&)> done) {
  constexpr int kMostAtOnce = 8;  // each may hold a long body
  if (visitor->confirming >= kMostAtOnce)
    return done(base::fail(base::ErrorCode::kUnavailable, "too many requests at once", "try again in a while"));
  ++visitor->confirming;
  wire::ApiRequest ping;
  ping.mutable_ping();
  visitor->lines.ask(ping, [this, alive = alive_, visitor, done](const base::Result<wire::ApiReply>& reply) {
    if (!*alive) return;
    --visitor->confirming;
    const bool has_ended = !reply && reply.error().code == base::ErrorCode::kDenied;
    if (has_ended || visitor->lines.token() == nullptr) forget(visitor);
    done(reply ? base::Status{} : tl::unexpected(reply.error()));
  });
}

void WebServer::forget(const std::shared_ptr<Visitor>& visitor) {
  if (const auto it = visitors_.find(visitor->key); it != visitors_.end() && it->second == visitor) visitors_.erase(it);
}

void WebServer::note_refusal(const std::string& from) {
  ++refused_;
  if (refusals_.may_say())
    spdlog::warn("a token from {} is unknown, or has ended; {} since the last such line", from,
                 std::exchange(refused_, 0));
}

// ---- questions

void WebServer::ask(const http::Request& request, const std::shared_ptr<Visitor>& visitor, Question question,
                    const http::Answer& answer) {
  const auto work = std::make_shared<Work>();
  work->visitor = visitor;
  work->question = std::move(question);
  const bool is_short = http::takes_gzip(request.header("accept-encoding"));
  const auto give = [answer, visitor, is_short](const base::Result<AnswerCache::Text>& text) {
    if (text) return answer(answered(*text, is_short));
    answer(visitor->lines.is_refused() ? unauthorized(text.error()) : error_response(text.error()));
  };
  if (work->question.is_change) {
    const std::string_view named = request.header("idempotency-key");
    const std::string id = named.empty() ? client::make_uuid()
                                         : auth::token_hash(fmt::format("{}\n{}\n{} {}\n{}", visitor->key, named,
                                                                        request.method, request.path, request.body));
    for (wire::ApiRequest& one : work->question.requests) one.set_client_id(id);
    work->done = [this, visitor, give](const base::Result<std::string>& text) {
      answers_.forget(visitor->key + "\n");  // who has changed something sees it
      give(text.map([](const std::string& t) { return std::make_shared<const Answered>(Answered{t}); }));
    };
    return make(work);
  }
  work->key = visitor->key + "\n" + key_of(request);
  const uint64_t number = answers_.ask(work->key, io::Loop::monotonic(), give);
  if (number == 0) return;
  const bool is_one_of_many = visitor->key.empty() && asking_[request.from] >= kMostOfAddress;
  if (is_one_of_many)
    return answers_.made(work->key, number, io::Loop::monotonic(),
                         base::fail(base::ErrorCode::kUnavailable,
                                    "too many different questions at once from your address", "try again in a while"));
  ++asking_[request.from];
  work->done = [this, key = work->key, number, from = request.from,
                is_history = work->question.is_history](const base::Result<std::string>& text) {
    if (--asking_[from] == 0) asking_.erase(from);
    answers_.made(key, number, io::Loop::monotonic(), text, is_history);
  };
  make(work);
}

void WebServer::make(const std::shared_ptr<Work>& work) { ask_all(work, std::move(work->question.requests)); }

void WebServer::ask_all(const std::shared_ptr<Work>& work, std::vector<wire::ApiRequest> requests) {
  if (requests.empty()) return on_replies(work);
  const size_t first = work->replies.size();
  work->asked += requests.size();
  work->replies.resize(work->asked, tl::unexpected(base::Error{}));
  for (size_t i = 0; i < requests.size(); ++i)
    work->visitor->lines.ask(std::move(requests[i]),
                             [this, alive = alive_, work, at = first + i](base::Result<wire::ApiReply> reply) {
                               if (!*alive) return;
                               work->replies[at] = std::move(reply);
                               if (++work->answered == work->asked) on_replies(work);
                             });
}

void WebServer::on_replies(const std::shared_ptr<Work>& work) {
  if (!std::exchange(work->is_more, true) && work->question.more)
    if (auto more = work->question.more(work->replies); !more.empty()) return ask_all(work, std::move(more));
  base::Result<std::string> text = base::fail(base::ErrorCode::kInternal, "the answer cannot be told");
  try {
    text = work->question.json(work->replies);
  } catch (const std::exception& e) {
    spdlog::error("no JSON for a question: {}", base::printable(e.what()));
  }
  // Was it the job that is somebody else's, or has the token ended?
  if (!text && text.error().code == base::ErrorCode::kDenied && !work->visitor->key.empty())
    confirm(work->visitor, [](const base::Status&) {});
  work->done(text);
}

// ---- open pages

void WebServer::serve_stream(const std::shared_ptr<Visitor>& visitor, const http::Answer& answer) {
  drop_closed();
  if (streams_.size() >= kMostStreams)
    return answer(refusal(503, "too_many", "too many pages are open", "try again in a while"));
  http::Response out;
  out.type = "text/event-stream";
  out.headers = safe_headers();
  out.headers.emplace_back("Cache-Control", "no-store");
  out.stream = std::make_shared<http::EventStream>();
  out.stream->send(fmt::format("retry: 5000\nevent: version\ndata: {}\n\n", version_));
  streams_.push_back({out.stream, visitor, version_});
  answer(std::move(out));
  if (!is_watching_) await_change();
}

void WebServer::drop_closed() {
  std::erase_if(streams_, [](const Listener& one) { return one.stream->is_gone(); });
}

/// Whose token has ended hears no more.
void WebServer::check_listeners() {
  std::set<std::shared_ptr<Visitor>> visitors;
  for (const Listener& one : streams_)
    if (!one.visitor->key.empty()) visitors.insert(one.visitor);
  for (const std::shared_ptr<Visitor>& visitor : visitors)
    confirm(visitor, [this, visitor](const base::Status& known) {
      if (known || known.error().code != base::ErrorCode::kDenied) return;
      for (const Listener& one : streams_)
        if (one.visitor == visitor) one.stream->give_up();
    });
}

/// As long as a page is open.
void WebServer::await_change() {
  drop_closed();
  is_watching_ = !streams_.empty();
  if (!is_watching_) return;
  wire::ApiRequest request;
  request.mutable_await_change()->set_version(seen_);
  everybody_->lines.ask(request, [this, alive = alive_](const base::Result<wire::ApiReply>& reply) {
    if (!*alive) return;
    const uint64_t version = reply ? reply->await_change().version() : 0;
    const bool has_changed = std::exchange(seen_, version) != version;
    if (const base::Duration now = io::Loop::monotonic(); now >= checked_ + kCheckEvery) {
      checked_ = now;
      check_listeners();
    }
    if (has_changed) {
      ++version_;
      answers_.forget("");  // whoever asks because of it is told of it
      return tell_some();
    }
    tell_all(": here\n\n");  // a page learns that we are here, and we whether it is
    if (reply) return await_change();
    timer_ = loop_.after(kTryAgain, [this] { await_change(); });
  });
}

/// Pages are told one portion after the other: each asks anew then, and all at once would be in the way of everybody.
void WebServer::tell_some() {
  const std::string text = fmt::format("event: version\ndata: {}\n\n", version_);
  size_t told = 0;
  for (Listener& one : streams_) {
    if (one.told == version_) continue;
    if (++told > kPortion) break;
    one.told = version_;
    one.stream->send(text);
  }
  if (told > kPortion)
    timer_ = loop_.after(kPortionsApart, [this] { tell_some(); });
  else
    timer_ = loop_.after(seen_ != 0 ? kLeastPause : kTryAgain, [this] { await_change(); });
}

void WebServer::tell_all(const std::string& text) {
  for (const Listener& one : streams_) one.stream->send(text);
}

}  // namespace gw::webd
