// Who sees what the tasks of a step print.
#include "noded/step/tasks/audience.h"

#include <algorithm>
#include <utility>

#include "wire/step_channels.h"

namespace gw::noded::step {

using base::ErrorCode;

size_t Audience::room(stream::ChannelId channel) const {
  return owner_ == nullptr ? stream::kMaxChunk : owner_->room(channel);
}

void Audience::write(stream::ChannelId channel, std::string_view bytes) {
  if (channel == screen_channel_ && channel != kNoChannel) screen_.write(bytes);
  if (owner_ != nullptr) static_cast<void>(owner_->write(channel, bytes));
  for (Watcher& watcher : watchers_) show(watcher, channel, bytes);
}

// A write that does not fit is what a session answers with on_writable; without room nothing of it is taken.
void Audience::ask_for_room(stream::ChannelId channel) {
  if (owner_ != nullptr && owner_->room(channel) == 0) static_cast<void>(owner_->write(channel, " "));
}

void Audience::end(stream::ChannelId channel) {
  if (owner_ != nullptr) owner_->end(channel);
  for (Watcher& watcher : watchers_) {
    const auto view = watcher.views.find(channel);
    if (watcher.session == nullptr || view == watcher.views.end()) continue;
    view->second.has_ended = true;
    if (view->second.left_out == 0) watcher.session->end(channel);
  }
}

base::Status Audience::open(stream::ChannelId channel) {
  if (owner_ == nullptr) return {};
  GW_TRY_STATUS(owner_->open_send(channel));
  begin(*owner_, channel);
  return {};
}

base::Status Audience::open(stream::ChannelId channel, stream::Session& watcher) {
  Watcher* const found = find(watcher);
  if (found == nullptr) return {};
  GW_TRY_STATUS(watcher.open_send(channel));
  found->views[channel];
  begin(watcher, channel);
  return {};
}

void Audience::begin(stream::Session& session, stream::ChannelId channel) const {
  if (channel == screen_channel_) static_cast<void>(session.write(channel, screen_.last(session.room(channel))));
}

// What does not fit is lost only to a client that has taken nothing for thousands of messages; one that watches is let
// go then, since it would be told wrongly.
void Audience::say(const stream::Control& control) {
  say_to_owner(control);
  for (Watcher& watcher : watchers_) {
    if (watcher.session == nullptr || watcher.session->send_control(control)) continue;
    watcher.session->close({ErrorCode::kUnavailable, "this watcher takes nothing of what it is told", ""});
  }
}

void Audience::say_to_owner(const stream::Control& control) {
  if (owner_ != nullptr && !owner_->is_closed()) static_cast<void>(owner_->send_control(control));
}

// --- those who watch ---

Audience::Watcher* Audience::find(const stream::Session& session) {
  const auto found =
      std::find_if(watchers_.begin(), watchers_.end(), [&](const Watcher& w) { return w.session == &session; });
  return found == watchers_.end() ? nullptr : &*found;
}

base::Status Audience::add_watcher(stream::Session& session) {
  std::erase_if(watchers_, [](const Watcher& w) { return w.session == nullptr; });
  if (watchers_.size() >= kMostWatchers)
    return base::fail(ErrorCode::kConflict, std::to_string(kMostWatchers) + " watch this step already");
  watchers_.emplace_back().session = &session;
  return {};
}

// The list stays as it is: this may be called from inside a walk through it.
void Audience::remove_watcher(const stream::Session& session) {
  if (Watcher* const found = find(session)) *found = {};
}

size_t Audience::watchers() const {
  return static_cast<size_t>(
      std::count_if(watchers_.begin(), watchers_.end(), [](const Watcher& w) { return w.session != nullptr; }));
}

void Audience::show(Watcher& watcher, stream::ChannelId channel, std::string_view bytes) {
  const auto found = watcher.views.find(channel);
  if (watcher.session == nullptr || found == watcher.views.end()) return;
  View& view = found->second;
  const size_t taken = view.left_out > 0 ? 0 : watcher.session->write(channel, bytes);
  view.left_out += bytes.size() - taken;
}

// A screen continues with all that is on it, other output where it is now.
void Audience::on_room(const stream::Session& session, stream::ChannelId channel) {
  Watcher* const watcher = find(session);
  const auto found = watcher == nullptr ? decltype(watcher->views.end()){} : watcher->views.find(channel);
  if (watcher == nullptr || found == watcher->views.end() || found->second.left_out == 0) return;
  View& view = found->second;
  const bool is_screen = channel == screen_channel_;
  const std::string line = is_screen ? "\r\n" : "\n";
  std::string text = line + "[gattach: " + std::to_string(view.left_out) + " bytes are left out here: they came " +
                     "faster than this watcher takes them]" + line;
  const size_t room = watcher->session->room(channel);
  if (is_screen) text += screen_.last(room - std::min(room, text.size()));
  view.left_out = 0;
  static_cast<void>(watcher->session->write(channel, text));
  if (view.has_ended) watcher->session->end(channel);
}

void Audience::dismiss_watchers() {
  const auto owes_nothing = [](const auto& entry) { return entry.second.left_out == 0; };
  for (Watcher& watcher : watchers_) {
    stream::Session* const session = watcher.session;
    if (session == nullptr || !session->is_settled()) continue;
    if (!std::all_of(watcher.views.begin(), watcher.views.end(), owes_nothing)) continue;
    if (std::exchange(watcher.is_told, true))
      session->close({ErrorCode::kUnavailable, wire::kStepOver, ""});
    else
      static_cast<void>(session->send_control(stream::StepState{stream::StepState::Phase::kEnded, {}}));
  }
}

void Audience::close_watchers(const base::Error& reason) {
  for (Watcher& watcher : watchers_)
    if (watcher.session != nullptr) watcher.session->close(reason);
}

}  // namespace gw::noded::step
