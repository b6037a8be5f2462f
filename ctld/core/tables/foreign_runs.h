// Runs on nodes that the controller's state does not know: a newer state placed them (ours was restored from a backup),
// or another one. They continue until they end by themselves or an administrator says so. Invariant: only nodes say
// what is here; what a node does not list when it registers is gone. A gang's script is its first node's: the gang is
// over once that node has registered without it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/ids.h"
#include "ctld/core/tables/lineage.h"

namespace gw::ctld {

struct ForeignRun {
  base::NodeId node;
  uint32_t job = 0;
  uint32_t attempt = 0;
  Kin kin = Kin::kOther;
  base::NodeId first = {};  ///< Of a gang, if that is another node.
  std::string text() const { return std::to_string(job) + "." + std::to_string(attempt); }
};

class ForeignRuns {
 public:
  /// All that the node has. A node may have 100,000, and each is looked up: that is no search.
  void set(base::NodeId node, std::vector<ForeignRun> runs);
  /// False: it is not there.
  bool erase(base::NodeId node, uint32_t job, uint32_t attempt);
  bool has(base::NodeId node, uint32_t job, uint32_t attempt) const;
  const std::vector<ForeignRun>& on(base::NodeId node) const;
  /// All nodes' parts of one run of that kin.
  std::vector<ForeignRun> parts_of(const ForeignRun& run) const;
  std::vector<ForeignRun> of_job(uint32_t job, Kin kin) const;
  /// Other nodes' parts of gangs whose first node this is, and of which it has nothing.
  std::vector<ForeignRun> left_behind_by(base::NodeId first) const;
  /// The same of one run, which was there until now.
  std::vector<ForeignRun> left_behind_by(const ForeignRun& gone) const;
  const ForeignRun* find(base::NodeId node, uint32_t job, uint32_t attempt) const;
  /// The last run of a job of our own that a newer state placed; null: none is known.
  const ForeignRun* newest_of(base::JobId job) const;
  /// "5.1, 7.2"; of many the first few.
  std::string text_on(base::NodeId node) const;

 private:
  std::map<base::NodeId, std::vector<ForeignRun>> runs_;  // by job and attempt; no empty list
  // Of gangs: by first node, then job and attempt, the other nodes.
  std::map<base::NodeId, std::set<std::tuple<uint32_t, uint32_t, base::NodeId>>> led_by_;

  void unlink(const ForeignRun& run);
};

}  // namespace gw::ctld
