// Splitting, number and memory parsing. Every parser takes the whole text or refuses it.
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_set>

namespace gw::base {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string range_text(int64_t min, int64_t max) {
  if (max == INT64_MAX) return fmt::format("at least {}", min);
  if (min == INT64_MIN) return fmt::format("at most {}", max);
  return fmt::format("{} to {}", min, max);
}

constexpr uint64_t kMaxKib = uint64_t{1} << 50;  // 1 EiB
constexpr uint64_t kBillion = 1'000'000'000;

/// KiB of one unit letter; 0 for a letter that is none.
uint64_t unit_kib(char letter) {
  switch (lower(letter)) {
    case 'k':
      return 1;
    case 'm':
      return uint64_t{1} << 10;
    case 'g':
      return uint64_t{1} << 20;
    case 't':
      return uint64_t{1} << 30;
    default:
      return 0;
  }
}

/// Cuts the digits off the front.
std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const std::string_view digits = text.substr(0, static_cast<size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

/// The digits after a point as billionths; digits beyond the ninth are dropped.
uint64_t billionths(std::string_view digits) {
  uint64_t value = 0;
  for (size_t i = 0; i < 9; ++i) value = value * 10 + (i < digits.size() ? static_cast<uint64_t>(digits[i] - '0') : 0);
  return value;
}

/// The unit after a memory figure ("", "g", "GB", "GiB"); 0 if it is none.
uint64_t parse_unit(std::string_view text, char default_unit) {
  if (text.empty()) return unit_kib(default_unit);
  const std::string_view tail = text.substr(1);
  return tail.empty() || iequals(tail, "b") || iequals(tail, "ib") ? unit_kib(text[0]) : 0;
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

void drop_duplicates(std::vector<std::string>& names) {
  if (names.size() < 2) return;
  std::unordered_set<std::string> seen;
  // A name that stood there a thousand times leaves no room for a thousand.
  if (std::erase_if(names, [&seen](const std::string& name) { return !seen.insert(name).second; }) > 0)
    names.shrink_to_fit();
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool iequals(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

Result<int64_t> parse_int(std::string_view text, int64_t min, int64_t max, std::string_view name) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) {
    return invalid(fmt::format("{}: \"{}\" is not a whole number", name, printable(text)));
  }
  if (error != std::errc{} || value < min || value > max) {
    return invalid(fmt::format("{}: {} is out of range ({})", name, printable(text), range_text(min, max)));
  }
  return value;
}

Result<uint64_t> parse_memory_mb(std::string_view text, char default_unit) {
  std::string_view rest = text;
  const std::string_view whole = take_digits(rest);
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
  }
  const uint64_t unit = parse_unit(rest, default_unit);
  if ((whole.empty() && fraction.empty()) || unit == 0) {
    return invalid(fmt::format("memory \"{}\" is not a size", printable(text)),
                   "write a number with K, M, G or T, such as 16G");
  }
  uint64_t value = 0;
  if (!whole.empty() &&
      (std::from_chars(whole.data(), whole.data() + whole.size(), value).ec != std::errc{} || value > kMaxKib / unit)) {
    return invalid(fmt::format("memory \"{}\" is more than any machine has", printable(text)));
  }
  const uint64_t kib = value * unit + (billionths(fraction) * unit + kBillion - 1) / kBillion;
  return (kib + 1023) / 1024;
}

std::string format_memory_mb(uint64_t mb) {
  static constexpr std::string_view kUnits = "MGTPE";
  size_t unit = 0;
  auto value = static_cast<double>(mb);
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  const bool is_whole = value == static_cast<double>(static_cast<uint64_t>(value));
  return is_whole ? fmt::format("{:.0f}{}", value, kUnits[unit]) : fmt::format("{:.2f}{}", value, kUnits[unit]);
}

}  // namespace gw::base
