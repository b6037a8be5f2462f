// The rows of runs, as the store gives them: what each node has of a job's run or of a step, and what it has said.
// Invariant: a run has a row for each of its nodes, in the transaction that places it, so what one node says later
// changes one small row, however large the gang is.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/rows.h"
#include "wire/convert.h"

namespace gw::ctld {

class RunRows {
 public:
  /// A run of which a row cannot be read is in `unread`, by the first such row, and not here.
  using Unread = std::map<std::pair<base::JobId, uint32_t>, const store::PutRunNode*>;
  static RunRows read(const std::vector<store::PutRunNode>& rows, Unread& unread);
  /// Puts the nodes of a run back into what was stored beside them. Nothing is done for a job that is not placed, nor
  /// where they stand in the message: written before runs had rows of their own. Errors: the row of a node is missing.
  base::Status complete(const store::JobRow& row, wire::JobStatus& status) const;
  base::Status complete(const store::PutStep& row, wire::Step& step) const;
  /// Error: there is a row for a node that a placed job does not have.
  base::Status check_complete(const model::Job& job) const;
  /// `step`: as in the rows.
  bool has(base::JobId job, uint32_t step) const { return runs_.contains({job, step}); }

 private:
  struct Run {
    uint32_t attempt = 0;
    wire::RunNodes nodes;
  };
  std::map<std::pair<base::JobId, uint32_t>, Run> runs_;

  const wire::RunNodes& nodes_of(base::JobId job, uint32_t step, uint32_t attempt) const;
};

}  // namespace gw::ctld
