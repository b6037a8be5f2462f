// Labels of running jobs, which the scheduler's view has and the job itself has not: they come by a request of their
// own. Invariant: components of a heterogeneous job show the label of the whole.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <unordered_map>

#include "wire/api.pb.h"

namespace gw::client {

/// Asks for the labels of those that hold something; nothing to ask if nobody does.
bool ask_for_labels(const google::protobuf::RepeatedPtrField<wire::Job>& jobs, wire::ShowSharesRequest& request);

class JobLabels {
 public:
  JobLabels() = default;
  explicit JobLabels(wire::ShowSharesReply reply);
  /// Null: it has none.
  const wire::JobLabel* of(const wire::Job& job) const;

 private:
  google::protobuf::RepeatedPtrField<wire::JobLabel> labels_;
  std::unordered_map<uint32_t, int> index_;
};

}  // namespace gw::client
