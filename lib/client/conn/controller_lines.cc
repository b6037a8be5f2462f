// See controller_lines.h.
#include "client/conn/controller_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/address.h"
#include "wire/convert.h"

namespace gw::client {
namespace {

base::Error not_reached(const std::string& why) {
  return {base::ErrorCode::kUnavailable, "the controller is not reached: " + why, "try again in a while"};
}

base::Error too_late() {
  return {base::ErrorCode::kTimeout, "the controller did not answer in time", "try again in a while"};
}

}  // namespace

ControllerLines::Options ControllerLines::options_for(const config::Config& c) {
  Options options;
  options.dial.address = io::Address{c.controller_host, c.controller_port, {}}.text();
  options.dial.receiver = c.cluster + "/gctld";
  options.dial.receiver_uid = c.controller_uid;
  return options;
}

ControllerLines::ControllerLines(io::Loop& loop, link::AuthPool& pool, Options options)
    : loop_(loop), pool_(pool), options_(std::move(options)) {
  for (size_t i = 0; i < options_.lines; ++i) lines_.push_back(std::make_unique<Line>());
}

ControllerLines::~ControllerLines() {
  *alive_ = false;
  for (const auto& line : lines_)
    if (line->link) line->link->drop("the client ends");
}

void ControllerLines::ask(wire::ApiRequest request, DoneFn done) {
  if (waiting_.size() >= options_.most_waiting) {
    loop_.defer([done = std::move(done)] {
      done(tl::unexpected(base::Error{base::ErrorCode::kUnavailable, "too many questions wait for the controller",
                                      "try again in a while"}));
    });
    return;
  }
  request.set_id(next_id_++);
  waiting_.push_back({std::move(request), std::move(done), io::Loop::monotonic() + options_.patience});
  look_soon();
  begin();
}

void ControllerLines::begin() {
  for (const auto& line : lines_) {
    if (waiting_.empty()) return;
    if (line->asked) continue;
    line->asked = std::move(waiting_.front());
    waiting_.pop_front();
    line->link && !line->link->is_closed() ? send(*line) : dial(*line);
  }
}

void ControllerLines::dial(Line& line) {
  line.link = nullptr;
  line.is_known = options_.token.empty();
  line.dialing = link::dial_link(
      loop_, pool_, options_.dial, [this, &line](base::Result<std::shared_ptr<link::SecureLink>> dialed) {
        line.dialing = nullptr;
        if (!dialed) return answer(line, tl::unexpected(not_reached(dialed.error().text())));
        line.link = *dialed;
        line.link->on_message([this, &line](std::string_view bytes) { on_message(line, bytes); });
        line.link->on_closed([this, &line](const std::string& reason) {
          line.link = nullptr;
          if (line.asked) answer(line, tl::unexpected(not_reached(reason)));
        });
        if (line.asked) send(line);
      });
}

void ControllerLines::send(Line& line) {
  if (line.is_known) return send(line, line.asked->request);
  wire::ApiRequest act;
  act.set_id(next_id_++);
  act.mutable_act_for()->set_token(options_.token);
  send(line, act);
}

void ControllerLines::send(Line& line, const wire::ApiRequest& request) {
  line.reply.emplace(request.id());
  if (const base::Status sent = line.link->send(request.SerializeAsString()); !sent)
    loop_.defer([this, &line, alive = alive_, id = line.asked->request.id(), error = sent.error()] {
      if (*alive && line.asked && line.asked->request.id() == id) answer(line, tl::unexpected(error));
    });
}

void ControllerLines::on_acting(Line& line, const wire::ApiReply& reply) {
  if (!reply.has_error()) {
    line.is_known = true;
    token_ = reply.act_for().token();
    return send(line);
  }
  const base::Error error = wire::from_wire(reply.error());
  is_refused_ = error.code == base::ErrorCode::kDenied;
  if (const auto link = std::exchange(line.link, nullptr)) link->drop("no use");
  answer(line, tl::unexpected(error));
}

void ControllerLines::on_message(Line& line, std::string_view bytes) {
  if (!line.reply) return;
  auto reply = line.reply->take(std::string(bytes));
  if (!reply) {
    line.link->drop(reply.error().text());
    line.link = nullptr;
    return answer(line, tl::unexpected(reply.error()));
  }
  if (!*reply) return;
  if (!line.is_known) return on_acting(line, **reply);
  if ((*reply)->has_error()) return answer(line, tl::unexpected(wire::from_wire((*reply)->error())));
  answer(line, std::move(**reply));
}

void ControllerLines::answer(Line& line, base::Result<wire::ApiReply> reply) {
  if (!line.asked) return;
  const Asked asked = std::move(*line.asked);
  line.asked.reset();
  line.reply.reset();
  const std::shared_ptr<bool> alive = alive_;
  asked.done(std::move(reply));
  if (*alive) begin();
}

/// As long as something is asked.
void ControllerLines::look_soon() {
  constexpr base::Duration kEvery = base::milliseconds(500);
  if (!timer_.is_active()) timer_ = loop_.after(kEvery, [this] { look(); });
}

/// Whose answer did not come in time is told so; its connection goes, since the answer may still come.
void ControllerLines::look() {
  const base::Duration now = io::Loop::monotonic();
  std::vector<DoneFn> late;
  while (!waiting_.empty() && waiting_.front().until <= now) {
    late.push_back(std::move(waiting_.front().done));
    waiting_.pop_front();
  }
  const bool is_busy =
      std::any_of(lines_.begin(), lines_.end(), [](const auto& line) { return line->asked.has_value(); });
  if (is_busy || !waiting_.empty()) look_soon();
  const std::shared_ptr<bool> alive = alive_;
  for (const DoneFn& done : late) done(tl::unexpected(too_late()));
  for (size_t i = 0; *alive && i < lines_.size(); ++i) {
    Line& line = *lines_[i];
    if (!line.asked || line.asked->until > now) continue;
    line.dialing = nullptr;
    if (const auto link = std::exchange(line.link, nullptr)) link->drop("its answer is too late");
    answer(line, tl::unexpected(too_late()));
  }
}

}  // namespace gw::client
