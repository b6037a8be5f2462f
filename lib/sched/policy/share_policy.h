// The `share` kind of plug-in: how what is left of a QOS, once each of those below it has what it is guaranteed and
// wants, is divided among them; and how far beyond that somebody is left alone. The scheduler's own policies are
// written against this header too. Combining rule: one policy is in force for the whole tree (scheduler.share). Above
// it stand rule 2's first half (what is guaranteed and wanted is given first, to everybody), limits, and rules 4 to 8
// (who may take from whom, which this only makes rarer). Contract: a pure function of its arguments; nobody gets more
// than it wants, all together no more than there is. What does not keep to that is refused by check_share(), and where
// it happens none the less the amount is divided by weight.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/plugin.h"
#include "base/time.h"

namespace gw::sched {

using base::Duration;
using base::Weights;

/// Counts up with each change of this header or of what it shows.
constexpr uint32_t kShareInterface = 1;

/// One of those below a QOS among whom one resource is divided, in whole units (GPUs; thousandths of them where parts
/// are asked for; bytes of memory in MiB, threads).
struct Side {
  uint64_t guaranteed = 0;
  uint64_t wants = 0;    ///< Beyond what it has of its guarantee; never beyond its limit.
  uint32_t weight = 1;   ///< 0: it has no claim.
  int64_t priority = 0;  ///< Higher first.
  uint64_t used = 0;     ///< Before, in GPU-seconds, faded; 0 where that does not count.
  uint64_t gets = 0;     ///< What the policy says.
};

/// How much is taken from others in a time.
struct TakingRounds {
  Duration length = {};  ///< Rounds begin at whole multiples of it; zero: there is no bound.
  double part = 1;       ///< Once others gave up so much of the cluster's GPUs in a round, nobody else does in it.
};

class SharePolicy {
 public:
  virtual ~SharePolicy() = default;
  virtual std::string_view name() const = 0;
  /// Sets `gets` of each. `past_strength`: how much `used` counts (weigh_past()).
  virtual void divide(uint64_t amount, std::vector<Side>& sides, uint64_t past_strength) const = 0;
  /// Who holds no more than so many thousandths beyond what it is due is not above it, so that nobody takes from it
  /// (rule 5).
  virtual uint32_t dead_zone_milli() const { return 0; }
  virtual TakingRounds rounds() const { return {}; }
};

using SharePlugin = base::Plugin<SharePolicy>;
/// Name of the function that a plug-in exports.
constexpr const char* kShareFactory = "gangway_share_plugin";

/// A policy of the configuration, with what a snapshot tells of it.
struct ChosenShare {
  std::string name;  ///< Empty: by_weight.
  Weights weights = {};
  std::string version = {};  ///< Of its plug-in; empty: the program's own.
  std::shared_ptr<const SharePolicy> policy = {};
};

/// Makes a policy of a name: make_share(), or the loader of plug-ins.
using MakeShare =
    std::function<base::Result<std::shared_ptr<const SharePolicy>>(std::string_view name, const Weights& weights)>;

/// The policies that come with the scheduler (those of plugins/share), without loading a file. Errors: unknown name
/// (with "did you mean"), unknown weight.
base::Result<std::shared_ptr<const SharePolicy>> make_share(std::string_view name, const Weights& weights = {});
/// Names that make_share() knows.
std::vector<std::string> share_names();
/// The one that is in force where nothing is configured.
const std::shared_ptr<const SharePolicy>& share_by_weight();

/// Divides by a policy, and by weight where the policy does not keep to its contract.
void divide_by(const SharePolicy& policy, uint64_t amount, std::vector<Side>& sides, uint64_t past_strength);

/// What a policy does that it must not, each kind once, with an example, found on made-up sides: it gives more than
/// there is or than somebody wants, other amounts for the same arguments, or has a dead zone or rounds without sense.
/// Empty: nothing was found. For tests of policies, and for `gctld --check`.
std::vector<std::string> check_share(const SharePolicy& policy);

}  // namespace gw::sched

#define GW_SHARE_PLUGIN(plugin_name, make_it) \
  GW_PLUGIN_OF(share, ::gw::sched::SharePolicy, ::gw::sched::kShareInterface, GW_SHARE_BUILD_HASH, plugin_name, make_it)
