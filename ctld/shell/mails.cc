// See mails.h.
#include "ctld/shell/mails.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "base/text.h"

namespace gw::ctld {

namespace {

constexpr base::Duration kRetry = base::seconds(5);
constexpr base::Duration kQuiet = base::minutes(10);
constexpr size_t kShown = 300;

}  // namespace

void Mails::send(SendMail mail, base::Time now) {
  const auto mine = waiting_.find(mail.uid);
  if (count_ >= kMostWaiting || (mine != waiting_.end() && mine->second.size() >= kMostOfUser)) {
    if (now - told_ > kQuiet) spdlog::warn("mail about a job of uid {} is dropped: too many wait", mail.uid);
    told_ = std::max(told_, now);
    return;
  }
  ++count_;
  wire::ScriptMail& message = *waiting_[mail.uid].emplace_back().mutable_mail();
  message.set_to(std::move(mail.to));
  message.set_subject(std::move(mail.subject));
  message.set_body(std::move(mail.body));
  for (auto& [name, value] : mail.variables) {
    wire::ScriptVariable& variable = *message.add_variables();
    variable.set_name(name);
    variable.set_value(std::move(value));
  }
  pump();
}

void Mails::reload() {
  wants_reload_ = true;
  pump();
}

void Mails::pump() {
  if (waiting_.empty() && !wants_reload_) return;
  if (!stream_) return connect();
  if (std::exchange(wants_reload_, false)) {
    wire::ToScripts message;
    message.set_reload(true);
    hand_on(std::move(message), {});
  }
  while (under_way_.size() < kMostUnderWay) {
    const auto user = next_user();
    if (user == waiting_.end()) return;
    last_uid_ = user->first;
    wire::ToScripts message = std::move(user->second.front());
    user->second.pop_front();
    --count_;
    busy_[last_uid_] = next_;
    UnderWay what{last_uid_, message.mail().subject()};
    if (user->second.empty()) waiting_.erase(user);
    hand_on(std::move(message), std::move(what));
  }
}

std::map<uint32_t, std::deque<wire::ToScripts>>::iterator Mails::next_user() {
  auto it = waiting_.upper_bound(last_uid_);
  for (size_t looked_at = 0; looked_at < waiting_.size(); ++looked_at) {
    if (it == waiting_.end()) it = waiting_.begin();
    if (!busy_.contains(it->first)) return it;
    ++it;
  }
  return waiting_.end();
}

void Mails::hand_on(wire::ToScripts message, UnderWay what) {
  message.set_id(next_++);
  under_way_[message.id()] = std::move(what);
  std::string frame;
  wire::append_frame(frame, message.SerializeAsString());
  stream_->send(frame);
}

void Mails::connect() {
  if (dialing_ || retry_.is_active()) return;
  io::DialOptions options;
  options.address = "unix:" + socket_;
  dialing_ = io::dial(loop_, std::move(options), [this](base::Result<std::shared_ptr<io::Stream>> stream) {
    loop_.defer([this] { dialing_.reset(); });
    if (stream) return on_connected(std::move(*stream));
    on_lost(stream.error().text());
  });
}

void Mails::on_connected(std::shared_ptr<io::Stream> stream) {
  if (has_complained_) spdlog::info("gscriptd is there again; {} wait", base::counted(count_, "mail"));
  has_complained_ = false;
  stream_ = std::move(stream);
  decoder_ = wire::FrameDecoder(wire::kMaxHandshakeFrame);
  stream_->on_closed([this](const std::string& why) { on_lost(why); });
  stream_->on_data([this](std::string_view bytes) { on_data(bytes); });
  pump();
}

void Mails::on_data(std::string_view bytes) {
  decoder_.feed(bytes);
  for (;;) {
    auto payload = decoder_.next();
    if (!payload) return stream_->close(payload.error().text());
    if (!*payload) return pump();
    wire::FromScripts result;
    if (!result.ParseFromString(**payload)) return stream_->close("an answer cannot be read");
    on_result(result);
  }
}

void Mails::on_result(const wire::FromScripts& result) {
  const auto it = under_way_.find(result.id());
  if (it == under_way_.end()) return;
  if (const auto busy = busy_.find(it->second.uid); busy != busy_.end() && busy->second == it->first) busy_.erase(busy);
  if (result.exit_code() != 0)
    spdlog::warn("{}: exit code {}{}{}",
                 it->second.subject.empty() ? "gscriptd did not read the configuration again"
                                            : "mail not sent: " + it->second.subject,
                 result.exit_code(), result.output().empty() ? "" : ": ", base::printable(result.output(), kShown));
  under_way_.erase(it);
}

void Mails::on_lost(const std::string& why) {
  if (!has_complained_ && !waiting_.empty())
    spdlog::warn("gscriptd cannot be reached at {}: {}; {} wait", socket_, why, base::counted(count_, "mail"));
  has_complained_ |= !waiting_.empty();
  // Those may have been sent.
  if (!busy_.empty())
    spdlog::warn("{} may not have been sent: gscriptd ended meanwhile", base::counted(busy_.size(), "mail"));
  under_way_.clear();
  busy_.clear();
  loop_.defer([gone = std::move(stream_)]() mutable { gone.reset(); });
  stream_ = nullptr;
  wants_reload_ = false;  // it reads the configuration when it starts
  retry_ = loop_.after(kRetry, [this] { pump(); });
}

}  // namespace gw::ctld
