// A stand-in for libnvidia-ml.so.1 that answers for the GPUs of the generated machine "l40s" (8 GPUs, no links in
// hwloc). FAKE_NVML in the environment picks what it plays: "" two NVLink-bridged pairs and one GPU that fell off the
// bus; "switch" all GPUs on switches; "init" a driver that does not start.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct Memory {
  unsigned long long total, free, used;
};
struct Device {
  unsigned index;
};

constexpr unsigned kBus[] = {0x13, 0x14, 0x33, 0x34, 0x53, 0x54, 0x73, 0x99};
Device devices[] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};

std::string_view mode() {
  const char* text = std::getenv("FAKE_NVML");
  return text != nullptr ? text : "";
}

void fill(PciInfo* pci, unsigned index) {
  std::memset(pci, 0, sizeof *pci);
  pci->bus = kBus[index];
  pci->pci_device_id = 0x26b910de;
  std::snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", kBus[index]);
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return mode() == "init" ? 9 : 0; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int code) { return code == 9 ? "Driver Not Loaded" : "Unknown Error"; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 8;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device** out) {
  if (index == 6 && mode().empty()) return 15;
  *out = &devices[index];
  return 0;
}
int nvmlDeviceGetPciInfo_v3(Device* device, PciInfo* pci) {
  fill(pci, device->index);
  return 0;
}
int nvmlDeviceGetUUID(Device* device, char* text, unsigned length) {
  std::snprintf(text, length, "GPU-11111111-2222-3333-4444-00000000000%u", device->index);
  return 0;
}
int nvmlDeviceGetName(Device*, char* text, unsigned length) {
  std::snprintf(text, length, "NVIDIA A100-SXM4-80GB");
  return 0;
}
int nvmlDeviceGetMemoryInfo(Device*, Memory* memory) {
  *memory = {80ULL << 30, 0, 5ULL << 30};
  return 0;
}
struct Utilization {
  unsigned gpu, memory;
};
int nvmlDeviceGetUtilizationRates(Device* device, Utilization* busy) {
  *busy = {10 * device->index, 1};
  return device->index == 3 ? 3 : 0;
}
// Minor numbers run against the order on the bus, as they may.
int nvmlDeviceGetMinorNumber(Device* device, unsigned* minor) {
  *minor = 7 - device->index;
  return 0;
}
int nvmlDeviceGetNvLinkState(Device* device, unsigned link, unsigned* active) {
  if (link >= 12) return 2;
  *active = mode() == "switch" || device->index < 4 ? 1 : 0;
  return 0;
}
int nvmlDeviceGetNvLinkVersion(Device*, unsigned, unsigned* version) {
  *version = 4;
  return 0;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(Device*, unsigned, unsigned* type) {
  *type = mode() == "switch" ? 2 : 0;
  return 0;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device* device, unsigned, PciInfo* pci) {
  fill(pci, device->index ^ 1U);
  return 0;
}
}
