// See run_steps.h.
#include "cmds/grun/run_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wire/convert.h"

namespace gw::cmds {
namespace {

using base::Result;

constexpr base::Duration kSlow = base::seconds(1);

std::string fresh_key() { return std::string(auth::view(auth::random_bytes32())); }

wire::TicketRequest ticket_request(const wire::Step& step, const auth::KeyPair& key) {
  wire::TicketRequest ticket;
  ticket.set_job_id(step.job());
  ticket.set_step(step.step());
  ticket.set_client_key(std::string(auth::view(key.public_key())));
  return ticket;
}

}  // namespace

// A step is known by the key of its client, so that each has one of its own. The first is that of the sessions: an
// allocation of this call has been told it. Of several, tickets are asked for with that key.
void RunSteps::create(const std::vector<MemberStep>& members, bool immediate, Done done) {
  done_ = std::move(done);
  for (const MemberStep& member : members) {
    wire::CreateStepRequest& create = members_.emplace_back().request;
    create.set_job_id(member.job.id);
    *create.mutable_step() = wire::to_wire(member.step);
    create.set_client_key(members_.size() == 1 ? std::string(auth::view(key_.public_key())) : fresh_key());
    create.set_immediate(immediate);
  }
  create_next();
}

void RunSteps::create_next() {
  const auto next = std::find_if(members_.begin(), members_.end(), [](const Member& m) { return !m.is_there; });
  if (next == members_.end()) {
    patience_.cancel();
    return find_tickets();
  }
  const auto index = static_cast<size_t>(next - members_.begin());
  slow_ = loop_.after(kSlow, [this, job = next->request.job_id()] {
    say_(fmt::format("job {}: step creation waits for cores or GPUs that other steps have, or for its nodes", job));
  });
  wire::ApiRequest request;
  wire::CreateStepRequest& create = *request.mutable_create_step() = next->request;
  for (const Member& other : members_)
    if (other.is_there && other.step.job() == create.job_id()) create.add_beside(other.step.step());
  ways_.create(std::move(request), [this, index](Result<wire::ApiReply> reply) { on_step(index, std::move(reply)); });
}

void RunSteps::on_step(size_t index, Result<wire::ApiReply> reply) {
  slow_.cancel();
  if (is_over_) return on_late(reply);
  if (!reply) {
    base::Error error = reply.error();
    const std::string sentence = error.sentence.empty() ? "" : std::exchange(error.sentence, {}) + ": ";
    error.what =
        fmt::format("Unable to create step for job {}: {}{}", members_[index].request.job_id(), sentence, error.what);
    return done_(tl::unexpected(std::move(error)));
  }
  Member& member = members_[index];
  member.step = std::move(*reply->mutable_step()->mutable_step());
  if (members_.size() == 1) member.ticket = reply->step().ticket();
  member.is_there = true;
  if (!patience_.is_active()) {
    patience_ = loop_.after(patience_limit_, [this] { release_all(); });
    first_there_ = io::Loop::monotonic();
  }
  create_next();
}

/// It was given up meanwhile.
void RunSteps::on_late(const Result<wire::ApiReply>& reply) {
  const bool is_counted = std::exchange(waits_for_create_, false);
  if (given_back_ && reply)
    return end(reply->step().step(), [this, is_counted] {
      if (is_counted) on_ended();
    });
  if (is_counted) on_ended();
}

base::Duration RunSteps::held() const {
  return first_there_.us == 0 ? base::Duration() : io::Loop::monotonic() - first_there_;
}

/// The one that is waited for stays asked for.
void RunSteps::release_all() {
  for (Member& member : members_) {
    if (!std::exchange(member.is_there, false)) continue;
    say_(fmt::format("step {}.{} is given back until another can be had", member.step.job(), member.step.step()));
    end(member.step, [] {});
    member.request.set_client_key(fresh_key());
  }
}

/// One is good for all nodes of its step; asked for by each node they would come with all nodes each.
void RunSteps::find_tickets() {
  const auto next = std::find_if(members_.begin(), members_.end(), [](const Member& m) { return m.ticket.empty(); });
  if (next == members_.end()) return finish();
  wire::ApiRequest request;
  *request.mutable_ticket() = ticket_request(next->step, key_);
  ways_.query(std::move(request), [this, &member = *next](Result<wire::ApiReply> reply) {
    if (is_over_) return;
    if (!reply) return done_(base::pass(reply));
    member.ticket = reply->step().ticket();
    if (member.ticket.empty()) return done_(base::fail(base::ErrorCode::kProtocol, "the controller gave no ticket"));
    find_tickets();
  });
}

void RunSteps::finish() {
  for (Member& member : members_) {
    tickets_.emplace_back(ways_.tickets, ticket_request(member.step, key_), std::move(member.ticket));
    steps_.push_back(member.step);
  }
  done_({});
}

bool RunSteps::has_some() const {
  return std::any_of(members_.begin(), members_.end(), [](const Member& member) { return member.is_there; });
}

void RunSteps::give_back(std::function<void()> done) {
  given_back_ = std::move(done);
  waits_for_create_ = slow_.is_active();
  is_over_ = true;
  patience_.cancel();
  open_ = waits_for_create_ ? 1 : 0;
  for (const Member& member : members_)
    if (member.is_there) ++open_;
  if (open_ == 0) return given_back_();
  for (const Member& member : members_)
    if (member.is_there) end(member.step, [this] { on_ended(); });
}

void RunSteps::end(const wire::Step& step, std::function<void()> done) {
  wire::ApiRequest request;
  request.mutable_signal_step()->set_job_id(step.job());
  request.mutable_signal_step()->set_step(step.step());
  ways_.query(std::move(request), [done = std::move(done)](const Result<wire::ApiReply>&) { done(); });
}

void RunSteps::on_ended() {
  if (open_ > 0 && --open_ == 0) given_back_();
}

stream::Client::AskFn RunSteps::ticket_for(size_t node) const {
  size_t step = 0;
  while (node >= static_cast<size_t>(steps_[step].nodes_size()))
    node -= static_cast<size_t>(steps_[step++].nodes_size());
  return tickets_[step].for_node();
}

}  // namespace gw::cmds
