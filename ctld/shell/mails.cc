// See mails.h.
#include "ctld/shell/mails.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "base/counted.h"
#include "base/text.h"

namespace gw::ctld {

namespace {

constexpr base::Duration kRetry = base::seconds(5);
constexpr base::Duration kQuiet = base::minutes(10);  // between two lines about one user
constexpr size_t kShown = 300;

}  // namespace

void Mails::send(SendMail mail, base::Time now, uint32_t per_hour) {
  if (rate_.take(now, mail.uid, {per_hour, per_hour, base::hours(1)}).us > 0)
    return drop(mail.uid, now, "its user had mail.per_user_hour of them");
  if (waiting_.size() >= kMostWaiting) return drop(mail.uid, now, "too many wait for gscriptd");
  wire::ToScripts& message = waiting_.emplace_back();
  wire::ScriptMail& body = *message.mutable_mail();
  body.set_to(std::move(mail.to));
  body.set_subject(std::move(mail.subject));
  body.set_body(std::move(mail.body));
  for (auto& [name, value] : mail.variables) {
    wire::ScriptVariable& variable = *body.add_variables();
    variable.set_name(name);
    variable.set_value(std::move(value));
  }
  pump();
}

void Mails::reload() {
  if (!stream_) return;  // it reads the configuration when it starts
  waiting_.emplace_front().set_reload(true);
  pump();
}

void Mails::drop(uint32_t uid, base::Time now, const std::string& why) {
  ++dropped_;
  std::erase_if(told_, [&](const auto& each) { return now - each.second > kQuiet; });
  if (told_.emplace(uid, now).second) spdlog::warn("mail about a job of uid {} is not sent: {}", uid, why);
}

void Mails::pump() {
  if (waiting_.empty()) return;
  if (!stream_) return connect();
  while (!waiting_.empty() && under_way_.size() < kMostUnderWay) {
    wire::ToScripts message = std::move(waiting_.front());
    waiting_.pop_front();
    message.set_id(next_++);
    under_way_[message.id()] = message.mail().subject();
    std::string frame;
    wire::append_frame(frame, message.SerializeAsString());
    stream_->send(frame);
  }
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
  if (has_complained_) spdlog::info("gscriptd is there again, {} wait", base::counted(waiting_.size(), "mail"));
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
  if (result.exit_code() != 0)
    spdlog::warn("mail not sent: {}: exit code {}{}{}", it->second, result.exit_code(),
                 result.output().empty() ? "" : ": ", base::printable(result.output(), kShown));
  under_way_.erase(it);
}

void Mails::on_lost(const std::string& why) {
  if (!has_complained_)
    spdlog::warn("gscriptd cannot be reached at {}: {}; {} wait", socket_, why, base::counted(waiting_.size(), "mail"));
  has_complained_ = true;
  if (!under_way_.empty())
    spdlog::warn("{} may not have been sent: gscriptd ended meanwhile", base::counted(under_way_.size(), "mail"));
  under_way_.clear();
  loop_.defer([gone = std::move(stream_)]() mutable { gone.reset(); });
  stream_ = nullptr;
  retry_ = loop_.after(kRetry, [this] { pump(); });
}

}  // namespace gw::ctld
