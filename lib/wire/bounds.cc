// Walks the bytes of a message beside its rows. See bounds.h.
#include "wire/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/time.h"
#include "wire/field_reader.h"

namespace gw::wire {
namespace {

using base::ErrorCode;
using base::Status;

constexpr size_t kMostFields = 64;  // of one message
constexpr int kDeepest = 16;        // messages within messages

tl::unexpected<base::Error> no_message(const MessageBounds& m, const char* why) {
  return base::fail(ErrorCode::kProtocol, fmt::format("no message of type {}: {}", m.name, why));
}

bool is_number(FieldType type) { return type < FieldType::kDouble; }

/// As protobuf reads it: narrower types keep the low bits.
int64_t as_signed(FieldType type, uint64_t raw) {
  if (type == FieldType::kInt32 || type == FieldType::kEnum) return static_cast<int32_t>(static_cast<uint32_t>(raw));
  return static_cast<int64_t>(raw);
}

std::string_view called(const FieldBound& f) { return f.label.empty() ? f.name : f.label; }

tl::unexpected<base::Error> out_of_range(const FieldBound& f, const std::string& value) {
  const std::string range = fmt::format("from {} to {}", f.least, f.most);
  return base::invalid(fmt::format("{}: {} is out of range", called(f), value),
                       f.hint.empty() ? range : std::string(f.hint));
}

/// Times as people write them, instead of microseconds.
std::string shown(const FieldBound& f, int64_t value) {
  if (value < 0 || !f.name.ends_with("_us")) return fmt::to_string(value);
  return f.or_unlimited ? base::format_duration(base::Duration{value}) : base::format_time(base::Time{value});
}

Status check_number(const FieldBound& f, uint64_t raw) {
  switch (f.type) {
    case FieldType::kBool:
      return {};
    case FieldType::kUint32:
    case FieldType::kUint64: {
      const uint64_t value = f.type == FieldType::kUint32 ? static_cast<uint32_t>(raw) : raw;
      if (value <= f.most && value >= static_cast<uint64_t>(f.least)) return {};
      return out_of_range(f, fmt::to_string(value));
    }
    default: {
      const int64_t value = as_signed(f.type, raw);
      if (f.or_unlimited && value == std::numeric_limits<int64_t>::max()) return {};
      if (value >= f.least && (value < 0 || static_cast<uint64_t>(value) <= f.most)) return {};
      return out_of_range(f, shown(f, value));
    }
  }
}

/// Neither infinite nor no number.
Status check_double(const FieldBound& f, std::string_view raw) {
  double value = 0;
  std::memcpy(&value, raw.data(), sizeof value);
  if (std::isfinite(value)) return {};
  return base::invalid(fmt::format("{} is no finite number", called(f)));
}

Status check_count(const FieldBound& f, uint64_t count) {
  if (count <= f.count) return {};
  return base::invalid(fmt::format("{}: {} in one request; at most {} are taken", called(f), count, f.count),
                       f.hint.empty() ? "name fewer, or ask in several requests" : std::string(f.hint));
}

/// Of a list in all, so that the error names the true size.
uint64_t count_all(const FieldBound& f, std::string_view message) {
  FieldReader in(message);
  uint64_t count = 0;
  while (!in.at_end()) {
    const auto tag = in.varint();
    if (!tag) break;
    const uint32_t type = *tag & 7;
    if (*tag >> 3 != f.number) {
      if (!in.skip(type)) break;
    } else if (type == kBytes && is_number(f.type)) {
      const auto packed = in.bytes();
      if (!packed) break;
      count += std::count_if(packed->begin(), packed->end(), [](char c) { return (c & 0x80) == 0; });
    } else {
      ++count;
      if (!in.skip(type)) break;
    }
  }
  return count;
}

Status check_text(const FieldBound& f, std::string_view text) {
  if (text.size() <= f.most) return {};
  return base::invalid(fmt::format("{}: {} bytes; at most {} are taken", called(f), text.size(), f.most),
                       f.hint.empty() ? "shorten it" : std::string(f.hint));
}

class Walk {
 public:
  Status message(const MessageBounds& m, std::string_view bytes, int depth) {
    if (depth > kDeepest) return no_message(m, "it is nested too deep");
    std::array<uint32_t, kMostFields> counts{};
    FieldReader in(bytes);
    while (!in.at_end()) {
      const auto tag = in.varint();
      if (!tag || *tag > UINT32_MAX || *tag >> 3 == 0) return no_message(m, "a tag is damaged");
      const auto type = static_cast<uint32_t>(*tag & 7);
      const auto number = static_cast<uint32_t>(*tag >> 3);
      const auto at = std::lower_bound(m.fields.begin(), m.fields.end(), number,
                                       [](const FieldBound& f, uint32_t n) { return f.number < n; });
      if (at == m.fields.end() || at->number != number) {
        if (!in.skip(type)) return no_message(m, "a field is cut off");
        continue;
      }
      uint32_t& count = counts[static_cast<size_t>(at - m.fields.begin())];
      if (is_number(at->type) && at->is_list && type == kBytes) {
        GW_TRY_STATUS(packed(m, *at, bytes, in, count));
        continue;
      }
      if (++count > at->count) {
        if (!at->is_list) return no_message(m, "a field comes twice");
        return check_count(*at, count_all(*at, bytes));
      }
      GW_TRY_STATUS(value(m, *at, in, type, depth));
    }
    return {};
  }

 private:
  static Status packed(const MessageBounds& m, const FieldBound& f, std::string_view message, FieldReader& in,
                       uint32_t& count) {
    const auto list = in.bytes();
    if (!list) return no_message(m, "a list is cut off");
    FieldReader numbers(*list);
    while (!numbers.at_end()) {
      const auto raw = numbers.varint();
      if (!raw) return no_message(m, "a number is cut off");
      if (++count > f.count) return check_count(f, count_all(f, message));
      GW_TRY_STATUS(check_number(f, *raw));
    }
    return {};
  }

  Status value(const MessageBounds& m, const FieldBound& f, FieldReader& in, uint32_t type, int depth) {
    if (is_number(f.type)) {
      const auto raw = type == kVarint ? in.varint() : std::nullopt;
      return raw ? check_number(f, *raw) : no_message(m, "a number has another type");
    }
    if (f.type == FieldType::kDouble) {
      const auto raw = type == kFixed64 ? in.take(sizeof(double)) : std::nullopt;
      return raw ? check_double(f, *raw) : no_message(m, "a number has another type");
    }
    const auto bytes = type == kBytes ? in.bytes() : std::nullopt;
    if (!bytes) return no_message(m, "a field is cut off, or has another type");
    if (f.type == FieldType::kText) return check_text(f, *bytes);
    if (f.type == FieldType::kMessage && f.most != 0) GW_TRY_STATUS(check_text(f, *bytes));
    return message(*f.inside, *bytes, depth + 1);
  }
};

}  // namespace

Status check_bounds(const MessageBounds& bounds, std::string_view bytes) { return Walk().message(bounds, bytes, 0); }

uint64_t request_id(std::string_view bytes) {
  FieldReader in(bytes);
  uint64_t id = 0;
  while (!in.at_end()) {
    const auto tag = in.varint();
    if (!tag) return id;
    if (*tag == 1 << 3) {
      const auto value = in.varint();
      if (value) id = *value;
      if (!value) return id;
    } else if (!in.skip(static_cast<uint32_t>(*tag & 7))) {
      return id;
    }
  }
  return id;
}

}  // namespace gw::wire
