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
  /// Jobs that are not among those seen are left out.
  explicit JobCursor(wire::JobFilter filter, SeenJobs seen = {});
  /// The next job that passes, or null: there is none left (see is_done), or the piece is full.
  const model::Job* next(const std::map<base::JobId, model::Job>& jobs, ListPiece& piece);
  bool is_done() const { return is_done_; }
  /// Ids of the filter that no job had when its turn came; given once.
  std::vector<uint32_t> take_unknown();
  /// How many passed and were left out since this was asked last; never by a filter that would tell whose they are.
  uint32_t take_hidden() { return std::exchange(hidden_, 0); }

 private:
  /// The filter, where what is made of it refers to it; shared by copies of this.
  struct Fixed {
    Fixed(wire::JobFilter f, SeenJobs s) : filter(std::move(f)), matches(filter), seen(std::move(s)) {}
    wire::JobFilter filter;
    JobMatch matches;
    SeenJobs seen;
    bool sees(const model::Job& job) const { return seen.has(job.spec.uid, job.spec.qos); }
    /// Names nobody and nothing of somebody.
    bool may_count() const;
  };
  std::shared_ptr<const Fixed> fixed_;
  std::vector<uint32_t> ids_;
  bool is_by_id_;
  size_t at_ = 0;        // of ids_
  base::JobId last_{0};  // looked at, of all jobs
  bool is_done_ = false;
  std::vector<uint32_t> unknown_;
  uint32_t hidden_ = 0;

  const model::Job* next_by_id(const std::map<base::JobId, model::Job>& jobs, ListPiece& piece);
};

}  // namespace gw::ctld
