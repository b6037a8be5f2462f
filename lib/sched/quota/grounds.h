// What a preemption was decided by, and what a job borrows that starts: the figures of that moment, for histories that
// are read when nothing stands as it stood. Invariant: nothing here decides; amounts are thousandths of a GPU.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/quota/quota.h"

namespace gw::sched {

/// How a QOS stood.
struct QosStood {
  std::string name;  ///< With what it is: "QOS team-a", "the cluster".
  uint64_t held = 0;
  uint64_t guaranteed = 0;
  uint64_t fair = 0;
  bool operator==(const QosStood&) const = default;
};

/// What a preemption was decided by.
struct Ground {
  uint64_t asked = 0;
  QosStood own = {};   ///< The own side: where the paths part, towards the preemptor. By rule 7 the QOS of both.
  QosStood from = {};  ///< The other side, before anybody was told to go.
  Reclaim by = Reclaim::kNone;  ///< Of rule 5: by which comparison; kNone: cores of guaranteed GPUs were lent.
  int64_t priority = 0;         ///< As submitted.
  int64_t victim_priority = 0;
  bool is_extension = false;  ///< The victim is what an elastic gang has beyond its smallest size.
  bool operator==(const Ground&) const = default;
};

/// Who takes what.
struct Taking {
  uint32_t leaf = 0;
  const Quantities& amounts;
  int64_t priority = 0;
  Reclaim policy = Reclaim::kFairShare;
};

/// Those who go for one job, together.
class Exchange {
 public:
  /// `after`: with those who are `gone`, each once, no longer counted, and not yet the job. Both outlive this.
  Exchange(const Quotas& after, const Taking& taking, const std::vector<const QuotaLedger::Holder*>& gone);
  /// Why that one of them goes; its priority and what it is the caller adds.
  Ground ground(const QuotaLedger::Holder& victim) const;

 private:
  const Quotas& after_;
  const Taking& taking_;
  std::unordered_map<uint32_t, uint64_t> gone_;  // by QOS: GPUs of those who are

  QosStood stood(uint32_t qos) const;
  Reclaim comparison(uint32_t own, uint32_t from, const Quantities& victim) const;
};

/// "it asked for 8 gpu; QOS team-a held ...", for the history of both; `rule` as Preempt::rule.
std::string words(const Ground& ground, int rule);

/// What a job has beyond a guarantee above it.
struct Borrowing {
  std::string from_beyond;  ///< With what it is, as QosStood::name.
  uint64_t gpu_milli = 0;
  bool operator==(const Borrowing&) const = default;
};

/// Of a job that is about to start there: at the QOS where it borrows most, of several the nearest to it. nullopt: it
/// is within all guarantees, or asks for no GPU.
std::optional<Borrowing> borrowing_of(const Quotas& before, uint32_t leaf, const Quantities& amounts);

}  // namespace gw::sched
