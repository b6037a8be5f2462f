// An answer that goes on: what is put in is sent as the other side takes it.
// Invariants: it holds a bounded number of bytes; whoever does not take them in time is given up, and nothing that is
// put in afterwards counts.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace gw::http {

class EventStream {
 public:
  static constexpr size_t kMostBytes = size_t{256} << 10;

  /// Queues bytes.
  void send(std::string_view bytes);
  /// The other side has gone, or was too slow.
  bool is_gone() const { return is_gone_; }

  /// For the server: `woken` is called when there is something to take after there was nothing.
  void on_woken(std::function<void()> woken) { woken_ = std::move(woken); }
  /// Copies up to `room` bytes out; 0: there are none.
  size_t take(char* to, size_t room);
  void give_up();

 private:
  std::string waiting_;
  size_t taken_ = 0;  // of the bytes that wait
  bool is_gone_ = false;
  std::function<void()> woken_;
};

}  // namespace gw::http
