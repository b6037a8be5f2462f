// A message as a tree that can be changed by the numbers of its fields: the product's messages have no descriptors to
// walk them by, so they are read and written here by those that protoc makes (tests/schema).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/schema/schema.h"

namespace gw::schema {

struct Tree;

/// One value of a field; which member holds it the field's type says.
struct Value {
  uint64_t number = 0;  ///< As it is encoded; of a double its bits.
  std::string text;
  std::vector<Tree> inside;  ///< Of a message: one.
};

/// A message: its fields by number.
struct Tree {
  std::map<uint32_t, std::vector<Value>> fields;
};

Value number_value(uint64_t number);
Value text_value(std::string text);
Value message_value(Tree tree);

/// Ends the program where the bytes are no such message: they come from the tests themselves.
Tree decode(const Messages& messages, const std::string& type, std::string_view bytes);
std::string encode(const Messages& messages, const std::string& type, const Tree& tree);

}  // namespace gw::schema
