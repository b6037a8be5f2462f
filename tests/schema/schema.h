// The messages of lib/wire as protoc describes them: every field there is, also those that were added a minute ago.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gw::schema {

/// As descriptor.proto numbers them; those that lib/wire uses.
enum class Type {
  kDouble = 1,
  kInt64 = 3,
  kUint64 = 4,
  kInt32 = 5,
  kBool = 8,
  kString = 9,
  kMessage = 11,
  kBytes = 12,
  kUint32 = 13,
  kEnum = 14
};

struct Field {
  std::string name;
  uint32_t number = 0;
  Type type = Type::kBool;
  bool is_list = false;
  std::string message;  ///< Of kMessage: its name.
};

/// By the message's name, without the package; a message within another is "Outer.Inner". Fields ascend by number.
using Messages = std::map<std::string, std::vector<Field>>;

/// Of all files in lib/wire. Ends the program where the descriptors cannot be read.
Messages messages();

}  // namespace gw::schema
