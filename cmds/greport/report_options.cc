// See report_options.h.
#include "cmds/greport/report_options.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "base/text.h"
#include "cmds/shared/commands.h"
#include "cmds/shared/past_time.h"

namespace gw::cmds {
namespace {

using base::Status;
using base::Time;
using client::Arg;
using Text = std::string_view;

constexpr std::array<std::pair<Text, wire::UseKey>, 8> kKeys = {{{"user", wire::kByUser},
                                                                 {"account", wire::kByAccount},
                                                                 {"qos", wire::kByQos},
                                                                 {"partition", wire::kByPartition},
                                                                 {"gpu", wire::kByGpuType},
                                                                 {"day", wire::kByDay},
                                                                 {"month", wire::kByMonth},
                                                                 {"state", wire::kByState}}};

Status read_unit(Text value, std::optional<TimeUnit>& to) {
  for (const TimeUnit unit : {TimeUnit::kSeconds, TimeUnit::kMinutes, TimeUnit::kHours})
    if (value.size() >= 3 && base::iequals(value, name_of(unit).substr(0, value.size()))) {
      to = unit;
      return {};
    }
  const bool is_share = base::iequals(value, "percent") || base::iequals(value, "secper") ||
                        base::iequals(value, "minper") || base::iequals(value, "hourper");
  if (is_share)
    return base::invalid("-t/--time: shares of the cluster are not shown",
                         "what it had to give at each moment is not recorded: seconds, minutes or hours");
  return base::invalid("-t/--time: \"" + base::printable(value, 20) + "\" is no unit", "seconds, minutes or hours");
}

void add_filters(std::vector<client::Option>& t, ReportOptions& o) {
  const auto list = [&t](Text name, char letter, Text help, std::vector<std::string>& to, Text written) {
    t.push_back({name, letter, Arg::kRequired, "NAMES", help, {}, client::kPlain, lists(to, written)});
  };
  list("user", 'u', "jobs of these users", o.users, "-u/--user");
  list("accounts", 'A', "jobs of these accounts", o.accounts, "-A/--accounts");
  list("qos", 'q', "jobs of these QOS", o.qos, "-q/--qos");
  list("partition", 'r', "jobs in these partitions", o.partitions, "-r/--partition");
  t.push_back({"starttime",
               'S',
               Arg::kRequired,
               "TIME",
               "use from then on; without it since the first of this month",
               {},
               client::kPlain,
               keeps(o.since)});
  t.push_back({"endtime",
               'E',
               Arg::kRequired,
               "TIME",
               "use until then; without it until now",
               {},
               client::kPlain,
               keeps(o.until)});
}

Status read_tres(Text value, std::vector<std::string>& to) {
  static const std::vector<std::string> kKnown = {"cpu", "mem", "gres/gpu", "billing", "energy", "all"};
  for (const std::string& part : base::split(value, ',')) {
    std::string name = base::to_lower(base::trim(part));
    if (name == "gpu") name = "gres/gpu";
    if (std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end())
      return base::invalid("-T/--tres: nothing is recorded of \"" + base::printable(name, 40) + "\"",
                           base::did_you_mean(name, kKnown));
    to.push_back(name);
  }
  if (std::find(to.begin(), to.end(), "all") != to.end()) to = {"cpu", "mem", "gres/gpu"};
  return {};
}

void add_output(std::vector<client::Option>& t, ReportOptions& o) {
  const auto flag = [&t](Text name, char letter, Text help, bool& to) {
    t.push_back({name, letter, Arg::kNone, {}, help, {}, client::kPlain, sets(to)});
  };
  t.push_back(
      {"time", 't', Arg::kRequired, "UNIT", "amounts in seconds, minutes or hours", {}, client::kPlain, [&o](Text v) {
         return read_unit(v, o.unit);
       }});
  t.push_back({"tres",
               'T',
               Arg::kRequired,
               "NAMES",
               "of Slurm's reports: cpu, mem, gres/gpu",
               {},
               client::kPlain,
               [&o](Text v) { return read_tres(v, o.tres); }});
  flag("noheader", 'n', "no header", o.no_header);
  flag("parsable", 'p', "fields end with |", o.with_bars_behind);
  flag("parsable2", 'P', "fields separated by |", o.with_bars);
  flag("csv", 0, "comma-separated values, with a header", o.csv);
  t.push_back({"json", 0, Arg::kOptional, {}, "JSON with a schema_version", {}, client::kPlain, sets(o.json)});
  const auto hidden = [&t, &o](Text name, char letter) {
    t.push_back({name, letter, Arg::kNone, {}, {}, {}, client::kHidden, sets(o.ignored)});
  };
  hidden("all_clusters", 'a');
  hidden("local", 0);
  hidden("federation", 0);
  hidden("quiet", 'Q');
  hidden("verbose", 'v');
  t.push_back({"cluster", 'M', Arg::kRequired, {}, {}, {}, client::kHidden, [](Text) -> Status { return {}; }});
}

}  // namespace

std::vector<client::Option> report_options(ReportOptions& o, client::CommonFlags& flags) {
  std::vector<client::Option> t;
  t.push_back({"by",
               'b',
               Arg::kRequired,
               "KEYS",
               "a line for each user, account, qos, partition, gpu, day, month, state, or several of them",
               {},
               client::kPlain,
               [&o](Text v) { return parse_use_keys(v, o.by); }});
  add_filters(t, o);
  add_output(t, o);
  client::add_common_options(t, flags);
  return t;
}

Status parse_use_keys(Text text, std::vector<wire::UseKey>& keys) {
  for (const std::string& part : base::split(text, ',')) {
    const auto found =
        std::find_if(kKeys.begin(), kKeys.end(), [&](const auto& key) { return base::iequals(key.first, part); });
    if (found == kKeys.end()) {
      std::vector<std::string> names;
      for (const auto& [name, key] : kKeys) names.emplace_back(name);
      return base::invalid("-b/--by: \"" + base::printable(part, 40) + "\" is nothing that use is added up by",
                           base::did_you_mean(part, names));
    }
    if (std::find(keys.begin(), keys.end(), found->second) == keys.end()) keys.push_back(found->second);
  }
  if (keys.empty()) return base::invalid("-b/--by: no key is named", "greport --by=user");
  return {};
}

Text name_of(wire::UseKey key) {
  const auto found = std::find_if(kKeys.begin(), kKeys.end(), [key](const auto& one) { return one.second == key; });
  return found == kKeys.end() ? "" : found->first;
}

base::Result<Period> period_of(const ReportOptions& o, Period usual, Time now) {
  Period period = usual;
  if (!o.until.empty()) {
    GW_TRY(until, parse_past_end(o.until, now));
    period.until = until;
  }
  if (!o.since.empty()) {
    GW_TRY(since, parse_past(o.since, now));
    period.since = since;
    if (o.until.empty() && period.until <= since) period.until = now;
  }
  if (period.until <= period.since)
    return base::invalid("the time ends before it begins: " + base::format_time(period.since) + " to " +
                         base::format_time(period.until));
  return period;
}

Period day_before(Time now) {
  const Time today = midnight_before(now);
  return {midnight_before(today - base::hours(12)), today};
}

Period month_until(Time now) {
  const time_t seconds = now.seconds();
  tm local{};
  ::localtime_r(&seconds, &local);
  local.tm_mday = 1;
  local.tm_hour = local.tm_min = local.tm_sec = 0;
  local.tm_isdst = -1;
  return {{::mktime(&local) * int64_t{1'000'000}}, now};
}

wire::SumRecordsRequest sum_request(const ReportOptions& o, const Period& period) {
  wire::SumRecordsRequest request;
  wire::RecordFilter& filter = *request.mutable_filter();
  filter.mutable_users()->Assign(o.users.begin(), o.users.end());
  filter.mutable_accounts()->Assign(o.accounts.begin(), o.accounts.end());
  filter.mutable_partitions()->Assign(o.partitions.begin(), o.partitions.end());
  filter.mutable_qos()->Assign(o.qos.begin(), o.qos.end());
  filter.set_since_us(period.since.us);
  filter.set_until_us(period.until.us);
  for (const wire::UseKey key : o.by) request.add_by(key);
  return request;
}

double in_unit(double ms, TimeUnit unit) {
  constexpr double kMs[] = {1e3, 60e3, 3600e3};
  return ms / kMs[static_cast<size_t>(unit)];
}

Text name_of(TimeUnit unit) {
  constexpr Text kNames[] = {"Seconds", "Minutes", "Hours"};
  return kNames[static_cast<size_t>(unit)];
}

}  // namespace gw::cmds
