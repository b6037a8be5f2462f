// See event_stream.h.
#include "http/event_stream.h"

#include <algorithm>
#include <utility>

namespace gw::http {

void EventStream::send(std::string_view bytes) {
  if (is_gone_) return;
  if (waiting_.size() - taken_ + bytes.size() > kMostBytes) return give_up();
  waiting_.erase(0, std::exchange(taken_, 0));
  waiting_.append(bytes);
  if (woken_) woken_();
}

size_t EventStream::take(char* to, size_t room) {
  const size_t count = std::min(room, waiting_.size() - taken_);
  std::copy_n(waiting_.data() + taken_, count, to);
  taken_ += count;
  if (taken_ == waiting_.size()) waiting_.clear(), taken_ = 0;
  return count;
}

void EventStream::give_up() {
  is_gone_ = true;
  waiting_ = {};
  taken_ = 0;
  if (woken_) woken_();  // so that the server notices
}

}  // namespace gw::http
