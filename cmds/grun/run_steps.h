// The steps that a call asks the controller for, one after another, until it has all of them.
// Invariants: a step whose nodes wait for their program while another cannot be had is given back before they lose
// patience, and asked for anew; so two calls that hold what the other needs both go on. Nothing is called back once
// give_back() was called, but its own callback.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attach/control/errands.h"
#include "attach/control/tickets.h"
#include "auth/crypto.h"
#include "cmds/grun/run_members.h"
#include "io/loop.h"

namespace gw::cmds {

class RunSteps {
 public:
  using Say = std::function<void(const std::string&)>;
  using Done = std::function<void(base::Status)>;
  using Ask = std::function<void(wire::ApiRequest, attach::Errands::ReplyFn)>;
  /// Where requests go. One for a step is answered when its nodes are ready, so that all else has a way of its own.
  struct Ways {
    Ask create, query;
    attach::Errands& tickets;  ///< Later ones, of sessions that were lost.
  };
  /// The nodes of a step wait for its programs for a minute.
  static constexpr base::Duration kPatience = base::seconds(40);

  /// All references outlive it.
  RunSteps(io::Loop& loop, Ways ways, const auth::KeyPair& key, Say say, base::Duration patience = kPatience)
      : loop_(loop), ways_(std::move(ways)), key_(key), say_(std::move(say)), patience_limit_(patience) {}

  /// Once. `immediate`: what cannot be had at once is refused. Errors: as the controller says.
  void create(const std::vector<MemberStep>& members, bool immediate, Done done);
  /// Ends those that there are, and one that still comes.
  void give_back(std::function<void()> done);
  /// They end with their job: nothing is called any more.
  void forget() { is_over_ = true; }
  /// How long the first of those that are there has waited for the others.
  base::Duration held() const;
  /// There is one, or one was asked for so short a time ago that it may come soon.
  bool has_some() const;
  bool may_come() const { return slow_.is_active(); }

  /// Of the members, once all are there.
  const std::vector<wire::Step>& steps() const { return steps_; }
  /// For the session with a node; nodes are numbered through all steps.
  stream::Client::AskFn ticket_for(size_t node) const;

 private:
  struct Member {
    wire::CreateStepRequest request;
    wire::Step step;
    std::string ticket;
    bool is_there = false;
  };

  io::Loop& loop_;
  Ways ways_;
  const auth::KeyPair& key_;
  Say say_;
  base::Duration patience_limit_;
  Done done_;
  std::vector<Member> members_;
  std::vector<wire::Step> steps_;
  std::vector<attach::Tickets> tickets_;
  io::Timer slow_, patience_;
  bool is_over_ = false;
  std::function<void()> given_back_;
  size_t open_ = 0;                // answers that give_back() waits for
  bool waits_for_create_ = false;  // one of them: whether a step comes after all
  base::Duration first_there_{};   // since when; 0: not yet

  void create_next();
  void on_step(size_t index, base::Result<wire::ApiReply> reply);
  void find_tickets();
  void finish();
  void release_all();
  void end(const wire::Step& step, std::function<void()> done);
  void on_late(const base::Result<wire::ApiReply>& reply);
  void on_ended();
};

}  // namespace gw::cmds
