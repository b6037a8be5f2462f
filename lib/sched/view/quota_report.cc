// See quota_report.h.
#include "sched/view/quota_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "sched/view/labels.h"

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

QuotaReport report_quotas(const ClusterView& view, bool counts_jobs) {
  const Quotas quotas(view.quota());
  const size_t size = quotas.tree().nodes().size();
  QuotaReport report{quotas.tree(), quotas.shares(), quotas.tally(), {}, {}, {}, {}, {}, {}, {}};
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
  Labels labels(view);
  Covers& covers = labels.covers();
  for (uint32_t s = 0; s < size; ++s) {
    report.covered.push_back(covers.guaranteed.covered(s));
    if (covers.fair) report.fair_covered.push_back(covers.fair->covered(s));
  }
  if (counts_jobs) count_jobs(view, report);
  return report;
}

namespace {

/// As many GPUs as the QOS `from` holds, less what waits at `leaf`: who wants nothing is due nothing of a surplus, and
/// the question is what a job would get.
Quantities wish_of(const QuotaLedger& ledger, uint32_t leaf, uint32_t from) {
  const uint64_t most = ledger.tally().counted[from][kGpu], waits = ledger.waiting()[leaf][kGpu];
  Quantities out = ledger.tree().none();
  out[kGpu] = (most - std::min(most, waits) + model::kWholeGpu - 1) / model::kWholeGpu * model::kWholeGpu;
  return out;
}

/// Asks the rules, by the judgement of the victim search, on behalf of a job that wants ever more GPUs.
class Explainer {
 public:
  Explainer(const ClusterView& view, uint32_t preemptor, uint32_t from, Time now, size_t most_tried)
      : view_(view),
        most_tried_(most_tried),
        now_(now),
        labels_(view, preemptor, wish_of(view.quota(), preemptor, from)),
        quotas_(labels_.quotas()),
        tree_(quotas_.tree()),
        from_(from),
        parting_(tree_.common(preemptor, from)),
        asking_{preemptor, wanted(model::kWholeGpu), 0, view.policy().reclaim, false},
        permission_(quotas_, asking_, labels_.covers()) {}

  TakeVerdict run() {
    if (const auto why = hopeless()) return verdict(*why);
    own_ = tree_.towards(parting_, asking_.leaf);
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

  /// Who would go, together, and whether what is covered would be kept: walked for once, when it is asked.
  struct Gone {
    std::vector<const Candidate*> candidates;
    std::set<JobId> parts;
    std::optional<bool> keeps, keeps_fair = std::nullopt;
  };

  static constexpr size_t kMostListed = 20;
  const ClusterView& view_;
  const size_t most_tried_;
  const Time now_;
  Labels labels_;
  const Quotas& quotas_;
  const QuotaTree& tree_;
  const uint32_t from_, parting_;
  Preemptor asking_;  // with ever other amounts
  Permission permission_;
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
    if (asking_.leaf == from_)
      return Why{7,
                 "both are one QOS: inside it only a strictly higher submitted priority takes, where "
                 "scheduler.preempt is on, and not to come from within the guarantee or fair share to beyond it"};
    // The root as a leaf has no children; anything else parts somewhere below it.
    if (parting_ == asking_.leaf || parting_ == from_) return Why{5, "one of them is the other's"};
    if (view_.policy().reclaim == Reclaim::kNone)
      return Why{5, "scheduler.reclaim is none: nobody takes from another QOS"};
    return std::nullopt;
  }

  std::string standing_of(uint32_t qos) const {
    const Shares& shares = quotas_.shares();
    return fmt::format("{}: holds {} gpu, guaranteed {}, fair share {} with the job", tree_.words(qos),
                       gpus(quotas_.tally().counted[qos][kGpu]), gpus(shares.guaranteed[qos][kGpu]),
                       gpus(shares.fair[qos][kGpu]));
  }

  /// How far beyond what it is due somebody is left alone; empty: not at all.
  std::string with_dead_zone() const {
    const uint32_t milli = quotas_.shares().dead_zone_milli;
    return milli == 0 ? std::string()
                      : fmt::format(" with {:g} % more, the dead zone of scheduler.share", milli / 10.0);
  }

  void say_standing() {
    out_.lines.push_back(fmt::format("their paths part at {}", tree_.words(parting_)));
    out_.lines.push_back(standing_of(own_));
    out_.lines.push_back(standing_of(other_));
  }

  /// Takes one running job after the other, as a job that asks for as many GPUs as they hold would.
  void take() {
    const std::vector<Victim> all = labels_.victims(from_, now_);
    std::vector<const Victim*> order;
    for (const bool borrowed : {true, false})
      for (const Victim& v : all)
        if (v.all[kGpu] > 0 && permission_.is_borrowed(v.candidate) == borrowed) order.push_back(&v);
    say_labels(order);
    if (order.size() > most_tried_) order.resize(most_tried_);
    Gone gone;
    Quotas after = quotas_;
    uint64_t held = 0;
    for (const Victim* v : order) {
      Gone more = {gone.candidates, gone.parts, std::nullopt};
      more.candidates.push_back(&v->candidate);
      more.parts.insert(v->parts.begin(), v->parts.end());
      after.stop(v->candidate.leaf, v->all, true);
      const uint64_t most = most_for(after, more, held + v->all[kGpu]);
      if (most <= out_.gpu_milli) {
        after.start(v->candidate.leaf, v->all, true);
        continue;
      }
      if (!out_.may) say_permit(permit_of(after, more));
      out_.may = true;
      out_.gpu_milli = most;
      held += v->all[kGpu];
      gone = std::move(more);
    }
  }

  bool is_allowed(const Quotas& after, Gone& gone, uint64_t milli, Reclaim mode) {
    asking_.amounts = wanted(milli);
    asking_.reclaim = mode;
    if (after.limit_in_way(asking_.leaf, asking_.amounts, kNobody)) return false;
    const Grounds grounds = permission_.grounds(after, gone.candidates);
    if (grounds.by_children || !grounds.any()) return grounds.any();
    if (!gone.keeps)
      gone.keeps =
          permission_.leaves_enough(gone.candidates) && labels_.covers().guaranteed.keeps_amounts(other_, gone.parts);
    if (!*gone.keeps || grounds.by_guarantee || !labels_.covers().fair) return *gone.keeps;
    if (!gone.keeps_fair) gone.keeps_fair = labels_.covers().fair->keeps_amounts(other_, gone.parts);
    return *gone.keeps_fair;
  }

  /// The most GPUs, in whole ones or all, that a job could ask for in their place.
  uint64_t most_for(const Quotas& after, Gone& gone, uint64_t held) {
    const Reclaim reclaim = view_.policy().reclaim;
    if (is_allowed(after, gone, held, reclaim)) return held;
    uint64_t least = 0, most = (held + model::kWholeGpu - 1) / model::kWholeGpu;  // allowed, and not
    while (most - least > 1) {
      const uint64_t middle = (least + most) / 2;
      (is_allowed(after, gone, middle * model::kWholeGpu, reclaim) ? least : most) = middle;
    }
    return least * model::kWholeGpu;
  }

  Permit permit_of(const Quotas& after, Gone& gone) {
    if (tree_.qos(parting_).preempt_children && tree_.qos(own_).is_own) return {6, Reclaim::kNone};
    const uint64_t least = std::min<uint64_t>(model::kWholeGpu, gone.candidates.front()->amounts[kGpu]);
    return {5, is_allowed(after, gone, least, Reclaim::kGuaranteed) ? Reclaim::kGuaranteed : Reclaim::kFairShare};
  }

  /// Which of its jobs are borrowed, and at which QOS first.
  void say_labels(const std::vector<const Victim*>& victims) {
    for (size_t i = 0; i < victims.size() && i < kMostListed; ++i) {
      const Candidate& c = victims[i]->candidate;
      const uint32_t at = labels_.first_borrowed(labels_.covers().guaranteed, c.job, c.leaf);
      const std::string label = at == kNoQos ? "covered" : "borrowed at " + tree_.words(at);
      const bool goes_first = permission_.is_borrowed(c);
      const JobId shown = view_.running().at(c.job)->suspended;
      out_.lines.push_back(fmt::format("job {}: {} gpu, {}{}", (shown ? shown : c.job).value,
                                       gpus(victims[i]->all[kGpu]), label,
                                       at != kNoQos && !goes_first ? ", covered at a QOS above that" : ""));
    }
    if (victims.size() > kMostListed)
      out_.lines.push_back(fmt::format("and {} more jobs", victims.size() - kMostListed));
    if (victims.size() > most_tried_)
      out_.lines.push_back(fmt::format("only the first {} of its jobs are looked at", most_tried_));
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
    if (const auto limit = quotas_.limit_in_way(asking_.leaf, one, kNobody))
      return verdict({5, fmt::format("the limit of {} is reached: {} {}", tree_.words(limit->qos),
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
    const bool by_fair = view_.policy().reclaim == Reclaim::kFairShare;
    const Reclaim by = by_fair ? Reclaim::kFairShare : Reclaim::kGuaranteed;
    const std::string_view line = by_fair ? "fair share" : "guarantee";
    if (!quotas_.stays_within(own_, one, by))
      return verdict({5, fmt::format("with one GPU more {} would be beyond its {}", tree_.words(own_), line)});
    if (!quotas_.is_above(other_, own_, one, by))
      return verdict({5, fmt::format("{} is not above its {}{}", tree_.words(other_), line, with_dead_zone())});
    if (!quotas_.may_take(asking_.leaf, one, other_, view_.policy().reclaim))
      return verdict({5, fmt::format("with the job {} would hold a larger part of its fair share than {}",
                                     tree_.words(own_), tree_.words(other_))});
    if (labels_.victims(from_, now_).empty() && !labels_.victims(from_, Time::never()).empty())
      return verdict({8, fmt::format("all jobs of {} that can be preempted are within min_runtime of their start",
                                     tree_.words(from_))});
    return verdict(
        {8, fmt::format("none of its jobs that can be preempted may go: {} would hold or have covered less than "
                        "it is due",
                        tree_.words(other_))});
  }
};

}  // namespace

TakeVerdict explain_taking(const ClusterView& view, const std::string& preemptor, const std::string& from, Time now,
                           size_t most_tried) {
  const QuotaTree& tree = view.quota().tree();
  const auto bare = [](const std::string& qos) { return qos == model::kRootQos ? std::string() : qos; };
  // From an inner QOS means from all that is below it.
  const uint32_t taken = tree.find(bare(from)).value_or(0);
  const uint32_t own = tree.leaf_of(bare(preemptor));
  const bool is_above = tree.common(own, taken) == taken;
  return Explainer(view, own, is_above ? tree.leaf_of(bare(from)) : taken, now, most_tried).run();
}

}  // namespace gw::sched
