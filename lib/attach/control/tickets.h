// Tickets for the sessions of a step's client, from the controller.
// Invariants: the ticket that came with the step serves each node's first attempt; later ones are asked for. A node has
// at most one request under way, whose answer goes to the latest that asked.
#pragma once

#include <memory>
#include <string>

#include "attach/control/errands.h"
#include "stream/client.h"

namespace gw::attach {

/// The answer for a step that the controller has no more. A client that never had the node's session only came too
/// late.
constexpr const char* kStepHasEnded = "the connection was lost, and the step has ended meanwhile";

class Tickets {
 public:
  /// `line` outlives every session. `first` may be empty.
  Tickets(Errands& line, wire::TicketRequest request, std::string first)
      : line_(line), request_(std::move(request)), first_(std::move(first)) {}
  /// For the session with one node. A node of which the controller says meanwhile that its tasks have ended is not
  /// waited for: the answer is the error wire::kTasksHaveEnded; or kStepHasEnded.
  stream::Client::AskFn for_node(const std::string& node = {}) const;

 private:
  Errands& line_;
  wire::TicketRequest request_;
  std::string first_;
};

}  // namespace gw::attach
