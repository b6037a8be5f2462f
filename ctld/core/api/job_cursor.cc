// See job_cursor.h.
#include "ctld/core/api/job_cursor.h"

#include <set>
#include <utility>

namespace gw::ctld {

using base::JobId;

bool JobCursor::Fixed::may_count() const {
  return filter.uids().empty() && filter.users().empty() && filter.names().empty() && filter.accounts().empty() &&
         filter.nodes().empty() && filter.reservations().empty() && filter.qos().empty();
}

JobCursor::JobCursor(wire::JobFilter filter, SeenJobs seen)
    : fixed_(std::make_shared<const Fixed>(std::move(filter), std::move(seen))),
      is_by_id_(!fixed_->filter.ids().empty() || !fixed_->filter.tasks().empty()) {
  const std::set<uint32_t> ids(fixed_->filter.ids().begin(), fixed_->filter.ids().end());
  ids_.assign(ids.begin(), ids.end());
}

const model::Job* JobCursor::next(const std::map<JobId, model::Job>& jobs, ListPiece& piece) {
  if (is_by_id_) return next_by_id(jobs, piece);
  for (auto it = jobs.upper_bound(last_); it != jobs.end(); ++it) {
    if (piece.is_full()) return nullptr;
    last_ = it->first;
    piece.looked_at();
    if (!fixed_->matches(it->second)) continue;
    if (fixed_->sees(it->second)) return &it->second;
    hidden_ += fixed_->may_count() ? 1 : 0;
  }
  is_done_ = true;
  return nullptr;
}

const model::Job* JobCursor::next_by_id(const std::map<JobId, model::Job>& jobs, ListPiece& piece) {
  while (at_ < ids_.size()) {
    if (piece.is_full()) return nullptr;
    const auto it = jobs.find(JobId(ids_[at_++]));
    piece.looked_at();
    if (it == jobs.end() || !fixed_->sees(it->second)) {
      unknown_.push_back(ids_[at_ - 1]);
    } else if (fixed_->matches(it->second)) {
      return &it->second;
    }
  }
  is_done_ = true;
  return nullptr;
}

std::vector<uint32_t> JobCursor::take_unknown() { return std::exchange(unknown_, {}); }

}  // namespace gw::ctld
