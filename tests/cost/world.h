// The controller that the oracle asks: 512 nodes, 1,000 jobs of 20 users that wait, run or have steps, in 17 partitions
// and 17 QOS, with reservations to come. The last node is away, and a stored row is held aside.
#pragma once

#include <string>
#include <vector>

#include "tests/cost/growth.h"
#include "tests/unit/ctld_core/fleet.h"

namespace gw::cost {

constexpr uint32_t kNodes = 512, kJobs = 1'000, kUsers = 20, kGroups = 16, kFirstUid = 1'000, kWebUid = 900;

/// A stored reservation that cannot be read.
constexpr char kDamaged[] = "damaged";

class CostWorld : public ctld::testing::Fleet {
 public:
  CostWorld();
  /// Names of what is there.
  Pools pools() const;

  /// One more job gets so many nodes; there are some 200.
  void start_gang(uint32_t nodes);

  base::JobId waiting, running, allocation, preparing;  ///< All of the first user.
  std::string node_of_run, node_of_preparing;
  std::string absent_node;
  ctld::ConnId client = 0;  ///< Of the allocation.

 private:
  /// Ends the program if it is refused: the world is not as it should be then.
  wire::ApiReply must(uint32_t uid, const wire::ApiRequest& request);
  wire::ApiReply must_on(ctld::ConnId conn, uint32_t uid, wire::ApiRequest request);
  void make_partitions();
  void make_quotas();
  void make_reservations();
  void make_tokens();
  void make_allocation();
  void make_jobs();
  void make_pair();
};

}  // namespace gw::cost
