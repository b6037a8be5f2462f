// Order `time_slice`: the jobs of a partition take turns. Next is who waits longest, since it was submitted or since
// its last turn ended, and at the end of a quantum whoever runs makes room for it: it is suspended, keeps its memory,
// and resumes when its turn has come again. Source: suspend-resume of Xiao et al., "Gandiva: Introspective Cluster
// Scheduling for Deep Learning", OSDI 2018, section 3.1.
#include "plugins/order/support.h"

namespace gw::sched {
namespace {

class TimeSlice final : public Order {
 public:
  std::string_view name() const override { return "time_slice"; }
  /// Of those that run, whose turn began first is the first to yield.
  double score(const JobFacts& facts, const OrderContext&) const override {
    return facts.is_running ? turn_began(facts) : -key(facts);
  }
  double key(const JobFacts& facts) const override { return static_cast<double>(facts.since.us); }
  bool is_preemptive() const override { return true; }
  bool suspends() const override { return true; }
  Yields yields(const JobFacts& running, const JobFacts& waiting) const override {
    return running.job.priority <= waiting.job.priority ? Yields::kAtQuantum : Yields::kNo;
  }

 private:
  /// Suspended and resumed, its service counts from then on.
  static double turn_began(const JobFacts& facts) {
    return static_cast<double>(std::max(facts.since, facts.job.counted_at).us);
  }
};

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(time_slice, gw::sched::make_plain<gw::sched::TimeSlice>)
