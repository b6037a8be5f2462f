// The control messages of a session, both ways: what was sent stays until the other side has said that it has it.
// Invariant: each message has the number after the one before; none is forgotten before it was acknowledged.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "base/result.h"

namespace gw::stream {

class Controls {
 public:
  /// Sends an encoded message; it waits until it is acknowledged.
  void push(std::string body);
  /// Some go out next, on this connection.
  bool has_output() const { return next_ < first_ + held_.size(); }
  /// All have been acknowledged.
  bool is_settled() const { return held_.empty(); }
  size_t memory_bytes() const { return bytes_; }
  /// Acknowledges those before `next`. Errors: kProtocol, they cannot have come.
  base::Status on_ack(uint64_t next);
  /// The same on a new connection: sending continues from there.
  base::Status on_resume(uint64_t next);
  void on_disconnect() { is_ack_due_ = false; }

  /// Number of the next that the other side sends.
  uint64_t expected() const { return expected_; }
  /// It has come.
  void on_received();

  /// The next for the connection: an acknowledgement, or a message; false if there is none.
  bool pop(std::string& message);

 private:
  std::deque<std::string> held_;  // not acknowledged, encoded
  uint64_t first_ = 0;            // number of the first of them
  uint64_t next_ = 0;             // number of the next to send on this connection
  uint64_t sent_ = 0;             // numbers ever sent are below
  size_t bytes_ = 0;
  uint64_t expected_ = 0;
  bool is_ack_due_ = false;

  base::Status drop_before(uint64_t next);
};

}  // namespace gw::stream
