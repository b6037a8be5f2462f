// See verdict.h.
#include "tests/cost/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace gw::cost {
namespace {

/// Less than this above the smallest size is no growth to speak of: some tenths of a millisecond.
constexpr uint64_t kNoise = 100'000;
/// Sizes are compared from so many times the smallest on: there the part that does not grow is taken off well enough.
constexpr uint64_t kApart = 8;

/// Answers that are shorter than this differ by a name or two.
constexpr uint64_t kShortAnswer = 256;

double times(uint64_t from, uint64_t to) { return static_cast<double>(to) / static_cast<double>(from); }

/// What may come of growing from one size to the next, where what does not grow was taken off. Names that begin to mean
/// something are answered at more length: that may cost in proportion.
double allowed(double growth, const Figures& first, const Figures& from, const Figures& to) {
  const uint64_t least = std::min({first.told, from.told, to.told});
  const double answered = times(from.told - least + kShortAnswer, to.told - least + kShortAnswer);
  return std::pow(growth, std::log2(std::max(times(from.size, to.size), answered)));
}

bool is_alike(const Figures& a, const Figures& b) { return a.is_taken == b.is_taken && a.refusal == b.refusal; }

/// Links are between two GPUs of a node.
double growth_of(const std::string& field) {
  return field == "register_node.topology.gpus" ? kMostGrowthOfPairs : kMostGrowth;
}

std::string growth_fault(double growth, const std::vector<Figures>& series, uint64_t Figures::*work, const char* what) {
  const Figures& last = series.back();
  const auto first = std::find_if(series.begin(), series.end(), [&](const Figures& f) { return is_alike(f, last); });
  if (series.end() - first < 3) return {};
  const Figures& before = *(series.end() - 2);
  if (!is_alike(before, last) || before.size < kApart * first->size) return {};
  const uint64_t fixed = std::min({(*first).*work, before.*work, last.*work});
  const uint64_t small = before.*work - fixed, large = last.*work - fixed;
  if (large < kNoise) return {};
  const double factor = times(std::max(small, kNoise / 4), large), most = allowed(growth, *first, before, last);
  if (factor <= most) return {};
  char text[200];
  std::snprintf(text, sizeof text, "%s grows %.2f times from size %llu to %llu; %.2f would be in proportion", what,
                factor, static_cast<unsigned long long>(before.size), static_cast<unsigned long long>(last.size), most);
  return text;
}

std::string kept_fault(int64_t kept, uint64_t most, const char* where) {
  if (kept <= static_cast<int64_t>(most)) return {};
  return std::string(where) + " keeps " + std::to_string(kept) + " bytes of it; at most " + std::to_string(most);
}

}  // namespace

std::string fault_of(const std::string& field, const std::vector<Figures>& series, const Figures& example) {
  const Figures& last = series.back();
  if (!last.fault.empty()) return last.fault;
  if (std::string why = growth_fault(growth_of(field), series, &Figures::work, "the work"); !why.empty()) return why;
  if (std::string why = growth_fault(growth_of(field), series, &Figures::pass, "the pass"); !why.empty()) return why;
  if (!last.is_taken) return kept_fault(std::max(last.held, last.rows), kKeptAtAll, "a refusal");
  const bool has_pairs = growth_of(field) > kMostGrowth;
  const uint64_t most =
      kMostKept * last.bytes + kKeptEntry * last.entries * (has_pairs ? last.entries : 1) + kKeptAtAll;
  if (std::string why = kept_fault(last.held - example.held, most, "memory"); !why.empty()) return why;
  return kept_fault(last.rows - example.rows, most, "the store");
}

}  // namespace gw::cost
