// Loads plug-ins of the kind `order` (sched/queue/order.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugin/folders.h"
#include "sched/view/view.h"

namespace gw::plugin {

/// As this program knows it.
Kind order_kind();

class Orders {
 public:
  explicit Orders(std::vector<std::string> dirs) : folders_(std::move(dirs)) {}

  /// Errors: those of Folders::load(); a weight that the order does not know.
  base::Result<std::shared_ptr<const sched::Order>> make(std::string_view name, const sched::Weights& weights) const;
  /// The same, with what a snapshot tells of it.
  base::Result<sched::ChosenOrder> choose(const std::string& name, const sched::Weights& weights) const;
  /// The same, as the cluster's order of `policy`.
  base::Status set(sched::Policy& policy, const std::string& name, const sched::Weights& weights) const;
  std::string find(std::string_view name) const { return folders_.find(order_kind(), name); }
  std::vector<std::string> names() const { return folders_.names(order_kind()); }

 private:
  Folders folders_;
};

}  // namespace gw::plugin
