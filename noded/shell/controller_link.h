// The node's connection to the controller: one at a time, dialed when asked, typed messages.
// Invariant: each dial() ends in on_up or on_down; after drop() nothing more is told of that connection.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "auth/authenticator.h"
#include "io/loop.h"
#include "link/dial_link.h"
#include "wire/node.pb.h"

namespace gw::noded {

class ControllerLink {
 public:
  struct Events {
    std::function<void()> on_up;
    std::function<void(const std::string& why)> on_down;
    std::function<void(const wire::ControllerToNode&)> on_message;
  };
  ControllerLink(io::Loop& loop, auth::Authenticator& authenticator, link::DialLinkOptions options, Events events);

  void dial();
  void drop(const std::string& why);
  void send(const wire::NodeToController& message);

 private:
  void on_dialed(base::Result<std::shared_ptr<link::SecureLink>> result);
  void on_bytes(std::string_view bytes);

  io::Loop& loop_;
  link::AuthPool pool_;
  link::DialLinkOptions options_;
  Events events_;
  link::LinkDialHandle dialing_;
  std::shared_ptr<link::SecureLink> link_;
};

}  // namespace gw::noded
