// See use_history.h.
#include "webd/core/use_history.h"

#include <nlohmann/json.hpp>

#include "base/calendar.h"
#include "base/text.h"
#include "client/show/show_json.h"

namespace gw::webd {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMsOfHour = 3'600'000;

/// When the first of so many days began, of which today is the last; local.
base::Time first_moment(base::Time now, int64_t days) {
  base::Time at = base::period_start(base::Period::kDay, now);
  for (int64_t i = 1; i < days; ++i) at = base::period_start(base::Period::kDay, at - base::microseconds(1));
  return at;
}

std::string use_json(const wire::SumRecordsReply& reply, base::Time since) {
  Json j{{"schema_version", client::kSchemaVersion},
         {"since", since.seconds()},
         {"until", base::Time{reply.now_us()}.seconds()},
         {"hidden_jobs", reply.hidden()}};
  j["days"] = Json::array();
  const base::Time now{reply.now_us()};
  for (base::Time day = since; day <= now; day = base::period_end(base::Period::kDay, day))
    j["days"].push_back(base::format_time(day).substr(0, 10));
  j["use"] = Json::array();
  for (const wire::UseSum& sum : reply.sums()) {
    if (sum.keys_size() < 2) continue;
    j["use"].push_back({{"day", sum.keys(0)},
                        {"qos", sum.keys(1)},
                        {"jobs", sum.jobs()},
                        {"gpu_hours", static_cast<double>(sum.gpu_ms()) / kMsOfHour},
                        {"cpu_hours", static_cast<double>(sum.cpu_ms()) / kMsOfHour},
                        {"idle_gpu_hours", static_cast<double>(sum.idle_gpu_ms()) / kMsOfHour}});
  }
  return j.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

base::Result<Question> show_use(const std::string& /*name*/, const Asked& asked) {
  constexpr int64_t kUsualDays = 14;
  int64_t days = kUsualDays;
  if (const auto it = asked.query.find("days"); it != asked.query.end()) {
    GW_TRY(said, base::parse_int(it->second, 1, kMostDaysOfUse, "days"));
    if (std::to_string(said) != it->second) return base::invalid("days: write the number without zeros before it");
    days = said;
  }
  const base::Time since = first_moment(asked.now, days);
  Question q;
  wire::SumRecordsRequest& sum = *q.requests.emplace_back().mutable_sum_records();
  sum.mutable_filter()->set_since_us(since.us);
  sum.add_by(wire::kByDay);
  sum.add_by(wire::kByQos);
  q.is_history = true;
  q.json = [since](Replies& replies) -> base::Result<std::string> {
    if (!replies[0]) return tl::unexpected(replies[0].error());
    return use_json(replies[0]->sum_records(), since);
  };
  return q;
}

}  // namespace gw::webd
