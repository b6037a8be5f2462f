/* A stand-in for librocm_smi64 that answers for the two display adapters of the virtual machines, at 0000:00:10.0 and
   0000:00:11.0, and says that they are compute GPUs with a render node each. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int rsmi_init(uint64_t flags) {
  (void)flags;
  return 0;
}
int rsmi_shut_down(void) { return 0; }
int rsmi_num_monitor_devices(uint32_t* count) {
  *count = 2;
  return 0;
}
int rsmi_dev_pci_id_get(uint32_t index, uint64_t* id) {
  *id = (uint64_t)(0x10 + index) << 3;
  return 0;
}
int rsmi_dev_unique_id_get(uint32_t index, uint64_t* id) {
  *id = 0xabc0 + index;
  return 0;
}
int rsmi_dev_name_get(uint32_t index, char* text, size_t length) {
  (void)index;
  snprintf(text, length, "AMD Instinct MI210");
  return 0;
}
int rsmi_dev_memory_total_get(uint32_t index, int kind, uint64_t* bytes) {
  (void)index;
  (void)kind;
  *bytes = (uint64_t)64 << 30;
  return 0;
}
int rsmi_dev_drm_render_minor_get(uint32_t index, uint32_t* minor) {
  *minor = 128 + index;
  return 0;
}
