// The node's connection to the controller: the implementation.
// Invariants: see controller_link.h.
#include "noded/shell/controller_link.h"

namespace gw::noded {

ControllerLink::ControllerLink(io::Loop& loop, auth::Authenticator& authenticator, link::DialLinkOptions options,
                               Events events)
    : loop_(loop), pool_(authenticator, loop, 1), options_(std::move(options)), events_(std::move(events)) {}

void ControllerLink::dial() {
  link_.reset();
  dialing_ = link::dial_link(loop_, pool_, options_, [this](auto result) { on_dialed(std::move(result)); });
}

void ControllerLink::on_dialed(base::Result<std::shared_ptr<link::SecureLink>> result) {
  const auto handle = std::move(dialing_);  // lives until this returns
  if (!result) return events_.on_down(result.error().text());
  link_ = std::move(*result);
  link_->on_message([this](std::string_view bytes) { on_bytes(bytes); });
  link_->on_closed([this](const std::string& why) {
    link_.reset();
    events_.on_down(why);
  });
  events_.on_up();
}

void ControllerLink::on_bytes(std::string_view bytes) {
  wire::ControllerToNode message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return events_.on_message(message);
  drop("the controller sent what cannot be read");
  events_.on_down("the controller sent what cannot be read");
}

void ControllerLink::drop(const std::string& why) {
  dialing_.reset();
  if (!link_) return;
  const auto link = std::move(link_);
  link->on_message([](std::string_view) {});
  link->on_closed({});
  link->close(why);
}

void ControllerLink::send(const wire::NodeToController& message) {
  if (!link_) return;
  if (const base::Status sent = link_->send(message.SerializeAsString()); !sent) drop(sent.error().text());
}

}  // namespace gw::noded
