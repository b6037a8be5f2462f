// What Slurm calls a user's admin level.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "config/config.h"
#include "model/qos.h"
#include "wire/api.pb.h"

namespace gw::cmds {

/// "Administrator": root and whom `admins` of the configuration names; "Operator": of the whole tree; else "None".
/// Groups that the configuration names are not looked into.
class AdminLevels {
 public:
  AdminLevels(const wire::ListQuotasReply& list, const config::Config& config)
      : admins_(config.admins.begin(), config.admins.end()) {
    admins_.insert("root");
    for (const wire::Qos& q : list.qos())
      if (q.name() == model::kRootQos) operators_.insert(q.operators().begin(), q.operators().end());
  }
  std::string_view of(const std::string& user) const {
    return admins_.contains(user) ? "Administrator" : operators_.contains(user) ? "Operator" : "None";
  }

 private:
  std::set<std::string> admins_, operators_;
};

}  // namespace gw::cmds
