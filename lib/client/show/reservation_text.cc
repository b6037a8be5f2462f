// Text and JSON of advance reservations. See reservation_text.h.
#include "client/show/reservation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/hostlist.h"
#include "base/text.h"
#include "base/time.h"
#include "client/show/record.h"
#include "client/show/show_json.h"
#include "model/reservation.h"

namespace gw::client {
namespace {

template <typename Repeated>
std::string joined(const Repeated& list) {
  const std::vector<std::string> names(list.begin(), list.end());
  return names.empty() ? "(null)" : base::join(names, ",");
}

std::vector<std::string> flags_of(const wire::Reservation& r) {
  std::vector<std::string> out;
  if (r.maintenance()) out.emplace_back("MAINT");
  if (r.overlap()) out.emplace_back("OVERLAP");
  if (r.ignore_jobs()) out.emplace_back("IGNORE_JOBS");
  if (const std::string every = model::period_name({r.every_us()}); !every.empty()) out.push_back(every);
  if (r.nodes().empty() || r.node_count() == 0) out.emplace_back("SPEC_NODES");
  return out;
}

std::string nodes_of(const wire::Reservation& r) {
  return base::compress_hostlist({r.nodes().begin(), r.nodes().end()});
}

std::string length(const wire::Reservation& r) { return base::format_duration({r.duration_us()}); }

int64_t seconds(int64_t us) { return us / 1'000'000; }

}  // namespace

std::string show_reservation_text(const wire::Reservation& w, ShowStyle style) {
  std::string out;
  Record r(out, style.one_line);
  r.line()
      .put("ReservationName", w.name())
      .put("StartTime", base::format_time({w.from_us()}))
      .put("EndTime", base::format_time({w.to_us()}))
      .put("Duration", length(w));
  r.line()
      .put("Nodes", nodes_of(w))
      .put("NodeCnt", w.nodes_size())
      .put("CoreCnt", w.core_count())
      .put("GpuCnt", w.gpu_count())
      .put("Features", "(null)")
      .put("PartitionName", w.partition().empty() ? "(null)" : w.partition())
      .put("Flags", joined(flags_of(w)));
  r.line()
      .put("Users", joined(w.users()))
      .put("Groups", "(null)")
      .put("Accounts", joined(w.accounts()))
      .put("Licenses", "(null)")
      .put("State", w.is_active() ? "ACTIVE" : "INACTIVE");
  std::vector<std::string> jobs;
  for (uint32_t id : w.jobs()) jobs.push_back(std::to_string(id));
  r.line().put("RunningJobs", joined(jobs)).put("CreatedBy", w.creator());
  r.end();
  return out;
}

std::string reservation_table(const wire::ListReservationsReply& list, bool with_heading) {
  if (list.reservations().empty()) return "No reservations in the system\n";
  size_t width = std::string_view("RESV_NAME").size();
  for (const wire::Reservation& r : list.reservations()) width = std::max(width, r.name().size());
  std::string out;
  const auto line = [&](const std::string& name, const std::string& state, const std::string& from,
                        const std::string& to, const std::string& duration, const std::string& nodes) {
    out += fmt::format("{:<{}}  {:>8}  {:>19}  {:>19}  {:>11}  {}\n", name, width, state, from, to, duration, nodes);
  };
  if (with_heading) line("RESV_NAME", "STATE", "START_TIME", "END_TIME", "DURATION", "NODELIST");
  for (const wire::Reservation& r : list.reservations())
    line(r.name(), r.is_active() ? "ACTIVE" : "INACTIVE", base::format_time({r.from_us()}),
         base::format_time({r.to_us()}), length(r), nodes_of(r));
  return out;
}

std::string reservations_json(const wire::ListReservationsReply& list) {
  using Json = nlohmann::ordered_json;
  Json j;
  j["schema_version"] = kSchemaVersion;
  j["reservations"] = Json::array();
  for (const wire::Reservation& r : list.reservations()) {
    Json one;
    one["name"] = r.name();
    one["state"] = r.is_active() ? "ACTIVE" : "INACTIVE";
    one["start_time"] = seconds(r.from_us());
    if (r.to_us() == base::Time::never().us)
      one["end_time"] = nullptr;
    else
      one["end_time"] = seconds(r.to_us());
    one["every_seconds"] = seconds(r.every_us());
    one["node_list"] = nodes_of(r);
    one["node_count"] = r.nodes_size();
    one["core_count"] = r.core_count();
    one["gpu_count"] = r.gpu_count();
    one["partition"] = r.partition();
    one["users"] = std::vector<std::string>(r.users().begin(), r.users().end());
    one["accounts"] = std::vector<std::string>(r.accounts().begin(), r.accounts().end());
    one["flags"] = flags_of(r);
    one["jobs"] = std::vector<uint32_t>(r.jobs().begin(), r.jobs().end());
    one["created_by"] = r.creator();
    j["reservations"].push_back(std::move(one));
  }
  j["last_update"] = seconds(list.now_us());
  return j.dump(2) + "\n";
}

}  // namespace gw::client
