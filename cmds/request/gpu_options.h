// GPU options of gbatch: --gpus, --gpus-per-node, --gpus-per-task, --gres=gpu..., and what several of them mean
// together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/request.h"

namespace gw::cmds {

/// "4", "h100:4", "h100" (one).
struct GpuSpec {
  bool given = false;
  uint32_t count = 0;
  std::string type;
  uint32_t milli = model::kWholeGpu;  ///< Thousandths of each; less than a whole one from --gres=shard only.
  bool by_gres = false;               ///< --gres said it: another --gres says all of it anew.
};
/// What --gres says: of GPUs (nullopt: nothing), and of all else.
struct GresAsked {
  std::optional<GpuSpec> gpus;
  model::Gres others;
};

/// Reads [TYPE:]COUNT. Errors: several types, a negative or overlong number.
base::Result<GpuSpec> parse_gpu_spec(std::string_view text, std::string_view option);
/// Reads --gres: "gpu", "gpu:2", "gpu:h100:2", "gres/gpu:2", "gres/gpu=2", "none"; and "shard:250", "shard:h100:250":
/// so many thousandths of one GPU; beside these what model::parse_gres() reads. Errors: both at once; shards that are
/// none or a whole GPU; GPUs twice; what is no generic resource.
base::Result<GresAsked> parse_gres_option(std::string_view text);

/// What was asked for in each way.
struct GpuOptions {
  GpuSpec total, per_node, per_task;
  GpuSpec per_socket;
  uint32_t sockets_per_node = 0;  ///< 0: not given, here and below.
  uint32_t tasks_per_gpu = 0;
};
/// Puts them into the request as one way of counting; two of them may fix the number of nodes or tasks, as in Slurm.
/// Errors: numbers that do not divide, three ways at once, different types, shards beside whole GPUs.
base::Status apply_gpus(const GpuOptions& gpus, model::Request& request);

}  // namespace gw::cmds
