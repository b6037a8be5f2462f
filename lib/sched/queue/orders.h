// Which order is in force for whom: that of the job's QOS, else of the first partition that it names, else the
// cluster's. Where the jobs of a partition take turns they do so all alike, and no QOS has an order of its own.
// Invariant: there is always one; lines are numbered the same way as long as the orders are the same ones.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "sched/queue/order.h"

namespace gw::sched {

/// An order of the configuration, with what a snapshot tells of it.
struct ChosenOrder {
  std::string name;
  Weights weights = {};      ///< What it was made with.
  std::string version = {};  ///< Of its plug-in; empty: the program's own.
  std::shared_ptr<const Order> order = {};
};
/// By partition, or by QOS; those that are not there have the cluster's.
using PoolOrders = std::map<std::string, ChosenOrder>;

/// Loads an order of a name.
using ChooseOrder = std::function<base::Result<ChosenOrder>(const std::string& name, const Weights& weights)>;

/// Those of the partitions that say something of it; weights without an order are for the cluster's, `cluster`.
/// Errors: those of `choose`, with the partition's name.
base::Result<PoolOrders> choose_pool_orders(const std::vector<model::Partition>& partitions, const std::string& cluster,
                                            const ChooseOrder& choose);

/// Of one QOS. Errors: those of `choose`, with its name; an order that takes turns.
base::Result<ChosenOrder> choose_qos_order(const std::string& qos, const std::string& order, const Weights& weights,
                                           const ChooseOrder& choose);

class Orders {
 public:
  /// `cluster` null: fifo_skip. `weights`: what that was made with. `services`: for JobFacts::services. `qos`: of QOS.
  explicit Orders(std::shared_ptr<const Order> cluster = nullptr, const PoolOrders& pools = {},
                  const Weights& weights = {}, Services services = {}, const PoolOrders& qos = {});

  const Order& cluster() const { return *all_.order; }
  /// Of the jobs of a QOS there.
  const Order& in(const std::string& partition, const std::string& qos) const { return *line(partition, qos).order; }
  /// Do its jobs take turns?
  bool takes_turns(const std::string& partition) const { return pool(partition).order->suspends(); }
  const Order& of(const PendingJob& job) const { return *line_of(job).order; }
  /// Jobs of one number stand in one line, which one order ranks; partitions with the same order share it.
  uint32_t number_of(const PendingJob& job) const { return line_of(job).number; }
  bool has_several_lines() const { return has_several_; }
  /// Does the order of any of its partitions let nobody pass?
  bool is_strict_for(const PendingJob& job) const;
  /// What any of them needs.
  const Needs& needs() const { return needs_; }
  /// And what those do that may rank jobs of a partition.
  Needs needs_in(const std::string& partition) const;
  /// Null: nothing is known.
  const Services* services() const { return services_.empty() ? nullptr : &services_; }
  /// Are any of them preemptive?
  bool are_preemptive() const { return are_preemptive_; }

 private:
  struct Line {
    std::shared_ptr<const Order> order;
    uint32_t number = 0;
  };
  Line all_;
  std::map<std::string, Line> pools_, qos_;
  Needs needs_, of_qos_;
  Services services_;
  bool are_preemptive_ = false, has_several_ = false;

  const Line& pool(const std::string& partition) const;
  const Line& line(const std::string& partition, const std::string& qos) const;
  const Line& line_of(const PendingJob& job) const {
    return line(job.partitions.empty() ? std::string() : job.partitions.front(), job.qos);
  }
};

/// Jobs of different users may rank differently.
inline bool looks_at_users(const Orders& orders) { return orders.needs().users || orders.needs().holdings; }

/// A score, or a key turned round, as jobs are compared by it: what is not a number comes last, since nothing could be
/// sorted by it.
inline double comparable(double score) { return std::isnan(score) ? -std::numeric_limits<double>::infinity() : score; }

/// What an order is told of a job that waits. What its user holds is left to whoever counts it.
JobFacts waiting_facts(const PendingJob& job, Time now, const Services* services = nullptr);
/// When a job has run for longer than it told that it takes from `since` on: past a quarter more, and five minutes,
/// which an honest mistake may be. So telling less gains nothing: who overruns is ranked like one that told nothing.
Time overrun_of(Time since, Duration told);
/// When time alone changes how a job stands: as its order says, or since it overruns where the order goes by durations.
Time change_of(const Order& order, const JobFacts& facts);
/// And of one that runs since `since` and holds so many GPUs (see JobFacts::gpus).
JobFacts running_facts(const PendingJob& job, Time since, double gpus, Time now, const Services* services = nullptr);

}  // namespace gw::sched
