// See offers.h.
#include "ctld/core/api/offers.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>

#include "ctld/core/admission/update_job.h"
#include "ctld/core/jobs/facts.h"
#include "model/blocker.h"
#include "wire/convert.h"
#include "wire/job_attributes.h"

namespace gw::ctld {
namespace {

using model::BlockerKind;
using Change = wire::UpdateJobRequest;

/// Changes that ask for less and less of one thing, or one that leaves a thing out.
struct Series {
  bool is_about_it = false;  ///< About something that is in the way.
  bool is_each = false;      ///< Each is a change of its own: all are tried.
  JobId of = {};             ///< Whose it is.
  std::vector<Change> changes = {};
};

/// Some numbers below `all`, the largest first; the last one is 1, so that where none of them helps no other does.
std::vector<uint64_t> less_than(uint64_t all) {
  constexpr uint64_t kFew = 8;
  std::set<uint64_t, std::greater<>> out;
  if (all <= kFew)
    for (uint64_t n = 1; n < all; ++n) out.insert(n);
  else
    for (const uint64_t n : {all * 3 / 4, all / 2, all / 4, uint64_t{1}}) out.insert(n);
  return {out.begin(), out.end()};
}

class Candidates {
 public:
  /// Of another component than the one that was asked about that alone is changed which is its own.
  Candidates(const Core& core, const model::Job& job, const model::Blockers& blockers, bool is_own_alone)
      : core_(core),
        job_(job),
        is_own_alone_(is_own_alone),
        spec_(job.spec),
        request_(job.spec.request),
        blockers_(blockers) {}

  std::vector<Series> list() {
    drop_wishes();
    ask_for_less();
    run_shorter();
    go_elsewhere();
    for (Series& s : out_) s.of = job_.id;
    if (is_own_alone_) std::erase_if(out_, [](const Series& s) { return s.changes.empty() || !is_own(s.changes[0]); });
    return std::move(out_);
  }

 private:
  const Core& core_;
  const model::Job& job_;
  const bool is_own_alone_;
  const model::JobSpec& spec_;
  const model::Request& request_;
  const model::Blockers& blockers_;
  std::vector<Series> out_;

  static bool is_own(Change change) {
    wire::clear_own_of_component(change);
    return change.ByteSizeLong() == 0;
  }
  bool is_blocked_by(std::initializer_list<BlockerKind> kinds) const {
    return std::any_of(blockers_.begin(), blockers_.end(), [&](const model::Blocker& b) {
      return std::find(kinds.begin(), kinds.end(), b.kind) != kinds.end();
    });
  }
  template <typename Set>
  void add(bool is_wanted, std::initializer_list<BlockerKind> about, const Set& set) {
    if (!is_wanted) return;
    Series series{is_blocked_by(about)};
    set(series.changes.emplace_back());
    out_.push_back(std::move(series));
  }
  /// Fewer of what it has `all` of.
  template <typename Set>
  void add_less(uint64_t all, std::initializer_list<BlockerKind> about, const Set& set) {
    Series series{is_blocked_by(about)};
    for (const uint64_t n : less_than(all)) set(series.changes.emplace_back(), n);
    if (!series.changes.empty()) out_.push_back(std::move(series));
  }

  void drop_wishes() {
    add(!request_.features.empty(), {BlockerKind::kFeatures}, [](Change& c) { c.set_features(""); });
    add(!request_.nodelist.empty(), {BlockerKind::kNodeList}, [](Change& c) { c.set_nodelist(""); });
    add(!request_.exclude.empty(), {BlockerKind::kExcludedNode}, [](Change& c) { c.set_exclude(""); });
    add(!request_.gpu_type.empty(), {BlockerKind::kGpuType, BlockerKind::kGpus},
        [this](Change& c) { set_gpus(c, request_.gpus, ""); });
    add(request_.exclusive, {BlockerKind::kNotEmpty}, [](Change& c) { c.set_exclusive(false); });
    add(request_.contiguous, {BlockerKind::kApart}, [](Change& c) { c.set_contiguous(false); });
    add(request_.max_switches != 0, {BlockerKind::kLocality}, [](Change& c) { c.set_max_switches(0); });
    add(request_.sockets + request_.socket_cores + request_.core_threads != 0, {BlockerKind::kLayout}, [](Change& c) {
      c.set_sockets(0);
      c.set_socket_cores(0);
      c.set_core_threads(0);
    });
    add(request_.tmp_mb != 0, {BlockerKind::kTmpDisk}, [](Change& c) { c.set_tmp_mb(0); });
    add(!spec_.licenses.empty(), {BlockerKind::kLimit}, [](Change& c) { c.set_licenses(""); });
    add(!spec_.reservation.empty(),
        {BlockerKind::kReservationBegins, BlockerKind::kReservationEnds, BlockerKind::kReservationEnded,
         BlockerKind::kReservationGone, BlockerKind::kReservationUsers, BlockerKind::kReservationMaintenance},
        [](Change& c) { c.set_reservation(""); });
  }

  void set_gpus(Change& c, uint64_t count, const std::string& type) const {
    wire::GresUpdate& gres = *c.mutable_gres();
    gres.set_gpu_counting(static_cast<uint32_t>(request_.gpu_counting));
    gres.set_gpus(static_cast<uint32_t>(count));
    gres.set_gpu_type(type);
    if (request_.gpu_milli != model::kWholeGpu) gres.set_gpu_milli(request_.gpu_milli);
  }

  void ask_for_less() {
    const auto limits = {BlockerKind::kLimit, BlockerKind::kUserLimit, BlockerKind::kGuarantee};
    const bool is_limited = is_blocked_by(limits);
    const size_t before = out_.size();
    if (request_.gpu_counting != model::GpuCounting::kNone && request_.gpu_milli == model::kWholeGpu)
      add_less(request_.gpus, {BlockerKind::kGpus, BlockerKind::kLocality},
               [this](Change& c, uint64_t n) { set_gpus(c, n, request_.gpu_type); });
    if (request_.nodes_given && request_.min_nodes > 1)
      add_less(request_.min_nodes, {BlockerKind::kNodes}, [this](Change& c, uint64_t n) {
        c.set_min_nodes(static_cast<uint32_t>(n));
        if (request_.max_nodes > request_.min_nodes) c.set_max_nodes(request_.max_nodes);
      });
    if (request_.tasks_given && request_.tasks > 1)
      add_less(request_.tasks, {BlockerKind::kNodes, BlockerKind::kCores},
               [](Change& c, uint64_t n) { c.set_task_count(static_cast<uint32_t>(n)); });
    add_less(request_.cpus_per_task, {BlockerKind::kCores},
             [](Change& c, uint64_t n) { c.set_cpus_per_task(static_cast<uint32_t>(n)); });
    if (request_.mem_per_node_mb > 1)
      add_less(request_.mem_per_node_mb, {BlockerKind::kMemory},
               [](Change& c, uint64_t n) { c.set_mem_per_node_mb(n); });
    if (request_.mem_per_cpu_mb > 1)
      add_less(request_.mem_per_cpu_mb, {BlockerKind::kMemory}, [](Change& c, uint64_t n) { c.set_mem_per_cpu_mb(n); });
    for (size_t i = before; i < out_.size(); ++i)
      out_[i].is_about_it |= is_limited;  // less of anything may be within it
  }

  /// So that it ends before what others are to have then; the last one is the shortest that there is.
  void run_shorter() {
    constexpr base::Duration kSpare = base::minutes(2);  // until the change is made
    constexpr size_t kMost = 3;
    std::set<int64_t, std::greater<>> limits, elsewhere;  // other partitions may have the same nodes
    if (spec_.time_limit <= base::minutes(1)) return;
    const auto add_end = [&](Time end, std::set<int64_t, std::greater<>>& to) {
      const base::Duration left = end - core_.now - kSpare;
      const int64_t minutes = left.us / base::minutes(1).us;
      if (minutes > 0 && base::minutes(minutes) < spec_.time_limit) to.insert(minutes);
    };
    for (const auto& [id, planned] : core_.planning.estimates)
      if (id != job_.id) add_end(planned.start, is_named(planned.partition) ? limits : elsewhere);
    for (const model::Blocker& b : blockers_)
      if (b.scope == model::BlockerScope::kReservation && b.until) add_end(b.until, limits);
    for (const auto& [name, r] : core_.reservations.told) add_end(r.at(core_.now).from, limits);
    if (is_blocked_by({BlockerKind::kPartitionTimeLimit}))
      for (const std::string& name : spec_.partitions)
        if (const auto p = core_.partitions.all.find(name); p != core_.partitions.all.end())
          if (p->second.max_time < spec_.time_limit) limits.insert(p->second.max_time.us / base::minutes(1).us);
    Series series{is_blocked_by({BlockerKind::kPlannedStart, BlockerKind::kPartitionTimeLimit,
                                 BlockerKind::kReservedNode, BlockerKind::kReservationEnds})};
    const auto add_limit = [&](int64_t minutes) {
      series.changes.emplace_back().set_time_limit_us(base::minutes(minutes).us);
    };
    for (const auto* some : {&limits, &elsewhere})
      for (const int64_t minutes : *some)
        if (minutes > 1 && series.changes.size() < kMost) add_limit(minutes);
    add_limit(1);
    out_.push_back(std::move(series));
  }

  bool is_named(const std::string& partition) const {
    return std::find(spec_.partitions.begin(), spec_.partitions.end(), partition) != spec_.partitions.end();
  }

  void go_elsewhere() {
    constexpr size_t kMost = 8;
    Series partitions{is_blocked_by({BlockerKind::kPartitionTimeLimit, BlockerKind::kPartitionDown,
                                     BlockerKind::kPartitionGone, BlockerKind::kNodes}),
                      true};
    for (const auto& [name, p] : core_.partitions.all)
      if (!is_named(name) && partitions.changes.size() < kMost) partitions.changes.emplace_back().set_partition(name);
    Series qos{is_blocked_by({BlockerKind::kLimit, BlockerKind::kUserLimit, BlockerKind::kGuarantee,
                              BlockerKind::kFairShare, BlockerKind::kBudgetSpent}),
               true};
    const std::string& usual = core_.settings.default_qos;  // which may stand in no list
    if (usual != spec_.qos && !core_.quotas.qos.contains(usual)) qos.changes.emplace_back().set_qos(usual);
    for (const auto& [name, q] : core_.quotas.qos)
      if (name != spec_.qos && qos.changes.size() < kMost) qos.changes.emplace_back().set_qos(name);
    for (Series* series : {&partitions, &qos})
      if (!series->changes.empty()) out_.push_back(std::move(*series));
  }
};

/// So many that admission looks at in all: it holds each against all partitions of a job, and copies all of its names.
size_t most_tried(const Core& core, const std::vector<JobId>& components) {
  constexpr size_t kMostTried = 2 * kMostOffers, kWork = 64'000, kOfEach = 1'000;
  size_t work = 0;
  for (const JobId id : components) {
    const model::JobSpec& spec = core.jobs.at(id).spec;
    work += kOfEach + kOfEach * spec.partitions.size();
    work += spec.request.nodelist.size() + spec.request.exclude.size() + spec.licenses.size();
  }
  return std::clamp<size_t>(kWork / work, 1, kMostTried);
}

/// Of all components in turn; what is about something in the way comes first.
std::vector<Series> series_of(const Core& core, const std::vector<JobId>& components, const model::Blockers& blockers) {
  std::vector<std::vector<Series>> all;
  for (const JobId id : components)
    all.push_back(Candidates(core, core.jobs.at(id), blockers, id != components.front()).list());
  std::vector<Series> out;
  size_t longest = 0;
  for (const std::vector<Series>& of : all) longest = std::max(longest, of.size());
  for (size_t i = 0; i < longest; ++i)
    for (std::vector<Series>& of : all)
      if (i < of.size()) out.push_back(std::move(of[i]));
  std::stable_partition(out.begin(), out.end(), [](const Series& s) { return s.is_about_it; });
  return out;
}

bool is_as_it_is(const Core& core, const std::vector<SpecOf>& after) {
  return std::all_of(after.begin(), after.end(),
                     [&](const SpecOf& of) { return of.second == core.jobs.at(of.first).spec; });
}

}  // namespace

Offers offers_for(const Core& core, const Caller& caller, const model::Job& job, const model::TaskSet& tasks,
                  const model::Blockers& blockers) {
  Offers out;
  wire::TasksOfArray named;
  wire::to_wire(tasks, *named.mutable_tasks());
  if (job.spec.array) named.set_array(job.spec.array->job.value);
  std::vector<JobId> components = other_components(core, job);
  components.insert(components.begin(), job.id);
  const size_t most = most_tried(core, components);
  uint32_t number = 0;
  size_t tried = 0;
  for (Series& series : series_of(core, components, blockers)) {
    ++number;
    for (Change& change : series.changes) {
      if (out.all.size() >= kMostOffers || tried >= most) {
        out.is_cut = true;
        return out;
      }
      if (series.is_each) ++number;
      ++tried;
      auto after = specs_after(core, caller, series.of, change);
      if (!after || is_as_it_is(core, *after) || spent_budget_of(core, after->front().second) != nullptr) continue;
      if (job.spec.is_het()) change.add_ids(series.of.value);
      if (job.spec.array) *change.add_tasks() = named;
      out.all.push_back({std::move(change), std::move(*after), number});
    }
  }
  return out;
}

}  // namespace gw::ctld
