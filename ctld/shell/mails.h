// Hands mails to gscriptd, which runs the mail program. Invariants: a mail is handed on once at most; each user has a
// rate, and what waits is bounded, so that no user's mails keep another's out for long; when gscriptd is away, mails
// wait and nothing else does.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "base/time.h"
#include "ctld/core/effects.h"
#include "ctld/core/tables/request_rate.h"
#include "io/loop.h"
#include "io/stream.h"
#include "wire/frame.h"
#include "wire/script.pb.h"

namespace gw::ctld {

class Mails {
 public:
  static constexpr size_t kMostWaiting = 1'000;
  /// Handed to gscriptd and not answered yet.
  static constexpr size_t kMostUnderWay = 16;

  Mails(io::Loop& loop, std::string socket) : loop_(loop), socket_(std::move(socket)) {}

  /// Sends it soon, or drops it, with a line in the log: its user has had `per_hour` within the hour, or too many wait.
  void send(SendMail mail, base::Time now, uint32_t per_hour);
  /// gscriptd is to read the configuration again.
  void reload();
  uint64_t dropped() const { return dropped_; }

 private:
  io::Loop& loop_;
  std::string socket_;
  RequestRate rate_;
  std::map<uint32_t, base::Time> told_;  // of users whose mails were dropped, when the log said so
  std::deque<wire::ToScripts> waiting_;
  std::map<uint64_t, std::string> under_way_;  // by number: the subject; of a reload it is empty
  std::shared_ptr<io::Stream> stream_;
  io::DialHandle dialing_;
  wire::FrameDecoder decoder_{wire::kMaxHandshakeFrame};
  io::Timer retry_;
  uint64_t next_ = 1;
  uint64_t dropped_ = 0;
  bool has_complained_ = false;

  void drop(uint32_t uid, base::Time now, const std::string& why);
  void pump();
  void connect();
  void on_connected(std::shared_ptr<io::Stream> stream);
  void on_data(std::string_view bytes);
  void on_result(const wire::FromScripts& result);
  void on_lost(const std::string& why);
};

}  // namespace gw::ctld
