// See quota_tree.h.
#include "sched/quota/quota_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "sched/ledger/capacity.h"
#include "sched/queue/queue.h"

namespace gw::sched {

void add_to(Quantities& a, const Quantities& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
}

void take_from(Quantities& a, const Quantities& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] -= std::min(a[i], b[i]);
}

QuotaTree::QuotaTree(const std::vector<model::Qos>& list, model::Licenses licenses)
    : list_(list), licenses_(std::move(licenses)) {
  std::sort(list_.begin(), list_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  collect_resources();
  QosNode root;
  root.has_line.assign(width(), false);
  root.has_line[kGpu] = true;
  root.guaranteed = none();
  root.limit.assign(width(), kNoLimit);
  root.user_limit = root.limit;
  for (size_t r = 0; r < width(); ++r)
    if (resources_[r].starts_with(kLicense)) root.limit[r] = licenses_.at(resources_[r].substr(kLicense.size()));
  nodes_.push_back(std::move(root));
  index_[""] = 0;
  if (!list_.empty()) add_below(0, "");
}

void QuotaTree::collect_resources() {
  std::set<std::string> named;
  for (const model::Qos& q : list_) {
    for (const auto& [resource, amount] : q.guaranteed) named.insert(resource);
    for (const auto& [resource, amount] : q.limit) named.insert(resource);
    for (const auto& [resource, amount] : q.limit_per_user) named.insert(resource);
    if (q.max_jobs > 0 || q.max_jobs_per_user > 0) named.emplace(kJobResource);
    has_user_limits_ |= q.max_jobs_per_user > 0 || !q.limit_per_user.empty();
  }
  if (std::any_of(list_.begin(), list_.end(), model::names_types_alone)) named.emplace(kOtherGpus);
  for (const auto& [name, count] : licenses_) named.insert(std::string(kLicense) + name);
  named.erase("gpu");
  resources_ = {"gpu"};
  resources_.insert(resources_.end(), named.begin(), named.end());
  has_types_ = std::any_of(named.begin(), named.end(), [](const std::string& r) { return r.starts_with("gpu:"); });
}

QosNode QuotaTree::inherit(uint32_t parent) const {
  const QosNode& above = nodes_[parent];
  QosNode node;
  node.parent = parent;
  node.depth = above.depth + 1;
  node.min_runtime = above.min_runtime;
  node.grace = above.grace;
  node.patience = above.patience;
  node.has_line = above.has_line;
  node.guaranteed = none();
  node.limit.assign(width(), kNoLimit);
  node.user_limit = node.limit;
  return node;
}

void QuotaTree::set_lines(const model::Qos& qos, QosNode& node) const {
  const model::Amounts guaranteed = model::guarantees_of(qos);
  for (size_t r = 0; r < width(); ++r) {
    if (model::names_types_alone(qos) && resources_[r].starts_with("gpu:")) node.has_line[r] = true;
    if (const auto g = guaranteed.find(resources_[r]); g != guaranteed.end()) {
      node.has_line[r] = true;
      node.guaranteed[r] = g->second;
    }
    if (const auto l = qos.limit.find(resources_[r]); l != qos.limit.end()) node.limit[r] = l->second;
    if (const auto l = qos.limit_per_user.find(resources_[r]); l != qos.limit_per_user.end())
      node.user_limit[r] = l->second;
    if (resources_[r] != kJobResource) continue;
    if (qos.max_jobs > 0) node.limit[r] = qos.max_jobs;
    if (qos.max_jobs_per_user > 0) node.user_limit[r] = qos.max_jobs_per_user;
  }
}

void QuotaTree::add_below(uint32_t parent, const std::string& parent_name) {
  std::vector<std::pair<uint32_t, std::string>> inner;
  for (const model::Qos& q : list_) {
    if (q.parent != parent_name) continue;
    QosNode node = inherit(parent);
    node.name = q.name;
    node.weight = q.weight;
    node.priority = q.priority;
    node.preempt_children = q.preempt_children;
    if (q.min_runtime.us > 0) node.min_runtime = q.min_runtime;
    if (q.grace) node.grace = q.grace;
    if (q.patience) node.patience = q.patience;
    set_lines(q, node);
    const auto index = static_cast<uint32_t>(nodes_.size());
    index_[q.name] = index;
    nodes_[parent].children.push_back(index);
    nodes_.push_back(std::move(node));
    if (std::any_of(list_.begin(), list_.end(), [&](const auto& o) { return o.parent == q.name; }))
      inner.emplace_back(index, q.name);
  }
  add_own(parent);
  for (const auto& [index, name] : inner) add_below(index, name);
}

/// What the children's guarantees leave over is its own jobs'.
void QuotaTree::add_own(uint32_t parent) {
  QosNode own = inherit(parent);
  own.name = nodes_[parent].name + "/";
  own.is_own = true;
  for (size_t r = 0; r < width(); ++r) {
    uint64_t given = 0;
    for (uint32_t child : nodes_[parent].children) given += nodes_[child].guaranteed[r];
    own.guaranteed[r] = nodes_[parent].guaranteed[r] - std::min(nodes_[parent].guaranteed[r], given);
  }
  const auto index = static_cast<uint32_t>(nodes_.size());
  index_[own.name] = index;
  nodes_.push_back(std::move(own));
  std::vector<uint32_t>& children = nodes_[parent].children;
  children.push_back(index);
  std::sort(children.begin(), children.end(),
            [this](uint32_t a, uint32_t b) { return nodes_[a].name < nodes_[b].name; });
}

uint32_t QuotaTree::leaf_of(const std::string& qos) const {
  auto it = index_.find(qos);
  if (it == index_.end()) it = index_.find("");
  if (nodes_[it->second].children.empty()) return it->second;
  return index_.at(nodes_[it->second].name + "/");
}

std::optional<uint32_t> QuotaTree::find(const std::string& qos) const {
  const auto it = index_.find(qos);
  return it == index_.end() ? std::nullopt : std::optional(it->second);
}

uint32_t QuotaTree::common(uint32_t a, uint32_t b) const {
  while (a != b) {
    uint32_t& deeper = nodes_[a].depth >= nodes_[b].depth ? a : b;
    deeper = nodes_[deeper].parent;
  }
  return a;
}

uint32_t QuotaTree::towards(uint32_t above, uint32_t below) const {
  while (nodes_[below].parent != above) below = nodes_[below].parent;
  return below;
}

std::string QuotaTree::words(uint32_t qos) const {
  const QosNode& s = nodes_[qos];
  if (qos == 0) return "the cluster";
  if (!s.is_own) return "QOS " + s.name;
  return s.parent == 0 ? "jobs without a QOS" : fmt::format("jobs of QOS {} itself", nodes_[s.parent].name);
}

// ---- Counting

Quantities QuotaTree::count(const model::NodeShare& share, const Capacity& capacity) const {
  Quantities out = none();
  const NodeAccount* account = capacity.node(share.node);
  for (size_t r = 0; r < width(); ++r) {
    const std::string& name = resources_[r];
    if (name == "gpu") out[r] = uint64_t{share.gpus.size()} * share.gpu_milli;
    if (name == "cpu") out[r] = uint64_t{share.cores.size()} * (account == nullptr ? 1 : account->threads());
    if (name == "mem") out[r] = share.mem_mb;
    if (name == "node") out[r] = 1;
  }
  if (!has_types_ || account == nullptr || !account->facts.topology) return out;
  const auto& gpus = account->facts.topology->gpus;
  for (uint32_t g = share.gpus.next(0); g < gpus.size(); g = share.gpus.next(g + 1))
    count_type(gpus[g].type, share.gpu_milli, out);
  return out;
}

Quantities QuotaTree::count(const model::Allocation& allocation, const Capacity& capacity) const {
  Quantities out = count_extension(allocation, capacity);
  count_job(out);
  return out;
}

Quantities QuotaTree::count_extension(const model::Allocation& allocation, const Capacity& capacity) const {
  Quantities out = none();
  for (const model::NodeShare& share : allocation.shares) add_to(out, count(share, capacity));
  return out;
}

Quantities QuotaTree::count_growth(const model::Request& request, uint32_t tasks) const {
  const bool by_nodes = request.nodes_given && !request.tasks_given;
  model::Request growth = model::growth_of(request, tasks);
  growth.min_nodes = growth.max_nodes = by_nodes ? tasks / std::max(request.tasks_per_node, 1U) : 1;
  growth.tasks = tasks;
  Quantities out = none();
  if (tasks > 0) count_request(growth, out);
  return out;
}

Quantities QuotaTree::count_kept(const model::Allocation& allocation, const Capacity& capacity) const {
  Quantities out = count_extension(allocation, capacity);
  for (size_t r = 0; r < width(); ++r)
    if (resources_[r] == "node") out[r] = 0;
  return out;
}

void QuotaTree::count_type(const std::string& type, uint64_t milli, Quantities& out) const {
  if (!has_types_ || type.empty()) return;
  const std::string name = "gpu:" + base::to_lower(type);
  auto it = std::find(resources_.begin(), resources_.end(), name);
  if (it == resources_.end()) it = std::find(resources_.begin(), resources_.end(), kOtherGpus);
  if (it != resources_.end()) out[static_cast<size_t>(it - resources_.begin())] += milli;
}

Quantities QuotaTree::count(const model::Licenses& licenses) const {
  Quantities out = none();
  if (licenses.empty()) return out;
  for (size_t r = 0; r < width(); ++r) {
    if (!resources_[r].starts_with(kLicense)) continue;
    const auto asked = licenses.find(resources_[r].substr(kLicense.size()));
    if (asked != licenses.end()) out[r] = asked->second;
  }
  return out;
}

Quantities QuotaTree::count_licenses(const PendingJob& job) const {
  Quantities out = count(job.licenses);
  for (const Component& c : job.components) add_to(out, count(c.licenses));
  return out;
}

void QuotaTree::count_job(Quantities& out) const {
  for (size_t r = 0; r < width(); ++r)
    if (resources_[r] == kJobResource) ++out[r];
}

/// Of a suspended job; the types of its GPUs only as far as it named one.
void QuotaTree::count_exactly(const model::Request& request, Quantities& out) const {
  for (const model::NodeShare& share : request.exactly) {
    const uint64_t milli = uint64_t{share.gpus.size()} * share.gpu_milli;
    count_type(request.gpu_type, milli, out);
    for (size_t r = 0; r < width(); ++r) {
      const std::string& name = resources_[r];
      if (name == "gpu") out[r] += milli;
      if (name == "cpu") out[r] += share.cpus;
      if (name == "mem") out[r] += share.mem_mb;
      if (name == "node") ++out[r];
    }
  }
}

void QuotaTree::count_request(const model::Request& request, Quantities& out) const {
  if (!request.exactly.empty()) return count_exactly(request, out);
  const uint32_t nodes = std::max(request.min_nodes, 1U);
  const uint64_t tasks = request.tasks_given ? request.tasks : std::max(nodes, request.tasks);
  const uint64_t milli = uint64_t{model::total_gpus(request, nodes)} * request.gpu_milli;
  count_type(request.gpu_type, milli, out);
  const uint64_t gpus = milli / model::kWholeGpu;
  const uint64_t of_tasks = request.overcommit ? nodes : tasks * request.cpus_per_task;
  for (size_t r = 0; r < width(); ++r) {
    const std::string& name = resources_[r];
    if (name == "gpu") out[r] += milli;
    if (name == "node") out[r] += nodes;
    if (name == "cpu") out[r] += std::max({of_tasks, gpus * request.cpus_per_gpu, uint64_t{nodes} * request.min_cpus});
    if (name == "mem")
      out[r] += std::max({request.mem_per_node_mb * nodes, request.mem_per_task_mb * tasks,
                          request.mem_per_cpu_mb * of_tasks, request.mem_per_gpu_mb * gpus});
  }
}

Quantities QuotaTree::count(const PendingJob& job) const {
  Quantities out = none();
  count_request(job.request, out);
  count_job(out);
  for (const Component& c : job.components) {
    count_request(c.request, out);
    count_job(out);
  }
  add_to(out, count_licenses(job));
  return out;
}

Quantities QuotaTree::count(const NodeFacts& node) const {
  Quantities out = none();
  if (!node.usable || !node.topology) return out;
  model::NodeShare all;
  all.gpus = node.gpus;
  const auto& gpus = node.topology->gpus;
  for (size_t r = 0; r < width(); ++r) {
    const std::string& name = resources_[r];
    if (name == "gpu") out[r] = uint64_t{node.gpus.size()} * model::kWholeGpu;
    if (name == "cpu") out[r] = uint64_t{node.cores.size()} * node.topology->threads_per_core();
    if (name == "mem") out[r] = node.mem_mb;
    if (name == "node") out[r] = 1;
  }
  for (uint32_t g = node.gpus.next(0); g < gpus.size(); g = node.gpus.next(g + 1))
    count_type(gpus[g].type, model::kWholeGpu, out);
  return out;
}

}  // namespace gw::sched
