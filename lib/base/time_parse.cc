// Time limits and points in time as users of Slurm write them. All arithmetic is on numbers of at most ten digits: no
// text can overflow it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <vector>

#include "base/text.h"
#include "base/time.h"

namespace gw::base {
namespace {

constexpr int64_t kMaxSeconds = 100'000'000'000;  // about 3,170 years

tl::unexpected<Error> bad_duration(std::string_view text) {
  return invalid(fmt::format("time limit \"{}\" is not a duration", printable(text)),
                 "write minutes, M:S, H:M:S, D-H:M:S, 90s, 5m, 2h, 1d12h or UNLIMITED");
}
tl::unexpected<Error> bad_time(std::string_view text) {
  return invalid(fmt::format("\"{}\" is not a point in time", printable(text)),
                 "write now+1hour, 16:00, tomorrow, 2027-01-20T12:34 or 01/20/27");
}

/// A number of one to ten digits.
std::optional<int64_t> number(std::string_view text) {
  if (text.empty() || text.size() > 10) return std::nullopt;
  int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

/// Cuts the digits off the front of `text` and reads them.
std::optional<int64_t> take_number(std::string_view& text) {
  const size_t length = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = number(text.substr(0, length));
  text.remove_prefix(length);
  return value;
}

/// The numbers between `separator`s; none if one of them is no number or there are more than `most`.
std::optional<std::vector<int64_t>> numbers(std::string_view text, char separator, size_t most) {
  std::vector<int64_t> values;
  for (const std::string& part : split(text, separator)) {
    const auto value = number(part);
    if (!value || values.size() == most) return std::nullopt;
    values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  return values;
}

/// Seconds of `H[:M[:S]]` after days, or of `M`, `M:S`, `H:M:S` without.
std::optional<int64_t> clock_seconds(std::string_view text, bool after_days) {
  const auto parts = numbers(text, ':', 3);
  if (!parts) return std::nullopt;
  static constexpr std::array<int64_t, 3> kUnits{3'600, 60, 1};
  const size_t first = after_days || parts->size() == 3 ? 0 : 1;
  int64_t total = 0;
  for (size_t i = 0; i < parts->size(); ++i) total += (*parts)[i] * kUnits[first + i];
  return total;
}

/// Seconds of `1d12h`, `90s`, ...: units in falling order, each at most once.
std::optional<int64_t> unit_seconds(std::string_view text) {
  static constexpr std::string_view kLetters = "dhms";
  static constexpr std::array<int64_t, 4> kUnits{86'400, 3'600, 60, 1};
  size_t from = 0;
  int64_t total = 0;
  while (!text.empty()) {
    const auto value = take_number(text);
    if (!value || text.empty()) return std::nullopt;
    const size_t unit = kLetters.find(to_lower(text.substr(0, 1)), from);
    if (unit == std::string_view::npos) return std::nullopt;
    total += *value * kUnits[unit];
    from = unit + 1;
    text.remove_prefix(1);
  }
  return total;
}

std::optional<int64_t> duration_seconds(std::string_view text) {
  if (const size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto days = number(text.substr(0, dash));
    const auto rest = clock_seconds(text.substr(dash + 1), true);
    if (!days || !rest) return std::nullopt;
    return *days * 86'400 + *rest;
  }
  const auto plain = clock_seconds(text, false);
  return plain ? plain : unit_seconds(text);
}

// ---- Points in time

struct ClockTime {
  int hour = 0, minute = 0, second = 0;
};
struct Date {
  int year = 0, month = 0, day = 0;
};

tm local_of(Time t) {
  const time_t seconds = t.seconds();
  tm local{};
  localtime_r(&seconds, &local);
  return local;
}

bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

bool is_valid(const Date& d) {
  static constexpr std::array<int, 12> kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (d.year < 1970 || d.year > 9999 || d.month < 1 || d.month > 12 || d.day < 1) return false;
  const int days = kDays[static_cast<size_t>(d.month - 1)] + (d.month == 2 && is_leap(d.year) ? 1 : 0);
  return d.day <= days;
}

/// Seconds of `now+COUNT[unit]` behind the "now"; the sign is in it.
std::optional<int64_t> offset_seconds(std::string_view text) {
  if (text.empty()) return 0;
  const int64_t sign = text.front() == '-' ? -1 : 1;
  if (text.front() != '+' && text.front() != '-') return std::nullopt;
  text.remove_prefix(1);
  const auto count = take_number(text);
  if (!count) return std::nullopt;
  struct Unit {
    std::string_view name;
    int64_t seconds;
  };
  static constexpr Unit kUnits[] = {{"", 1},         {"s", 1},       {"sec", 1},       {"second", 1},   {"m", 60},
                                    {"min", 60},     {"minute", 60}, {"h", 3'600},     {"hour", 3'600}, {"d", 86'400},
                                    {"day", 86'400}, {"w", 604'800}, {"week", 604'800}};
  std::string unit = to_lower(text);
  if (unit.size() > 2 && unit.back() == 's') unit.pop_back();
  for (const Unit& u : kUnits) {
    if (u.name == unit) return sign * *count * u.seconds;
  }
  return std::nullopt;
}

/// Makes 24 hours of 12 with "am" or "pm".
std::optional<int> full_hour(int64_t hour, std::string_view half) {
  if (half.empty()) return hour <= 23 ? std::optional(static_cast<int>(hour)) : std::nullopt;
  if (hour < 1 || hour > 12) return std::nullopt;
  return static_cast<int>(hour % 12) + (half == "pm" ? 12 : 0);
}

/// `16:00[:00]`, `4pm`, `4:30pm`, `noon`, `midnight`, `teatime`; `word` is in lower case.
std::optional<ClockTime> parse_clock(std::string_view word) {
  if (word == "midnight") return ClockTime{};
  if (word == "noon") return ClockTime{12, 0, 0};
  if (word == "teatime") return ClockTime{16, 0, 0};
  std::string_view half;
  if (word.ends_with("am") || word.ends_with("pm")) {
    half = word.substr(word.size() - 2);
    word.remove_suffix(2);
  }
  const auto parts = numbers(word, ':', 3);
  if (!parts || (parts->size() == 1 && half.empty())) return std::nullopt;
  const auto hour = full_hour(parts->at(0), half);
  const int64_t minute = parts->size() > 1 ? parts->at(1) : 0;
  const int64_t second = parts->size() > 2 ? parts->at(2) : 0;
  if (!hour || minute > 59 || second > 59) return std::nullopt;
  return ClockTime{*hour, static_cast<int>(minute), static_cast<int>(second)};
}

/// A day without a year: this year's, or next year's if it is past.
Date coming(int64_t month, int64_t day, const tm& now) {
  Date d{now.tm_year + 1900, static_cast<int>(month), static_cast<int>(day)};
  if (d.month < now.tm_mon + 1 || (d.month == now.tm_mon + 1 && d.day < now.tm_mday)) ++d.year;
  return d;
}

std::optional<Date> parse_digits_date(std::string_view word, const tm& now) {
  const auto month = number(word.substr(0, 2)), day = number(word.substr(2, 2));
  if (!month || !day) return std::nullopt;
  if (word.size() == 4) return coming(*month, *day, now);
  const auto year = number(word.substr(4));
  if (!year) return std::nullopt;
  return Date{2000 + static_cast<int>(*year), static_cast<int>(*month), static_cast<int>(*day)};
}

/// `MM/DD[/YY[YY]]`, the same with dots, or `YYYY-MM-DD`.
std::optional<Date> parse_separated_date(std::string_view word, char separator, const tm& now) {
  auto parts = numbers(word, separator, 3);
  if (!parts || parts->size() < (separator == '-' ? 3u : 2u)) return std::nullopt;
  for (const int64_t part : *parts) {
    if (part > 9999) return std::nullopt;
  }
  if (separator == '-') std::rotate(parts->begin(), parts->begin() + 1, parts->end());  // month, day, year
  const auto& p = *parts;
  if (p.size() == 2) return coming(p[0], p[1], now);
  const int64_t year = p[2] < 100 && separator != '-' ? 2000 + p[2] : p[2];
  return Date{static_cast<int>(year), static_cast<int>(p[0]), static_cast<int>(p[1])};
}

std::optional<Date> parse_date(std::string_view word, const tm& now) {
  if (word == "today") return Date{now.tm_year + 1900, now.tm_mon + 1, now.tm_mday};
  if (word == "tomorrow") {
    tm next = now;
    ++next.tm_mday;
    next.tm_hour = 12;  // no change to or from summer time moves noon to another day
    next.tm_isdst = -1;
    mktime(&next);
    return Date{next.tm_year + 1900, next.tm_mon + 1, next.tm_mday};
  }
  std::optional<Date> date;
  if ((word.size() == 4 || word.size() == 6) && number(word)) {
    date = parse_digits_date(word, now);
  } else {
    const bool has_slash = word.find('/') != std::string_view::npos, has_dot = word.find('.') != std::string_view::npos;
    date = parse_separated_date(word, has_slash ? '/' : has_dot ? '.' : '-', now);
  }
  if (date && !is_valid(*date)) return std::nullopt;
  return date;
}

std::optional<Time> to_time(const Date& date, const ClockTime& clock) {
  tm local{};
  local.tm_year = date.year - 1900;
  local.tm_mon = date.month - 1;
  local.tm_mday = date.day;
  local.tm_hour = clock.hour;
  local.tm_min = clock.minute;
  local.tm_sec = clock.second;
  local.tm_isdst = -1;
  const time_t seconds = mktime(&local);
  if (seconds < 0) return std::nullopt;
  return Time{static_cast<int64_t>(seconds) * 1'000'000};
}

/// Cuts "2027-01-20t12:34", "01/20-12:34" and "tomorrow 4pm" into words (lower case); "4 pm" becomes one word.
std::vector<std::string> time_words(std::string_view text) {
  std::string lower = to_lower(text);
  if (const size_t t = lower.find('t', 1); t != std::string::npos && lower[t - 1] >= '0' && lower[t - 1] <= '9') {
    lower[t] = ' ';
  }
  const size_t slash = lower.find('/');
  if (const size_t dash = lower.find('-'); slash < dash && dash != std::string::npos) lower[dash] = ' ';
  std::vector<std::string> words;
  for (std::string& word : split(lower, ' ')) {
    if (word.empty()) continue;
    if ((word == "am" || word == "pm") && !words.empty()) {
      words.back() += word;
    } else {
      words.push_back(std::move(word));
    }
  }
  return words;
}

/// A date, a clock time, or one of each in any order.
std::optional<Time> parse_calendar(std::string_view text, Time now) {
  const tm local = local_of(now);
  std::optional<Date> date;
  std::optional<ClockTime> clock;
  for (const std::string& word : time_words(text)) {
    if (const auto c = parse_clock(word); c && !clock) {
      clock = c;
    } else if (const auto d = parse_date(word, local); d && !date) {
      date = d;
    } else {
      return std::nullopt;
    }
  }
  if (!date && !clock) return std::nullopt;
  const std::optional<Date> day = date ? date : parse_date("today", local);
  const auto time = to_time(*day, clock.value_or(ClockTime{}));
  if (date || !time || *time >= now) return time;
  return to_time(*parse_date("tomorrow", local), *clock);
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const std::string_view word = trim(text);
  if (iequals(word, "unlimited") || iequals(word, "infinite") || word == "-1") return kUnlimited;
  if (word.empty()) return bad_duration(text);
  const auto total = duration_seconds(word);
  if (!total) return bad_duration(text);
  if (*total > kMaxSeconds) {
    return invalid(fmt::format("time limit \"{}\" is too long", printable(text)), "use UNLIMITED for no limit");
  }
  return seconds(*total);
}

Result<Time> parse_time(std::string_view text, Time now) {
  const std::string_view word = trim(text);
  if (word.size() > 64) return bad_time(text);
  if (iequals(word.substr(0, 3), "now")) {
    const auto offset = offset_seconds(word.substr(3));
    if (!offset) return bad_time(text);
    if (*offset > kMaxSeconds || *offset < -now.seconds()) {
      return invalid(fmt::format("\"{}\" is too far away", printable(text)));
    }
    return Time{now.us + *offset * 1'000'000};
  }
  const auto time = parse_calendar(word, now);
  if (!time) return bad_time(text);
  return *time;
}

}  // namespace gw::base
