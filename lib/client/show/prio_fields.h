// The fields of gprio, over jobs before the scheduler. Letters and headers as sprio's: capitals weighted, small letters
// the bare factor.
#pragma once

#include <string>
#include <vector>

#include "client/show/format.h"
#include "wire/api.pb.h"

namespace gw::client {

/// A job, or the weights themselves.
struct PriorityRow {
  const wire::ListPrioritiesReply* list = nullptr;
  const wire::JobPriority* job = nullptr;  ///< Null: the weights.
};

const std::vector<Field<PriorityRow>>& priority_fields();

/// Which columns are shown where nobody says: those of the parts that have a weight, or all of them (`is_long`).
std::string priority_format(const wire::ListPrioritiesReply& list, bool is_long, bool is_normalized, bool weights);
/// Is `a` served before `b`? By tier, submitted priority, score, submission, id.
bool is_served_before(const wire::JobPriority& a, const wire::JobPriority& b);

/// {"schema_version", "order", "weights", "jobs": [{..., "parts": {name: {"factor", "weight", "product"}}}]}
std::string priorities_json(const wire::ListPrioritiesReply& list);

}  // namespace gw::client
