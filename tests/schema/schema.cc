// Reads the file of descriptors that the build makes. See schema.h.
#include "tests/schema/schema.h"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace gw::schema {
namespace {

struct Value {
  uint32_t number = 0;
  uint64_t varint = 0;
  std::string bytes;
};

[[noreturn]] void give_up(const char* why) {
  std::fprintf(stderr, "%s: %s\n", GW_DESCRIPTORS, why);
  std::abort();
}

/// The fields of a message, as they come.
std::vector<Value> values(const std::string& bytes) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  std::vector<Value> out;
  while (const uint32_t tag = in.ReadTag()) {
    Value v;
    v.number = tag >> 3;
    uint32_t size = 0;
    const bool is_read = (tag & 7) == 0   ? in.ReadVarint64(&v.varint)
                         : (tag & 7) == 2 ? in.ReadVarint32(&size) && in.ReadString(&v.bytes, static_cast<int>(size))
                                          : false;
    if (!is_read) give_up("damaged");
    out.push_back(std::move(v));
  }
  return out;
}

// Numbers of the fields of descriptor.proto.
constexpr uint32_t kFile = 1, kMessageType = 4, kName = 1, kField = 2, kNested = 3, kNumber = 3, kLabel = 4, kType = 5,
                   kTypeName = 6;
constexpr uint64_t kRepeated = 3;

Field field_of(const std::string& bytes) {
  Field f;
  for (const Value& v : values(bytes)) {
    if (v.number == kName) f.name = v.bytes;
    if (v.number == kNumber) f.number = static_cast<uint32_t>(v.varint);
    if (v.number == kLabel) f.is_list = v.varint == kRepeated;
    if (v.number == kType) f.type = static_cast<Type>(v.varint);
    if (v.number == kTypeName && v.bytes.starts_with(".gw.wire.")) f.message = v.bytes.substr(9);
  }
  return f;
}

void add_message(const std::string& bytes, const std::string& outer, Messages& out) {
  const std::vector<Value> all = values(bytes);
  std::string name = outer;
  for (const Value& v : all)
    if (v.number == kName) name += v.bytes;
  std::vector<Field>& fields = out[name];
  for (const Value& v : all)
    if (v.number == kField) fields.push_back(field_of(v.bytes));
  std::sort(fields.begin(), fields.end(), [](const Field& a, const Field& b) { return a.number < b.number; });
  for (const Value& v : all)
    if (v.number == kNested) add_message(v.bytes, name + ".", out);
}

}  // namespace

Messages messages() {
  std::ifstream file(GW_DESCRIPTORS, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  Messages out;
  for (const Value& v : values(bytes)) {
    if (v.number != kFile) continue;
    for (const Value& inner : values(v.bytes))
      if (inner.number == kMessageType) add_message(inner.bytes, "", out);
  }
  if (out.empty()) give_up("no messages");
  return out;
}

}  // namespace gw::schema
