// What greport is asked for: what use is added up by, of which jobs, in which time, and how it is shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "client/options/option_table.h"
#include "wire/record.pb.h"

namespace gw::cmds {

/// A time from `since` to before `until`.
struct Period {
  base::Time since, until;
};

enum class TimeUnit : uint8_t { kSeconds, kMinutes, kHours };

struct ReportOptions {
  std::vector<wire::UseKey> by;
  std::vector<std::string> users, accounts, partitions, qos;
  std::string since, until, format;
  std::optional<TimeUnit> unit;
  std::vector<std::string> tres;  ///< In lower case.
  bool no_header = false, with_bars = false, with_bars_behind = false, csv = false, json = false, ignored = false;
};

std::vector<client::Option> report_options(ReportOptions& o, client::CommonFlags& flags);

/// "user", "gpu", "day". Errors: none of them, with "did you mean".
base::Status parse_use_keys(std::string_view text, std::vector<wire::UseKey>& keys);
/// As parse_use_keys() reads it.
std::string_view name_of(wire::UseKey key);

/// The time asked for; what is not named is as in `usual`. Errors: a time that is none; an end that is not after the
/// beginning.
base::Result<Period> period_of(const ReportOptions& o, Period usual, base::Time now);
/// Yesterday.
Period day_before(base::Time now);
/// From the first of this month until now.
Period month_until(base::Time now);

wire::SumRecordsRequest sum_request(const ReportOptions& o, const Period& period);

/// Milliseconds in that unit.
double in_unit(double ms, TimeUnit unit);
/// "Seconds", "Minutes", "Hours".
std::string_view name_of(TimeUnit unit);

}  // namespace gw::cmds
