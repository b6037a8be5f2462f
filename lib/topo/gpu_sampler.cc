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

}  // namespace

struct GpuSampler::Nvml {
  explicit Nvml(const std::vector<std::string>& libraries) : library(libraries) {}

  Library library;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, NvmlDevice**) = nullptr;
  int (*minor)(NvmlDevice*, unsigned*) = nullptr;
  int (*memory)(NvmlDevice*, NvmlMemory*) = nullptr;
  int (*utilization)(NvmlDevice*, NvmlUtilization*) = nullptr;

  bool bind() {
    return library.find(init, "nvmlInit_v2") && library.find(shutdown, "nvmlShutdown") &&
           library.find(count, "nvmlDeviceGetCount_v2") && library.find(handle, "nvmlDeviceGetHandleByIndex_v2") &&
           library.find(minor, "nvmlDeviceGetMinorNumber") && library.find(memory, "nvmlDeviceGetMemoryInfo") &&
           library.find(utilization, "nvmlDeviceGetUtilizationRates");
  }
};

GpuSampler::GpuSampler(const std::vector<std::string>& libraries) : nvml_(std::make_unique<Nvml>(libraries)) {
  if (!nvml_->library.is_open() || !nvml_->bind() || nvml_->init() != kOk) nvml_.reset();
}

GpuSampler::~GpuSampler() {
  if (nvml_ != nullptr) nvml_->shutdown();
}

std::map<std::string, GpuSample> GpuSampler::sample() const {
  std::map<std::string, GpuSample> found;
  unsigned count = 0;
  if (nvml_ == nullptr || nvml_->count(&count) != kOk) return found;
  for (unsigned i = 0; i < std::min(count, kMostGpus); ++i) {
    NvmlDevice* device = nullptr;
    unsigned minor = 0;
    NvmlMemory memory{};
    NvmlUtilization busy{};
    if (nvml_->handle(i, &device) != kOk || nvml_->minor(device, &minor) != kOk) continue;
    // A GPU that is divided into parts tells of no utilization.
    if (nvml_->memory(device, &memory) != kOk || nvml_->utilization(device, &busy) != kOk) continue;
    found["/dev/nvidia" + std::to_string(minor)] = {std::min(busy.gpu, 100U), memory.used};
  }
  return found;
}

}  // namespace gw::topo
