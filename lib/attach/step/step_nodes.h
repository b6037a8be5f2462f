// All nodes of a step, spoken to together.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "attach/step/step_node.h"

namespace gw::attach {

/// The name of each rank's node; empty for tasks that the plans do not name. At least so many ranks.
std::vector<std::string> nodes_by_rank(const std::vector<NodePlan>& plans, size_t at_least);

class StepNodes {
 public:
  /// What a node's session needs in order to ask for tickets.
  using AskFor = std::function<stream::Client::AskFn(size_t node)>;

  /// `say` is for losses of connections.
  StepNodes(io::Loop& loop, const StepOptions& options, std::vector<NodePlan> plans, const NodeContact::SayFn& say);

  StepNode& operator[](size_t index) { return nodes_[index]; }
  size_t size() const { return nodes_.size(); }
  auto begin() { return nodes_.begin(); }
  auto end() { return nodes_.end(); }
  auto begin() const { return nodes_.begin(); }
  auto end() const { return nodes_.end(); }

  /// Opens a session with each and writes its first order; raises this process's limit of open files if it must.
  /// Errors: more nodes than that may be raised for; more tasks on a node than a session has channels for.
  base::Status open(const auth::KeyPair& key, const AskFor& ask, NodeEvents& events);
  /// Connects.
  void start();

  void order(const wire::StepOrder& order);
  void signal(int signo);
  /// The terminal is the first node's.
  void resize(uint16_t rows, uint16_t columns);
  void end_input();
  /// Nothing of what the tasks still print is wanted.
  void refuse_outputs();
  /// Says to each that this client goes; has_left() once they know.
  void leave();
  bool has_left() const;
  bool are_all_closed() const;

  std::vector<std::string> names() const;
  /// ranks[node][place], as far as they are known.
  std::vector<std::vector<uint32_t>> layout() const;
  /// For tests.
  void drop_connections();

 private:
  const StepOptions& options_;
  std::deque<StepNode> nodes_;  // which stay where they are
};

}  // namespace gw::attach
