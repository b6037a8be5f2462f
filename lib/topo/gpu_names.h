// What GPUs are called: the short type that users ask for, from the vendor's model name or the PCI device id.
// Pure functions over text and numbers; knows no hwloc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gw::topo {

constexpr uint16_t kPciNvidia = 0x10de;
constexpr uint16_t kPciAmd = 0x1002;
constexpr uint16_t kPciIntel = 0x8086;

/// Whether a PCI function is a GPU for computing: by class (display or accelerator), vendor and device. Management
/// controllers' display adapters, integrated Intel graphics and NVSwitches are not.
bool is_compute_gpu(uint16_t pci_class, uint16_t vendor, uint16_t device);
/// "nvidia", "amd", "intel", or four hex digits.
std::string vendor_name(uint16_t vendor);
/// "h100", "a100", "rtx4090", "mi250x" from a model name such as "NVIDIA H100 80GB HBM3" or "Tesla T4"; empty if the
/// name tells nothing.
std::string type_from_model(std::string_view model);
/// From the PCI device id; empty if unknown.
std::string type_from_pci(uint16_t vendor, uint16_t device);
/// The best of both: the model name, unless it only names a family (MI200); "gpu" if neither tells. `pci_name` is the
/// name in the PCI id list ("GH100 [H100 SXM5 80GB]"), may be empty.
std::string gpu_type(std::string_view model, std::string_view pci_name, uint16_t vendor, uint16_t device);
/// Memory that a model name states ("Tesla V100-SXM3-32GB" -> 32768), else 0. MiB.
uint64_t memory_from_model(std::string_view model);
/// An id of zeros only (as anonymised exports and some drivers give) becomes empty.
std::string clean_uuid(std::string_view uuid);
/// An AMD unique id in hex ("f62596172e6212b") as ROCm writes it: "GPU-0f62596172e6212b"; empty if blank.
std::string amd_uuid(std::string_view hex);

}  // namespace gw::topo
