// See quota_path.h.
#include "sched/view/quota_path.h"

#include <algorithm>

namespace gw::sched {
namespace {

std::string name_of(const QuotaTree& tree, uint32_t qos) {
  // An implicit child is what runs at its QOS itself.
  const std::string& name = tree.qos(tree.qos(qos).is_own ? tree.qos(qos).parent : qos).name;
  return name.empty() ? std::string(model::kRootQos) : name;
}

uint64_t lent_by(const QuotaReport& report, uint32_t from, uint32_t to) {
  uint64_t sum = 0;
  for (const Loan& loan : report.loans)
    if (loan.resource == kGpu && loan.from == from && loan.to == to) sum += loan.amount;
  return sum;
}

/// Those beside a QOS of the path that hold more than they are due.
void add_holders(const QuotaReport& report, uint32_t on_path, bool by_fair, std::vector<QuotaHolder>& out) {
  const QuotaTree& tree = report.tree;
  for (const uint32_t qos : tree.qos(tree.qos(on_path).parent).children) {
    const uint64_t held = report.tally.counted[qos][kGpu];
    const uint64_t due = std::max(report.shares.guaranteed[qos][kGpu], by_fair ? report.shares.fair[qos][kGpu] : 0);
    if (qos == on_path || held <= due) continue;
    out.push_back(
        {name_of(tree, qos), name_of(tree, on_path), held, held - due, lent_by(report, on_path, qos), TakeVerdict{}});
  }
}

}  // namespace

QuotaPath quota_path_of(const ClusterView& view, const PendingJob& job, Time now) {
  QuotaPath out;
  const QuotaTree& tree = view.quota().tree();
  out.asked = tree.count(job)[kGpu];
  if (tree.is_flat() || out.asked == 0) return out;
  const uint32_t leaf = tree.leaf_of(job.qos);
  if (tree.qos(leaf).parent == kNoQos || (tree.qos(leaf).is_own && tree.qos(leaf).parent == 0)) return out;
  const QuotaReport report = report_quotas(view, /*counts_jobs=*/false);
  const bool by_fair = view.policy().reclaim == Reclaim::kFairShare;
  for (uint32_t qos = leaf; tree.qos(qos).parent != kNoQos; qos = tree.qos(qos).parent) {
    add_holders(report, qos, by_fair, out.holders);
    if (tree.qos(qos).is_own) continue;  // what it holds counts at its QOS
    const QosNode& node = tree.qos(qos);
    out.steps.push_back({node.name, report.tally.counted[qos][kGpu], report.shares.guaranteed[qos][kGpu],
                         report.shares.fair[qos][kGpu], node.limit[kGpu]});
  }
  std::stable_sort(out.holders.begin(), out.holders.end(),
                   [](const QuotaHolder& a, const QuotaHolder& b) { return a.beyond > b.beyond; });
  if (out.holders.size() > kMostHolders) out.holders.resize(kMostHolders);
  for (QuotaHolder& holder : out.holders) holder.verdict = explain_taking(view, job.qos, holder.name, now, kMostAsked);
  return out;
}

}  // namespace gw::sched
