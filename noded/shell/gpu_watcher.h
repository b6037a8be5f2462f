// Looks at the GPUs of this machine, for accounting and for who asks what runs use now.
// Invariants: the loop never waits for a vendor's library; it is open only while somebody wants looks, since an open
// one keeps administrators from resetting a GPU.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/loop.h"
#include "noded/core/gpu_watch.h"
#include "noded/shell/worker.h"
#include "topo/gpu_sampler.h"

namespace gw::noded {

class GpuWatcher {
 public:
  /// `files`: device files of the GPUs and their numbers on the node; without any nothing is looked at.
  GpuWatcher(io::Loop& loop, std::map<std::string, uint32_t> files,
             std::vector<std::string> libraries = topo::kNvmlNames, base::Duration every = kGpuLookEvery)
      : loop_(loop), files_(std::move(files)), libraries_(std::move(libraries)), every_(every) {}

  bool has_gpus() const { return !files_.empty(); }
  /// Calls `then` in the loop with what they do now.
  void look(std::function<void(const GpuLooks&)> then);
  /// Looks in that rhythm while `wants` says so.
  void watch(std::function<bool()> wants, std::function<void(const GpuLooks&)> then);

 private:
  io::Loop& loop_;
  std::map<std::string, uint32_t> files_;
  std::vector<std::string> libraries_;
  base::Duration every_;
  /// What is in it the thread alone uses, which may outlive this.
  std::shared_ptr<std::unique_ptr<topo::GpuSampler>> sampler_ = std::make_shared<std::unique_ptr<topo::GpuSampler>>();
  Worker thread_;
  io::Timer next_;
  bool is_looking_ = false, is_open_ = false;
};

}  // namespace gw::noded
