// Answers HTTP GET on one address: for what monitoring fetches. Nobody is asked who he is, so nothing secret may be
// served, and nothing is ever changed by a request.
// Invariants: a connection carries one request and is closed after the answer; its head is bounded in size and time,
// and so is the number of connections; requests with a body, other methods and other paths are refused. Who connects is
// served at once: where connections are many, the one that has been silent longest is closed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/listener.h"

namespace gw::io {

class HttpServer {
 public:
  static constexpr size_t kMaxHead = 8192;
  static constexpr size_t kMaxConnections = 64;
  static constexpr base::Duration kPatience = base::seconds(5);

  struct Page {
    std::string content_type;
    std::function<std::string()> text;  ///< Called on the loop for each request.
  };
  /// Serves the pages by path ("/metrics"). Errors: as Listener::open.
  static base::Result<std::unique_ptr<HttpServer>> open(Loop& loop, const std::string& address,
                                                        std::map<std::string, Page> pages,
                                                        base::Duration patience = kPatience);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  std::string bound_address() const { return listener_->bound_address(); }

 private:
  struct Visitor;
  HttpServer(Loop& loop, std::map<std::string, Page> pages, base::Duration patience)
      : loop_(loop), pages_(std::move(pages)), patience_(patience) {}
  void on_accept(const std::shared_ptr<Stream>& stream);
  void make_room();
  std::string answer(std::string_view head) const;

  Loop& loop_;
  std::map<std::string, Page> pages_;
  base::Duration patience_;
  std::map<Stream*, std::shared_ptr<Visitor>> visitors_;
  uint64_t visits_ = 0;
  std::unique_ptr<Listener> listener_;
};

}  // namespace gw::io
