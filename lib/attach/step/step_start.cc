// Waiting for all nodes.
#include "attach/step/step_start.h"

#include <algorithm>

namespace gw::attach {

void StepStart::release_if_ready() {
  if (options_.part == Part::kWatch) return;
  if (!state_.is<Gathering>()) return;
  if (std::any_of(nodes_.begin(), nodes_.end(), [](const StepNode& n) { return n.is_awaited(); })) return;
  state_.change_if<Gathering>(Released{});
  wire::StepOrder order;
  if (options_.part == Part::kJoin) {
    order.mutable_join();
    return nodes_.order(order);
  }
  if (nodes_.size() == 1) return;  // it was told with the launch
  wire::GoTasks& go = *order.mutable_go();
  if (nodes_[0].launch().has_pmix())
    for (const StepNode& node : nodes_) go.add_addresses(node.helper_address());
  nodes_.order(order);
}

bool StepStart::begin_running() {
  if (is_running()) return false;
  if (std::any_of(nodes_.begin(), nodes_.end(), [](const StepNode& n) { return !n.has_run(); })) return false;
  if (!state_.change_if<Gathering, Released>(Running{})) return false;
  if (early_size_) resize(*early_size_);
  return true;
}

void StepStart::resize(stream::WindowSize size) {
  if (is_running()) return nodes_.resize(size.rows, size.columns);
  early_size_ = size;
}

}  // namespace gw::attach
