// Order `themis`: whoever ends latest, by the time that it would take with its GPUs to itself (finish-time fairness),
// is next. Time goes in leases. At the end of each the worst-off bid for all GPUs whose lease is over, whether they
// wait or run (auction.h); who has won takes those of who has not, and pays by the length of its next lease. Source:
// Mahajan et al., "Themis: Fair and Efficient GPU Cluster Scheduling", NSDI 2020, sections 4 and 5.
#include <map>

#include "plugins/order/auction.h"
#include "plugins/order/finish_time.h"
#include "plugins/order/support.h"

namespace gw::sched {
namespace {

GW_PLUGIN_WEIGHTS(themis, "lease_minutes", "fairness")

const Weights kDefaults = {{"lease_minutes", 20}, {"fairness", 0.8}};
constexpr size_t kMostBids = 64;

struct Awards final : Survey {
  std::map<JobId, double> part_of;  // a lease that whoever won keeps
};

class Themis final : public Order {
 public:
  explicit Themis(const Weights& weights)
      : times_(weight_of(weights, kDefaults, "lease_minutes")),
        fairness_(std::clamp(weight_of(weights, kDefaults, "fairness"), 0.0, 1.0)) {}
  std::string_view name() const override { return "themis"; }
  double score(const JobFacts& facts, const OrderContext&) const override {
    return (has_lease(facts) ? 1e9 : 0) + times_.rho(facts);
  }
  double key(const JobFacts& facts) const override { return -times_.rho(facts); }
  Needs needs() const override { return {.durations = true, .survey = true}; }
  bool is_preemptive() const override { return true; }
  Time next_change(const JobFacts& facts) const override {
    const Time pays = facts.is_running ? paid_until(facts) : Time{};
    return pays > facts.now ? pays : times_.lease_start(facts.now) + times_.lease();
  }
  /// Who runs in a lease that it began keeps it whole. After that it goes for a winner unless it has won itself, and
  /// once its part of that is over also for whoever is worse off.
  Yields yields(const JobFacts& running, const JobFacts& waiting) const override {
    if (running.job.priority != waiting.job.priority)
      return running.job.priority < waiting.job.priority ? Yields::kNow : Yields::kNo;
    const bool is_asked = times_.is_bidder(running) && times_.is_bidder(waiting) && !has_lease(running);
    if (!is_asked || (part(running) == 0 && part(waiting) == 0)) return Yields::kNo;
    return score(running, {}) < score(waiting, {}) ? Yields::kNow : Yields::kNo;
  }

  /// All who stood there when the lease began are ranked, so that each pass in it comes to the same; who has begun to
  /// run or to wait in it bids no more.
  std::shared_ptr<const Survey> survey(const std::vector<Contender>& all, uint64_t offered) const override {
    std::vector<const Contender*> stood;
    for (const Contender& c : all) {
      if (c.gpu_milli > 0 && times_.stood(c.facts)) stood.push_back(&c);
      if (c.facts.is_running && !times_.is_bidder(c.facts)) offered -= std::min(offered, c.gpu_milli);
    }
    std::sort(stood.begin(), stood.end(), [this](const Contender* a, const Contender* b) {
      return std::pair(-times_.rho(a->facts), a->facts.job.id) < std::pair(-times_.rho(b->facts), b->facts.job.id);
    });
    const auto worst = static_cast<size_t>(std::ceil((1 - fairness_) * static_cast<double>(stood.size())));
    stood.resize(std::min({stood.size(), std::max<size_t>(worst, 1), kMostBids}));
    std::erase_if(stood, [this](const Contender* c) { return !times_.is_bidder(c->facts); });
    std::vector<Bid> bids;
    for (const Contender* c : stood)
      bids.push_back({c->gpu_milli, std::log1p(base::in_seconds(times_.lease()) / times_.end_of(c->facts))});
    auto out = std::make_shared<Awards>();
    const std::vector<Award> awards = Auction(bids, offered).awards();
    for (size_t i = 0; i < awards.size(); ++i)
      if (awards[i].has_won) out->part_of[stood[i]->facts.job.id] = awards[i].part;
    return out;
  }

 private:
  const FinishTimes times_;
  const double fairness_;

  /// What it has won of a lease; 0: nothing.
  static double part(const JobFacts& facts) {
    const auto* awards = static_cast<const Awards*>(facts.survey);
    return awards != nullptr && awards->part_of.contains(facts.job.id) ? awards->part_of.at(facts.job.id) : 0;
  }
  bool has_lease(const JobFacts& facts) const {
    return part(facts) > 0 && (!facts.is_running || facts.now < paid_until(facts));
  }
  Time paid_until(const JobFacts& facts) const {
    return times_.lease_start(facts.now) +
           Duration{static_cast<int64_t>(part(facts) * static_cast<double>(times_.lease().us))};
  }
};

base::Result<std::shared_ptr<const Order>> make_themis(const Weights& weights) {
  GW_TRY_STATUS(check_weights(weights, themis_plugin::kWeightNames));
  return std::make_shared<const Themis>(weights);
}

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(themis, gw::sched::make_themis)
