// See job_match.h.
#include "ctld/core/api/job_match.h"

#include <algorithm>

namespace gw::ctld {
namespace {

const model::Allocation* allocation_of(const model::Job& job) {
  if (const model::Placed* p = job.placed()) return &p->allocation;
  if (const model::Ended* e = job.ended()) return &e->allocation;
  return nullptr;
}

}  // namespace

JobMatch::JobMatch(const wire::JobFilter& f)
    : any_state_(f.all_states() || !f.ids().empty() ||
                 !f.tasks().empty()),  // a job named by id is shown in whatever state
      states_(f.states().begin(), f.states().end()),
      uids_(f.uids().begin(), f.uids().end()),
      users_(f.users()),
      partitions_(f.partitions()),
      names_(f.names()),
      nodes_(f.nodes()),
      accounts_(f.accounts()),
      qos_(f.qos()),
      reservations_(f.reservations()) {}

bool JobMatch::operator()(const model::Job& job) const {
  return has_state(job) && is_of_user(job) && in_partitions(job) && names_.passes(job.spec.name) &&
         touches_nodes(job) && accounts_.passes(job.spec.account) && qos_.passes(job.spec.qos) &&
         reservations_.passes(job.spec.reservation);
}

bool JobMatch::has_state(const model::Job& job) const {
  if (states_.empty()) return any_state_ || !model::is_end(job.state);
  return states_.contains(static_cast<uint32_t>(job.state));
}

/// Users by name or by number: either list may name the owner.
bool JobMatch::is_of_user(const model::Job& job) const {
  if (uids_.empty()) return users_.passes(job.spec.user);
  return uids_.contains(job.spec.uid) || (!users_.empty() && users_.passes(job.spec.user));
}

bool JobMatch::in_partitions(const model::Job& job) const {
  if (partitions_.empty()) return true;
  if (const model::Placed* p = job.placed()) return partitions_.passes(p->partition);
  return std::any_of(job.spec.partitions.begin(), job.spec.partitions.end(),
                     [this](const std::string& p) { return partitions_.passes(p); });
}

bool JobMatch::touches_nodes(const model::Job& job) const {
  if (nodes_.empty()) return true;
  const model::Allocation* allocation = allocation_of(job);
  return allocation != nullptr &&
         std::any_of(allocation->shares.begin(), allocation->shares.end(),
                     [this](const model::NodeShare& share) { return nodes_.passes(share.name); });
}

}  // namespace gw::ctld
