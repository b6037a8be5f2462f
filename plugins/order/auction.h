// A partial allocation auction of GPUs among gangs, each of which runs whole or not at all. Those run for which the
// product of what everybody gets, against getting nothing, is largest (proportional fairness, Nash's bargaining
// solution), and each pays by a part of what it won, as much as it kept from the others: so who bids more than is true
// gains nothing. Source: the partial allocation mechanism of Cole, Gkatzelis and Goel, "Mechanism Design for Fair
// Division", EC 2013, section 4, as Mahajan et al., "Themis: Fair and Efficient GPU Cluster Scheduling", NSDI 2020,
// section 5.1, hold it for GPUs. What is said of gangs there is divided; here a gang keeps its GPUs, and pays in time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace gw::sched {

struct Bid {
  uint64_t gpu_milli = 0;  ///< Thousandths of GPUs that it needs, all of them.
  double gain = 0;         ///< Natural logarithm of how many times better it is to have them; not negative.
};

struct Award {
  bool has_won = false;
  double part = 0;  ///< Of what it won, which is left to it: in (0, 1].
};

/// By dynamic programming over what is offered in units of which each bid needs a whole number. Exact up to kUnits of
/// them; of more each is several, and what a bid needs is rounded up. Costs bids times units.
class Auction {
 public:
  static constexpr uint64_t kUnits = 2'048;

  Auction(const std::vector<Bid>& bids, uint64_t offered) : n_(bids.size()) {
    uint64_t unit = 0;
    for (const Bid& bid : bids) unit = std::gcd(unit, bid.gpu_milli);
    unit = std::max({unit, uint64_t{1}, (offered + kUnits - 1) / kUnits});
    units_ = offered / unit;
    for (const Bid& bid : bids) {
      sizes_.push_back(bid.gpu_milli / unit + (bid.gpu_milli % unit != 0));
      gains_.push_back(std::isfinite(bid.gain) ? std::max(bid.gain, 0.0) : 0.0);
    }
    before_ = table(false);
    after_ = table(true);
  }

  std::vector<Award> awards() const {
    std::vector<Award> out(n_);
    const double all = best(before_, n_, units_);
    size_t left = units_;
    for (size_t i = n_; i-- > 0;)  // from the last back: it won if without it less would be had
      if (sizes_[i] <= left && best(before_, i, left - sizes_[i]) + gains_[i] > best(before_, i, left)) {
        out[i] = {true, std::exp(std::min(0.0, all - gains_[i] - best_without(i)))};
        left -= sizes_[i];
      }
    return out;
  }

 private:
  const size_t n_;
  size_t units_ = 0;
  std::vector<size_t> sizes_;
  std::vector<double> gains_;
  std::vector<double> before_, after_;  // the most that the first k bids, or those from k on, gain with u units

  double best(const std::vector<double>& table, size_t k, size_t units) const {
    return table[k * (units_ + 1) + units];
  }

  std::vector<double> table(bool is_backward) const {
    std::vector<double> out((n_ + 1) * (units_ + 1), 0.0);
    for (size_t step = 0; step < n_; ++step) {
      const size_t bid = is_backward ? n_ - 1 - step : step;
      const size_t from = is_backward ? bid + 1 : bid, to = is_backward ? bid : bid + 1;
      for (size_t u = 0; u <= units_; ++u) {
        const double without = best(out, from, u);
        const double with = u >= sizes_[bid] ? best(out, from, u - sizes_[bid]) + gains_[bid] : 0.0;
        out[to * (units_ + 1) + u] = std::max(without, with);
      }
    }
    return out;
  }

  double best_without(size_t bid) const {
    double most = 0;
    for (size_t u = 0; u <= units_; ++u)
      most = std::max(most, best(before_, bid, u) + best(after_, bid + 1, units_ - u));
    return most;
  }
};

}  // namespace gw::sched
