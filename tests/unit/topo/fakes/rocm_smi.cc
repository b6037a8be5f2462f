// A stand-in for librocm_smi64 that answers for two AMD GPUs at 0000:11:00.0 and 0000:12:00.0, each split into three.
#include <cstddef>
#include <cstdint>
#include <cstdio>

extern "C" {

int rsmi_init(uint64_t) { return 0; }
int rsmi_shut_down() { return 0; }
int rsmi_num_monitor_devices(uint32_t* count) {
  *count = 6;
  return 0;
}
int rsmi_dev_pci_id_get(uint32_t index, uint64_t* id) {
  *id = uint64_t{index % 3} << 28 | uint64_t{0x11 + index / 3} << 8;
  return 0;
}
int rsmi_dev_unique_id_get(uint32_t index, uint64_t* id) {
  *id = 0xabc0 + index;
  return 0;
}
int rsmi_dev_name_get(uint32_t index, char* text, size_t length) {
  std::snprintf(text, length, "%s", index % 3 == 0 ? "AMD Instinct MI300X" : "");
  return 0;
}
int rsmi_dev_memory_total_get(uint32_t, int, uint64_t* bytes) {
  *bytes = 64ULL << 30;
  return 0;
}
int rsmi_dev_drm_render_minor_get(uint32_t index, uint32_t* minor) {
  *minor = 128 + index;
  return 0;
}
int rsmi_topo_get_link_type(uint32_t, uint32_t, uint64_t* hops, int* type) {
  *hops = 1;
  *type = 2;
  return 0;
}
int rsmi_minmax_bandwidth_get(uint32_t, uint32_t, uint64_t* least, uint64_t* most) {
  *least = 50'000;
  *most = 50'000;
  return 0;
}
}
