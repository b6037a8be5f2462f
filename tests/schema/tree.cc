// See tree.h.
#include "tests/schema/tree.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gw::schema {
namespace {

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2 };

[[noreturn]] void give_up(const std::string& type) {
  std::fprintf(stderr, "that is no %s\n", type.c_str());
  std::abort();
}

bool is_number(Type type) {
  return type != Type::kDouble && type != Type::kString && type != Type::kBytes && type != Type::kMessage;
}

class Reader {
 public:
  Reader(const std::string& type, std::string_view bytes) : type_(type), rest_(bytes) {}
  bool at_end() const { return rest_.empty(); }
  uint64_t varint() {
    uint64_t value = 0;
    for (size_t i = 0; i < rest_.size() && i < 10; ++i) {
      const auto byte = static_cast<unsigned char>(rest_[i]);
      value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
      if (byte >= 0x80) continue;
      rest_.remove_prefix(i + 1);
      return value;
    }
    give_up(type_);
  }
  std::string_view take(uint64_t size) {
    if (size > rest_.size()) give_up(type_);
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }

 private:
  const std::string& type_;
  std::string_view rest_;
};

const Field& field_of(const Messages& messages, const std::string& type, uint64_t number) {
  for (const Field& f : messages.at(type))
    if (f.number == number) return f;
  give_up(type);
}

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_bytes(std::string& out, uint32_t number, std::string_view bytes) {
  put_varint(out, number << 3 | kBytes);
  put_varint(out, bytes.size());
  out += bytes;
}

void put_value(const Messages& messages, const Field& f, const Value& value, std::string& out) {
  if (is_number(f.type)) {
    put_varint(out, f.number << 3 | kVarint);
    put_varint(out, value.number);
  } else if (f.type == Type::kDouble) {
    put_varint(out, f.number << 3 | kFixed64);
    out.append(reinterpret_cast<const char*>(&value.number), sizeof value.number);
  } else if (f.type == Type::kMessage) {
    put_bytes(out, f.number, encode(messages, f.message, value.inside.front()));
  } else {
    put_bytes(out, f.number, value.text);
  }
}

}  // namespace

Value number_value(uint64_t number) { return {number, {}, {}}; }
Value text_value(std::string text) { return {0, std::move(text), {}}; }
Value message_value(Tree tree) {
  Value value;
  value.inside.push_back(std::move(tree));
  return value;
}

Tree decode(const Messages& messages, const std::string& type, std::string_view bytes) {
  Tree out;
  Reader in(type, bytes);
  while (!in.at_end()) {
    const uint64_t tag = in.varint();
    const Field& f = field_of(messages, type, tag >> 3);
    std::vector<Value>& values = out.fields[f.number];
    if ((tag & 7) == kVarint) {
      values.push_back(number_value(in.varint()));
    } else if ((tag & 7) == kFixed64) {
      std::memcpy(&values.emplace_back().number, in.take(sizeof(uint64_t)).data(), sizeof(uint64_t));
    } else {
      const std::string_view part = in.take(in.varint());
      if (f.type == Type::kMessage) {
        values.push_back(message_value(decode(messages, f.message, part)));
      } else if (is_number(f.type)) {
        for (Reader packed(type, part); !packed.at_end();) values.push_back(number_value(packed.varint()));
      } else {
        values.push_back(text_value(std::string(part)));
      }
    }
  }
  return out;
}

std::string encode(const Messages& messages, const std::string& type, const Tree& tree) {
  std::string out;
  for (const auto& [number, values] : tree.fields) {
    const Field& f = field_of(messages, type, number);
    if (f.is_list && is_number(f.type)) {
      std::string packed;
      for (const Value& v : values) put_varint(packed, v.number);
      put_bytes(out, number, packed);
    } else {
      for (const Value& v : values) put_value(messages, f, v, out);
    }
  }
  return out;
}

}  // namespace gw::schema
