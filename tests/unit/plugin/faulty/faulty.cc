// A plug-in with one fault, which the build chooses.
#include <cmath>

#include "sched/queue/order.h"

namespace {

class Plain final : public gw::sched::Order {
 public:
  std::string_view name() const override { return "plain"; }
  double score(const gw::sched::JobFacts&, const gw::sched::OrderContext&) const override { return 0; }
};

#if defined(GW_NO_NUMBER)
class NoNumber final : public gw::sched::Order {
 public:
  std::string_view name() const override { return "no_number"; }
  double score(const gw::sched::JobFacts& facts, const gw::sched::OrderContext&) const override {
    return facts.asked > 32 ? std::nan("") : 0;
  }
};
[[maybe_unused]] constexpr gw::sched::OrderPlugin kPlugin{
    {gw::sched::kOrderInterface, GW_ORDER_BUILD_HASH, "no_number", "1"}, gw::sched::make_plain<NoNumber>};
#elif defined(GW_OLD_INTERFACE)
[[maybe_unused]] constexpr gw::sched::OrderPlugin kPlugin{
    {gw::sched::kOrderInterface - 1, GW_ORDER_BUILD_HASH, "old_interface", "1"}, gw::sched::make_plain<Plain>};
#elif defined(GW_OTHER_BUILD)
[[maybe_unused]] constexpr gw::sched::OrderPlugin kPlugin{
    {gw::sched::kOrderInterface, "0123456789abcdef", "other_build", "1"}, gw::sched::make_plain<Plain>};
#else
[[maybe_unused]] constexpr gw::sched::OrderPlugin kPlugin{
    {gw::sched::kOrderInterface, GW_ORDER_BUILD_HASH, "plain", "1"}, gw::sched::make_plain<Plain>};
#endif

}  // namespace

#if defined(GW_NO_FACTORY)
extern "C" __attribute__((visibility("default"))) const void* gangway_other_plugin() { return &kPlugin; }
#elif defined(GW_NO_PLUGIN)
extern "C" __attribute__((visibility("default"))) const gw::base::PluginFacts* gangway_order_plugin() {
  return nullptr;
}
#else
extern "C" __attribute__((visibility("default"))) const gw::base::PluginFacts* gangway_order_plugin() {
  return &kPlugin;
}
#endif
