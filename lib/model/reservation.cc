// When reservations hold, and which are none. See reservation.h.
#include "model/reservation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace gw::model {

using base::Duration;
using base::Time;

Occurrence occurrence_at(Time start, Duration length, Duration every, Time now) {
  Occurrence first{start, start + length};
  if (every.us <= 0 || first.to > now) return first;
  const int64_t ended = (now - first.to).us / every.us + 1;
  const Time from = start + every * ended;
  return {from, from + length};
}

bool Reservation::admits(const std::string& user, const std::string& account) const {
  return !maintenance && (users.empty() || users.contains(user)) && (accounts.empty() || accounts.contains(account));
}

namespace {

base::Status validate_name(const std::string& name) {
  constexpr size_t kMost = 64;
  const bool is_plain = !name.empty() && name.size() <= kMost && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
  });
  if (is_plain) return {};
  return base::invalid("\"" + base::printable(name, 80) + "\" is no name for a reservation",
                       "at most 64 letters, digits, dots, dashes and underscores");
}

}  // namespace

base::Status validate(const Reservation& r) {
  GW_TRY_STATUS(validate_name(r.name));
  if (r.nodes.empty()) return base::invalid("a reservation needs nodes", "add Nodes=LIST, Nodes=ALL or NodeCnt=N");
  if (!r.maintenance && r.users.empty() && r.accounts.empty())
    return base::invalid("nobody may use the reservation", "add Users=NAMES, Accounts=NAMES or Flags=MAINT");
  if (!r.start) return base::invalid("a reservation needs a beginning", "add StartTime=TIME");
  constexpr Time kLatest{int64_t{1} << 55};  // some thousand years: what is added to it does not wrap
  if (r.start.us < 0 || r.start > kLatest) return base::invalid("the beginning of the reservation is no sensible time");
  if (r.duration.us <= 0) return base::invalid("a reservation must be longer than zero", "add Duration= or EndTime=");
  if (r.every.us != 0 && (r.every < base::hours(1) || r.every > base::hours(24 * 366)))
    return base::invalid("a reservation may begin anew each hour at most, and each year at least");
  if (r.every.us > 0 && r.duration > r.every)
    return base::invalid(fmt::format("it lasts {} and would begin anew after {}", base::format_duration(r.duration),
                                     base::format_duration(r.every)),
                         "give a Duration that is shorter than the period");
  return {};
}

bool coincide(const Reservation& a, const Reservation& b, Time now) {
  const Time horizon = std::max({now, a.start, b.start}) + base::hours(24 * 366);
  Occurrence x = a.at(now), y = b.at(now);
  while (x.from < horizon && y.from < horizon) {
    if (x.overlaps(y)) return true;
    // The one that is over first moves on.
    const bool first = x.to <= y.to;
    const Reservation& moves = first ? a : b;
    Occurrence& o = first ? x : y;
    if (moves.every.us == 0) return false;
    o = {o.from + moves.every, o.to + moves.every};
  }
  return false;
}

std::string period_name(Duration every) {
  if (every.us == 0) return {};
  if (every == base::hours(1)) return "HOURLY";
  if (every == base::hours(24)) return "DAILY";
  if (every == base::hours(24 * 7)) return "WEEKLY";
  return base::format_duration(every);
}

}  // namespace gw::model
