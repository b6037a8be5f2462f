// Loops over nodes.
#include "attach/step/step_nodes.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace gw::attach {

using base::Status;

namespace {

/// Each node takes a descriptor. Logins usually have room for 1,024, and may have more if they ask.
Status raise_file_limit(size_t nodes) {
  constexpr rlim_t kOwn = 64;
  rlimit limit{};
  const rlim_t wanted = kOwn + static_cast<rlim_t>(nodes);
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return {};
  if (limit.rlim_max < wanted)
    return base::invalid(fmt::format("a step on {} nodes takes {} open files here, and this login may have {}", nodes,
                                     wanted, limit.rlim_max),
                         "ulimit -Hn says so; ask for fewer nodes, or have the limit raised");
  limit.rlim_cur = wanted;
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return {};
  return base::fail_errno(fmt::format("raising the limit of open files to {}", wanted), errno);
}

}  // namespace

std::vector<std::string> nodes_by_rank(const std::vector<NodePlan>& plans, size_t at_least) {
  size_t tasks = 0;
  for (const NodePlan& plan : plans) tasks += static_cast<size_t>(plan.launch.tasks_size());
  std::vector<std::string> names(std::max(tasks, at_least));
  for (const NodePlan& plan : plans)
    for (const wire::TaskOrder& task : plan.launch.tasks())
      if (task.rank() < tasks) names[task.rank()] = plan.node;
  return names;
}

StepNodes::StepNodes(io::Loop& loop, const StepOptions& options, std::vector<NodePlan> plans,
                     const NodeContact::SayFn& say)
    : options_(options) {
  for (NodePlan& plan : plans) nodes_.emplace_back(loop, options_, std::move(plan), say);
}

Status StepNodes::open(const auth::KeyPair& key, const AskFor& ask, NodeEvents& events) {
  GW_TRY_STATUS(raise_file_limit(nodes_.size()));
  size_t channels = 0;
  for (const StepNode& node : nodes_) channels += 2 * static_cast<size_t>(node.launch().tasks_size());
  stream::ClientOptions connection = options_.connection;
  connection.window_bytes = stream::bytes_per_channel(channels, options_.window_budget);
  for (size_t i = 0; i < nodes_.size(); ++i)
    GW_TRY_STATUS(nodes_[i].open(key, connection, nodes_.size() == 1, ask(i), i, events));
  return {};
}

void StepNodes::start() {
  for (StepNode& node : nodes_) node.session()->start();
}

void StepNodes::order(const wire::StepOrder& order) {
  for (StepNode& node : nodes_) node.order(order);
}

void StepNodes::signal(int signo) {
  if (options_.part == Part::kWatch) return;
  for (StepNode& node : nodes_) node.send(stream::Signal{stream::kAllTasks, static_cast<uint8_t>(signo)});
}

void StepNodes::resize(uint16_t rows, uint16_t columns) {
  if (options_.part != Part::kWatch) nodes_.front().send(stream::WindowSize{rows, columns});
}

void StepNodes::end_input() {
  for (StepNode& node : nodes_) node.end_input();
}

void StepNodes::refuse_outputs() {
  for (StepNode& node : nodes_)
    if (node.session() != nullptr) node.session()->refuse_outputs();
}

void StepNodes::leave() {
  for (StepNode& node : nodes_)
    if (node.session() != nullptr && !node.session()->session().is_closed()) node.session()->leave();
}

bool StepNodes::has_left() const {
  return std::none_of(nodes_.begin(), nodes_.end(),
                      [](const StepNode& n) { return n.session() != nullptr && n.session()->is_connected(); });
}

bool StepNodes::are_all_closed() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const StepNode& n) { return n.is_closed(); });
}

std::vector<std::string> StepNodes::names() const {
  std::vector<std::string> names;
  for (const StepNode& node : nodes_) names.push_back(node.name());
  return names;
}

std::vector<std::vector<uint32_t>> StepNodes::layout() const {
  std::vector<std::vector<uint32_t>> ranks;
  for (const StepNode& node : nodes_) {
    auto& here = ranks.emplace_back();
    for (const wire::TaskOrder& task : node.launch().tasks()) here.push_back(task.rank());
  }
  return ranks;
}

void StepNodes::drop_connections() {
  for (StepNode& node : nodes_) node.session()->drop_connection();
}

}  // namespace gw::attach
