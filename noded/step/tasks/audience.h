// Who sees what the tasks of a step print: the session of the client that owns the step, or nobody while it is away for
// good; and those who watch.
// Invariants: bytes are taken only as fast as the owner takes them; with nobody there they are dropped, but for the
// last screenful of a terminal, which who comes next gets first. Who watches holds up nobody: what it does not take is
// left out, and it is told how much that was; memory for it is bounded by its session.
#pragma once

#include <list>
#include <map>
#include <string>
#include <string_view>

#include "noded/step/tasks/screen.h"
#include "stream/session.h"

namespace gw::noded::step {

class Audience {
 public:
  static constexpr size_t kMostWatchers = 16;

  stream::Session* owner() const { return owner_; }
  void set_owner(stream::Session* owner) { owner_ = owner; }
  /// Output of this channel is a screen.
  void keep_screen(stream::ChannelId channel) { screen_channel_ = channel; }

  /// Errors: too many watch.
  base::Status add_watcher(stream::Session& session);
  void remove_watcher(const stream::Session& session);
  size_t watchers() const;
  /// There is room again in a session that watches.
  void on_room(const stream::Session& session, stream::ChannelId channel);
  /// Each that watches and has everything is told that the step has ended, and then let go.
  void dismiss_watchers();
  void close_watchers(const base::Error& reason);

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
  /// The same for one that watches.
  base::Status open(stream::ChannelId channel, stream::Session& watcher);
  void say(const stream::Control& control);
  /// The owner has taken everything; true of nobody.
  bool is_settled() const { return owner_ == nullptr || owner_->is_settled(); }
  void say_to_owner(const stream::Control& control);

 private:
  static constexpr stream::ChannelId kNoChannel = 0;  // orders come there: never an output

  /// What of a channel one that watches has not got.
  struct View {
    uint64_t left_out = 0;
    bool has_ended = false;  // to be told once it is known how much was left out
  };
  struct Watcher {
    stream::Session* session = nullptr;  // null: gone
    std::map<stream::ChannelId, View> views;
    bool is_told = false;  // that the step has ended
  };

  stream::Session* owner_ = nullptr;
  std::list<Watcher> watchers_;
  stream::ChannelId screen_channel_ = kNoChannel;
  Screen screen_;

  Watcher* find(const stream::Session& session);
  void show(Watcher& watcher, stream::ChannelId channel, std::string_view bytes);
  void begin(stream::Session& session, stream::ChannelId channel) const;
};

}  // namespace gw::noded::step
