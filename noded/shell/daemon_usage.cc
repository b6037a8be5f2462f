// The node daemon's shell: what runs use, looked at where a shepherd cannot.
// Invariants: nothing here waits in the loop; the number of looks under way is bounded, and what there is no time for
// is told without figures.
#include <algorithm>
#include <utility>

#include "base/bitset.h"
#include "noded/shell/daemon.h"
#include "noded/step/contain/contain_spec.h"
#include "noded/step/contain/plugin_loader.h"
#include "noded/step/tasks/step_usage.h"

namespace gw::noded {
namespace {

constexpr size_t kMostAtOnce = 64;

wire::NodeToController message_of(wire::Usage told) {
  wire::NodeToController message;
  *message.mutable_usage() = std::move(told);
  return message;
}

}  // namespace

void Daemon::handle(const MeasureShare& effect) {
  if (measuring_ >= kMostAtOnce) return controller_.send(message_of(effect.told));
  ++measuring_;
  containment_.submit(
      [this, effect = MeasureShare(effect), poster = loop_.poster(), dir = setup_.plugin_dir]() mutable {
        if (const auto contain = step::make_containment(dir, effect.containment.kind())) {
          (*contain)->attach(step::contain_spec(effect.containment));
          wire::NodeUsage& usage = *effect.told.mutable_usage();
          usage = step::usage_of((*contain)->members());
          usage.set_peak_mem(std::max(usage.peak_mem(), (*contain)->memory_use().peak_mb << 20));
        }
        poster.post([this, effect = std::move(effect)]() mutable {
          --measuring_;
          handle(MeasureGpus{std::move(effect.told), std::move(effect.gpus)});
        });
      });
}

void Daemon::handle(const MeasureGpus& effect) {
  const auto gpus = base::IndexSet::parse(effect.gpus);
  if (!gpus || gpus->empty() || !gpus_.has_gpus() || measuring_ >= kMostAtOnce)
    return controller_.send(message_of(effect.told));
  ++measuring_;
  gpus_.look([this, told = effect.told, gpus = *gpus](const GpuLooks& looks) mutable {
    --measuring_;
    for (const auto& [index, look] : looks) {
      if (!gpus.contains(index)) continue;
      wire::GpuUsage& gpu = *told.mutable_usage()->add_gpus();
      gpu.set_index(index);
      gpu.set_busy_percent(look.busy_percent);
      gpu.set_mem(look.mem);
    }
    controller_.send(message_of(std::move(told)));
  });
}

}  // namespace gw::noded
