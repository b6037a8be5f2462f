// Opens the vendors' libraries for the GPUs that are there; see gres.h.
#include "topo/gres.h"

#include <cinttypes>
#include <cstdio>

#include "topo/gres_internal.h"

namespace gw::topo {

uint64_t pci_slot(const std::string& address) {
  unsigned domain = 0, bus = 0, device = 0;
  if (std::sscanf(address.c_str(), "%x:%x:%x", &domain, &bus, &device) != 3) return UINT64_MAX;
  return pci_slot(uint64_t{domain}, uint64_t{bus}, uint64_t{device});
}

void set_links(model::NodeTopology& node, LinkMatrix links, const char* name) {
  bool any = false;
  for (size_t i = 0; i < links.size(); ++i) {
    links[i][i] = 0;
    for (size_t j = 0; j < i; ++j) {
      links[i][j] = links[j][i] = std::max(links[i][j], links[j][i]);
      any = any || links[i][j] > 0;
    }
  }
  if (!any || links.size() != node.gpus.size()) return;
  node.gpu_links = std::move(links);
  node.link_name = name;
}

GresReport add_live_gres(model::NodeTopology& node, const GresLibraries& libraries) {
  GresReport report;
  const auto has = [&](const char* vendor) {
    return std::any_of(node.gpus.begin(), node.gpus.end(), [&](const auto& gpu) { return gpu.vendor == vendor; });
  };
  if (has("nvidia")) {
    const Library library(libraries.nvml);
    if (library.is_open()) add_nvml(node, library, report);
  }
  if (has("amd")) {
    const Library library(libraries.rocm_smi);
    if (library.is_open()) add_rocm_smi(node, library, report);
  }
  return report;
}

}  // namespace gw::topo
