// Every way in which one field of a message can grow while the rest of it stays as it is: lists in the number of their
// entries, texts in length, numbers in value. Made from protoc's descriptors and the table of bounds, so a new field
// is grown without a line written for it. Invariants: the size goes up to the field's bound and one step beyond it;
// the same size gives the same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/schema/tree.h"
#include "wire/bounds.h"

namespace gw::cost {

/// Names that mean something in the world that is asked: "node", "partition", ...
using Pools = std::map<std::string, std::vector<std::string>>;

struct Growth {
  std::string field;            ///< "submit.spec.partitions"
  std::string manner;           ///< "made up"
  bool is_list = false;         ///< The size counts entries, or things that a number or a range stands for.
  bool is_known = false;        ///< Its names are from a pool.
  std::vector<uint64_t> sizes;  ///< Ascending, the bound among them.
  std::function<std::string(uint64_t size)> bytes;
};

/// A message's own type, its bounds, and an example of it that is taken.
struct Base {
  std::string type;
  const wire::MessageBounds* bounds = nullptr;
  schema::Tree example;
};

/// All growths of the fields below the field `kind` of the base's message.
std::vector<Growth> growths(const schema::Messages& messages, const Pools& pools, const Base& base,
                            const std::string& kind);

}  // namespace gw::cost
