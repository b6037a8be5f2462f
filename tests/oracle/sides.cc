// The tree is never built: each question walks the list of QOS again.
#include "tests/oracle/sides.h"

#include <algorithm>
#include <stdexcept>

namespace gw::oracle {

int64_t amount_of(const Amounts& amounts, const std::string& resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? 0 : found->second;
}

int64_t need_of(const Job& job, const std::string& resource) { return job.tasks * amount_of(job.per_task, resource); }

int64_t capacity_of(const World& world, const std::string& resource) {
  int64_t sum = 0;
  for (const Amounts& node : world.nodes) sum += amount_of(node, resource);
  return sum;
}

namespace {

bool is_type(const std::string& resource) { return resource.rfind("gpu:", 0) == 0; }

bool names_types_alone(const Qos& qos) {
  const auto names_type = [](const auto& each) { return is_type(each.first); };
  return !qos.guaranteed.contains("gpu") && std::any_of(qos.guaranteed.begin(), qos.guaranteed.end(), names_type);
}

}  // namespace

std::set<std::string> resources_of(const World& world) {
  std::set<std::string> resources = {"gpu"};
  for (const Qos& qos : world.qos) {
    for (const auto& [resource, amount] : qos.guaranteed) resources.insert(resource);
    if (names_types_alone(qos)) resources.insert("gpu:other");  // of the types that nobody names
  }
  return resources;
}

const Job& job_of(const World& world, int id) {
  for (const Job& job : world.jobs) {
    if (job.id == id) return job;
  }
  throw std::out_of_range("no job " + std::to_string(id));
}

Job& job_of(World& world, int id) { return const_cast<Job&>(job_of(static_cast<const World&>(world), id)); }

const Qos* qos_of(const World& world, const std::string& side) {
  if (side.empty() || is_implicit(side)) return nullptr;
  for (const Qos& qos : world.qos) {
    if (qos.name == side) return &qos;
  }
  throw std::out_of_range("no QOS " + side);
}

bool is_implicit(const std::string& side) { return side.ends_with('/'); }

std::string owner_of(const std::string& side) { return is_implicit(side) ? side.substr(0, side.size() - 1) : side; }

std::string parent_of(const World& world, const std::string& side) {
  return is_implicit(side) ? owner_of(side) : qos_of(world, side)->parent;
}

std::vector<std::string> children_of(const World& world, const std::string& side) {
  std::vector<std::string> children;
  for (const Qos& qos : world.qos) {
    if (qos.parent == side) children.push_back(qos.name);
  }
  if (side.empty() || !children.empty()) children.push_back(side + "/");
  std::sort(children.begin(), children.end());
  return children;
}

std::vector<std::string> lines_of(const World& world, const std::string& side) {
  std::vector<std::string> lines;
  for (const std::string& resource : resources_of(world)) {
    if (has_line(world, side, resource)) lines.push_back(resource);
  }
  return lines;
}

std::string leaf_of(const World& world, const Job& job) {
  return children_of(world, job.qos).empty() ? job.qos : job.qos + "/";
}

std::vector<std::string> path_of(const World& world, const Job& job) {
  std::vector<std::string> path;
  for (std::string side = leaf_of(world, job); !side.empty(); side = parent_of(world, side)) path.push_back(side);
  return path;
}

bool stands_in(const World& world, const Job& job, const std::string& side) {
  const std::vector<std::string> path = path_of(world, job);
  return side.empty() || std::find(path.begin(), path.end(), side) != path.end();
}

Amounts named_guarantees(const Qos& qos) {
  Amounts out = qos.guaranteed;
  if (!names_types_alone(qos)) return out;
  for (const auto& [resource, amount] : qos.guaranteed)
    if (is_type(resource)) out["gpu"] += amount;
  return out;
}

bool has_line(const World& world, const std::string& side, const std::string& resource) {
  if (resource == "gpu") return true;
  for (std::string name = owner_of(side); !name.empty(); name = parent_of(world, name)) {
    const Qos& qos = *qos_of(world, name);
    if (qos.guaranteed.contains(resource) || (is_type(resource) && names_types_alone(qos))) return true;
  }
  return false;
}

int64_t guaranteed_of(const World& world, const std::string& side, const std::string& resource) {
  if (side.empty()) return capacity_of(world, resource);
  if (!has_line(world, side, resource)) return 0;
  if (!is_implicit(side)) return amount_of(named_guarantees(*qos_of(world, side)), resource);
  int64_t left = guaranteed_of(world, owner_of(side), resource);
  for (const std::string& child : children_of(world, owner_of(side))) {
    if (!is_implicit(child)) left -= guaranteed_of(world, child, resource);
  }
  return std::max<int64_t>(0, left);
}

int64_t allocated(const World& world, const std::string& side, const std::string& resource) {
  int64_t sum = 0;
  for (const Job& job : world.jobs) {
    if (job.running && stands_in(world, job, side)) sum += need_of(job, resource);
  }
  return sum;
}

int64_t held_for_good(const World& world, const std::string& side, const std::string& resource) {
  int64_t sum = 0;
  for (const Job& job : world.jobs) {
    if (job.running && !job.preemptible && stands_in(world, job, side)) sum += need_of(job, resource);
  }
  return sum;
}

Ratio dominant_share(const World& world, const Shares& shares, const std::string& side, const Job* with) {
  Ratio largest;
  for (const std::string& resource : lines_of(world, side)) {
    const int64_t held = allocated(world, side, resource) + (with == nullptr ? 0 : need_of(*with, resource));
    largest = std::max(largest, Ratio(held, amount_of(shares.at(side), resource)));
  }
  return largest;
}

}  // namespace gw::oracle
