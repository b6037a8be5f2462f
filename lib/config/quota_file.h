// The whole tree of quotas as a YAML file: what gacctmgr dumps and loads. QOS have the keys of the configuration's
// qos:. Invariant: parse_quota_file(quota_file_text(x)) gives x in tree order, and the same text again.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/qos.h"

namespace gw::config {

/// An entry named model::kRootQos stands for the root; it has users and operators only.
struct QuotaFile {
  std::vector<model::Qos> qos;
  std::vector<model::QuotaUser> users;
  bool operator==(const QuotaFile&) const = default;
};

/// A QOS with its depth below the root: 1 for those directly below it, 0 for the entry of the root itself.
struct TreePlace {
  size_t index = 0;  ///< In the list that was given.
  size_t depth = 0;
};
/// The tree from the root down, siblings by name: parents come before their children, each branch in one piece. What
/// hangs on no root (a parent that is not there, a circle) comes last.
std::vector<TreePlace> tree_order(const std::vector<model::Qos>& qos);

/// Is this the name of a user, or of a @group, who may have a role?
using RoleCheck = std::function<base::Status(const std::string& name)>;

/// Reads a file; `path` only for messages. The QOS come in tree order. Errors: PATH:LINE:COLUMN, a line each, for
/// unknown keys, bad values, names that stand twice, parents that do not exist, roles that `check` refuses.
base::Result<QuotaFile> parse_quota_file(std::string_view text, const std::string& path, const RoleCheck& check);
/// Only what differs from the default is written.
std::string quota_file_text(const QuotaFile& file);

}  // namespace gw::config
