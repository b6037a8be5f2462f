// What gscriptd is asked for, on its way there: a queue for each user. Invariants: what is handed on is handed on once,
// unless it may be repeated; that of one user in its order; users take turns; what waits is bounded, for each user and
// in all; each is answered once, unless the queue goes before.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "io/loop.h"
#include "io/stream.h"
#include "wire/frame.h"
#include "wire/script.pb.h"

namespace gw::ctld {

class ScriptQueue {
 public:
  struct Bounds {
    size_t waiting_of_user = 100, waiting = 10'000;
    size_t under_way_of_user = 1, under_way = 16;  ///< Handed to gscriptd and not answered yet.
    base::Duration patience = base::kUnlimited;    ///< For an answer, from the time when it was asked.
    base::Duration answer = {};                    ///< For an answer, from when it was handed on; zero: in all.
    bool may_repeat = false;                       ///< What was handed on may be handed on again to the next gscriptd.
  };
  /// Of one message: it is to fit into a frame, and its answer, too.
  static constexpr size_t kMostBytes = 4 << 20;
  /// What gscriptd says, or why it said nothing: kUnavailable, since it is away; kTimeout, since others came first;
  /// kInternal after it was handed on, when it may have been done.
  using Done = std::function<void(const base::Result<wire::FromScripts>& answer)>;

  /// `what`: "mail", for the log.
  ScriptQueue(io::Loop& loop, std::string socket, std::string what, Bounds bounds);
  ~ScriptQueue();
  ScriptQueue(const ScriptQueue&) = delete;
  ScriptQueue& operator=(const ScriptQueue&) = delete;

  /// False: too many wait, or it is too long, and nothing was done.
  [[nodiscard]] bool add(uint32_t uid, wire::ToScripts message, Done done);
  /// Whether one of the user's can be added.
  bool has_room_for(uint32_t uid) const;
  /// Of what is added from now on.
  void set_patience(base::Duration patience, base::Duration answer = {}) {
    bounds_.patience = patience;
    bounds_.answer = answer;
  }
  /// gscriptd is to read the configuration again, now or once it can be reached.
  void reload();

 private:
  struct Item {
    wire::ToScripts message;
    Done done;
    base::Duration until;      // by the monotonic clock
    bool is_repeated = false;  // it was handed on before
  };
  struct UnderWay {
    uint32_t uid = 0;
    Done done;
    base::Duration until;
    std::optional<wire::ToScripts> message = {};  // that may be repeated
  };
  using Lines = std::map<uint32_t, std::deque<Item>>;

  io::Loop& loop_;
  std::string socket_, what_;
  Bounds bounds_;
  Lines waiting_;          // by uid; no empty line
  size_t count_ = 0;       // of those that wait
  uint32_t last_uid_ = 0;  // had the last turn
  std::map<uint64_t, UnderWay> under_way_;
  std::map<uint32_t, size_t> busy_;  // uid: those of it that are under way; no zero
  bool wants_reload_ = false;
  std::shared_ptr<io::Stream> stream_;
  io::DialHandle dialing_;
  wire::FrameDecoder decoder_{wire::kMaxFrame};
  io::Timer retry_, impatience_;
  uint64_t next_ = 1;
  bool has_complained_ = false;

  void pump();
  /// The user whose turn it is, or the end: none of those who wait may.
  Lines::iterator next_user();
  void hand_on(wire::ToScripts message, UnderWay what);
  void connect();
  void on_connected(std::shared_ptr<io::Stream> stream);
  void on_data(std::string_view bytes);
  void on_result(const wire::FromScripts& result);
  void on_lost(const std::string& why);
  UnderWay take(std::map<uint64_t, UnderWay>::iterator it);
  void watch_time();
  /// Answers what has waited for too long.
  void give_up();
};

}  // namespace gw::ctld
