// Times of what has been, as options of accounting name them.
#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"

namespace gw::cmds {

/// When the day of `now` began, in this machine's time zone.
base::Time midnight_before(base::Time now);

/// As base::parse_time(), but what names no day has been ("08:00" is today's or yesterday's), and so has what names no
/// year: it is of this one, or of the last. A day with its year may lie ahead.
base::Result<base::Time> parse_past(const std::string& text, base::Time now);
/// The end of a time: what names no day is today's, what names no year this year's, also if it lies ahead.
base::Result<base::Time> parse_past_end(const std::string& text, base::Time now);

}  // namespace gw::cmds
