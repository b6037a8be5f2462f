// Finds, checks and loads plug-ins of the kind `order` (sched/order.h). The controller and the simulator load the same
// files.
// Invariants: a file is loaded once and stays; nothing of a file that does not fit this build is called but the
// function that says so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sched/view/view.h"

namespace gw::plugin {

/// Folder of the project's own plug-ins: lib/gangway beside the folder of the running program.
std::string default_dir();

/// The folders given, then the default one.
class Orders {
 public:
  explicit Orders(std::vector<std::string> dirs);

  /// Errors: no such plug-in (with "did you mean"), the file cannot be loaded, has no factory, is made for another
  /// interface or build, or calls itself otherwise; a weight that the order does not know.
  base::Result<std::shared_ptr<const sched::Order>> make(std::string_view name, const sched::Weights& weights) const;
  /// The same, with what a snapshot tells of it.
  base::Result<sched::ChosenOrder> choose(const std::string& name, const sched::Weights& weights) const;
  /// The same, as the cluster's order of `policy`.
  base::Status set(sched::Policy& policy, const std::string& name, const sched::Weights& weights) const;
  /// Path of the file that a name means; empty if there is none.
  std::string find(std::string_view name) const;
  /// Names of all plug-ins in the folders, without loading them.
  std::vector<std::string> names() const;

 private:
  std::vector<std::string> dirs_;

  base::Result<const sched::OrderPlugin*> load(std::string_view name) const;
};

/// Does what a file exports fit this program? For load() and tests.
base::Result<const sched::OrderPlugin*> check_order(const std::string& path, const sched::OrderPlugin* plugin,
                                                    std::string_view name);
/// Loads one file.
base::Result<const sched::OrderPlugin*> load_order(const std::string& path, std::string_view name);

}  // namespace gw::plugin
