// See reservations.h.
#include "ctld/core/cluster/reservations.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"
#include "ctld/core/cluster/quota_rules.h"
#include "ctld/core/cluster/reservation_rules.h"
#include "ctld/core/names.h"
#include "ctld/core/rows/row_rules.h"
#include "ctld/core/shared/held.h"
#include "ctld/core/shared/listing.h"
#include "ctld/core/shared/replies.h"
#include "wire/bounds.h"
#include "wire/convert.h"
#include "wire/row_bytes.h"

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

/// Nodes that exist, each once; "ALL" is all of them.
Status check_reserved_names(const Core& core, Reservation& r) {
  const std::vector<std::string> known = core.nodes.names();
  if (r.nodes.size() == 1 && base::iequals(r.nodes.front(), "all")) r.nodes = known;
  std::set<std::string> seen;
  for (const std::string& name : r.nodes) {
    if (!core.nodes.contains(name))
      return tl::unexpected(invalid_name(base::ErrorCode::kNotFound, NameOf::kNode, name, known));
    if (!seen.insert(name).second) return base::invalid("node " + name + " is named twice");
  }
  for (const std::string& account : r.accounts)
    if (!has_qos(core, account))
      return tl::unexpected(
          invalid_name(base::ErrorCode::kInvalid, NameOf::kAccount, account, keys_of(core.quotas.qos)));
  if (r.partition.empty() || core.partitions.all.contains(r.partition)) return {};
  return tl::unexpected(
      invalid_name(base::ErrorCode::kInvalid, NameOf::kPartition, r.partition, keys_of(core.partitions.all)));
}

/// The other reservation that has the node at some same time, or null. `known` keeps the answers for one reservation:
/// comparing two that repeat takes a while.
const Reservation* rival_of(const Core& core, const Reservation& r, const std::string& node,
                            std::map<std::string, bool>& known) {
  const auto there = core.reservations.by_node.find(node);
  if (r.overlap || r.maintenance || there == core.reservations.by_node.end()) return nullptr;
  for (const std::string& name : there->second) {
    const Reservation& other = core.reservations.all.at(name);
    if (name == r.name || other.overlap || other.maintenance) continue;
    const auto [answer, is_new] = known.try_emplace(name, false);
    if (is_new) answer->second = model::coincide(r, other, core.now);
    if (answer->second) return &other;
  }
  return nullptr;
}

/// When the last job on the node that is not the reservation's own ends; zero: there is none.
Time busy_until(const Core& core, const Reservation& r, const sched::NodeAccount& account) {
  Time last;
  for (const sched::Occupant& o : account.occupants) {
    const model::Job* job = core.jobs.find(o.job);
    if (job == nullptr || job->spec.reservation != r.name) last = std::max(last, o.end);
  }
  return last;
}

/// Counted nodes: those that nothing stands in the way of; of them those that it has already, then by weight, side by
/// side in the network.
Status pick_nodes(const Core& core, Reservation& r) {
  std::vector<NodeId> pool;
  if (r.partition.empty())
    for (const auto& [id, node] : core.nodes.all()) pool.push_back(id);
  else
    pool = core.ledger.capacity().partition_nodes(r.partition);
  const Time begin = std::max(r.at(core.now).from, core.now);
  const std::set<std::string> mine(r.nodes.begin(), r.nodes.end());
  std::map<std::string, bool> known;
  std::vector<std::tuple<bool, uint32_t, NodeId>> fit;
  size_t unusable = 0, busy = 0, reserved = 0;
  for (NodeId id : pool) {
    const sched::NodeAccount& account = *core.ledger.capacity().node(id);
    if (!account.facts.usable)
      ++unusable;
    else if (!r.ignore_jobs && busy_until(core, r, account) > begin)
      ++busy;
    else if (rival_of(core, r, account.facts.name, known) != nullptr)
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
    r.nodes.push_back(core.ledger.capacity().node(std::get<2>(fit[i]))->facts.name);
  return {};
}

/// Everything that must hold for a reservation to be entered.
Status settle_reservation(const Core& core, Reservation& r, bool pick) {
  GW_TRY_STATUS(check_reserved_names(core, r));
  if (r.maintenance && !(r.users.empty() && r.accounts.empty()))
    return base::invalid("a reservation for maintenance lets nobody in, but it names users or accounts",
                         "leave out Users= and Accounts=, or Flags=MAINT");
  if (pick) {
    Reservation draft = r;  // what is wrong with it otherwise is said before its nodes are looked for
    draft.nodes = {"n"};
    GW_TRY_STATUS(model::validate(draft));
    GW_TRY_STATUS(pick_nodes(core, r));
  }
  GW_TRY_STATUS(check_reservation_row(r));
  if (r.is_over(core.now)) return base::invalid("the reservation would be over already", "give a later StartTime");
  if (pick) return {};
  std::map<std::string, bool> known;
  for (const std::string& name : r.nodes) {
    if (const Reservation* rival = rival_of(core, r, name, known))
      return base::fail(base::ErrorCode::kConflict,
                        fmt::format("node {} is in reservation {} at the same time", name, rival->name),
                        "take other nodes or another time, or add Flags=OVERLAP");
    const Time until = busy_until(core, r, *core.ledger.capacity().node(core.nodes.id_of(name)));
    if (!r.ignore_jobs && until > std::max(r.at(core.now).from, core.now))
      return base::fail(base::ErrorCode::kConflict,
                        until == Time::never()
                            ? fmt::format("node {} runs a job without an end", name)
                            : fmt::format("node {} runs jobs until {}", name, base::format_time(until)),
                        "begin later, take other nodes, or add Flags=IGNORE_JOBS");
  }
  return {};
}

/// Tells the scheduler, with those users who have jobs that may run in it.
void publish_reservation(Core& core, const Reservation& r) {
  sched::AdvanceReservation told;
  told.name = r.name;
  told.nodes = r.nodes;
  told.start = r.start;
  told.end = r.start + r.duration;
  told.every = r.every;
  told.maintenance = r.maintenance;
  for (const auto& [id, job] : core.jobs.all())
    if (job.spec.reservation == r.name && job.waiting() != nullptr && r.admits(job.spec.user, job.spec.qos))
      told.users.insert(job.spec.uid);
  core.reservations.told[r.name] = told;
  core.feed.tell(sched::ReservationSet{std::move(told)});
  if (r.every.us == 0) core.timers.set({r.start + r.duration, TimerKind::kReservation, 0, 0});
}

/// Takes a reservation in, or out again with `nodes` empty.
void index_reservation(Core& core, const std::string& name, const std::vector<std::string>& nodes) {
  if (const auto before = core.reservations.all.find(name); before != core.reservations.all.end())
    for (const std::string& node : before->second.nodes) core.reservations.by_node[node].erase(name);
  for (const std::string& node : nodes) core.reservations.by_node[node].insert(name);
}

void keep_reservation(Core& core, const Caller& caller, const Reservation& r, const std::string& what) {
  index_reservation(core, r.name, r.nodes);
  core.reservations.all[r.name] = r;
  publish_reservation(core, r);
  core.out.write(store::PutReservation{r.name, wire::row_bytes(wire::to_wire(r))});
  core.out.event("reservation " + what,
                 fmt::format("{} by {}: {}", r.name, caller.user, describe_occurrence(r, core.now)), caller.uid);
}

void drop_reservation(Core& core, const std::string& name, const std::string& why, std::optional<uint32_t> uid) {
  index_reservation(core, name, {});
  core.reservations.all.erase(name);
  core.reservations.told.erase(name);
  core.feed.tell(sched::ReservationRemoved{name});
  core.out.write(store::DropReservation{name});
  core.out.event("reservation " + why, name, uid);
}

Status change_reservation(Reservation& r, const wire::UpdateReservationRequest& u) {
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

wire::Reservation show_reservation(const Core& core, const model::Reservation& r) {
  wire::Reservation shown = wire::to_wire(r);
  const model::Occurrence o = r.at(core.now);
  shown.set_is_active(o.from <= core.now && core.now < o.to);
  shown.set_from_us(o.from.us);
  shown.set_to_us(o.to.us);
  for (const std::string& node : r.nodes) {
    const sched::NodeAccount* account = core.ledger.capacity().node(node);
    if (account == nullptr) continue;
    shown.set_core_count(shown.core_count() + static_cast<uint32_t>(account->facts.cores.size()));
    shown.set_gpu_count(shown.gpu_count() + static_cast<uint32_t>(account->facts.gpus.size()));
  }
  return shown;
}

}  // namespace

void reservations_due(Core& core) {
  std::vector<std::string> over;
  for (const auto& [name, r] : core.reservations.all)
    if (r.is_over(core.now)) over.push_back(name);
  for (const std::string& name : over) drop_reservation(core, name, "ended", {});
}

void create_reservation(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  auto r = wire::from_wire(request.create_reservation().reservation());
  if (!r) return core.out.refuse(conn, request.id(), r.error());
  if (core.reservations.all.size() >= kMostReservations)
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kUnavailable, "there are 1000 reservations", "delete some"});
  for (int n = 1; r->name.empty() || (request.create_reservation().reservation().name().empty() &&
                                      core.reservations.all.contains(r->name));
       ++n)
    r->name = fmt::format("{}_{}", core.settings.private_data.users ? "reservation" : caller.user, n);
  if (core.reservations.all.contains(r->name))
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kConflict, "reservation " + r->name + " exists already",
                            "change it with gcontrol update ReservationName=" + r->name});
  if (r->start < core.now) r->start = core.now;
  r->creator = caller.user;
  if (const Status done = settle_reservation(core, *r, r->nodes.empty() && r->node_count > 0); !done)
    return core.out.refuse(conn, request.id(), done.error());
  keep_reservation(core, caller, *r, "created");
  wire::ApiReply out;
  out.mutable_create_reservation()->set_name(r->name);
  out.mutable_create_reservation()->mutable_nodes()->Assign(r->nodes.begin(), r->nodes.end());
  reply_change(core, conn, caller, request, std::move(out));
}

void update_reservation(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::UpdateReservationRequest& u = request.update_reservation();
  const auto found = find_reservation(core, u.name());
  if (!found) return core.out.refuse(conn, request.id(), found.error());
  Reservation r = **found;
  Status done = change_reservation(r, u);
  if (done && u.has_node_count()) {
    r.node_count = u.node_count();
    if (r.node_count == 0) done = base::invalid("NodeCnt must be at least 1");
  }
  if (done) done = settle_reservation(core, r, u.has_node_count());
  if (!done) return core.out.refuse(conn, request.id(), done.error());
  keep_reservation(core, caller, r, "updated");
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(core, conn, caller, request, std::move(out));
}

void delete_reservation(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const auto found = find_reservation(core, request.delete_reservation().name());
  if (!found) return core.out.refuse(conn, request.id(), found.error());
  const std::string name = (*found)->name;
  for (const auto& [id, job] : core.jobs.all())
    if (job.placed() != nullptr && job.spec.reservation == name)
      return core.out.refuse(
          conn, request.id(),
          {base::ErrorCode::kConflict, fmt::format("reservation {} is in use by job {}", name, id.value),
           "let its jobs end, or cancel them"});
  drop_reservation(core, name, "deleted by " + caller.user, caller.uid);
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(core, conn, caller, request, std::move(out));
}

void list_reservations(Core& core, ConnId conn, const wire::ApiRequest& request) {
  const std::set<std::string> names(request.list_reservations().names().begin(),
                                    request.list_reservations().names().end());
  for (const std::string& name : names)
    if (const auto found = find_reservation(core, name); !found)
      return core.out.refuse(conn, request.id(), found.error());
  std::map<std::string, std::vector<uint32_t>> running;
  for (const auto& [node, jobs] : core.placements.by_node())
    for (const JobId id : jobs)
      if (const auto& in = core.jobs.at(id).spec.reservation; !in.empty()) running[in].push_back(id.value);
  for (auto& [name, ids] : running) {
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  }
  auto fill = [&core, names, running = std::move(running), last = std::string()](Time at, ListPiece& piece) mutable {
    wire::ListReservationsReply& list = *piece.reply.mutable_list_reservations();
    list.set_now_us(at.us);
    for (auto it = core.reservations.all.upper_bound(last); it != core.reservations.all.end(); ++it) {
      if (piece.is_full()) return false;
      last = it->first;
      if (!names.empty() && !names.contains(last)) continue;
      wire::Reservation& shown = *list.add_reservations() = show_reservation(core, it->second);
      for (uint32_t id : running[last]) shown.add_jobs(id);
      piece.added(shown.ByteSizeLong());
      piece.looked_at(it->second.nodes.size());
    }
    return true;
  };
  begin_list(core, conn, request.id(), std::move(fill));
}

void restore_reservations(Core& core, const store::Snapshot& snapshot) {
  for (const store::NamedBytes& row : snapshot.reservations) {
    const auto r = read_reservation(row);
    if (!r) {
      hold_named(core, store::RowKind::kReservation, row.name, r.error().what);
      continue;
    }
    index_reservation(core, r->name, r->nodes);
    core.reservations.all[r->name] = *r;
    publish_reservation(core, *r);
  }
}

}  // namespace gw::ctld
