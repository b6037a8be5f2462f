// What the tree of quotas looks like now, for people: who holds, borrows and lends how much, from whom to whom, and
// whether one may take from another.
// Invariant: below one QOS what is borrowed and has a lender is what is lent.
#pragma once

#include <string>
#include <vector>

#include "sched/view/view.h"

namespace gw::sched {

/// Of a lender's guarantee so much is used by the borrower, which stands beside it.
struct Loan {
  size_t resource = 0;
  uint32_t from = 0;
  uint32_t to = 0;
  uint64_t amount = 0;
  bool operator==(const Loan&) const = default;
};

struct QuotaReport {
  QuotaTree tree;
  Shares shares;
  Tally tally;
  std::vector<Quantities> borrowed;  ///< By QOS: counted beyond what is guaranteed, where there is a line.
  std::vector<Quantities> lent;
  /// Held by jobs that are covered as a whole: by the guarantees, and by the fair shares (empty where those do not
  /// count).
  std::vector<Quantities> covered, fair_covered;
  std::vector<Loan> loans;
  std::vector<uint32_t> running, waiting;  ///< Jobs by QOS, with those below, if they are counted.
};
QuotaReport report_quotas(const ClusterView& view, bool counts_jobs = true);

/// Who lends what to whom below `parent`: lenders with most to spare first, borrowers with most borrowed first; ties by
/// name.
std::vector<Loan> loans_below(const QuotaTree& tree, uint32_t parent, size_t resource,
                              const std::vector<Quantities>& borrowed, const std::vector<Quantities>& spare);

/// May a job at one QOS take GPUs from another, one running job after the other, and how many? At least so many: a set
/// of which no part may go alone is not found, nor one beyond the first `most_tried` jobs, borrowed ones first.
struct TakeVerdict {
  bool may = false;
  int rule = 0;            ///< That allows it, or stands in the way.
  uint64_t gpu_milli = 0;  ///< How much it may take now.
  std::vector<std::string> lines;
};
constexpr size_t kMostTried = 256;
TakeVerdict explain_taking(const ClusterView& view, const std::string& preemptor, const std::string& from, Time now,
                           size_t most_tried = kMostTried);

}  // namespace gw::sched
