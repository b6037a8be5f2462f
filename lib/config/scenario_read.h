// Inside of the scenario reader: from the tree of one document to its parts. Each function tells its mistakes and goes
// on, so that all of a file are told at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/problems.h"
#include "config/scenario.h"
#include "config/yaml_tree.h"

namespace gw::config {

/// What every reading function needs: the file, and where its mistakes go.
struct Reading {
  const std::string& path;
  Problems& problems;
  Place place(const Value& at) const { return {path, at.line, at.column}; }
};

/// nodes, network, partitions, qos, policy and reservations of a document.
ScenarioCluster read_cluster_parts(const Value& root, const Reading& reading);
/// jobs, until and expect; after the cluster.
void read_jobs(const Value& root, Scenario& scenario, const Reading& reading);
void read_expectations(const Value& root, Scenario& scenario, const Reading& reading);
/// Tells of QOS whose children are guaranteed more than there is.
void warn_of_guarantees(const ScenarioCluster& cluster, const Value& root, Problems& problems);

/// A length of time with its unit ("10m", "-2h", "0"); `is_signed` allows a minus. Empty text is `fallback`; a mistake
/// is told at the key of `map` and gives `fallback`.
base::Duration read_offset(const std::string& text, bool is_signed, base::Duration fallback, const Value& map,
                           std::string_view key, const Reading& reading);
/// Tells of the names that are not `known`, as "no WHAT \"x\"" with what may be meant.
void check_names(const std::vector<std::string>& names, const std::vector<std::string>& known, std::string_view what,
                 const Value& at, const Reading& reading);
/// `name:` of an entry, unless it is missing or taken; mistakes are told. `lines` remembers where names stand.
bool is_new_name(const std::string& name, const Value& entry, std::string_view what,
                 std::map<std::string, uint32_t>& lines, const Reading& reading);

}  // namespace gw::config
