// Advance reservations: made, changed, deleted and shown by administrators; which jobs may run inside them; and their
// end. Which nodes a reservation by count gets is decided once, when it is made or its count is changed.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/hostlist.h"
#include "base/text.h"
#include "ctld/core/controller.h"
#include "ctld/core/job_match.h"
#include "ctld/core/names.h"
#include "ctld/core/row_rules.h"
#include "wire/bounds.h"
#include "wire/convert.h"

namespace gw::ctld {

using base::Status;
using model::Reservation;

namespace {

constexpr size_t kMostReservations = 1'000;

/// A sign of '+' adds the names at the end, '-' takes them away, any other puts them in place of what is there.
void change_names(std::vector<std::string>& list, const std::vector<std::string>& names, char sign) {
  const std::unordered_set<std::string_view> said(names.begin(), names.end());
  if (sign != '+' && sign != '-') list.clear();
  std::erase_if(list, [&said](const std::string& name) { return said.contains(name); });
  if (sign == '-') return;
  for (const std::string& name : names)
    if (!name.empty()) list.push_back(name);
  base::drop_duplicates(list);
}

/// "a,b" replaces a list; "+a,b" adds to it, "-a,b" takes from it.
void change_set(std::set<std::string>& list, const std::string& text) {
  const char sign = text.empty() ? ' ' : text.front();
  const bool is_relative = sign == '+' || sign == '-';
  if (!is_relative) list.clear();
  for (std::string& name : base::split(is_relative ? text.substr(1) : text, ',')) {
    if (sign == '-')
      list.erase(name);
    else if (!name.empty())
      list.insert(std::move(name));
  }
}

std::string describe_occurrence(const Reservation& r, Time now) {
  const model::Occurrence o = r.at(now);
  return fmt::format("{} from {} to {}", base::compress_hostlist(r.nodes), base::format_time(o.from),
                     base::format_time(o.to));
}

}  // namespace

/// Nodes that exist, each once; "ALL" is all of them.
Status Controller::check_reserved_names(Reservation& r) const {
  const std::vector<std::string> known = nodes_.names();
  if (r.nodes.size() == 1 && base::iequals(r.nodes.front(), "all")) r.nodes = known;
  std::set<std::string> seen;
  for (const std::string& name : r.nodes) {
    if (!nodes_.contains(name))
      return tl::unexpected(invalid_name(base::ErrorCode::kNotFound, "node name", name, known));
    if (!seen.insert(name).second) return base::invalid("node " + name + " is named twice");
  }
  for (const std::string& account : r.accounts)
    if (!has_qos(account))
      return tl::unexpected(invalid_name(base::ErrorCode::kInvalid, "account", account, keys_of(book_.qos)));
  if (r.partition.empty() || partitions_.contains(r.partition)) return {};
  return tl::unexpected(invalid_name(base::ErrorCode::kInvalid, "partition name", r.partition, keys_of(partitions_)));
}

/// The other reservation that has the node at some same time, or null. `known` keeps the answers for one reservation:
/// comparing two that repeat takes a while.
const Reservation* Controller::rival_of(const Reservation& r, const std::string& node, Time now,
                                        std::map<std::string, bool>& known) const {
  const auto there = reserved_.find(node);
  if (r.overlap || r.maintenance || there == reserved_.end()) return nullptr;
  for (const std::string& name : there->second) {
    const Reservation& other = reservations_.at(name);
    if (name == r.name || other.overlap || other.maintenance) continue;
    const auto [answer, is_new] = known.try_emplace(name, false);
    if (is_new) answer->second = model::coincide(r, other, now);
    if (answer->second) return &other;
  }
  return nullptr;
}

/// When the last job on the node that is not the reservation's own ends; zero: there is none.
Time Controller::busy_until(const Reservation& r, const sched::NodeAccount& account) const {
  Time last;
  for (const sched::Occupant& o : account.occupants) {
    const model::Job* job = jobs_.find(o.job);
    if (job == nullptr || job->spec.reservation != r.name) last = std::max(last, o.end);
  }
  return last;
}

/// Counted nodes: those that nothing stands in the way of; of them those that it has already, then by weight, side by
/// side in the network.
Status Controller::pick_nodes(Reservation& r, Time now) const {
  std::vector<NodeId> pool;
  if (r.partition.empty())
    for (const auto& [id, node] : nodes_.all()) pool.push_back(id);
  else
    pool = ledger_.capacity().partition_nodes(r.partition);
  const Time begin = std::max(r.at(now).from, now);
  const std::set<std::string> mine(r.nodes.begin(), r.nodes.end());
  std::map<std::string, bool> known;
  std::vector<std::tuple<bool, uint32_t, NodeId>> fit;
  size_t unusable = 0, busy = 0, reserved = 0;
  for (NodeId id : pool) {
    const sched::NodeAccount& account = *ledger_.capacity().node(id);
    if (!account.facts.usable)
      ++unusable;
    else if (!r.ignore_jobs && busy_until(r, account) > begin)
      ++busy;
    else if (rival_of(r, account.facts.name, now, known) != nullptr)
      ++reserved;
    else
      fit.emplace_back(!mine.contains(account.facts.name), account.facts.weight, id);
  }
  if (fit.size() < r.node_count)
    return base::fail(
        base::ErrorCode::kConflict,
        fmt::format("{} nodes asked, {} can be reserved: {} run jobs beyond the beginning, {} are in other "
                    "reservations, {} are not usable",
                    r.node_count, fit.size(), busy, reserved, unusable),
        "ask for fewer or later, or add Flags=IGNORE_JOBS");
  std::stable_sort(fit.begin(), fit.end(), [](const auto& x, const auto& y) {
    return std::pair(std::get<0>(x), std::get<1>(x)) < std::pair(std::get<0>(y), std::get<1>(y));
  });
  r.nodes.clear();
  for (uint32_t i = 0; i < r.node_count; ++i)
    r.nodes.push_back(ledger_.capacity().node(std::get<2>(fit[i]))->facts.name);
  return {};
}

/// Everything that must hold for a reservation to be entered.
Status Controller::settle_reservation(Reservation& r, Time now, bool pick) const {
  GW_TRY_STATUS(check_reserved_names(r));
  if (r.maintenance && !(r.users.empty() && r.accounts.empty()))
    return base::invalid("a reservation for maintenance lets nobody in, but it names users or accounts",
                         "leave out Users= and Accounts=, or Flags=MAINT");
  if (pick) {
    Reservation draft = r;  // what is wrong with it otherwise is said before its nodes are looked for
    draft.nodes = {"n"};
    GW_TRY_STATUS(model::validate(draft));
    GW_TRY_STATUS(pick_nodes(r, now));
  }
  GW_TRY_STATUS(check_reservation_row(r));
  if (r.is_over(now)) return base::invalid("the reservation would be over already", "give a later StartTime");
  if (pick) return {};
  std::map<std::string, bool> known;
  for (const std::string& name : r.nodes) {
    if (const Reservation* rival = rival_of(r, name, now, known))
      return base::fail(base::ErrorCode::kConflict,
                        fmt::format("node {} is in reservation {} at the same time", name, rival->name),
                        "take other nodes or another time, or add Flags=OVERLAP");
    const Time until = busy_until(r, *ledger_.capacity().node(nodes_.id_of(name)));
    if (!r.ignore_jobs && until > std::max(r.at(now).from, now))
      return base::fail(base::ErrorCode::kConflict,
                        until == Time::never()
                            ? fmt::format("node {} runs a job without an end", name)
                            : fmt::format("node {} runs jobs until {}", name, base::format_time(until)),
                        "begin later, take other nodes, or add Flags=IGNORE_JOBS");
  }
  return {};
}

/// Tells the scheduler, with those users who have jobs that may run in it.
void Controller::publish_reservation(const Reservation& r) {
  sched::AdvanceReservation told;
  told.name = r.name;
  told.nodes = r.nodes;
  told.start = r.start;
  told.end = r.start + r.duration;
  told.every = r.every;
  told.maintenance = r.maintenance;
  for (const auto& [id, job] : jobs_.all())
    if (job.spec.reservation == r.name && job.waiting() != nullptr && r.admits(job.spec.user, job.spec.qos))
      told.users.insert(job.spec.uid);
  advance_[r.name] = told;
  feed_.tell(sched::ReservationSet{std::move(told)});
  if (r.every.us == 0) timers_.set({r.start + r.duration, TimerKind::kReservation, 0, 0});
}

void Controller::admit_to_reservation(const model::Job& job) {
  const auto r = reservations_.find(job.spec.reservation);
  if (r == reservations_.end() || !r->second.admits(job.spec.user, job.spec.qos)) return;
  sched::AdvanceReservation& told = advance_.at(r->first);
  if (told.users.insert(job.spec.uid).second) feed_.tell(sched::ReservationSet{told});
}

/// Takes a reservation in, or out again with `nodes` empty.
void Controller::index_reservation(const std::string& name, const std::vector<std::string>& nodes) {
  if (const auto before = reservations_.find(name); before != reservations_.end())
    for (const std::string& node : before->second.nodes) reserved_[node].erase(name);
  for (const std::string& node : nodes) reserved_[node].insert(name);
}

void Controller::keep_reservation(Time now, const Caller& caller, const Reservation& r, const std::string& what) {
  index_reservation(r.name, r.nodes);
  reservations_[r.name] = r;
  publish_reservation(r);
  out_.write(store::PutReservation{r.name, wire::to_wire(r).SerializeAsString()});
  out_.event(now, "reservation " + what, fmt::format("{} by {}: {}", r.name, caller.user, describe_occurrence(r, now)),
             caller.uid);
}

void Controller::drop_reservation(Time now, const std::string& name, const std::string& why, uint32_t uid) {
  index_reservation(name, {});
  reservations_.erase(name);
  advance_.erase(name);
  feed_.tell(sched::ReservationRemoved{name});
  out_.write(store::DropReservation{name});
  out_.event(now, "reservation " + why, name, uid);
}

void Controller::reservations_due(Time now) {
  std::vector<std::string> over;
  for (const auto& [name, r] : reservations_)
    if (r.is_over(now)) over.push_back(name);
  for (const std::string& name : over) drop_reservation(now, name, "ended", 0);
}

base::Result<const Reservation*> Controller::find_reservation(const std::string& name) const {
  const auto it = reservations_.find(name);
  if (it != reservations_.end()) return &it->second;
  return base::fail(base::ErrorCode::kNotFound, "reservation " + base::printable(name) + " does not exist",
                    name_hint(name, keys_of(reservations_)));
}

/// A job that names a reservation and no partition goes where the reservation is.
void Controller::route_by_reservation(model::JobSpec& spec) const {
  const auto r = reservations_.find(spec.reservation);
  if (spec.partitions.empty() && r != reservations_.end() && !r->second.partition.empty())
    spec.partitions = {r->second.partition};
}

/// May the job run in the reservation that it names?
Status Controller::check_reservation(const model::JobSpec& spec) const {
  if (spec.reservation.empty()) return {};
  GW_TRY(found, find_reservation(spec.reservation));
  const Reservation& r = *found;
  if (r.maintenance)
    return base::fail(base::ErrorCode::kDenied, "reservation " + r.name + " is for maintenance: nobody runs in it");
  if (!r.admits(spec.user, spec.qos))
    return base::fail(base::ErrorCode::kDenied,
                      fmt::format("user {} with account {} may not use reservation {}", spec.user, spec.qos, r.name),
                      "ask an administrator: gcontrol update ReservationName=" + r.name + " Users+=" + spec.user);
  if (spec.request.min_nodes > r.nodes.size())
    return base::invalid(
        fmt::format("{} nodes asked; reservation {} has {}", spec.request.min_nodes, r.name, r.nodes.size()));
  const std::unordered_set<std::string_view> there(r.nodes.begin(), r.nodes.end());
  for (const std::string& name : spec.request.nodelist)
    if (!there.contains(name))
      return base::invalid(fmt::format("node {} of --nodelist is not in reservation {}", name, r.name),
                           "it has " + base::compress_hostlist(r.nodes));
  const base::Duration least = spec.time_min.us > 0 ? spec.time_min : spec.time_limit;
  if (least > r.duration)
    return base::invalid(fmt::format("the time limit {} is longer than reservation {} lasts: {}",
                                     base::format_duration(least), r.name, base::format_duration(r.duration)),
                         "give a shorter --time");
  return {};
}

void Controller::create_reservation(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  auto r = wire::from_wire(request.create_reservation().reservation());
  if (!r) return out_.refuse(conn, request.id(), r.error());
  if (reservations_.size() >= kMostReservations)
    return out_.refuse(conn, request.id(),
                       {base::ErrorCode::kUnavailable, "there are 1000 reservations", "delete some"});
  for (int n = 1; r->name.empty() ||
                  (request.create_reservation().reservation().name().empty() && reservations_.contains(r->name));
       ++n)
    r->name = fmt::format("{}_{}", caller.user, n);
  if (reservations_.contains(r->name))
    return out_.refuse(conn, request.id(),
                       {base::ErrorCode::kConflict, "reservation " + r->name + " exists already",
                        "change it with gcontrol update ReservationName=" + r->name});
  if (r->start < now) r->start = now;
  r->creator = caller.user;
  if (const Status done = settle_reservation(*r, now, r->nodes.empty() && r->node_count > 0); !done)
    return out_.refuse(conn, request.id(), done.error());
  keep_reservation(now, caller, *r, "created");
  wire::ApiReply out;
  out.mutable_create_reservation()->set_name(r->name);
  out.mutable_create_reservation()->mutable_nodes()->Assign(r->nodes.begin(), r->nodes.end());
  reply_change(now, conn, caller, request, std::move(out));
}

Status Controller::change_reservation(Reservation& r, const wire::UpdateReservationRequest& u) const {
  if (u.has_start_us() && u.start_us() <= 0) return base::invalid("StartTime is no sensible time");
  if (u.has_start_us()) r.start = {u.start_us()};
  if (u.has_duration_us()) r.duration = {u.duration_us()};
  if (u.has_end_us()) {
    if (u.has_duration_us()) return base::invalid("EndTime and Duration say the same", "give one of them");
    if (u.end_us() <= r.start.us) return base::invalid("EndTime lies before StartTime");
    r.duration = Time{u.end_us()} - r.start;
  }
  if (u.has_users()) change_set(r.users, u.users());
  if (u.has_accounts()) change_set(r.accounts, u.accounts());
  if (u.has_maintenance()) r.maintenance = u.maintenance();
  if (u.has_every_us()) r.every = {u.every_us()};
  if (!u.has_nodes()) return {};
  if (u.has_node_count()) return base::invalid("Nodes and NodeCnt say the same", "give one of them");
  const bool is_relative = u.nodes().starts_with('+') || u.nodes().starts_with('-');
  GW_TRY(names, base::expand_hostlist(is_relative ? u.nodes().substr(1) : u.nodes(), wire::kMostNodeNames));
  change_names(r.nodes, names, is_relative ? u.nodes().front() : ' ');
  r.node_count = 0;
  return {};
}

void Controller::update_reservation(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::UpdateReservationRequest& u = request.update_reservation();
  const auto found = find_reservation(u.name());
  if (!found) return out_.refuse(conn, request.id(), found.error());
  Reservation r = **found;
  Status done = change_reservation(r, u);
  if (done && u.has_node_count()) {
    r.node_count = u.node_count();
    if (r.node_count == 0) done = base::invalid("NodeCnt must be at least 1");
  }
  if (done) done = settle_reservation(r, now, u.has_node_count());
  if (!done) return out_.refuse(conn, request.id(), done.error());
  keep_reservation(now, caller, r, "updated");
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(now, conn, caller, request, std::move(out));
}

void Controller::delete_reservation(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const auto found = find_reservation(request.delete_reservation().name());
  if (!found) return out_.refuse(conn, request.id(), found.error());
  const std::string name = (*found)->name;
  for (const auto& [id, job] : jobs_.all())
    if (job.placed() != nullptr && job.spec.reservation == name)
      return out_.refuse(conn, request.id(),
                         {base::ErrorCode::kConflict, fmt::format("reservation {} is in use by job {}", name, id.value),
                          "let its jobs end, or cancel them"});
  drop_reservation(now, name, "deleted by " + caller.user, caller.uid);
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(now, conn, caller, request, std::move(out));
}

wire::Reservation Controller::show_reservation(const model::Reservation& r, Time now) const {
  wire::Reservation shown = wire::to_wire(r);
  const model::Occurrence o = r.at(now);
  shown.set_is_active(o.from <= now && now < o.to);
  shown.set_from_us(o.from.us);
  shown.set_to_us(o.to.us);
  for (const std::string& node : r.nodes) {
    const sched::NodeAccount* account = ledger_.capacity().node(node);
    if (account == nullptr) continue;
    shown.set_core_count(shown.core_count() + static_cast<uint32_t>(account->facts.cores.size()));
    shown.set_gpu_count(shown.gpu_count() + static_cast<uint32_t>(account->facts.gpus.size()));
  }
  return shown;
}

void Controller::list_reservations(Time now, ConnId conn, const wire::ApiRequest& request) {
  const std::set<std::string> names(request.list_reservations().names().begin(),
                                    request.list_reservations().names().end());
  for (const std::string& name : names)
    if (const auto found = find_reservation(name); !found) return out_.refuse(conn, request.id(), found.error());
  std::map<std::string, std::vector<uint32_t>> running;
  for (const auto& [node, jobs] : placements_.by_node())
    for (const JobId id : jobs)
      if (const auto& in = jobs_.at(id).spec.reservation; !in.empty()) running[in].push_back(id.value);
  for (auto& [name, ids] : running) {
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  }
  auto fill = [this, names, running = std::move(running), last = std::string()](Time at, ListPiece& piece) mutable {
    wire::ListReservationsReply& list = *piece.reply.mutable_list_reservations();
    list.set_now_us(at.us);
    for (auto it = reservations_.upper_bound(last); it != reservations_.end(); ++it) {
      if (piece.is_full()) return false;
      last = it->first;
      if (!names.empty() && !names.contains(last)) continue;
      wire::Reservation& shown = *list.add_reservations() = show_reservation(it->second, at);
      for (uint32_t id : running[last]) shown.add_jobs(id);
      piece.added(shown.ByteSizeLong());
      piece.looked_at(it->second.nodes.size());
    }
    return true;
  };
  begin_list(now, conn, request.id(), std::move(fill));
}

/// "MAINTENANCE", "RESERVED" or nothing, as of now.
std::string Controller::reserved_as(const std::string& node, Time now) const {
  const auto there = reserved_.find(node);
  if (there == reserved_.end()) return {};
  std::string out;
  for (const std::string& name : there->second) {
    const Reservation& r = reservations_.at(name);
    const model::Occurrence o = r.at(now);
    if (now < o.from || o.to <= now) continue;
    if (r.maintenance) return "MAINTENANCE";
    out = "RESERVED";
  }
  return out;
}

void Controller::restore_reservations(const store::Snapshot& snapshot, Time now) {
  for (const store::NamedBytes& row : snapshot.reservations) {
    const auto r = read_reservation(row);
    if (!r) {
      hold_named(now, store::RowKind::kReservation, row.name, r.error().what);
      continue;
    }
    index_reservation(r->name, r->nodes);
    reservations_[r->name] = *r;
    publish_reservation(*r);
  }
}

}  // namespace gw::ctld
