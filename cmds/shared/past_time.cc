// See past_time.h.
#include "cmds/shared/past_time.h"

#include <ctime>

#include "base/text.h"

namespace gw::cmds {

using base::Time;

Time midnight_before(Time now) {
  const time_t seconds = now.seconds();
  tm local{};
  ::localtime_r(&seconds, &local);
  local.tm_hour = local.tm_min = local.tm_sec = 0;
  local.tm_isdst = -1;
  return {::mktime(&local) * int64_t{1'000'000}};
}

base::Result<Time> parse_past(const std::string& text, Time now) {
  if (text.starts_with("now-")) {
    GW_TRY(ahead, base::parse_time("now+" + text.substr(4), now));
    return now - (ahead - now);
  }
  if (base::iequals(text, "today") || base::iequals(text, "midnight")) return midnight_before(now);
  GW_TRY(time, base::parse_time(text, now));
  const bool names_no_day = text.find('-') == std::string::npos && text.find('/') == std::string::npos &&
                            (text.find(':') != std::string::npos || base::iequals(text, "noon"));
  return names_no_day && time > now ? time - base::hours(24) : time;
}

}  // namespace gw::cmds
