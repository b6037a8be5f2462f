// Rate model `interleave`: jobs that share a GPU go through their stages (storage, cores, GPU, network) in turns, one
// stage apart, so that they use different things at a time; an iteration of all together takes as long as the slowest
// stage of each turn, added up. As `scaling` by size. Jobs whose stages are not known slow nobody down, and are not
// slowed down. Source: multi-resource interleaving of Zhao et al., "Multi-Resource Interleaving for Deep Learning
// Training" (Muri), SIGCOMM 2022, section 4.1, with the best order of those that share.
#include <numeric>

#include "plugins/rate/support.h"

namespace gw::sched {
namespace {

constexpr size_t kStages = std::tuple_size_v<Stages>;

double sum(const Stages& stages) { return std::accumulate(stages.begin(), stages.end(), 0.0); }

/// How long an iteration of all takes, each so many stages behind the first.
double together(const std::vector<const Stages*>& all, const std::array<size_t, kStages>& behind) {
  double time = 0;
  for (size_t turn = 0; turn < kStages; ++turn) {
    double slowest = 0;
    for (size_t i = 0; i < all.size(); ++i) slowest = std::max(slowest, (*all[i])[(turn + behind[i]) % kStages]);
    time += slowest;
  }
  return time;
}

class Interleave final : public RateModel {
 public:
  std::string_view name() const override { return "interleave"; }
  double rate(const RateFacts& job, const std::vector<RateFacts>& beside) const override {
    const double by_size = rate_by_size(job), alone = sum(job.stages);
    std::vector<const Stages*> all;
    for (const RateFacts& other : beside)
      if (sum(other.stages) > 0) all.push_back(&other.stages);
    if (!(alone > 0) || all.empty()) return by_size;
    if (all.size() >= kStages) {  // more than there are stages: everything is in somebody's way
      double total = alone;
      for (const Stages* other : all) total += sum(*other);
      return by_size * alone / total;
    }
    all.push_back(&job.stages);
    std::array<size_t, kStages> behind;
    std::iota(behind.begin(), behind.end(), size_t{0});
    double best = together(all, behind);
    while (std::next_permutation(behind.begin(), behind.end())) best = std::min(best, together(all, behind));
    return by_size * alone / best;
  }
};

}  // namespace
}  // namespace gw::sched

GW_RATE_PLUGIN(interleave, (gw::base::make_without_weights<gw::sched::RateModel, gw::sched::Interleave>))
