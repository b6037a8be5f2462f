// What is known of the stored rows that cannot be read (docs/adr/0030): their names and reasons, and on which nodes
// jobs among them may run. Pure. Invariants: names of one kind differ; only a job has nodes.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/rows.h"

namespace gw::ctld {

class HeldRows {
 public:
  using Key = std::pair<std::string, std::string>;  ///< Kind and name.

  void add(store::HeldRow row);
  /// False: there is none of this name.
  bool erase(std::string_view kind, std::string_view name);
  const store::HeldRow* find(std::string_view kind, std::string_view name) const;
  bool has_job(uint32_t id) const { return find("job", std::to_string(id)) != nullptr; }
  /// Some job is here.
  bool has_jobs() const;
  /// `name`, or where that is taken "name#2" and so on.
  std::string free_name(std::string_view kind, const std::string& name) const;
  const std::map<Key, store::HeldRow>& rows() const { return rows_; }

  /// Jobs of which something may run on the node.
  std::set<uint32_t> jobs_on(const std::string& node) const;
  /// Something of the job may run there, or nothing does. Gives the row if it is to be stored anew: of a job with many
  /// nodes not at each of them, since every node says when it registers what it runs.
  const store::HeldRow* set_on(const std::string& node, uint32_t job, bool may_run);
  /// The row with all of its present nodes.
  const store::HeldRow& complete(const store::HeldRow& row);
  /// "job 7, job 9": what may run on the node; of many the first few; empty: nothing.
  std::string text_on(const std::string& node) const;

 private:
  std::map<Key, store::HeldRow> rows_;
  std::map<std::string, std::set<uint32_t>> jobs_on_;   // no empty set
  std::map<uint32_t, std::set<std::string>> nodes_of_;  // the other way round
  std::map<uint32_t, size_t> stored_;                   // how many nodes the row names

  void set_nodes(store::HeldRow& row, uint32_t job);
};

/// The name of a kept answer.
std::string held_reply_name(uint32_t uid, const std::string& client_id);
/// The number of a job from the name of its row; 0: it is no number.
uint32_t job_of_held(const store::HeldRow& row);

}  // namespace gw::ctld
