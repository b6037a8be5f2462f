// A whole cluster under adversity: the controller with its disk, three nodes with their daemons, the network between
// them, and users. Crashes of the controller come between any two of its effects, those of a node daemon between any
// two of its; messages are lost with their connection, never out of order within one; leases run out; users ask again
// for what they got no answer to. After every event holds what check() says, at the end everything comes to rest.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/prop/ctld_nodes/owners.h"
#include "tests/prop/ctld_nodes/promises.h"
#include "tests/sim/parts/machine.h"
#include "tests/sim/parts/shell.h"
#include "tests/unit/ctld_core/world.h"

namespace gw::ctld::testing {

/// A disk that keeps rows as they are.
class MemoryDisk final : public StateDisk {
 public:
  base::Result<store::Snapshot> load(Time ended_since) override { return rows.snapshot(ended_since); }
  base::Status commit(std::span<const store::Batch> batches) override {
    for (const store::Batch& batch : batches) rows.apply(batch);
    return {};
  }
  MemoryStore rows;
};

class SimCluster final : private Outside, private NodeNetwork {
 public:
  explicit SimCluster(bool has_fence);
  /// One event, and what must hold after it.
  void step(uint32_t dice);
  /// Nothing goes wrong any more: everything comes to its end.
  void come_to_rest();

 private:
  /// A node's connection. What one end has sent arrives in order, or the connection is torn and nothing more does.
  struct Link {
    std::string node;
    std::deque<wire::ControllerToNode> down;
    std::deque<wire::NodeToController> up;
    bool has_node = true, has_controller = true;  // the end is open
    bool is_torn = false;                         // and neither end knows
    bool is_slow = false;                         // nothing passes while time does
    bool is_over() const { return !has_node && !has_controller; }
  };

  // Outside
  void take(const Reply& reply) override;
  void take(const ListReady& /*ready*/) override {}  // nobody asks for a list
  void take(const ToNode& message) override;
  void take(const CloseLink& close) override;
  void take(const Fence& fence) override { fences_.push_back(fence); }
  void take(const Reload& /*reload*/) override {}
  void on_group() override;
  void on_crash() override;
  // NodeNetwork
  void to_controller(const std::string& node, const wire::NodeToController& message) override;
  void hang_up(const std::string& node) override;

  // cluster.cc: events
  base::BootTime boot_time() const { return {now_.us - 700'000'000}; }
  void event_of_controller(uint32_t pick);
  void event_of_node(uint32_t pick);
  void event_of_network(uint32_t pick);
  void start_controller();
  void dial(Machine& machine);
  bool deliver_down(LinkId id);
  bool deliver_up(LinkId id);
  void tear(LinkId id, uint32_t pick);
  void tell_of_tear(LinkId id);
  void drop_over();
  Link* link_of(const std::string& node);
  std::optional<LinkId> some_link(uint32_t pick) const;
  void send(size_t which, bool is_answer_lost);
  void fence_next(uint32_t pick);
  /// Everything under way arrives and is done, without time passing.
  void flow();
  bool flow_once();
  void plan_to_rest();
  void pass(base::Duration time);
  void tick();

  // checks.cc
  void check() const;
  void check_core() const;
  void check_time() const;
  void check_nodes() const;
  void check_cancelled() const;
  void check_use(const Machine& machine) const;
  bool holds_all(RunKey key, const Machine::Use& use) const;
  void check_prepare(const wire::Prepare& prepare) const;
  void check_restored(const MemoryStore& disk) const;
  void check_kept() const;
  void check_rest() const;
  std::map<JobId, std::string> jobs_now() const;
  bool holds(const model::Job& job, const std::string& node) const;

  // rest.cc
  void mend_everything();
  void lift_obstacles();
  void run_all_jobs();
  std::string machines_text() const;
  std::string why_it_waits(JobId id);
  void end_allocations();
  void end_all_jobs();

  Time now_{1'000'000'000'000};
  std::vector<std::unique_ptr<Machine>> machines_;
  std::map<LinkId, Link> links_;
  Owners owners_;
  MemoryDisk disk_;
  SimShell shell_;
  std::vector<Fence> fences_;                         // not carried out yet
  std::vector<Fence> fenced_;                         // the machine was off; nobody was told yet
  std::array<std::map<JobId, std::string>, 2> kept_;  // of jobs: with the last group of writes, and with the one before
  LinkId last_link_ = 0;
  ConnId last_conn_ = 0;
};

}  // namespace gw::ctld::testing
