// Both ends of a session without any connection: what one sends is handed to the other.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "stream/session.h"

namespace gw::stream {

/// One end, with a program that notes what it gets and takes no more than its appetite.
struct Party : Handler {
  explicit Party(const SessionOptions& options) : session(options) { session.set_handler(*this); }

  size_t on_bytes(ChannelId id, std::string_view bytes) override {
    const auto own = appetite_of.find(id);
    const size_t n = std::min(bytes.size(), own == appetite_of.end() ? appetite : own->second);
    received[id] += bytes.substr(0, n);
    return n;
  }
  void on_end(ChannelId id) override { ended.insert(id); }
  void on_writable(ChannelId) override { ++writable; }
  void on_control(const Control& control) override { controls.push_back(control); }
  void on_settled() override { ++settled; }
  void on_closed(const base::Error& reason) override {
    closed = true;
    close_reason = reason.text();
  }

  size_t appetite = SIZE_MAX;  ///< Bytes taken at each call.
  std::map<ChannelId, size_t> appetite_of;
  std::map<ChannelId, std::string> received;
  std::multiset<ChannelId> ended;
  std::vector<Control> controls;
  int writable = 0, settled = 0;
  bool closed = false;
  std::string close_reason;
  Session session;
};

/// A shepherd and a client.
struct Pair {
  explicit Pair(SessionOptions o = {}) : shepherd(with(o, Role::kShepherd, 11)), client(with(o, Role::kClient, 22)) {}
  static SessionOptions with(SessionOptions o, Role role, uint64_t id) {
    o.role = role;
    o.own_id = id;
    return o;
  }
  /// A channel each way.
  void open(ChannelId down, ChannelId up) {
    (void)shepherd.session.open_send(down);
    (void)client.session.open_receive(down);
    (void)client.session.open_send(up);
    (void)shepherd.session.open_receive(up);
  }
  void connect() {
    shepherd.session.connect();
    client.session.connect();
  }
  void cut() {
    shepherd.session.disconnect();
    client.session.disconnect();
  }
  /// Until nobody has anything to say.
  void run() {
    std::string message;
    for (bool any = true; any;) {
      any = false;
      for (auto [from, to] : {std::pair(&shepherd, &client), std::pair(&client, &shepherd)}) {
        while (from->session.pop(message)) {
          to->session.receive(message);
          any = true;
        }
      }
    }
  }
  Party shepherd, client;
};

}  // namespace gw::stream
