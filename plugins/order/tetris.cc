// Order `tetris`: packs several resources. Next is whose demand goes best with what is free (the dot product of both
// over GPUs, threads and memory), less for what it still needs in all: multi-resource packing, and shortest remaining
// work. Who is among the worst-off users goes first. With `nodes` it takes the node whose free resources its demand
// goes best with. Source: Grandl, Ananthanarayanan, Kandula, Rao and Akella, "Multi-resource Packing for Cluster
// Schedulers" (Tetris), SIGCOMM 2014, sections 3.2 to 3.4.
#include <cmath>
#include <limits>

#include "plugins/order/support.h"

namespace gw::sched {
namespace {

GW_PLUGIN_WEIGHTS(tetris, "remaining", "fairness", "nodes")

const Weights kDefaults = {{"remaining", 1}, {"fairness", 0.25}, {"nodes", 0}};
constexpr double kMost = 1e3;  // times the mean; as much is what remains of who does not say

/// Of those who wait. Of the work the geometric one: a few jobs that run for months would hide all the others.
struct Means final : Survey {
  double alignment = 1, work = 3600;
  double share = std::numeric_limits<double>::infinity();  // whose user holds more is not among the worst-off
};

class Tetris final : public Order, public NodeScore {
 public:
  explicit Tetris(const Weights& weights)
      : remaining_(std::max(weight_of(weights, kDefaults, "remaining"), 0.0)),
        fairness_(std::clamp(weight_of(weights, kDefaults, "fairness"), 0.0, 1.0)),
        chooses_nodes_(weight_of(weights, kDefaults, "nodes") != 0) {}
  std::string_view name() const override { return "tetris"; }
  double score(const JobFacts& facts, const OrderContext&) const override {
    static const Means kUnknown;
    const Means& means = facts.survey == nullptr ? kUnknown : static_cast<const Means&>(*facts.survey);
    const double alignment = std::min(dot(facts.demand, facts.free) / means.alignment, kMost);
    const double efficiency = alignment - remaining_ * std::min(work(facts) / means.work, kMost);
    return facts.dominant_share <= means.share ? efficiency + 2 * kMost * (1 + remaining_) : efficiency;
  }
  /// In a class all demand the same.
  double key(const JobFacts& facts) const override { return remaining_seconds(facts); }
  Needs needs() const override { return {.durations = true, .holdings = true, .parts = true, .survey = true}; }

  std::shared_ptr<const Survey> survey(const std::vector<Contender>& all, uint64_t) const override {
    auto out = std::make_shared<Means>();
    double jobs = 0, alignment = 0, known = 0, sum = 0;
    std::vector<std::pair<double, double>> shares;
    for (const auto& [facts, alike, milli] : all) {
      if (facts.is_running) continue;
      const auto n = static_cast<double>(alike);
      jobs += n;
      alignment += n * dot(facts.demand, facts.free);
      if (facts.remaining != base::kUnlimited) known += n, sum += n * std::log(std::max(work(facts), 1e-9));
      shares.emplace_back(facts.dominant_share, n);
    }
    if (alignment > 0) out->alignment = alignment / jobs;
    if (known > 0) out->work = std::exp(sum / known);
    std::sort(shares.begin(), shares.end());
    double counted = 0;
    for (const auto& [share, n] : shares) {
      if (counted >= (1 - fairness_) * jobs) break;
      counted += n;
      out->share = share;
    }
    return out;
  }

  const NodeScore* nodes() const override { return chooses_nodes_ ? this : nullptr; }
  /// By their direction alone: by their size, too, the emptiest node would be taken, and none kept for a wide job.
  double node_score(const NodeOffer& offer) const override {
    const double size = std::sqrt(dot(offer.free, offer.free));
    return size > 0 ? dot(offer.asked, offer.free) / size : 0;
  }

 private:
  double remaining_, fairness_;
  bool chooses_nodes_;

  /// Parts of the partition multiplied by seconds.
  static double work(const JobFacts& facts) { return facts.demand.sum() * remaining_seconds(facts); }
};

base::Result<std::shared_ptr<const Order>> make_tetris(const Weights& weights) {
  GW_TRY_STATUS(check_weights(weights, tetris_plugin::kWeightNames));
  return std::make_shared<const Tetris>(weights);
}

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(tetris, gw::sched::make_tetris)
