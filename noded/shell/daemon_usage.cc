// The node daemon's shell: what runs use, looked at where a shepherd cannot.
// Invariants: nothing here waits in the loop; the number of looks under way is bounded, and what there is no time for
// is told without figures.
#include <algorithm>

#include "base/bitset.h"
#include "noded/shell/daemon.h"
#include "noded/step/contain/contain_spec.h"
#include "noded/step/contain/plugin_loader.h"
#include "noded/step/tasks/step_usage.h"
#include "topo/gpu_sampler.h"

namespace gw::noded {
namespace {

constexpr size_t kMostAtOnce = 64;

wire::NodeToController message_of(wire::Usage told) {
  wire::NodeToController message;
  *message.mutable_usage() = std::move(told);
  return message;
}

}  // namespace

/// Device files of these GPUs ("0-3") and their numbers on the node. None on emulated nodes: their GPUs are not those
/// of the machine.
std::map<std::string, uint32_t> Daemon::gpu_files(const std::string& gpus) const {
  std::map<std::string, uint32_t> files;
  const auto indices = base::IndexSet::parse(gpus);
  if (!indices || setup_.node.is_emulated) return files;
  const auto& all = setup_.node.topology.gpus();
  for (int i = 0; i < all.size(); ++i)
    if (indices->contains(static_cast<uint32_t>(i)))
      for (const std::string& file : all[i].devices()) files[file] = static_cast<uint32_t>(i);
  return files;
}

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
  auto files = gpu_files(effect.gpus);
  if (files.empty() || measuring_ >= kMostAtOnce) return controller_.send(message_of(effect.told));
  ++measuring_;
  gpus_.submit([this, told = effect.told, files = std::move(files), poster = loop_.poster()]() mutable {
    for (const auto& [file, use] : topo::sample_gpus()) {
      const auto mine = files.find(file);
      if (mine == files.end()) continue;
      wire::GpuUsage& gpu = *told.mutable_usage()->add_gpus();
      gpu.set_index(mine->second);
      gpu.set_busy_percent(use.busy_percent);
      gpu.set_mem(use.mem);
    }
    poster.post([this, told = std::move(told)]() mutable {
      --measuring_;
      controller_.send(message_of(std::move(told)));
    });
  });
}

}  // namespace gw::noded
