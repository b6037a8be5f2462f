// See use_history.h.
#include "webd/core/use_history.h"

#include <ctime>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "client/show/show_json.h"

namespace gw::webd {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMsOfHour = 3'600'000;

/// Midnight that so many days before now began, local.
base::Time first_moment(base::Time now, int64_t days) {
  const std::time_t seconds = now.seconds();
  std::tm local{};
  ::localtime_r(&seconds, &local);
  local.tm_hour = local.tm_min = local.tm_sec = 0;
  local.tm_mday -= static_cast<int>(days - 1);
  local.tm_isdst = -1;
  return base::Time{int64_t{std::mktime(&local)} * 1'000'000};
}

std::string use_json(const wire::SumRecordsReply& reply, base::Time since) {
  Json j{{"schema_version", client::kSchemaVersion},
         {"since", since.seconds()},
         {"until", base::Time{reply.now_us()}.seconds()},
         {"hidden_jobs", reply.hidden()}};
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
