// Connections to the controller on an event loop, for one who asks: as the user of this process, or for the maker of a
// token. There are a few of them, each with one request at a time, so that a question that takes long keeps no other
// from its answer.
// Invariants: every question is answered once, on the loop, never from inside ask(); so many wait at most, and none
// longer than patience; nothing is called after destruction. What was asked on a connection that breaks is not asked
// again: who changes something does so under a name of his own, by which he can ask once more.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "client/conn/reply_assembly.h"
#include "config/config.h"
#include "io/loop.h"
#include "link/dial_link.h"
#include "wire/api.pb.h"

namespace gw::client {

class ControllerLines {
 public:
  struct Options {
    link::DialLinkOptions dial;
    std::string token = {};  ///< The secret; empty: as the user of this process.
    size_t lines = 4;
    size_t most_waiting = 500;
    base::Duration patience = base::seconds(20);
  };
  /// Where the controller of this configuration is.
  static Options options_for(const config::Config& config);
  /// Errors: kUnavailable: the controller is not reached, or too many wait; kTimeout; the controller's refusal.
  using DoneFn = std::function<void(base::Result<wire::ApiReply>)>;

  ControllerLines(io::Loop& loop, link::AuthPool& pool, Options options);
  ~ControllerLines();
  ControllerLines(const ControllerLines&) = delete;
  ControllerLines& operator=(const ControllerLines&) = delete;

  void ask(wire::ApiRequest request, DoneFn done);
  /// The controller does not know the token, or not any more.
  bool is_refused() const { return is_refused_; }
  /// The token that they act by, once the controller has said it. Null: it has not.
  const wire::Token* token() const { return token_ ? &*token_ : nullptr; }

 private:
  struct Asked {
    wire::ApiRequest request;
    DoneFn done;
    base::Duration until;
  };
  struct Line {
    link::LinkDialHandle dialing;
    std::shared_ptr<link::SecureLink> link;
    std::optional<Asked> asked;
    std::optional<client::ReplyAssembly> reply;
    bool is_known = false;  // the controller knows whom it is for
  };

  io::Loop& loop_;
  link::AuthPool& pool_;
  const Options options_;
  std::vector<std::unique_ptr<Line>> lines_;
  std::deque<Asked> waiting_;
  uint64_t next_id_ = 1;
  bool is_refused_ = false;
  std::optional<wire::Token> token_;
  io::Timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  void begin();
  void dial(Line& line);
  void send(Line& line);
  void send(Line& line, const wire::ApiRequest& request);
  void on_acting(Line& line, const wire::ApiReply& reply);
  void on_message(Line& line, std::string_view bytes);
  void answer(Line& line, base::Result<wire::ApiReply> reply);
  void look_soon();
  void look();
};

}  // namespace gw::client
