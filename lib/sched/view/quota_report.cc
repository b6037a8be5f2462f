// See quota_report.h.
#include "sched/view/quota_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace gw::sched {
namespace {

constexpr uint32_t kNobody = UINT32_MAX;

/// The QOS that have some of it, the most first.
std::vector<uint32_t> by_amount(const QuotaTree& tree, uint32_t parent, size_t resource,
                                const std::vector<Quantities>& amounts) {
  std::vector<uint32_t> out;
  for (uint32_t qos : tree.qos(parent).children)
    if (amounts[qos][resource] > 0) out.push_back(qos);
  std::stable_sort(out.begin(), out.end(),
                   [&](uint32_t a, uint32_t b) { return amounts[a][resource] > amounts[b][resource]; });
  return out;
}

void count_jobs(const ClusterView& view, QuotaReport& report) {
  const auto count = [&](std::vector<uint32_t>& table, uint32_t leaf) {
    for (uint32_t s = leaf; s != kNoQos; s = report.tree.qos(s).parent) ++table[s];
  };
  for (const auto& [id, holder] : view.quota().holders()) count(report.running, holder.leaf);
  for (const auto& [key, job_class] : view.queue().classes())
    for (const auto& [rank, job] : job_class.members) count(report.waiting, report.tree.leaf_of(job.qos));
}

}  // namespace

std::vector<Loan> loans_below(const QuotaTree& tree, uint32_t parent, size_t resource,
                              const std::vector<Quantities>& borrowed, const std::vector<Quantities>& spare) {
  std::vector<Loan> out;
  const std::vector<uint32_t> lenders = by_amount(tree, parent, resource, spare);
  std::vector<Quantities> left = spare;
  for (uint32_t borrower : by_amount(tree, parent, resource, borrowed)) {
    uint64_t wanted = borrowed[borrower][resource];
    for (uint32_t lender : lenders) {
      const uint64_t amount = std::min(wanted, left[lender][resource]);
      if (amount == 0) continue;
      left[lender][resource] -= amount;
      wanted -= amount;
      out.push_back({resource, lender, borrower, amount});
    }
  }
  return out;
}

QuotaReport report_quotas(const ClusterView& view) {
  const Quotas quotas(view.quota());
  const size_t size = quotas.tree().nodes().size();
  QuotaReport report{quotas.tree(), quotas.shares(), quotas.tally(), {}, {}, {}, {}, {}};
  report.borrowed.assign(size, report.tree.none());
  report.lent = report.borrowed;
  report.running.assign(size, 0);
  report.waiting.assign(size, 0);
  std::vector<Quantities> spare = report.borrowed;
  for (uint32_t s = 1; s < size; ++s) {
    for (size_t r = 0; r < report.tree.width(); ++r) {
      if (!report.tree.qos(s).has_line[r]) continue;
      const uint64_t has = report.tally.counted[s][r], due = report.shares.guaranteed[s][r];
      report.borrowed[s][r] = has - std::min(has, due);
      spare[s][r] = due - std::min(has, due);
    }
  }
  for (uint32_t s = 0; s < size; ++s)
    for (size_t r = 0; r < report.tree.width(); ++r)
      for (const Loan& loan : loans_below(report.tree, s, r, report.borrowed, spare)) {
        report.lent[loan.from][r] += loan.amount;
        report.loans.push_back(loan);
      }
  count_jobs(view, report);
  return report;
}

namespace {

/// What is there, with jobs of `qos` waiting for as much as the QOS `from` holds: who wants nothing is due nothing of
/// a surplus, and the question is what a job would get.
QuotaLedger with_wish(const QuotaLedger& ledger, const std::string& qos, uint32_t from) {
  QuotaLedger out = ledger;
  PendingJob wish;
  wish.qos = qos;
  wish.request.cpus_per_task = 0;
  wish.request.gpu_counting = model::GpuCounting::kPerJob;
  wish.request.gpus = 1;
  const uint32_t leaf = out.tree().leaf_of(qos);
  const uint64_t most = out.tally().counted[from][kGpu];
  for (uint64_t milli = out.waiting()[leaf][kGpu]; milli < most; milli += model::kWholeGpu) out.add_waiting(wish);
  return out;
}

/// Asks the rules on behalf of a job that wants ever more GPUs, and takes them one by one.
class Explainer {
 public:
  Explainer(const ClusterView& view, const std::string& qos, uint32_t preemptor, uint32_t from)
      : ledger_(with_wish(view.quota(), qos, from)),
        quotas_(ledger_),
        tree_(quotas_.tree()),
        reclaim_(view.policy().reclaim),
        preemptor_(preemptor),
        from_(from),
        parting_(tree_.common(preemptor, from)) {}

  TakeVerdict run() {
    if (const auto why = hopeless()) return verdict(*why);
    own_ = tree_.towards(parting_, preemptor_);
    other_ = tree_.towards(parting_, from_);
    say_standing();
    take();
    if (out_.may) {
      out_.lines.push_back(fmt::format("it may take {} gpu", gpus(out_.gpu_milli)));
      return std::move(out_);
    }
    return why_not();
  }

 private:
  struct Why {
    int rule;
    std::string text;
  };

  const QuotaLedger ledger_;
  Quotas quotas_;
  const QuotaTree& tree_;
  const Reclaim reclaim_;
  const uint32_t preemptor_, from_, parting_;
  uint32_t own_ = 0, other_ = 0;
  TakeVerdict out_;

  static std::string gpus(uint64_t milli) { return model::format_amount("gpu", milli); }
  Quantities wanted(uint64_t milli) const {
    Quantities out = tree_.none();
    out[kGpu] = milli;
    return out;
  }

  TakeVerdict verdict(Why why) {
    out_.rule = why.rule;
    out_.lines.push_back(std::move(why.text));
    return std::move(out_);
  }

  std::optional<Why> hopeless() const {
    if (preemptor_ == from_)
      return Why{7,
                 "both are one QOS: inside it only a strictly higher submitted priority takes, where "
                 "scheduler.preempt is on, and not to come from within the guarantee or fair share to beyond it"};
    // The root as a leaf has no children; anything else parts somewhere below it.
    if (parting_ == preemptor_ || parting_ == from_) return Why{5, "one of them is the other's"};
    if (reclaim_ == Reclaim::kNone) return Why{5, "scheduler.reclaim is none: nobody takes from another QOS"};
    return std::nullopt;
  }

  std::string standing_of(uint32_t qos) const {
    const Shares& shares = quotas_.shares();
    return fmt::format("{}: holds {} gpu, guaranteed {}, fair share {} with the job", tree_.words(qos),
                       gpus(quotas_.tally().counted[qos][kGpu]), gpus(shares.guaranteed[qos][kGpu]),
                       gpus(shares.fair[qos][kGpu]));
  }

  void say_standing() {
    out_.lines.push_back(fmt::format("their paths part at {}", tree_.words(parting_)));
    out_.lines.push_back(standing_of(own_));
    out_.lines.push_back(standing_of(other_));
  }

  /// One GPU after the other, as a job that asks for all of them would.
  void take() {
    uint64_t most = quotas_.tally().counted[from_][kGpu];
    Quotas trial = quotas_;
    for (uint64_t milli = model::kWholeGpu; milli <= most + model::kWholeGpu - 1; milli += model::kWholeGpu) {
      const auto permit = trial.may_take(preemptor_, wanted(milli), other_, reclaim_);
      if (!permit || trial.limit_in_way(preemptor_, wanted(milli), kNobody)) break;
      const uint64_t part = std::min<uint64_t>(model::kWholeGpu, most - out_.gpu_milli);
      trial.stop(from_, wanted(part), true, kNobody);
      if (!out_.may) say_permit(*permit);
      out_.may = true;
      out_.gpu_milli += part;
    }
  }

  void say_permit(const Permit& permit) {
    out_.rule = permit.rule;
    if (permit.rule == 6)
      out_.lines.push_back(fmt::format("rule 6: preempt_children is on at {}", tree_.words(parting_)));
    else if (permit.by == Reclaim::kGuaranteed)
      out_.lines.push_back("rule 5: with the job the one stays within its guarantee, and the other is above its own");
    else
      out_.lines.push_back(
          "rule 5: with the job the one stays within its fair share, and the other is above its own and further than "
          "it");
  }

  TakeVerdict why_not() {
    const Quantities one = wanted(model::kWholeGpu);
    if (const auto limit = quotas_.limit_in_way(preemptor_, one, kNobody))
      return verdict({5, fmt::format("the limit of {} is reached: {} {}", tree_.words(limit->side),
                                     model::format_amount(tree_.resources()[limit->resource], limit->bound),
                                     tree_.resources()[limit->resource])});
    if (tree_.qos(parting_).preempt_children && tree_.qos(other_).is_own)
      return verdict({6, fmt::format("preempt_children is on at {}: its own jobs are preempted for nobody below it",
                                     tree_.words(parting_))});
    if (tree_.qos(own_).is_own && parting_ != 0 && !tree_.qos(parting_).preempt_children)
      out_.lines.push_back(
          fmt::format("preempt_children is off at {}: its own jobs take by rule 5 only", tree_.words(parting_)));
    if (quotas_.tally().counted[from_][kGpu] == 0)
      return verdict({5, fmt::format("{} holds nothing", tree_.words(from_))});
    const bool by_fair = reclaim_ == Reclaim::kFairShare;
    const Reclaim by = by_fair ? Reclaim::kFairShare : Reclaim::kGuaranteed;
    const std::string_view line = by_fair ? "fair share" : "guarantee";
    if (!quotas_.stays_within(own_, one, by))
      return verdict({5, fmt::format("with one GPU more {} would be beyond its {}", tree_.words(own_), line)});
    if (!quotas_.is_above(other_, own_, one, by))
      return verdict({5, fmt::format("{} is not above its {}", tree_.words(other_), line)});
    return verdict({5, fmt::format("with the job {} would hold a larger part of its fair share than {}",
                                   tree_.words(own_), tree_.words(other_))});
  }
};

}  // namespace

TakeVerdict explain_taking(const ClusterView& view, const std::string& preemptor, const std::string& from) {
  const QuotaTree& tree = view.quota().tree();
  const auto bare = [](const std::string& qos) { return qos == model::kRootQos ? std::string() : qos; };
  // From an inner QOS means from all that is below it.
  const uint32_t taken = tree.find(bare(from)).value_or(0);
  const uint32_t own = tree.leaf_of(bare(preemptor));
  const bool is_above = tree.common(own, taken) == taken;
  return Explainer(view, bare(preemptor), own, is_above ? tree.leaf_of(bare(from)) : taken).run();
}

}  // namespace gw::sched
