// Clients: each request goes over a connection of its own, which may lose the request, or the answer; whoever gets no
// answer asks again with the same client id, now and then before the first request has arrived.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ctld/core/effects.h"
#include "tests/sim/box.h"

namespace gw::sim_cluster {

using ctld::ConnId;

/// A request, until it is answered.
struct Asked {
  uint32_t uid = 0;
  wire::ApiRequest request;
  Time first;
  uint32_t times = 0;  ///< It was sent.
  std::optional<wire::ApiReply> answer;
  std::function<void(const wire::ApiReply&)> then;
};

/// Where requests go.
class Service {
 public:
  virtual ~Service() = default;
  virtual bool is_open() const = 0;
  virtual void serve(ConnId conn, uint32_t uid, const wire::ApiRequest& request) = 0;
  virtual void client_left(ConnId conn) = 0;
  /// A piece of a list has been read: the next one is wanted.
  virtual void piece_taken(ConnId conn, uint64_t request) = 0;
  /// A request arrives.
  virtual void on_request(const Asked& asked) = 0;
  /// The controller lets this answer go, whether it arrives or not.
  virtual void on_answer(const Asked& asked, const wire::ApiReply& reply) = 0;
};

class Clients {
 public:
  Clients(Box& box, Service& service) : box_(box), service_(service) {}

  /// `then` is called once, with the first answer that arrives and is none for now (nothing can be written, ...).
  void ask(uint32_t uid, wire::ApiRequest request, std::function<void(const wire::ApiReply&)> then);
  /// An answer leaves the controller.
  void on_reply(ConnId conn, const wire::ApiReply& piece);
  void on_crash();
  bool awaits_answers() const { return open_ > 0; }
  std::string open_text() const;

 private:
  void send(size_t which);
  void arrive(size_t which);
  void answer_arrives(size_t which, const wire::ApiReply& reply);

  Box& box_;
  Service& service_;
  std::vector<Asked> asked_;
  std::map<ConnId, size_t> by_conn_;
  std::map<ConnId, wire::ApiReply> pieces_;  // of lists, so far
  ConnId last_ = 0;
  size_t open_ = 0;
};

}  // namespace gw::sim_cluster
