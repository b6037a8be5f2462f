// See grounds.h.
#include "sched/quota/grounds.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/qos.h"

namespace gw::sched {
namespace {

QosStood stood(const Quotas& after, uint32_t qos, const std::vector<const QuotaLedger::Holder*>& gone) {
  const QuotaTree& tree = after.tree();
  QosStood out{tree.words(qos), after.tally().counted[qos][kGpu], after.shares().guaranteed[qos][kGpu],
               after.shares().fair[qos][kGpu]};
  for (const QuotaLedger::Holder* holder : gone)
    if (!holder->is_leaving && tree.common(holder->leaf, qos) == qos) out.held += holder->amounts[kGpu];
  return out;
}

std::string gpus(uint64_t milli) { return model::format_amount("gpu", milli); }

std::string standing(const QosStood& qos) {
  return fmt::format("{} held {} gpu, guaranteed {}, fair share {}", qos.name, gpus(qos.held), gpus(qos.guaranteed),
                     gpus(qos.fair));
}

std::string reason(const Ground& ground, int rule) {
  switch (rule) {
    case 5:
      if (ground.by == Reclaim::kGuaranteed)
        return "rule 5: with the job the one stayed within its guarantee, and the other was above its own";
      if (ground.by == Reclaim::kFairShare)
        return "rule 5: with the job the one stayed within its fair share, and the other was above its own and further "
               "than it";
      return "rule 5: cores and memory of GPUs that the one is guaranteed were lent";
    case 6:
      return "rule 6: preempt_children is on above both, and the job is of that QOS itself";
    case 7:
      return fmt::format("rule 7: of one QOS, with the submitted priority {} over {}", ground.priority,
                         ground.victim_priority);
    default:
      return "the order of their QOS ranks it first";
  }
}

}  // namespace

Ground ground_of(const Quotas& after, const Taking& taking, const std::vector<const QuotaLedger::Holder*>& gone,
                 const QuotaLedger::Holder& victim, int64_t victim_priority) {
  const QuotaTree& tree = after.tree();
  Ground out{taking.amounts[kGpu]};
  out.priority = taking.priority;
  out.victim_priority = victim_priority;
  const uint32_t parting = tree.common(victim.leaf, taking.leaf);
  const bool is_same = victim.leaf == taking.leaf;
  const uint32_t own = is_same ? taking.leaf : tree.towards(parting, taking.leaf);
  const uint32_t from = is_same ? taking.leaf : tree.towards(parting, victim.leaf);
  out.own = stood(after, own, gone);
  out.from = stood(after, from, gone);
  if (is_same) return out;
  const auto is_by = [&](Reclaim by) {
    return after.stays_within(own, taking.amounts, by) &&
           after.would_be_above(from, own, taking.amounts, by, victim.amounts);
  };
  if (is_by(Reclaim::kGuaranteed))
    out.by = Reclaim::kGuaranteed;
  else if (victim.amounts[kGpu] > 0 || is_by(Reclaim::kFairShare))
    out.by = Reclaim::kFairShare;
  return out;
}

std::string words(const Ground& ground, int rule) {
  const std::string own = standing(ground.own);
  const std::string both = ground.own == ground.from ? own : own + "; " + standing(ground.from);
  return fmt::format("it asked for {} gpu; {}; {}", gpus(ground.asked), both, reason(ground, rule));
}

std::optional<Borrowing> borrowing_of(const Quotas& before, uint32_t leaf, const Quantities& amounts) {
  const QuotaTree& tree = before.tree();
  const uint64_t asked = amounts[kGpu];
  uint32_t at = kNoQos;
  uint64_t most = 0;
  for (uint32_t q = leaf; q != 0 && q != kNoQos; q = tree.qos(q).parent) {
    if (!tree.qos(q).has_line[kGpu]) continue;
    const uint64_t with = before.tally().counted[q][kGpu] + asked, due = before.shares().guaranteed[q][kGpu];
    const uint64_t beyond = std::min(asked, with - std::min(with, due));
    if (beyond > most) at = q, most = beyond;
  }
  if (at == kNoQos) return std::nullopt;
  return Borrowing{tree.words(at), most};
}

}  // namespace gw::sched
