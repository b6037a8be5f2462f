// How a waiting job stands in the tree of quotas, for people: each QOS from its own up to the root with what it holds
// and is due, and who beside that path holds more than it is due, of whom the job could take, or why not. Invariant:
// the verdicts are those of explain_taking(), by the rules of docs/quotas.md. GPUs alone are told of, since they alone
// are taken back.
#pragma once

#include "sched/view/quota_report.h"

namespace gw::sched {

/// Amounts are thousandths of GPUs.
struct QuotaStep {
  std::string name;  ///< Of the QOS; "cluster": the root.
  uint64_t held = 0, guaranteed = 0, fair = 0;
  uint64_t limit = kNoLimit;
  bool operator==(const QuotaStep&) const = default;
};

struct QuotaHolder {
  std::string name;
  std::string beside;  ///< The QOS of the path that it shares a parent with.
  uint64_t held = 0;
  uint64_t beyond =
      0;  ///< Of it, more than its fair share, or its guarantee where that alone counts (scheduler.reclaim).
  uint64_t lent = 0;    ///< Of that, lent by `beside`.
  TakeVerdict verdict;  ///< May the job's QOS take from it now?
};

struct QuotaPath {
  uint64_t asked = 0;                ///< By the job.
  std::vector<QuotaStep> steps;      ///< From its QOS up, without the root. Empty: it is at no QOS, or asks for no GPU.
  std::vector<QuotaHolder> holders;  ///< Those with most beyond first, kMostHolders at most.
};
constexpr size_t kMostHolders = 3;
constexpr size_t kMostAsked = 16;  ///< Jobs of each that a verdict looks at.

QuotaPath quota_path_of(const ClusterView& view, const PendingJob& job, Time now);

}  // namespace gw::sched
