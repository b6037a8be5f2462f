// Serves the page and the API: checks who asks, asks the controller for him, gives many who ask the same one answer,
// and tells open pages when something has changed. Invariants: a request that may not be answered asks nothing of the
// controller; what one may see nobody else is given; whatever is told is JSON or a page, with headers that keep a
// browser from running anything else; the controller is asked the same for the same user at most once a second; a token
// that comes over a network unencrypted is refused.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "client/conn/controller_lines.h"
#include "config/config.h"
#include "http/server.h"
#include "webd/core/answer_cache.h"
#include "webd/core/api.h"
#include "webd/core/visitor.h"

namespace gw::webd {

/// Texts of certificate and key (PEM), read before rights are given up; empty: plain HTTP.
struct TlsTexts {
  std::string certificate, key;
};

/// Of what anybody can cause there is a line in the log every ten seconds at most.
class RareLines {
 public:
  bool may_say() {
    constexpr base::Duration kEvery = base::seconds(10);
    const base::Duration now = io::Loop::monotonic();
    if (has_said_ && now - said_ < kEvery) return false;
    has_said_ = true;
    said_ = now;
    return true;
  }

 private:
  bool has_said_ = false;
  base::Duration said_ = {};
};

class WebServer {
 public:
  /// Open pages that are told of changes; more are refused.
  static constexpr size_t kMostStreams = 2'000;
  /// Tokens that are in use at once; the one goes that was used longest ago.
  static constexpr size_t kMostTokens = 200;
  /// Of them so many that the controller has not confirmed: whoever guesses keeps nobody out for long.
  static constexpr size_t kMostUnknown = 20;
  /// Different questions without a token that are under way for one address.
  static constexpr int kMostOfAddress = 32;

  /// `socket` listens already. Errors: as http::Server::open.
  static base::Result<std::unique_ptr<WebServer>> open(io::Loop& loop, link::AuthPool& pool,
                                                       const config::Config& config, const TlsTexts& tls,
                                                       io::Fd socket);
  ~WebServer() { *alive_ = false; }
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;
  const std::string& bound_address() const { return http_->bound_address(); }

 private:
  /// For whom the controller is asked: everybody, or the maker of a token.
  struct Visitor {
    std::string key;  // of a token the hash; empty: everybody
    client::ControllerLines lines;
    base::Duration used = {};
    int confirming = 0;  // times that the controller is asked whether it knows the token
  };
  /// An open page that is told of changes.
  struct Listener {
    std::shared_ptr<http::EventStream> stream;
    std::shared_ptr<Visitor> visitor;
    uint64_t told = 0;  // the version
  };
  /// A question on its way.
  struct Work {
    std::string key;
    std::shared_ptr<Visitor> visitor;
    Question question;
    Replies replies;
    size_t asked = 0, answered = 0;
    bool is_more = false;  // what else was to be asked has been
    std::function<void(const base::Result<std::string>&)> done;
  };

  io::Loop& loop_;
  link::AuthPool& pool_;
  const client::ControllerLines::Options controller_;
  const bool is_encrypted_;
  const AllowedHosts hosts_;
  const bool is_open_;
  AnswerCache answers_{AnswerCache::Bounds{}};
  std::shared_ptr<Visitor> everybody_;
  std::map<std::string, std::shared_ptr<Visitor>> visitors_;  // by the hash of their token
  std::map<std::string, int> asking_;                         // questions under way that everybody may ask, by address
  std::list<Listener> streams_;
  bool is_watching_ = false;
  uint64_t seen_ = 0;  // of the controller's versions; 0: it is away, or none was asked for
  uint64_t version_ = 0;
  base::Duration checked_ = {};  // the tokens of open pages
  uint64_t refused_ = 0;         // tokens, since that was told last
  RareLines refusals_;
  io::Timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<http::Server> http_;

  WebServer(io::Loop& loop, link::AuthPool& pool, const config::Config& config, bool is_encrypted);
  void handle(const http::Request& request, const http::Answer& answer);
  void serve_api(const http::Request& request, const http::Answer& answer);
  void serve_for(const http::Request& request, const std::shared_ptr<Visitor>& visitor, const http::Answer& answer);
  void serve_stream(const std::shared_ptr<Visitor>& visitor, const http::Answer& answer);
  void confirm(const std::shared_ptr<Visitor>& visitor, std::function<void(const base::Status&)> done);
  void forget(const std::shared_ptr<Visitor>& visitor);
  void note_refusal(const std::string& from);
  void drop_closed();
  void check_listeners();
  base::Result<std::shared_ptr<Visitor>> visitor_of(const http::Request& request);
  base::Result<std::shared_ptr<Visitor>> visitor_by(const std::string& secret);
  static base::Result<Question> who_is(const std::shared_ptr<Visitor>& visitor);
  void ask(const http::Request& request, const std::shared_ptr<Visitor>& visitor, Question question,
           const http::Answer& answer);
  void make(const std::shared_ptr<Work>& work);
  void ask_all(const std::shared_ptr<Work>& work, std::vector<wire::ApiRequest> requests);
  void on_replies(const std::shared_ptr<Work>& work);
  void await_change();
  void tell_some();
  void tell_all(const std::string& text);
};

}  // namespace gw::webd
