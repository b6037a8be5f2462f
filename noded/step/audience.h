// Who sees what the tasks of a step print: the session of the client that owns the step, or nobody while it is away for
// good.
// Invariants: bytes are taken only as fast as the owner takes them; with nobody there they are dropped, but for the
// last screenful of a terminal, which who comes next gets first.
#pragma once

#include <string>
#include <string_view>

#include "stream/session.h"

namespace gw::noded::step {

class Audience {
 public:
  /// What is kept of a terminal's output for who comes next.
  static constexpr size_t kScreenful = 16 << 10;

  stream::Session* owner() const { return owner_; }
  void set_owner(stream::Session* owner) { owner_ = owner; }
  /// Output of this channel is a screen.
  void keep_screen(stream::ChannelId channel) { screen_channel_ = channel; }

  /// Bytes that can be written now.
  size_t room(stream::ChannelId channel) const;
  /// At most room() bytes.
  void write(stream::ChannelId channel, std::string_view bytes);
  /// Asks for Handler::on_writable; only if there is no room.
  void ask_for_room(stream::ChannelId channel);
  void end(stream::ChannelId channel);
  bool is_unwanted(stream::ChannelId channel) const { return owner_ != nullptr && owner_->is_unwanted(channel); }
  /// Opens a channel for the owner; a screen begins with what was on it.
  base::Status open(stream::ChannelId channel);
  void say(const stream::Control& control);
  /// The owner has taken everything; true of nobody.
  bool is_settled() const { return owner_ == nullptr || owner_->is_settled(); }

 private:
  static constexpr stream::ChannelId kNoChannel = 0;  // orders come there: never an output

  stream::Session* owner_ = nullptr;
  stream::ChannelId screen_channel_ = kNoChannel;
  std::string screen_;
};

}  // namespace gw::noded::step
