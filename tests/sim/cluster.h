// A cluster in a box: the real core of the controller with the real store, the real cores of up to 50 node daemons; the
// clock, the disk, the network, processes, users and administrators are simulated, all from one seed. What goes wrong:
// * the controller's process dies, or its machine loses the power, between any two effects and at any write or sync of
//   its disk; what was not synced is lost, all of it or any sectors; the disk is full or slow for a while; it is told
//   to end; it starts again soon or late;
// * node daemons die between any two effects and start again; nodes lose the power, are fenced, and boot again;
//   launches fail; processes refuse to be frozen;
// * the network: network.h; clients: clients.h.
// Five checkers watch (checker.h), and at the end, when nothing goes wrong any more, everything must come to rest.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/store.h"
#include "tests/sim/admin.h"
#include "tests/sim/check_kept.h"
#include "tests/sim/checker.h"
#include "tests/sim/clients.h"
#include "tests/sim/disk/disk.h"
#include "tests/sim/network.h"
#include "tests/sim/parts/machine.h"
#include "tests/sim/parts/shell.h"
#include "tests/sim/sights.h"
#include "tests/sim/users.h"

namespace gw::sim_cluster {

class Cluster final : private ctld::testing::Outside,
                      private ctld::testing::StateDisk,
                      private ctld::testing::NodeNetwork,
                      private NetworkEnds,
                      private Service,
                      private Operator {
 public:
  Cluster(uint64_t seed, Trace& trace, Sights& seen);
  /// Ends by Broken where a promise does not hold.
  void run();

 private:
  struct Node {
    std::unique_ptr<Machine> machine;
    bool is_work_planned = false, is_start_planned = false;
    Time wakes = Time::never();
  };
  enum class Death { kNone, kProcess, kPower };

  // Outside: what leaves the controller
  void take(const ctld::Reply& reply) override;
  void take(const ctld::ListReady& ready) override;
  void take(const ctld::ToNode& message) override;
  void take(const ctld::CloseLink& close) override { network_.controller_hangs_up(close.link); }
  void take(const ctld::Fence& fence) override;
  void take(const ctld::Reload& reload) override;
  void take(const ctld::RunJobProgram& run) override;
  void on_crash() override;
  // StateDisk
  base::Result<store::Snapshot> load(Time ended_since) override;
  base::Status commit(std::span<const store::Batch> batches) override;
  // NodeNetwork: what leaves a node
  void to_controller(const std::string& node, const wire::NodeToController& message) override;
  void hang_up(const std::string& node) override;
  void on_begun(const std::string& node, RunKey run) override;
  // NetworkEnds
  bool is_controller_up() const override { return shell_.is_up(); }
  void node_hears(const std::string& node, const wire::ControllerToNode& message) override;
  void node_is_linked(const std::string& node) override;
  void node_lost_link(const std::string& node, const std::string& why) override;
  void controller_hears(LinkId link, const std::string& node, const wire::NodeToController& message) override;
  void controller_lost_link(LinkId link, const std::string& why) override;
  // Service
  bool is_open() const override { return shell_.is_up(); }
  void serve(ConnId conn, uint32_t uid, const wire::ApiRequest& request) override;
  void client_left(ConnId conn) override;
  void piece_taken(ConnId conn, uint64_t request) override;
  void on_request(const Asked& asked) override;
  void on_answer(const Asked& asked, const wire::ApiReply& reply) override;
  // Operator: what administrators do beside requests
  void cut_power(const std::string& node) override { power_off(nodes_.at(node), false); }
  void change_configuration(ctld::Settings settings) override { file_ = std::move(settings); }
  const ctld::Settings& configuration() const override { return file_; }

  // cluster.cc: what goes on by itself
  template <typename Fn>
  void controller(const Fn& fn) {
    shell_.call(box_.now(), box_.boot_time(), fn);
    after_controller();
  }
  template <typename Fn>
  void tell(const Fn& fn) {
    for (const auto& checker : checkers_) fn(*checker);
  }
  std::vector<uint32_t> running_jobs() const;
  void after_controller();
  void plan_write();
  void plan_pass();
  void wake_controller();
  void start_controller();
  void after_node(Node& node);
  void wake_node(Node& node);
  void look_at(const Node& node);
  void power_off(Node& node, bool is_silent = true);
  void boot(Node& node);
  Node& node(const std::string& name) { return nodes_.at(name); }

  // faults.cc
  void plan_fault();
  void fault_of_controller();
  void fault_of_node(Node& node);
  void fault_of_network(Node& node);
  void end_something();
  void end_allocations();

  // rest.cc
  void heal_everything();
  void pass(Duration time);
  wire::ApiReply ask_and_wait(uint32_t uid, const wire::ApiRequest& request);
  void let_jobs_go();
  void lift_obstacles();
  bool is_all_over() const;
  bool may_wait_for_ever(const store::JobRow& row) const;
  std::string text_of(const store::JobRow& row) const;
  std::string why_they_wait();
  void check_rest();

  Box box_;
  Random faults_;
  uint32_t storm_;  // how often something goes wrong
  std::map<std::string, Node> nodes_;
  Disk disk_;
  std::unique_ptr<store::Store> store_;
  Network network_;
  Clients clients_;
  std::vector<std::unique_ptr<Checker>> checkers_;
  KeptChecker* kept_ = nullptr;
  ctld::Settings file_;  // the configuration as the file has it
  ctld::testing::SimShell shell_;
  std::optional<Users> users_;
  std::optional<Admin> admin_;
  Death death_ = Death::kProcess;
  bool is_leaving_ = false, is_silent_ = false, is_write_planned_ = false, is_pass_planned_ = false;
  bool is_start_planned_ = false;
  Time controller_wakes_ = Time::never();
  std::vector<std::string> names_;
};

}  // namespace gw::sim_cluster
