// Search over the moments at which something becomes free. Each node tells from when on it could take its part; no gang
// starts before enough nodes can.
#include "sched/place/earliest.h"

#include <algorithm>
#include <deque>

#include "sched/ledger/node_index.h"
#include "sched/place/resume.h"

namespace gw::sched {
namespace {

using base::Duration;
using base::Time;

class Search {
 public:
  Search(const Capacity& capacity, const PartitionFacts& partition, const model::Request& request,
         const PlacementOptions& options, Time now, Duration length, ReadyTimes& known)
      : capacity_(capacity),
        partition_(partition),
        request_(request),
        filter_(request, partition, std::min(options.level, model::Locality::kNode)),
        tasks_(filter_.is_one_node() ? filter_.all_tasks(1) : filter_.least_tasks()),
        gpus_(filter_.is_one_node() ? filter_.all_gpus() : UINT32_MAX),
        options_(options),
        now_(now),
        length_(length),
        known_(known) {
    options_.against = Against::kLater;
    options_.only = &nodes_;
    known_.nodes.resize(capacity.versions().size());
  }

  std::optional<FutureStart> run() {
    survey();
    const uint32_t least = fewest();
    if (ready_.size() < least) return std::nullopt;
    const Time first = request_.contiguous ? when_neighbours_are_ready(least) : when_ready(least);
    if (first == Time::never()) return std::nullopt;
    if (auto start = try_at(first)) return start;
    return search_after(first);
  }

 private:
  const Capacity& capacity_;
  const PartitionFacts& partition_;
  const model::Request& request_;
  const NodeFilter filter_;
  const uint32_t tasks_;  // of the part that a node must be able to take; all of it for a gang of one
  const uint32_t gpus_;
  PlacementOptions options_;
  const Time now_;
  const Duration length_;
  ReadyTimes& known_;
  std::vector<std::pair<Time, NodeId>> ready_;  // from when on a node could take its part
  std::vector<NodeId> nodes_;                   // those ready at the moment being tried

  uint32_t fewest() const {
    return std::max<uint32_t>({request_.min_nodes, static_cast<uint32_t>(request_.nodelist.size()), 1});
  }

  /// The first moment at which so many nodes could take their part.
  Time when_ready(uint32_t count) const {
    constexpr uint32_t kFew = 64;  // up to here a small heap that most nodes never enter beats moving them about
    std::vector<std::pair<Time, NodeId>> order(count <= kFew ? count : ready_.size());
    if (count <= kFew) {
      std::partial_sort_copy(ready_.begin(), ready_.end(), order.begin(), order.end());
    } else {
      order = ready_;
      std::nth_element(order.begin(), order.begin() + (count - 1), order.end());
    }
    return order[count - 1].first;
  }

  /// The first moment at which so many neighbours could have taken theirs: the smallest of the greatest times in all
  /// runs of neighbours, each found as its window slides over them.
  Time when_neighbours_are_ready(uint32_t count) const {
    const NodeIndex& index = *capacity_.index(partition_.name);
    std::vector<std::pair<uint32_t, Time>> order;  // by position
    order.reserve(ready_.size());
    for (const auto& [when, id] : ready_) order.emplace_back(index.position(id), when);
    std::sort(order.begin(), order.end());
    Time best = Time::never();
    std::deque<size_t> greatest;  // of the window, falling: the first is its greatest
    size_t run = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || order[i].first != order[i - 1].first + 1) {
        greatest.clear();
        run = i;
      }
      while (!greatest.empty() && order[greatest.back()].second <= order[i].second) greatest.pop_back();
      greatest.push_back(i);
      if (greatest.front() + count <= i) greatest.pop_front();
      if (i - run + 1 >= count) best = std::min(best, order[greatest.front()].second);
    }
    return best;
  }

  void survey() {
    const std::vector<uint64_t>& versions = capacity_.versions();
    const auto& nodes = capacity_.partition_nodes(partition_.name);
    ready_.reserve(nodes.size());
    for (NodeId id : nodes) {
      ReadyTimes::Entry& entry = known_.nodes[id.value];
      Time when = entry.when;
      if (options_.timeline->on(id) != nullptr) {
        when = first_fit(*capacity_.node(id));
      } else if (entry.version != versions[id.value]) {
        when = first_fit(*capacity_.node(id));
        entry = {versions[id.value], when};
      }
      if (when != Time::never()) ready_.emplace_back(std::max(when, now_), id);
    }
  }

  /// Moments, from now on, at which something on the node becomes free.
  std::vector<Time> moments_of(const NodeAccount& account) const {
    std::vector<Time> out = {now_};
    options_.timeline->collect_ends(account, now_, out);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  Time first_fit(const NodeAccount& account) const {
    if (!account.facts.usable || filter_.failed_static_filter(account.facts, *account.node_class)) return Time::never();
    for (Time t : moments_of(account)) {
      const FreeResources room = options_.timeline->free_during(account, {t, t + length_}, options_.reservation);
      if (!filter_.failed_filter(account, room, tasks_, gpus_)) return t;
    }
    return Time::never();
  }

  std::optional<FutureStart> try_at(Time t) {
    nodes_.clear();
    for (const auto& [when, id] : ready_)
      if (when <= t) nodes_.push_back(id);
    if (!std::is_sorted(nodes_.begin(), nodes_.end())) std::sort(nodes_.begin(), nodes_.end());
    options_.span = {t, t + length_};
    Placement p = place(capacity_, partition_, request_, options_);
    if (!p.allocation) return std::nullopt;
    return FutureStart{t, std::move(*p.allocation)};
  }

  /// All later moments in turn. After many failures in ever larger steps: the answer is then a start that is possible,
  /// though perhaps not the first. The last moment, when most is free, is always tried.
  std::optional<FutureStart> search_after(Time first) {
    std::vector<Time> moments;
    for (const auto& [when, id] : ready_)
      for (Time t : moments_of(*capacity_.node(id)))
        if (t > first) moments.push_back(t);
    std::sort(moments.begin(), moments.end());
    moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
    constexpr size_t kExact = 64;
    size_t step = 1, failures = 0;
    for (size_t i = 0; i < moments.size();) {
      if (auto start = try_at(moments[i])) return start;
      if (++failures > kExact && failures % 8 == 0) step *= 2;
      const size_t last = moments.size() - 1;
      i = i < last ? std::min(i + step, last) : moments.size();
    }
    return std::nullopt;
  }
};

}  // namespace

std::optional<FutureStart> earliest(const Capacity& capacity, const PartitionFacts& partition,
                                    const model::Request& request, const PlacementOptions& options, Time now,
                                    Duration length, ReadyTimes* known) {
  if (!request.exactly.empty()) return earliest_exactly(capacity, request, options, now, length);
  ReadyTimes fresh;
  return Search(capacity, partition, request, options, now, length, known != nullptr ? *known : fresh).run();
}

}  // namespace gw::sched
