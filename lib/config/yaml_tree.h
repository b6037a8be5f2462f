// A YAML document as a plain tree in which every value knows its place.
// Invariant: whatever the text holds, reading takes memory in proportion to its length, at most kMaxBytes, kMaxValues
// and kMaxDepth: aliases and tags are refused, and so are several documents where one is asked for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gw::config {

constexpr size_t kMaxBytes = 16 << 20;
constexpr size_t kMaxValues = 1'000'000;
constexpr size_t kMaxDepth = 16;

struct Value {
  enum class Kind : uint8_t { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  bool is_quoted = false;
  uint32_t line = 1, column = 1;
  std::string text;          ///< Of a scalar, as written (quotes and escapes resolved).
  std::vector<Value> items;  ///< List: its items. Map: key, value, key, value, ...

  /// The value of a key of a map; null if there is none (or this is no map).
  const Value* find(std::string_view key) const;
};

/// Reads one document; an empty one gives an empty map. With `only`, other top-level keys are passed over, and reading
/// stops where all of these have been seen. Errors name PATH:LINE:COLUMN.
base::Result<Value> read_yaml(std::string_view text, const std::string& path,
                              std::span<const std::string_view> only = {});
/// Reads all documents of a text (separated by `---`). Those without content are left out; each of the others is a map.
base::Result<std::vector<Value>> read_yaml_documents(std::string_view text, const std::string& path);
/// The text in double quotes, so that YAML reads it back: control characters become escapes.
std::string quoted_yaml(std::string_view text);

}  // namespace gw::config
