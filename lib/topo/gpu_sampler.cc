// The prototypes below are the stable C interface of libnvidia-ml.so.1, as far as it is used.
#include "topo/gpu_sampler.h"

#include <algorithm>

#include "topo/gres_internal.h"

namespace gw::topo {
namespace {

struct NvmlDevice;  // opaque
struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlUtilization {
  unsigned gpu, memory;  // per cent of the last sample period
};
constexpr int kOk = 0;
constexpr unsigned kMostGpus = 1024;

struct Nvml {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, NvmlDevice**) = nullptr;
  int (*minor)(NvmlDevice*, unsigned*) = nullptr;
  int (*memory)(NvmlDevice*, NvmlMemory*) = nullptr;
  int (*utilization)(NvmlDevice*, NvmlUtilization*) = nullptr;

  bool bind(const Library& lib) {
    return lib.find(init, "nvmlInit_v2") && lib.find(shutdown, "nvmlShutdown") &&
           lib.find(count, "nvmlDeviceGetCount_v2") && lib.find(handle, "nvmlDeviceGetHandleByIndex_v2") &&
           lib.find(minor, "nvmlDeviceGetMinorNumber") && lib.find(memory, "nvmlDeviceGetMemoryInfo") &&
           lib.find(utilization, "nvmlDeviceGetUtilizationRates");
  }
};

}  // namespace

std::map<std::string, GpuSample> sample_gpus(const std::vector<std::string>& libraries) {
  std::map<std::string, GpuSample> found;
  const Library library(libraries);
  Nvml nvml;
  if (!library.is_open() || !nvml.bind(library) || nvml.init() != kOk) return found;
  unsigned count = 0;
  if (nvml.count(&count) != kOk) count = 0;
  for (unsigned i = 0; i < std::min(count, kMostGpus); ++i) {
    NvmlDevice* device = nullptr;
    unsigned minor = 0;
    NvmlMemory memory{};
    NvmlUtilization busy{};
    if (nvml.handle(i, &device) != kOk || nvml.minor(device, &minor) != kOk) continue;
    // A GPU that is divided into parts tells of no utilization.
    if (nvml.memory(device, &memory) != kOk || nvml.utilization(device, &busy) != kOk) continue;
    found["/dev/nvidia" + std::to_string(minor)] = {std::min(busy.gpu, 100U), memory.used};
  }
  nvml.shutdown();
  return found;
}

}  // namespace gw::topo
