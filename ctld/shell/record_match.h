// Which jobs' records a request asks for, over rows as the store has them.
// Invariant: a row that passes all filters of the request, and no other, is wanted.
#pragma once

#include <set>
#include <string>

#include "store/records.h"
#include "wire/record.pb.h"

namespace gw::ctld {

class RecordMatch {
 public:
  /// `now`: until when records go that name no end.
  RecordMatch(const wire::RecordFilter& filter, base::Time now);

  /// The rows to look at.
  const store::RecordQuery& query() const { return query_; }
  bool wants(const store::JobRow& row) const;
  /// The filter names nobody and nothing of somebody: how many rows pass it tells nothing of him.
  bool may_count() const {
    return query_.ids.empty() && query_.arrays.empty() && uids_.empty() && users_.empty() && accounts_.empty() &&
           names_.empty() && nodes_.empty() && qos_.empty();
  }

 private:
  store::RecordQuery query_;
  std::set<uint32_t> uids_, states_;
  std::set<std::string, std::less<>> users_, accounts_, partitions_, qos_, names_, nodes_;

  bool was_then(const store::JobRow& row) const;
  bool has_state_then(const store::JobRow& row, uint32_t state) const;
  bool is_of_user(const store::JobRow& row) const;
  bool touches_nodes(const store::JobRow& row) const;
};

}  // namespace gw::ctld
