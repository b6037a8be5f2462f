// Shared by the NVML and ROCm SMI readers: an opened library, PCI addresses, and the link matrix under construction.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/topology.h"
#include "topo/gres.h"

namespace gw::topo {

/// A shared library. It stays loaded when closed: vendors' libraries leave threads and exit handlers behind.
class Library {
 public:
  explicit Library(const std::vector<std::string>& names) {
    for (const auto& name : names) {
      handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
      if (handle_ != nullptr) return;
    }
  }
  ~Library() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  bool is_open() const { return handle_ != nullptr; }
  /// Looks a function up; false and a null pointer if the library lacks it.
  template <typename Function>
  bool find(Function*& out, const char* name) const {
    out = reinterpret_cast<Function*>(::dlsym(handle_, name));
    return out != nullptr;
  }

 private:
  void* handle_ = nullptr;
};

/// Domain, bus and device of a PCI address ("0000:18:00.0" or NVML's "00000000:18:00.0") as one number; the function is
/// left out. UINT64_MAX if it is none.
uint64_t pci_slot(const std::string& address);
inline uint64_t pci_slot(uint64_t domain, uint64_t bus, uint64_t device) { return domain << 16 | bus << 8 | device; }

using LinkMatrix = std::vector<std::vector<uint64_t>>;
/// Puts a matrix into the topology, unless it is empty or says nothing: what hwloc knew then stays.
void set_links(model::NodeTopology& node, LinkMatrix links, const char* name);

void add_nvml(model::NodeTopology& node, const Library& library, GresReport& report);
void add_rocm_smi(model::NodeTopology& node, const Library& library, GresReport& report);

}  // namespace gw::topo
