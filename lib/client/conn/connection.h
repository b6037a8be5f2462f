// A command's line to the controller: one request, one reply, tried again while the controller is away.
// Invariants: a request that changes something keeps its client_id over every retry, so that it happens once; after one
// second of waiting the user is told; what the controller refused is never tried again.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "client/conn/program.h"
#include "config/config.h"
#include "wire/api.pb.h"

namespace gw::client {

/// Carries whole messages; the seam to sockets.
class Channel {
 public:
  virtual ~Channel() = default;
  virtual base::Status send(std::string_view message, base::Duration patience) = 0;
  /// Errors: kTimeout: nothing came, a later call may succeed; others: the channel is of no more use.
  virtual base::Result<std::string> receive(base::Duration patience) = 0;
};
using Dialer = std::function<base::Result<std::unique_ptr<Channel>>(base::Duration patience)>;

/// The seam to time: `now` never jumps.
struct Patience {
  std::function<base::Duration()> now;
  std::function<void(base::Duration)> sleep;
};
Patience real_patience();

class Connection {
 public:
  /// `where` is what messages call the controller: "HOST:PORT". `timeout`: how long to keep trying.
  Connection(Program program, std::string where, base::Duration timeout, Dialer dialer, Patience patience);

  /// Sends `request` and returns the reply of the same id. Fills in id, and client_id for a request that changes
  /// something. A reply that holds an error comes back as that error. Errors: kUnavailable, kTimeout: not reached
  /// within the timeout.
  base::Result<wire::ApiReply> call(wire::ApiRequest request);

 private:
  base::Result<wire::ApiReply> attempt(const std::string& bytes, uint64_t id, bool waits);
  base::Result<wire::ApiReply> receive_reply(uint64_t id, bool waits);
  bool wait_as_told(const wire::Error& refusal);
  void say_waiting(const base::Error& why);
  /// From now on it is tried for so long, and said that it takes long.
  void begin_patience();

  Program program_;
  std::string where_;
  base::Duration timeout_;
  Dialer dialer_;
  Patience patience_;
  std::unique_ptr<Channel> channel_;
  uint64_t next_id_ = 1;
  base::Duration reachable_until_{};  // give up then
  base::Duration tell_at_{};          // say then that it takes long
  bool has_reported_ = false;
};

/// The part of the configuration that a command needs. $GANGWAY_CONF names the file.
base::Result<config::Config> load_config();
/// A connection to the controller of `config`. $GANGWAY_TIMEOUT: seconds to keep trying (60). Errors: a bad
/// GANGWAY_TIMEOUT.
base::Result<Connection> open_connection(const Program& program, const config::Config& config);
/// The same with a given time to keep trying; below one second nothing is said about waiting.
Connection open_connection(const Program& program, const config::Config& config, base::Duration timeout);
/// Both in one.
base::Result<Connection> connect(const Program& program);

/// A random UUID (version 4).
std::string make_uuid();

}  // namespace gw::client
