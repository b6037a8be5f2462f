// Filters of requests, with their lists made into sets once: a look at a job does not depend on how much they name.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "model/job.h"
#include "wire/api.pb.h"

namespace gw::ctld {

/// Names that a request lists; none: all. The request must stay.
class NameSet {
 public:
  explicit NameSet(const google::protobuf::RepeatedPtrField<std::string>& names) : names_(names.begin(), names.end()) {}
  bool empty() const { return names_.empty(); }
  bool passes(std::string_view name) const { return names_.empty() || names_.contains(name); }

 private:
  std::unordered_set<std::string_view> names_;
};

/// Does a job pass a filter, apart from the ids that it names? Empty lists pass; without states and ids only jobs that
/// have not ended. The filter must stay.
class JobMatch {
 public:
  explicit JobMatch(const wire::JobFilter& filter);
  bool operator()(const model::Job& job) const;

 private:
  bool any_state_;
  std::unordered_set<uint32_t> states_, uids_;
  NameSet users_, partitions_, names_, nodes_, accounts_, qos_, reservations_;

  bool has_state(const model::Job& job) const;
  bool is_of_user(const model::Job& job) const;
  bool in_partitions(const model::Job& job) const;
  bool touches_nodes(const model::Job& job) const;
};

}  // namespace gw::ctld
