// A walk over the jobs that pass a filter, in the order of their ids, that can stop and continue while jobs come and
// go.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "ctld/core/api/job_match.h"
#include "ctld/core/tables/listings.h"
#include "model/job.h"

namespace gw::ctld {

class JobCursor {
 public:
  explicit JobCursor(wire::JobFilter filter);
  /// The next job that passes, or null: there is none left (see is_done), or the piece is full.
  const model::Job* next(const std::map<base::JobId, model::Job>& jobs, ListPiece& piece);
  bool is_done() const { return is_done_; }
  /// Ids of the filter that no job had when its turn came; given once.
  std::vector<uint32_t> take_unknown();

 private:
  /// The filter, where what is made of it refers to it; shared by copies of this.
  struct Fixed {
    explicit Fixed(wire::JobFilter f) : filter(std::move(f)), matches(filter) {}
    wire::JobFilter filter;
    JobMatch matches;
  };
  std::shared_ptr<const Fixed> fixed_;
  std::vector<uint32_t> ids_;
  bool is_by_id_;
  size_t at_ = 0;        // of ids_
  base::JobId last_{0};  // looked at, of all jobs
  bool is_done_ = false;
  std::vector<uint32_t> unknown_;

  const model::Job* next_by_id(const std::map<base::JobId, model::Job>& jobs, ListPiece& piece);
};

}  // namespace gw::ctld
