// How a step ended, from the controller: for a client that came when the tasks of some node had just ended, so that no
// session told it their codes.
// Invariants: the answer is that of the step's whole end, or says that it is none. Nothing is called back from inside a
// call, or once this object has gone. Looking costs the controller a look-up each time; the history, which may be long,
// is read once.
#pragma once

#include <functional>

#include "attach/control/errands.h"
#include "base/time.h"
#include "io/loop.h"

namespace gw::attach {

/// The step's exit status so far as one number: 128 and the signal, or the code.
int code_of(const wire::Step& step);

class EndOfStep {
 public:
  struct Found {
    int code = 0;           ///< The highest that is known.
    bool is_known = false;  ///< The step is over, and that is the code of all its tasks.
  };
  using AskFn = std::function<void(wire::ApiRequest, Errands::ReplyFn)>;
  using FoundFn = std::function<void(const Found&)>;

  /// `ask` makes a request and answers later. The end is waited for until the limit has passed.
  EndOfStep(io::Loop& loop, AskFn ask, base::Duration limit = base::minutes(1))
      : loop_(loop), ask_(std::move(ask)), limit_(limit) {}
  /// Once. `seen`: the step as the ticket came with it; `ticket`: what was asked for then.
  void find(wire::TicketRequest ticket, const wire::Step& seen, FoundFn fn);

 private:
  io::Loop& loop_;
  AskFn ask_;
  base::Duration limit_;
  wire::TicketRequest ticket_;
  wire::Step seen_;
  Found end_;
  FoundFn fn_;
  base::Duration pause_;
  io::Timer again_, limit_timer_;

  void look();
  void on_ticket(const base::Result<wire::ApiReply>& reply);
  void read_history();
  void on_history(const wire::ShowJobReply& shown);
  void answer();
};

}  // namespace gw::attach
