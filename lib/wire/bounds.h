// What the controller takes of a message at most: one table with a row for every field of everything that users and
// nodes can send. Checked on the bytes as they come, before anything is taken for them. Pure: no I/O. Invariants: every
// field that protobuf knows below a root has a row (a test compares them with the descriptors); a field that is no list
// comes once, so that merging never gives more than a row allows; a field without a row is one that this program does
// not know: it is passed over and used by nobody. docs/limits.md shows the table.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "base/result.h"

namespace gw::wire {

enum class FieldType : uint8_t { kUint32, kInt32, kUint64, kInt64, kBool, kEnum, kDouble, kText, kMessage };

struct MessageBounds;

/// What one field may hold.
struct FieldBound {
  uint32_t number = 0;
  std::string_view name;  ///< As in the .proto file.
  FieldType type = FieldType::kBool;
  bool is_list = false;
  uint32_t count = 1;  ///< Of a list: most entries.
  int64_t least = 0;   ///< Of a number: the smallest value; of a message: nothing.
  uint64_t most = 0;   ///< Of a number: the largest value; of a text: bytes; of a message: bytes, 0 for no bound.
  bool or_unlimited = false;  ///< Of a length of time: INT64_MAX too, which stands for UNLIMITED.
  std::string_view label;     ///< What users call it; empty: nobody writes it, it is not in docs/limits.md.
  std::string_view hint;      ///< How to mend it, where the bound alone does not say so.
  const MessageBounds* inside = nullptr;
};

struct MessageBounds {
  std::string_view name;               ///< As in the .proto file.
  std::string_view title;              ///< Heading in docs/limits.md.
  std::span<const FieldBound> fields;  ///< Ascending by number.
};

/// What clients send.
extern const MessageBounds kApiRequestBounds;
/// What nodes send.
extern const MessageBounds kNodeToControllerBounds;
/// Of stored rows, by the same rows of the table as the requests that made them.
extern const MessageBounds kJobSpecBounds, kGresUpdateBounds, kArrayTasksBounds, kTasksOfArrayBounds,
    kStepRequestBounds, kPartitionBounds, kReservationBounds, kTokenBounds;

/// Bytes of a job's options, whoever makes them: with script and environment they must fit one message to a node.
constexpr size_t kMostSpecBytes = 256 << 10;
/// Names in a list of nodes.
constexpr uint32_t kMostNodeNames = 100'000;
/// Job ids that a request names.
constexpr uint32_t kMostJobIds = 100'000;
/// Events that an answer has at most: the newest.
constexpr uint32_t kMostEvents = 10'000;

/// Errors: kProtocol if the bytes are no message (cut off, a wrong type of field, a field twice that is no list);
/// kInvalid, naming field, size and bound, if one is exceeded.
base::Status check_bounds(const MessageBounds& bounds, std::string_view bytes);

/// The `id` of an ApiRequest that may be no good otherwise; 0 if there is none.
uint64_t request_id(std::string_view bytes);

}  // namespace gw::wire
