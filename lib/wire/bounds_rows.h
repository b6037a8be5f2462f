// How rows of the table of bounds are written, and how much of common things is taken. For tables of this folder only.
#pragma once

#include "wire/bounds.h"

namespace gw::wire::rows {

using Name = std::string_view;

constexpr uint64_t kAny32 = UINT32_MAX;
constexpr uint64_t kAny64 = UINT64_MAX;
/// A hundred years and a thousand, in microseconds: added and doubled they stay far below what wraps.
constexpr int64_t kLongest = int64_t{100} * 366 * 24 * 3600 * 1'000'000;
constexpr uint64_t kLatest = uint64_t{1} << 55;
constexpr uint64_t kMostMb = uint64_t{1} << 40;
constexpr uint64_t kNodes = 1'000'000, kTasks = 100'000'000, kCpus = 65'536, kSignals = 64;
constexpr int64_t kPriority = int64_t{1} << 32;
constexpr uint64_t kNameBytes = 256;  // of users, groups, partitions, nodes, QOS, ...
constexpr uint64_t kPathBytes = 4096;
constexpr uint64_t kBindingBytes = 8192;
constexpr uint64_t kKeyBytes = 64;
constexpr uint64_t kNoticeBytes = 1000;  // as a stream tells a client at once
constexpr Name kTimeHint = "a length of time up to 100 years, or UNLIMITED";
constexpr Name kMomentHint = "a time between 1970 and 3000";

constexpr FieldBound number(uint32_t n, Name name, FieldType type, int64_t least, uint64_t most, Name label) {
  FieldBound f;
  f.number = n;
  f.name = name;
  f.type = type;
  f.least = least;
  f.most = most;
  f.label = label;
  return f;
}
constexpr FieldBound u32(uint32_t n, Name name, uint64_t most = kAny32, Name label = {}) {
  return number(n, name, FieldType::kUint32, 0, most, label);
}
constexpr FieldBound u64(uint32_t n, Name name, uint64_t most = kAny64, Name label = {}) {
  return number(n, name, FieldType::kUint64, 0, most, label);
}
constexpr FieldBound i32(uint32_t n, Name name, int64_t least = INT32_MIN, uint64_t most = INT32_MAX, Name label = {}) {
  return number(n, name, FieldType::kInt32, least, most, label);
}
constexpr FieldBound i64(uint32_t n, Name name, int64_t least, uint64_t most, Name label = {}) {
  return number(n, name, FieldType::kInt64, least, most, label);
}
constexpr FieldBound choice(uint32_t n, Name name, uint64_t most, Name label = {}) {
  return number(n, name, FieldType::kEnum, 0, most, label);
}
constexpr FieldBound flag(uint32_t n, Name name) { return number(n, name, FieldType::kBool, 0, 1, {}); }
constexpr FieldBound real(uint32_t n, Name name) { return number(n, name, FieldType::kDouble, 0, 0, {}); }
/// A length of time; `least` -1 where that has a meaning of its own.
constexpr FieldBound length(uint32_t n, Name name, Name label = {}, int64_t least = 0) {
  FieldBound f = i64(n, name, least, kLongest, label);
  f.or_unlimited = true;
  f.hint = kTimeHint;
  return f;
}
constexpr FieldBound moment(uint32_t n, Name name, Name label = {}) {
  FieldBound f = i64(n, name, 0, kLatest, label);
  f.hint = kMomentHint;
  return f;
}
constexpr FieldBound text(uint32_t n, Name name, uint64_t most, Name label = {}, Name hint = {}) {
  FieldBound f = number(n, name, FieldType::kText, 0, most, label);
  f.hint = hint;
  return f;
}
constexpr FieldBound list(FieldBound f, uint32_t count) {
  f.is_list = true;
  f.count = count;
  return f;
}
constexpr FieldBound texts(uint32_t n, Name name, uint32_t count, uint64_t most, Name label = {}) {
  return list(text(n, name, most, label), count);
}
constexpr FieldBound nodes(uint32_t n, Name name, Name label) {
  return texts(n, name, kMostNodeNames, kNameBytes, label);
}
constexpr FieldBound ids(uint32_t n, Name name) { return list(u32(n, name, kAny32, "job ids"), kMostJobIds); }
constexpr FieldBound part(uint32_t n, Name name, const MessageBounds& inside, Name label = {}, uint64_t most = 0) {
  FieldBound f = number(n, name, FieldType::kMessage, 0, most, label);
  f.inside = &inside;
  return f;
}
constexpr FieldBound parts(uint32_t n, Name name, uint32_t count, const MessageBounds& inside, Name label = {}) {
  return list(part(n, name, inside, label), count);
}

}  // namespace gw::wire::rows
