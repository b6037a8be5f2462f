// A node's phases and its session.
#include "attach/step/step_node.h"

#include <algorithm>
#include <utility>

#include "base/reach.h"

namespace gw::attach {

using base::Status;

StepNode::StepNode(io::Loop& loop, const StepOptions& options, NodePlan plan, NodeContact::SayFn say)
    : loop_(loop),
      options_(options),
      plan_(std::move(plan)),
      contact_(loop, plan_.node, options.say_lost_after, std::move(say)) {}

Status StepNode::open(const auth::KeyPair& key, stream::ClientOptions options, bool at_once, stream::Client::AskFn ask,
                      size_t index, NodeEvents& events) {
  plan_.launch.set_go(at_once);
  options.address = plan_.address;
  options.shepherd_key = plan_.key;
  session_ = std::make_unique<NodeSession>(loop_, key, std::move(options), std::move(ask), index, events);
  wire::StepOrder first;
  if (options_.part == Part::kLaunch) {
    GW_TRY_STATUS(session_->open(plan_.launch));
    *first.mutable_launch() = plan_.launch;
    session_->order(first);
    return {};
  }
  GW_TRY_STATUS(session_->open(static_cast<uint32_t>(plan_.launch.tasks_size()), options_.part == Part::kWatch));
  if (options_.part == Part::kWatch) return {};
  first.mutable_look();
  session_->order(first);
  return {};
}

void StepNode::order(const wire::StepOrder& order) {
  if (session_ && !has_ended()) session_->order(order);
}

void StepNode::send(const stream::Control& control) {
  if (session_ && !has_ended()) (void)session_->session().send_control(control);
}

void StepNode::end_input() {
  if (session_ && !is_closed()) session_->end_input();
}

void StepNode::on_ready(const std::string& helper) { phase_.change_if<Awaited>(Ready{helper}); }

void StepNode::on_running() { phase_.change_if<Awaited, Ready>(Running{}); }

void StepNode::on_ended() {
  phase_.change_if<Awaited, Ready, Running>(Ended{});
  session_->end_input();
  session_->forget_outputs();
}

void StepNode::on_closed() {
  give_up();
  contact_.on_session_over();
}

std::string StepNode::helper_address() const {
  const Ready* ready = phase_.in<Ready>();
  return base::reachable_address(ready == nullptr ? std::string() : ready->helper,
                                 base::host_of_address(plan_.address));
}

bool StepNode::on_joined(const stream::Joined& joined) {
  if (options_.part == Part::kLaunch || is_joined()) return false;
  known_tasks_ = 0;
  // The controller and the node should agree; what is said of others is passed over.
  auto& tasks = *plan_.launch.mutable_tasks();
  const int places = std::min(tasks.size(), static_cast<int>(std::min<uint32_t>(joined.tasks, INT32_MAX)));
  tasks.DeleteSubrange(places, tasks.size() - places);
  plan_.launch.set_pty(joined.has_terminal);
  return true;
}

bool StepNode::add_rank(uint32_t rank) {
  if (!known_tasks_ || *known_tasks_ >= plan_.launch.tasks_size()) return false;
  plan_.launch.mutable_tasks((*known_tasks_)++)->set_rank(rank);
  return true;
}

}  // namespace gw::attach
