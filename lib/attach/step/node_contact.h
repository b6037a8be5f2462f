// The connection to one node of a step, as the user hears of it: of one that is lost after a while only, and then of
// the next.
#pragma once

#include <functional>
#include <string>

#include "base/state_machine.h"
#include "base/time.h"
#include "io/loop.h"

namespace gw::attach {

class NodeContact {
 public:
  using SayFn = std::function<void(const std::string& text)>;

  NodeContact(io::Loop& loop, std::string node, base::Duration say_lost_after, SayFn say)
      : loop_(loop), node_(std::move(node)), say_lost_after_(say_lost_after), say_(std::move(say)) {}
  NodeContact(const NodeContact&) = delete;
  NodeContact& operator=(const NodeContact&) = delete;

  void on_connected();
  /// `is_missed`: something is still to come from the node.
  void on_lost(const std::string& reason, bool is_missed);
  /// No connection is waited for any more.
  void on_session_over();

 private:
  struct Dialing {};
  struct Connected {};
  struct Lost {
    bool had_one = false;
    std::string reason;
    io::Timer say_timer;
  };
  struct SaidLost {
    bool had_one = false;
  };
  using Table =
      base::Transitions<base::From<Dialing>::To<Connected, Lost>, base::From<Connected>::To<Lost>,
                        base::From<Lost>::To<Dialing, Connected, SaidLost>, base::From<SaidLost>::To<Connected>>;

  io::Loop& loop_;
  std::string node_;
  base::Duration say_lost_after_;
  SayFn say_;
  base::StateMachine<Table, Dialing, Connected, Lost, SaidLost> state_;

  void say_lost(Lost& lost);
};

}  // namespace gw::attach
