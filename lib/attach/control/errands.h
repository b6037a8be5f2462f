// Requests to the controller from a program that runs a loop: made in a thread of their own, one after the other, over
// one connection; answers come back on the loop.
// Invariants: no callback comes after the object has gone, and none from inside call(). Dropping it waits for nothing:
// a request under way is left to itself.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "client/conn/connection.h"
#include "io/loop.h"

namespace gw::attach {

class Errands {
 public:
  using ReplyFn = std::function<void(base::Result<wire::ApiReply>)>;
  /// Opens the connection; called in the thread, for the first request.
  using OpenFn = std::function<base::Result<client::Connection>()>;

  Errands(io::Loop& loop, OpenFn open);
  /// To the controller of `config`.
  Errands(io::Loop& loop, client::Program program, config::Config config);
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  void call(wire::ApiRequest request, ReplyFn fn);

 private:
  struct Shared;
  static void work(const std::shared_ptr<Shared>& shared);
  std::shared_ptr<Shared> shared_;
};

}  // namespace gw::attach
