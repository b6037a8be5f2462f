// Times of a job that must fit each other; and the agreement between a job's state and the data it holds.
#include "model/job.h"

#include <algorithm>

#include "base/text.h"
#include "model/mail.h"
#include "model/named_counts.h"

namespace gw::model {

const Limits::Table& Limits::table() const {
  static const Table kNone;
  return table_ ? *table_ : kNone;
}

std::string_view name(OnPreempt what) {
  constexpr std::string_view kNames[] = {"requeue", "cancel", "checkpoint", "suspend"};
  return kNames[static_cast<size_t>(what)];
}

namespace {

base::Status normalise_mail(JobSpec& s) {
  if (!s.mail_type.empty()) {
    GW_TRY(events, parse_mail_events(s.mail_type));
    s.mail_type = events == 0 ? std::string() : format_mail_events(events);
  }
  if (s.mail_user.empty()) return {};
  GW_TRY(users, parse_mail_users(s.mail_user));
  s.mail_user = base::join(users, ",");
  return {};
}

}  // namespace

base::Status normalise(JobSpec& s) {
  base::drop_duplicates(s.partitions);
  GW_TRY_STATUS(normalise_mail(s));
  GW_TRY(licenses, parse_licenses(s.licenses));
  s.licenses = format_licenses(licenses);
  return normalise(s.request);
}

namespace {

base::Status times_together(const JobSpec& s, base::Time now) {
  if (s.time_min.us < 0) return base::invalid("--time-min: a negative time");
  if (s.time_limit.us > 0 && s.time_min > s.time_limit)
    return base::invalid("--time-min=" + base::format_duration(s.time_min) + " is more than the time limit of " +
                         base::format_duration(s.time_limit));
  if (!s.deadline) return {};
  base::Duration shortest = s.time_min.us > 0 ? s.time_min : s.time_limit;
  if (shortest == base::kUnlimited) shortest = {};
  const base::Time start = std::max(now, s.begin);
  if (start + shortest <= s.deadline) return {};
  return base::invalid("--deadline: a run of " + base::format_duration(shortest) + " that begins at " +
                           base::format_time(start) + " does not end by " + base::format_time(s.deadline),
                       "ask for less time, or give --time-min");
}

}  // namespace

base::Status check_times(const JobSpec& spec, base::Time now) {
  return base::with_sentence(times_together(spec, now), kTimesSentence);
}

bool Job::is_consistent() const {
  if (state == JobState::kPending) return waiting() != nullptr;
  if (!is_end(state)) return placed() != nullptr && placed()->outcome.has_value() == (state == JobState::kCompleting);
  return ended() != nullptr && ended()->outcome.end == state;
}

}  // namespace gw::model
