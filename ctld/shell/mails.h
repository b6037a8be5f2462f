// Hands mails to gscriptd, which runs the mail program. Invariants: a mail is handed on once at most, and those of one
// user in their order, one after the other; users take turns; what waits is bounded, for each user and in all; when
// gscriptd is away, mails wait and nothing else does.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "base/time.h"
#include "ctld/core/effects.h"
#include "io/loop.h"
#include "io/stream.h"
#include "wire/frame.h"
#include "wire/script.pb.h"

namespace gw::ctld {

class Mails {
 public:
  static constexpr size_t kMostOfUser = 100;
  static constexpr size_t kMostWaiting = 10'000;
  /// Handed to gscriptd and not answered yet.
  static constexpr size_t kMostUnderWay = 16;

  Mails(io::Loop& loop, std::string socket) : loop_(loop), socket_(std::move(socket)) {}

  /// Sends it soon, or drops it, with a line in the log now and then, if too many wait.
  void send(SendMail mail, base::Time now);
  /// gscriptd is to read the configuration again, now or once it can be reached.
  void reload();

 private:
  struct UnderWay {
    uint32_t uid = 0;
    std::string subject;  ///< Of a reload: none.
  };

  io::Loop& loop_;
  std::string socket_;
  std::map<uint32_t, std::deque<wire::ToScripts>> waiting_;  // by uid; no empty line
  size_t count_ = 0;                                         // of those that wait
  uint32_t last_uid_ = 0;                                    // had the last turn
  base::Time told_;                                          // when the log last said that one was dropped
  std::map<uint64_t, UnderWay> under_way_;                   // by number
  std::map<uint32_t, uint64_t> busy_;                        // uid: the number of the one under way
  bool wants_reload_ = false;
  std::shared_ptr<io::Stream> stream_;
  io::DialHandle dialing_;
  wire::FrameDecoder decoder_{wire::kMaxHandshakeFrame};
  io::Timer retry_;
  uint64_t next_ = 1;
  bool has_complained_ = false;

  void pump();
  /// The user whose turn it is, or the end: none of those who wait may.
  std::map<uint32_t, std::deque<wire::ToScripts>>::iterator next_user();
  void hand_on(wire::ToScripts message, UnderWay what);
  void connect();
  void on_connected(std::shared_ptr<io::Stream> stream);
  void on_data(std::string_view bytes);
  void on_result(const wire::FromScripts& result);
  void on_lost(const std::string& why);
};

}  // namespace gw::ctld
