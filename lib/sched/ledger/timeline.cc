// Resources over time.
#include "sched/ledger/timeline.h"

#include <algorithm>
#include <map>

namespace gw::sched {
namespace {

using base::Time;

/// Is this booking in the way of a job inside `reservation`?
bool is_against(const Booking& b, const std::string& reservation) { return !b.whole || b.reservation != reservation; }

/// A use of memory, of parts of GPUs and of generic resources over time, for peaks.
struct Use {
  Span span;
  uint64_t mem_mb;
  const base::IndexSet* gpus;
  uint32_t gpu_milli;
  const model::Gres* gres;
};

/// Leaves of generic resources what is free at every moment of the span.
void settle_gres(const std::vector<Use>& uses, const Span& span, model::Gres& free) {
  if (free.empty()) return;
  const model::Gres all = free;
  const auto at = [&](Time t) {
    model::Gres left = all;
    for (const Use& u : uses)
      if (u.span.from <= t && t < u.span.to) left.take(*u.gres);
    free.keep_at_most(left);
  };
  at(span.from);
  for (const Use& u : uses)
    if (u.span.from > span.from && u.span.from < span.to && !u.gres->empty()) at(u.span.from);
}

/// Most memory in use at one moment of the span: it can only rise where a use begins.
uint64_t peak_memory(const std::vector<Use>& uses, const Span& span) {
  uint64_t peak = 0;
  const auto at = [&](Time t) {
    uint64_t sum = 0;
    for (const Use& u : uses)
      if (u.span.from <= t && t < u.span.to) sum += u.mem_mb;
    peak = std::max(peak, sum);
  };
  at(span.from);
  for (const Use& u : uses)
    if (u.span.from > span.from && u.span.from < span.to) at(u.span.from);
  return peak;
}

uint32_t peak_share(const std::vector<Use>& uses, const Span& span, uint32_t gpu) {
  uint32_t peak = 0;
  const auto at = [&](Time t) {
    uint32_t sum = 0;
    for (const Use& u : uses)
      if (u.gpu_milli < model::kWholeGpu && u.gpus->contains(gpu) && u.span.from <= t && t < u.span.to)
        sum += u.gpu_milli;
    peak = std::max(peak, sum);
  };
  at(span.from);
  for (const Use& u : uses)
    if (u.span.from > span.from && u.span.from < span.to) at(u.span.from);
  return peak;
}

/// Turns the shared GPUs of the span into what is left of them.
void settle_shared(const std::vector<Use>& uses, const Span& span, const base::IndexSet& online, FreeResources& room) {
  base::IndexSet shared;
  for (const Use& u : uses)
    if (u.gpu_milli < model::kWholeGpu) shared |= *u.gpus;
  for (const Use& u : uses)
    if (u.gpu_milli == model::kWholeGpu) shared -= *u.gpus;
  shared &= online;
  room.gpus -= shared;
  for (uint32_t g = shared.next(0); g != UINT32_MAX; g = shared.next(g + 1)) {
    const uint32_t peak = peak_share(uses, span, g);
    if (peak < model::kWholeGpu) room.shared.push_back({g, model::kWholeGpu - peak});
  }
}

}  // namespace

void Timeline::add(NodeId node, Booking booking) {
  bookings_[node].push_back(std::move(booking));
  if (node.value >= has_.size()) has_.resize(node.value + 1);
  has_[node.value] = true;
}

const std::vector<Booking>* Timeline::on(NodeId node) const {
  if (node.value >= has_.size() || !has_[node.value]) return nullptr;
  return &bookings_.at(node);
}

bool Timeline::is_booked(NodeId node, const Span& span, const std::string& reservation) const {
  const std::vector<Booking>* list = on(node);
  return list != nullptr && std::any_of(list->begin(), list->end(), [&](const Booking& b) {
           return is_against(b, reservation) && b.span.overlaps(span);
         });
}

FreeResources Timeline::free_during(const NodeAccount& account, const Span& span,
                                    const std::string& reservation) const {
  FreeResources room;
  room.cores = account.facts.cores;
  room.gpus = account.facts.gpus;
  room.mem_mb = account.facts.mem_mb;
  room.gres = account.facts.gres;
  std::vector<Use> uses;
  const auto use = [&](const Span& when, const base::IndexSet& cores, const base::IndexSet& gpus, uint32_t milli,
                       uint64_t mem, const model::Gres& gres) {
    room.idle = false;
    room.cores -= cores;
    if (milli == model::kWholeGpu) room.gpus -= gpus;
    uses.push_back({when, mem, &gpus, milli, &gres});
  };
  for (const Occupant& o : account.occupants)
    if (o.end > span.from)
      use({Time{}, o.end}, o.cores, o.gpus, o.own_gpu ? model::kWholeGpu : o.gpu_milli, o.mem_mb, o.gres);
  if (const std::vector<Booking>* list = on(account.facts.id)) {
    for (const Booking& b : *list) {
      if (!b.span.overlaps(span) || !is_against(b, reservation)) continue;
      if (b.whole) return FreeResources{{}, {}, {}, 0, false, {}};
      use(b.span, b.cores, b.gpus, b.gpu_milli, b.mem_mb, b.gres);
    }
  }
  const uint64_t peak = peak_memory(uses, span);
  room.mem_mb = room.mem_mb > peak ? room.mem_mb - peak : 0;
  settle_gres(uses, span, room.gres);
  settle_shared(uses, span, account.facts.gpus, room);
  return room;
}

void Timeline::collect_ends(const NodeAccount& account, Time now, std::vector<Time>& out) const {
  for (const Occupant& o : account.occupants)
    if (o.end > now && o.end != Time::never()) out.push_back(o.end);
  if (const std::vector<Booking>* list = on(account.facts.id))
    for (const Booking& b : *list)
      if (b.span.to > now && b.span.to != Time::never()) out.push_back(b.span.to);
}

Time Timeline::next_booking(NodeId node, const Span& span, const std::string& reservation) const {
  Time first = span.to;
  if (const std::vector<Booking>* list = on(node))
    for (const Booking& b : *list)
      if (is_against(b, reservation) && b.span.to > span.from)
        first = std::min(first, std::max(b.span.from, span.from));
  return first;
}

}  // namespace gw::sched
