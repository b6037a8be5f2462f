// The tree of sides, what stands and runs where, and exact fractions: what the rules of the oracle are put together of.
// Nothing outside tests/oracle includes this.
#pragma once

#include <string>
#include <vector>

#include "tests/oracle/quota.h"

namespace gw::oracle {

__extension__ typedef __int128 Wide;

// Not negative; 0/0 is 0, x/0 is infinite, and one infinity is like another.
class Ratio {
 public:
  Ratio() = default;
  Ratio(int64_t over, int64_t under)
      : over_(under == 0 ? Wide{over > 0} : Wide{over}), under_(under == 0 && over == 0 ? 1 : under) {}
  friend bool operator<(const Ratio& a, const Ratio& b) { return a.over_ * b.under_ < b.over_ * a.under_; }

 private:
  Wide over_ = 0;
  Wide under_ = 1;
};

int64_t amount_of(const Amounts& amounts, const std::string& resource);
// Of all tasks.
int64_t need_of(const Job& job, const std::string& resource);
int64_t capacity_of(const World& world, const std::string& resource);
// What any line can be of.
std::set<std::string> resources_of(const World& world);

const Job& job_of(const World& world, int id);
Job& job_of(World& world, int id);
// Nothing for the root and for implicit children.
const Qos* qos_of(const World& world, const std::string& side);

bool is_implicit(const std::string& side);
// An implicit child's QOS; of any other side, the side.
std::string owner_of(const std::string& side);
// "" below the root. The root has none.
std::string parent_of(const World& world, const std::string& side);
// Ordered by name.
std::vector<std::string> children_of(const World& world, const std::string& side);
// Resources with a line.
std::vector<std::string> lines_of(const World& world, const std::string& side);

// The side in which the job stands.
std::string leaf_of(const World& world, const Job& job);
// From the job's side upwards, without the root.
std::vector<std::string> path_of(const World& world, const Job& job);
bool stands_in(const World& world, const Job& job, const std::string& side);

// What running jobs hold at the side.
int64_t allocated(const World& world, const std::string& side, const std::string& resource);
// The same of non-preemptible jobs alone.
int64_t held_for_good(const World& world, const std::string& side, const std::string& resource);
// The largest allocated / fair share of a side over its lines, with a job counted if there is one.
Ratio dominant_share(const World& world, const Shares& shares, const std::string& side, const Job* with);

}  // namespace gw::oracle
