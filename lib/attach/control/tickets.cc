// Asking for tickets.
#include "attach/control/tickets.h"

#include <algorithm>
#include <utility>

#include "wire/step_channels.h"

namespace gw::attach {
namespace {

bool has_gone(const wire::Step& step, const std::string& name) {
  return std::any_of(step.nodes().begin(), step.nodes().end(),
                     [&](const wire::StepNode& node) { return node.is_gone() && node.share().node() == name; });
}

struct NodeTickets {
  Errands& line;
  std::string name;
  wire::TicketRequest request;
  std::string first;
  bool is_asking = false;
  stream::Client::TicketFn latest;
};

void ask(const std::shared_ptr<NodeTickets>& node, stream::Client::TicketFn give) {
  if (!node->first.empty()) return give(std::exchange(node->first, {}));
  node->latest = std::move(give);
  if (std::exchange(node->is_asking, true)) return;
  wire::ApiRequest request;
  *request.mutable_ticket() = node->request;
  node->line.call(std::move(request), [node](base::Result<wire::ApiReply> reply) {
    node->is_asking = false;
    const auto fn = std::exchange(node->latest, {});
    if (!reply && reply.error().code == base::ErrorCode::kNotFound)
      return fn(base::fail(base::ErrorCode::kNotFound, kStepHasEnded));
    if (!reply) return fn(base::pass(reply));
    if (has_gone(reply->step().step(), node->name))
      return fn(base::fail(base::ErrorCode::kConflict, wire::kTasksHaveEnded));
    fn(reply->step().ticket());
  });
}

}  // namespace

stream::Client::AskFn Tickets::for_node(const std::string& name) const {
  return [node = std::make_shared<NodeTickets>(NodeTickets{line_, name, request_, first_, false, {}})](
             stream::Client::TicketFn give) { ask(node, std::move(give)); };
}

}  // namespace gw::attach
