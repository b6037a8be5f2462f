// gcontrol create, delete, update and show of reservations.
#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"
#include "client/show/reservation_text.h"
#include "cmds/gcontrol/control_verbs.h"
#include "cmds/shared/job_faults.h"
#include "cmds/shared/update_keys.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Status;
using client::Program;
using Settings = std::map<std::string, std::string>;

/// "DAY-H:M:S", minutes, or UNLIMITED.
base::Result<int64_t> length_us(const std::string& value) {
  if (base::iequals(value, "infinite")) return base::kUnlimited.us;
  return duration_us("Duration", value);
}

/// Names that no user of this host has are mistakes.
Status check_users(const std::string& list) {
  for (std::string name : base::split(list, ',')) {
    if (!name.empty() && (name.front() == '+' || name.front() == '-')) name.erase(0, 1);
    if (name.empty()) return invalid("Users: an empty name");
    if (::getpwnam(name.c_str()) == nullptr)
      return invalid("Invalid user name specified: " + base::printable(name), "getent passwd NAME must know it");
  }
  return {};
}

struct Flag {
  std::string_view name;
  void (*set)(wire::Reservation&);
};
constexpr Flag kFlags[] = {
    {"MAINT", [](wire::Reservation& r) { r.set_maintenance(true); }},
    {"IGNORE_JOBS", [](wire::Reservation& r) { r.set_ignore_jobs(true); }},
    {"OVERLAP", [](wire::Reservation& r) { r.set_overlap(true); }},
    {"HOURLY", [](wire::Reservation& r) { r.set_every_us(base::hours(1).us); }},
    {"DAILY", [](wire::Reservation& r) { r.set_every_us(base::hours(24).us); }},
    {"WEEKLY", [](wire::Reservation& r) { r.set_every_us(base::hours(24 * 7).us); }},
};

Status set_flags(wire::Reservation& r, const std::string& value) {
  for (const std::string& word : base::split(value, ',')) {
    const auto flag =
        std::find_if(std::begin(kFlags), std::end(kFlags), [&](const Flag& f) { return base::iequals(f.name, word); });
    if (flag != std::end(kFlags)) {
      flag->set(r);
      continue;
    }
    std::vector<std::string> known;
    for (const Flag& f : kFlags) known.emplace_back(f.name);
    std::string upper = word;
    std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
    const std::string hint = base::did_you_mean(upper, known);
    return invalid("Flags: unknown or unsupported flag " + base::printable(word),
                   hint.empty() ? "known: " + base::join(known, ", ") : hint);
  }
  return {};
}

Status set_nodes(wire::Reservation& r, const std::string& value) {
  if (base::iequals(value, "all")) return r.add_nodes("ALL"), Status{};
  GW_TRY(names, base::expand_hostlist(value));
  r.mutable_nodes()->Assign(names.begin(), names.end());
  return {};
}

base::Result<uint32_t> node_count(const std::string& value) {
  GW_TRY(n, base::parse_int(value, 1, 1'000'000, "NodeCnt"));
  return static_cast<uint32_t>(n);
}

using NewKey = Key<wire::Reservation>;
std::vector<NewKey> creation_keys(base::Time now, int64_t& end_us) {
  using R = wire::Reservation;
  return {
      {"reservationname", [](R& r, const std::string& v) { return r.set_name(v), Status{}; }},
      {"reservation", [](R& r, const std::string& v) { return r.set_name(v), Status{}; }},
      {"starttime",
       [now](R& r, const std::string& v) -> Status {
         GW_TRY(us, time_us("StartTime", v, now));
         return r.set_start_us(us), Status{};
       }},
      {"endtime",
       [now, &end_us](R&, const std::string& v) -> Status {
         GW_TRY(us, time_us("EndTime", v, now));
         return end_us = us, Status{};
       }},
      {"duration",
       [](R& r, const std::string& v) -> Status {
         GW_TRY(us, length_us(v));
         return r.set_duration_us(us), Status{};
       }},
      {"nodes", set_nodes},
      {"nodecnt",
       [](R& r, const std::string& v) -> Status {
         GW_TRY(n, node_count(v));
         return r.set_node_count(n), Status{};
       }},
      {"partitionname", [](R& r, const std::string& v) { return r.set_partition(v), Status{}; }},
      {"users",
       [](R& r, const std::string& v) -> Status {
         GW_TRY_STATUS(check_users(v));
         const auto names = base::split(v, ',');
         return r.mutable_users()->Assign(names.begin(), names.end()), Status{};
       }},
      {"accounts",
       [](R& r, const std::string& v) {
         const auto names = base::split(v, ',');
         return r.mutable_accounts()->Assign(names.begin(), names.end()), Status{};
       }},
      {"flags", set_flags},
  };
}

using Change = wire::UpdateReservationRequest;
std::vector<Key<Change>> change_keys(base::Time now) {
  return {
      {"starttime",
       [now](Change& r, const std::string& v) -> Status {
         GW_TRY(us, time_us("StartTime", v, now));
         return r.set_start_us(us), Status{};
       }},
      {"endtime",
       [now](Change& r, const std::string& v) -> Status {
         GW_TRY(us, time_us("EndTime", v, now));
         return r.set_end_us(us), Status{};
       }},
      {"duration",
       [](Change& r, const std::string& v) -> Status {
         GW_TRY(us, length_us(v));
         return r.set_duration_us(us), Status{};
       }},
      {"nodes",
       [](Change& r, const std::string& v) -> Status {
         if (base::iequals(v, "all")) return r.set_nodes("ALL"), Status{};
         const bool is_relative = v.starts_with('+') || v.starts_with('-');
         GW_TRY_STATUS(base::expand_hostlist(v.substr(is_relative ? 1 : 0)).map([](const auto&) {}));
         return r.set_nodes(v), Status{};
       }},
      {"nodecnt",
       [](Change& r, const std::string& v) -> Status {
         GW_TRY(n, node_count(v));
         return r.set_node_count(n), Status{};
       }},
      {"users",
       [](Change& r, const std::string& v) -> Status {
         if (!v.empty()) GW_TRY_STATUS(check_users(v));
         return r.set_users(v), Status{};
       }},
      {"accounts", [](Change& r, const std::string& v) { return r.set_accounts(v), Status{}; }},
      {"flags",
       [](Change& r, const std::string& v) -> Status {
         wire::Reservation flags;
         const bool takes_off = v.starts_with('-');
         const bool is_relative = takes_off || v.starts_with('+');
         if (!v.empty()) GW_TRY_STATUS(set_flags(flags, v.substr(is_relative ? 1 : 0)));
         if (flags.ignore_jobs() || flags.overlap())
           return invalid("Flags: IGNORE_JOBS and OVERLAP are given when a reservation is made",
                          "delete it and create it anew");
         // A plain list is all that holds from now on.
         if (flags.maintenance() || !is_relative) r.set_maintenance(flags.maintenance() && !takes_off);
         if (flags.every_us() != 0 || !is_relative) r.set_every_us(takes_off ? 0 : flags.every_us());
         return {};
       }},
  };
}

/// "Users+=ann" is split at its equals sign into "Users+" and "ann": the sign goes to the value.
void move_signs(Settings& settings) {
  Settings out;
  for (auto& [key, value] : settings) {
    const bool is_signed = key.ends_with('+') || key.ends_with('-');
    out[is_signed ? key.substr(0, key.size() - 1) : key] = is_signed ? key.back() + value : value;
  }
  settings = std::move(out);
}

/// "reservation" may stand as a word of its own, as Slurm takes it.
Args without_kind(Args words) {
  const bool has_kind = !words.empty() && base::iequals(words.front(), "reservation");
  return has_kind ? words.subspan(1) : words;
}

}  // namespace

base::Result<wire::ApiRequest> reservation_creation(Args words, base::Time now) {
  GW_TRY(settings, parse_settings(without_kind(words)));
  wire::ApiRequest request;
  wire::Reservation& r = *request.mutable_create_reservation()->mutable_reservation();
  r.set_start_us(now.us);
  int64_t end_us = 0;
  GW_TRY_STATUS(apply(creation_keys(now, end_us), settings, r));
  if (r.nodes().empty() == (r.node_count() == 0))
    return invalid(r.nodes().empty() ? "a reservation needs nodes" : "Nodes and NodeCnt say the same",
                   "give one of Nodes=LIST, Nodes=ALL and NodeCnt=N");
  if ((end_us == 0) == (r.duration_us() == 0))
    return invalid(end_us == 0 ? "a reservation needs an end" : "EndTime and Duration say the same",
                   "give one of Duration=TIME and EndTime=TIME");
  if (end_us != 0) {
    if (end_us <= r.start_us()) return invalid("EndTime lies before StartTime");
    r.set_duration_us(end_us - r.start_us());
  }
  return request;
}

base::Result<wire::ApiRequest> reservation_update(const std::string& name, const Settings& given, base::Time now) {
  Settings settings = given;
  move_signs(settings);
  wire::ApiRequest request;
  request.mutable_update_reservation()->set_name(name);
  GW_TRY_STATUS(apply(change_keys(now), settings, *request.mutable_update_reservation()));
  return request;
}

int control_create(const Program& program, const ControlOptions& o, Args words) {
  if (is_about_partition(words)) return create_partition(program, o, words);
  auto request = reservation_creation(words, base::SystemClock().now());
  if (!request) return failed(program, request.error());
  auto reply = ask(program, std::move(*request));
  if (!reply) return failed(program, reply.error());
  return o.quiet ? client::kExitOk : printed("Reservation created: " + reply->create_reservation().name() + "\n");
}

int control_delete(const Program& program, const ControlOptions& o, Args words) {
  if (is_about_held(words)) return delete_held(program, words);
  if (is_about_partition(words)) return delete_partition(program, o, words);
  words = without_kind(words);
  std::string name;
  if (words.size() == 1) {
    const size_t equals = words.front().find('=');
    const std::string key = base::to_lower(words.front().substr(0, equals));
    if (equals != std::string::npos && (key == "reservationname" || key == "reservation"))
      name = words.front().substr(equals + 1);
    else if (equals == std::string::npos)
      name = words.front();
  }
  if (name.empty())
    return failed(
        program,
        {base::ErrorCode::kInvalid, "delete: expected one reservation, partition or row that is held aside",
         "such as: " + program.name + " delete ReservationName=NAME, PartitionName=NAME, or HeldAside=KIND:NAME"});
  wire::ApiRequest request;
  request.mutable_delete_reservation()->set_name(name);
  auto reply = ask(program, std::move(request));
  return reply ? client::kExitOk : failed(program, reply.error());
}

int show_reservations(const Program& program, const ControlOptions& o, Args words) {
  wire::ApiRequest request;
  for (const std::string& word : words)
    for (const std::string& name : base::split(word, ',')) request.mutable_list_reservations()->add_names(name);
  request.mutable_list_reservations();
  auto reply = ask(program, std::move(request));
  if (!reply) return failed(program, reply.error());
  const wire::ListReservationsReply& list = reply->list_reservations();
  if (o.json) return printed(client::reservations_json(list));
  std::string out = last_update(o, list.now_us(), list.reservations_size());
  for (const wire::Reservation& r : list.reservations()) out += client::show_reservation_text(r, o.style);
  return printed(list.reservations().empty() ? out + "No reservations in the system\n" : out);
}

}  // namespace gw::cmds
