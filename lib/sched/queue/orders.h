// Which order is in force for whom: that of the first partition that a job names, or the cluster's.
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
/// By partition; those that are not there have the cluster's.
using PoolOrders = std::map<std::string, ChosenOrder>;

/// Loads an order of a name.
using ChooseOrder = std::function<base::Result<ChosenOrder>(const std::string& name, const Weights& weights)>;

/// Those of the partitions that say something of it; weights without an order are for the cluster's, `cluster`.
/// Errors: those of `choose`, with the partition's name.
base::Result<PoolOrders> choose_pool_orders(const std::vector<model::Partition>& partitions, const std::string& cluster,
                                            const ChooseOrder& choose);

class Orders {
 public:
  /// `cluster` null: fifo_skip. `weights`: what that was made with. `services`: for JobFacts::services.
  explicit Orders(std::shared_ptr<const Order> cluster = nullptr, const PoolOrders& pools = {},
                  const Weights& weights = {}, Services services = {});

  const Order& cluster() const { return *all_.order; }
  const Order& in(const std::string& partition) const { return *line(partition).order; }
  const Order& of(const PendingJob& job) const { return *line_of(job).order; }
  /// Jobs of one number stand in one line, which one order ranks; partitions with the same order share it.
  uint32_t number_of(const PendingJob& job) const { return line_of(job).number; }
  bool has_several_lines() const { return has_several_; }
  /// Does the order of any of its partitions let nobody pass?
  bool is_strict_for(const PendingJob& job) const;
  /// What any of them needs.
  const Needs& needs() const { return needs_; }
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
  std::map<std::string, Line> pools_;
  Needs needs_;
  Services services_;
  bool are_preemptive_ = false, has_several_ = false;

  void add(const Order& order);
  const Line& line(const std::string& partition) const;
  const Line& line_of(const PendingJob& job) const {
    return job.partitions.empty() ? all_ : line(job.partitions.front());
  }
};

/// Jobs of different users may rank differently.
inline bool looks_at_users(const Orders& orders) { return orders.needs().users || orders.needs().holdings; }

/// A score, or a key turned round, as jobs are compared by it: what is not a number comes last, since nothing could be
/// sorted by it.
inline double comparable(double score) { return std::isnan(score) ? -std::numeric_limits<double>::infinity() : score; }

/// What an order is told of a job that waits. What its user holds is left to whoever counts it.
JobFacts waiting_facts(const PendingJob& job, Time now, const Services* services = nullptr);
/// And of one that runs since `since` and holds so many GPUs (see JobFacts::gpus).
JobFacts running_facts(const PendingJob& job, Time since, double gpus, Time now, const Services* services = nullptr);

}  // namespace gw::sched
