// A small cluster in which one job is kept waiting. The job asks for two nodes of partition "main", which has no others
// once the job is submitted: what rules out one of the two is enough. Everything is done by requests of users and
// administrators, by nodes that say something, by another configuration, or by time. Invariant: a request that is
// refused, and what else does not go as meant, is an exception.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/blocker.h"
#include "tests/unit/ctld_core/world.h"

namespace gw::ctld::testing::obstacles {

constexpr uint32_t kWaiter = 1000, kNeighbour = 2000;

/// What an obstacle may change before there is a cluster.
struct Harbour {
  struct Make {
    std::string gpu_type = "h100";
    uint32_t sockets = 2;
    std::string version;
    bool is_away = false;  ///< It has never registered.
  };
  Settings settings;
  std::map<std::string, model::NodeConfig> nodes;
  std::map<std::string, Make> makes;

  /// n0 and n1 are those of "main" in the end, s0 and s1 belong to it while the job is submitted, and m0 is between n0
  /// and n1 for those who want it there. x0 and x1 are partition "aside".
  Harbour();
};

class Obstructed : public World {
 public:
  explicit Obstructed(Harbour harbour);

  /// What is told of the job: to everybody, and to who asks why.
  struct Told {
    model::Blockers blockers;
    model::Blockers found;  ///< By the scheduler, as things are: of a job that is kept from it, if it were not.
  };
  Told told();
  void submit_the_job();
  bool waits() { return state(the_job) == model::JobState::kPending; }
  /// "1 has too few free GPUs", with names in place of the numbers of jobs.
  std::string words(const model::Blockers& blockers) const;
  std::string name_of(const std::string& id) const;

  wire::ApiReply must(uint32_t uid, const wire::ApiRequest& request);
  /// Changes the job, or another one.
  template <typename Fn>
  void update(const Fn& fn, JobId id = {}) {
    wire::ApiRequest r;
    r.mutable_update_job()->add_ids((id ? id : the_job).value);
    fn(*r.mutable_update_job());
    // Where nothing could ever hold the job it would be refused.
    const bool is_there = std::any_of(settings.partitions.begin(), settings.partitions.end(),
                                      [](const model::Partition& p) { return p.name == "main"; });
    std::vector<std::string> with_spares = in_main;
    with_spares.insert(with_spares.end(), {"s0", "s1"});
    if (is_there) put_in_main(with_spares);
    must(0, r);
    if (is_there) put_in_main(in_main);
  }
  void act(uint32_t uid, wire::JobAction action, JobId id = {});
  template <typename Fn>
  void change_qos(const std::string& name, const Fn& fn) {
    wire::ApiRequest r;
    wire::QuotaChange& change = *r.mutable_change_quotas()->add_changes();
    change.set_what(core_has_qos.insert(name).second ? wire::QuotaChange::kAdd : wire::QuotaChange::kModify);
    change.set_name(name);
    fn(*change.mutable_qos());
    must(0, r);
  }
  void change_node(const std::string& node, wire::NodeAction action, const std::vector<uint32_t>& gpus = {});
  void set_main(const std::vector<std::string>& nodes);
  void put_in_main(const std::vector<std::string>& nodes);
  template <typename Fn>
  void change_main(const Fn& fn) {
    wire::ApiRequest r;
    r.mutable_update_partition()->set_name("main");
    fn(*r.mutable_update_partition());
    must(0, r);
  }
  /// Another configuration is read.
  template <typename Fn>
  void reconfigure(const Fn& fn) {
    if (!settings.partitions.empty()) settings.partitions.front().nodes = in_main;
    fn(settings);
    core->on_reconfigured(now, settings, {}, {}, {});
    pump();
  }
  /// "berths", of these nodes for the owner, from now on for three hours.
  void reserve(const std::vector<std::string>& nodes, base::Duration in = {});
  template <typename Fn>
  void change_reservation(const Fn& fn) {
    wire::ApiRequest r;
    r.mutable_update_reservation()->set_name("berths");
    fn(*r.mutable_update_reservation());
    must(0, r);
  }

  /// A job of somebody else.
  struct Other {
    uint32_t uid = kNeighbour;
    std::string qos = "normal";
    std::string partition = "main";
    std::string node;
    uint32_t gpus = 0;
    uint32_t cores = 1;
    uint64_t mem_mb = 1'000;
    std::string licenses;
    bool gres = false;  ///< An FPGA.
    base::Duration limit = base::kUnlimited;
  };
  static wire::ApiRequest submission_of(const Other& other);
  JobId enter(const std::string& name, const wire::ApiRequest& request, uint32_t uid = kNeighbour);
  /// It runs.
  void run_other(const std::string& name, const Other& other);
  /// It has ended, whether it waited or ran.
  void end(const std::string& name);
  JobId id_of(const std::string& name) const { return others.at(name); }
  /// All nodes of a job have nothing left of it.
  void leave(JobId id, const std::vector<std::string>& nodes);
  void join(const std::string& node, const std::vector<wire::RunState>& runs = {}, const wire::StateMark& seen = {});
  /// Its first launch fails on all nodes that there are for it.
  void fail_its_launch();
  /// A node has a run of a job that a later state placed, which the controller has not.
  void tell_of_later_run(const std::string& node, JobId id);
  void end_later_run(const std::string& node, JobId id);
  /// 0: it has none any more.
  void set_budget(const std::string& name, bool is_user, uint64_t gpu_seconds);
  /// Tasks of the job end.
  void cut_array(const std::string& tasks);
  void settle();
  void pass(base::Duration time);

  wire::ApiRequest request;  ///< The job, as it is submitted.
  JobId the_job;
  /// If it has one.
  JobId other_component() const { return JobId(the_job.value + 1); }
  const base::Time in_an_hour = now + base::hours(1);  ///< Counted from the beginning.
  bool is_scheduler_away = false;
  Harbour harbour;
  std::vector<std::string> in_main;
  std::map<std::string, JobId> others;
  std::set<std::string> core_has_qos = {"dept", "team"};
};

}  // namespace gw::ctld::testing::obstacles
