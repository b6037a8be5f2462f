// See gpu_watcher.h.
#include "noded/shell/gpu_watcher.h"

#include <utility>

namespace gw::noded {

void GpuWatcher::look(std::function<void(const GpuLooks&)> then) {
  is_open_ = true;
  thread_.submit([sampler = sampler_, libraries = libraries_, files = files_, then = std::move(then),
                  poster = loop_.poster()]() mutable {
    if (!*sampler) *sampler = std::make_unique<topo::GpuSampler>(libraries);
    GpuLooks looks;
    for (const auto& [file, use] : (*sampler)->sample())
      if (const auto mine = files.find(file); mine != files.end()) looks[mine->second] = {use.busy_percent, use.mem};
    if (looks.empty()) sampler->reset();  // it may have failed: the next look opens it anew
    poster.post([then = std::move(then), looks = std::move(looks)] { then(looks); });
  });
}

void GpuWatcher::watch(std::function<bool()> wants, std::function<void(const GpuLooks&)> then) {
  if (!has_gpus()) return;
  next_ = loop_.after(every_, [this, wants = std::move(wants), then = std::move(then)] {
    if (is_looking_) {
      // The library takes long: one look at a time.
    } else if (wants()) {
      is_looking_ = true;
      look([this, then](const GpuLooks& looks) {
        is_looking_ = false;
        then(looks);
      });
    } else if (std::exchange(is_open_, false)) {
      thread_.submit([sampler = sampler_] { sampler->reset(); });
    }
    watch(wants, then);
  });
}

}  // namespace gw::noded
