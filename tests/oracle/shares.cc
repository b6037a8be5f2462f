// Rule 2: demand, and fair shares from the root downwards, each resource by itself.
#include <algorithm>
#include <functional>

#include "tests/oracle/quota.h"
#include "tests/oracle/sides.h"

namespace gw::oracle {
namespace {

// One of the siblings among whom a resource is divided; the amounts are in the units in which it is divided.
struct Claim {
  std::string side;
  int64_t guaranteed = 0;
  int64_t demand = 0;
  int64_t weight = 1;
  int64_t priority = 0;
  int64_t share = 0;

  int64_t unmet() const { return demand - share; }
};

World without_running_jobs(World world) {
  std::erase_if(world.jobs, [](const Job& job) { return job.running; });
  return world;
}

bool could_ever_run(const World& world, const Job& job) {
  for (const std::string& side : path_of(world, job)) {
    if (is_implicit(side)) continue;
    for (const auto& [resource, limit] : qos_of(world, side)->limit) {
      if (need_of(job, resource) > limit) return false;
    }
  }
  return fits(without_running_jobs(world), job.id);
}

// Of what runs and what could run; each level asks for no more than its limit.
int64_t demand_of(const World& world, const std::string& side, const std::string& resource) {
  int64_t sum = 0;
  const std::vector<std::string> children = children_of(world, side);
  for (const std::string& child : children) sum += demand_of(world, child, resource);
  if (children.empty()) {
    for (const Job& job : world.jobs) {
      const bool counts = leaf_of(world, job) == side && (job.running || could_ever_run(world, job));
      if (counts) sum += need_of(job, resource);
    }
  }
  const Qos* qos = qos_of(world, side);
  return qos != nullptr && qos->limit.contains(resource) ? std::min(sum, qos->limit.at(resource)) : sum;
}

std::vector<Claim> claims_of(const World& world, const std::string& parent, const std::string& resource) {
  std::vector<Claim> claims;
  for (const std::string& side : children_of(world, parent)) {
    if (!has_line(world, side, resource)) continue;
    Claim claim{.side = side};
    claim.guaranteed = guaranteed_of(world, side, resource);
    claim.demand = demand_of(world, side, resource);
    if (const Qos* qos = qos_of(world, side)) {
      claim.weight = qos->weight;
      claim.priority = qos->priority;
    }
    claims.push_back(claim);
  }
  return claims;
}

// Water rises to the same height for all, measured in units for each unit of weight, until it is used up; who has
// enough stops drinking. Gives what is left when all have enough. `claims` are of one priority, ordered by name.
int64_t pour(std::vector<Claim*> claims, int64_t water) {
  std::erase_if(claims, [](const Claim* claim) { return claim->weight == 0 || claim->unmet() == 0; });
  int64_t weights = 0;
  for (const Claim* claim : claims) weights += claim->weight;
  // Those whom the present height would satisfy: the final height, which is no lower, does so too.
  const auto is_met = [&](const Claim* claim) { return Wide{claim->unmet()} * weights <= Wide{water} * claim->weight; };
  std::vector<Claim*> met;
  std::copy_if(claims.begin(), claims.end(), std::back_inserter(met), is_met);
  if (!met.empty()) {
    for (Claim* claim : met) {
      water -= claim->unmet();
      claim->share = claim->demand;
    }
    return pour(claims, water);
  }
  if (claims.empty()) return water;
  // Nobody gets enough: whole units first, then one each by largest remainder. `claims` being ordered by name, so are
  // ties.
  const auto remainder = [&](const Claim* claim) { return Wide{water} * claim->weight % weights; };
  std::stable_sort(claims.begin(), claims.end(),
                   [&](const Claim* a, const Claim* b) { return remainder(a) > remainder(b); });
  int64_t left = water;
  for (Claim* claim : claims) {
    const auto whole = static_cast<int64_t>(Wide{water} * claim->weight / weights);
    claim->share += whole;
    left -= whole;
  }
  for (size_t i = 0; left > 0; ++i, --left) ++claims.at(i)->share;
  return 0;
}

bool is_in_whole_gpus(const std::string& resource, const std::vector<Claim>& claims, int64_t amount) {
  const auto is_whole = [](const Claim& claim) { return claim.guaranteed % 1000 == 0 && claim.demand % 1000 == 0; };
  return resource.starts_with("gpu") && amount % 1000 == 0 && std::all_of(claims.begin(), claims.end(), is_whole);
}

// Guarantees first, even if there is less than they come to; then the surplus by priority, and by weight within one.
void divide(std::vector<Claim>& claims, int64_t amount) {
  std::map<int64_t, std::vector<Claim*>, std::greater<>> by_priority;
  for (Claim& claim : claims) {
    claim.share = std::min(claim.guaranteed, claim.demand);
    amount -= claim.share;
    by_priority[claim.priority].push_back(&claim);
  }
  int64_t surplus = std::max<int64_t>(0, amount);
  for (const auto& [priority, equals] : by_priority) surplus = pour(equals, surplus);
}

void divide_below(const World& world, const std::string& parent, const std::string& resource, int64_t amount,
                  Shares& shares) {
  std::vector<Claim> claims = claims_of(world, parent, resource);
  const int64_t unit = is_in_whole_gpus(resource, claims, amount) ? 1000 : 1;
  for (Claim& claim : claims) {
    claim.guaranteed /= unit;
    claim.demand /= unit;
  }
  divide(claims, amount / unit);
  for (const Claim& claim : claims) shares[claim.side][resource] = claim.share * unit;
  for (const std::string& side : children_of(world, parent)) {
    // A line continues downwards from where it starts: above a side without one there is only the capacity.
    const bool has_share = has_line(world, side, resource);
    const int64_t next = has_share ? shares[side][resource] : capacity_of(world, resource);
    divide_below(world, side, resource, next, shares);
  }
}

}  // namespace

Shares fair_shares(const World& world) {
  Shares shares;
  for (const std::string& resource : resources_of(world)) {
    divide_below(world, "", resource, capacity_of(world, resource), shares);
  }
  return shares;
}

}  // namespace gw::oracle
