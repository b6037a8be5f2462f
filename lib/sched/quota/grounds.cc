// See grounds.h.
#include "sched/quota/grounds.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/qos.h"

namespace gw::sched {
namespace {

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
      return ground.is_extension ? "what an elastic job has beyond its smallest size gives way to jobs of its QOS"
                                 : "the order of the queue ranks it first";
  }
}

}  // namespace

Exchange::Exchange(const Quotas& after, const Taking& taking, const std::vector<const QuotaLedger::Holder*>& gone)
    : after_(after), taking_(taking) {
  for (const QuotaLedger::Holder* holder : gone)
    for (uint32_t q = holder->leaf; q != kNoQos; q = after.tree().qos(q).parent) gone_[q] += holder->amounts[kGpu];
}

QosStood Exchange::stood(uint32_t qos) const {
  const auto gone = gone_.find(qos);
  return {after_.tree().words(qos), after_.tally().counted[qos][kGpu] + (gone == gone_.end() ? 0 : gone->second),
          after_.shares().guaranteed[qos][kGpu], after_.shares().fair[qos][kGpu]};
}

/// By the guarantee wherever that is enough; the fair share alone decides where the policy has it.
Reclaim Exchange::comparison(uint32_t own, uint32_t from, const Quantities& victim) const {
  const auto is_by = [&](Reclaim by) {
    return after_.stays_within(own, taking_.amounts, by) &&
           after_.is_beyond_due(from, own, taking_.amounts, by, victim, true);
  };
  if (is_by(Reclaim::kGuaranteed)) return Reclaim::kGuaranteed;
  if (taking_.policy == Reclaim::kFairShare && (victim[kGpu] > 0 || is_by(Reclaim::kFairShare)))
    return Reclaim::kFairShare;
  return victim[kGpu] > 0 ? Reclaim::kGuaranteed : Reclaim::kNone;
}

Ground Exchange::ground(const QuotaLedger::Holder& victim) const {
  const QuotaTree& tree = after_.tree();
  Ground out{taking_.amounts[kGpu]};
  out.priority = taking_.priority;
  if (victim.leaf == taking_.leaf) {
    out.own = out.from = stood(victim.leaf);
    return out;
  }
  const uint32_t parting = tree.common(victim.leaf, taking_.leaf);
  const uint32_t own = tree.towards(parting, taking_.leaf), from = tree.towards(parting, victim.leaf);
  out.own = stood(own);
  out.from = stood(from);
  out.by = comparison(own, from, victim.amounts);
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
