// Loads hwloc topologies (live, file, text) and runs the builders over them.
#include "topo/reader.h"

#include <fcntl.h>
#include <hwloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/text.h"
#include "topo/hwloc_build.h"
#include "topo/xml_guard.h"

namespace gw::topo {
namespace {

using base::ErrorCode;
using base::Result;
using model::NodeTopology;

struct Destroy {
  void operator()(hwloc_topology_t t) const { hwloc_topology_destroy(t); }
};
using Handle = std::unique_ptr<struct hwloc_topology, Destroy>;

// I/O objects are filtered out by default; without them no GPU exists.
Result<Handle> new_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return base::fail_errno("hwloc cannot start", errno);
  Handle handle(raw);
  if (hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL) != 0) {
    return base::fail_errno("hwloc refuses to read I/O devices", errno);
  }
  return handle;
}

Result<NodeTopology> build(hwloc_topology_t topology, const std::string& origin) {
  NodeTopology node;
  BuildIndex index;
  GW_TRY_STATUS(build_cpus(topology, node, index));
  GW_TRY_STATUS(build_devices(topology, node, index));
  build_links(topology, node, index);
  if (auto ok = model::validate(node); !ok) {
    return base::invalid(origin + " describes an impossible machine: " + ok.error().what);
  }
  return node;
}

Result<NodeTopology> read_xml(std::string_view xml, const std::string& origin) {
  GW_TRY_STATUS(check_xml(xml, origin));
  GW_TRY(handle, new_topology());
  const std::string text(xml);  // hwloc wants a terminating zero
  errno = 0;
  const bool set = hwloc_topology_set_xmlbuffer(handle.get(), text.c_str(), static_cast<int>(text.size() + 1)) == 0;
  if (!set || hwloc_topology_load(handle.get()) != 0) {
    return base::invalid("hwloc cannot load " + origin + ": it is not a valid topology of version 1 or 2",
                         "export it again with: lstopo FILE.xml");
  }
  return build(handle.get(), origin);
}

struct Closer {
  int fd;
  ~Closer() { ::close(fd); }
};

Result<std::string> read_bounded(const std::string& path) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return base::fail_errno("cannot read topology file " + base::printable(path), errno);
  const Closer closer{fd};
  struct stat st {};
  if (::fstat(fd, &st) != 0) return base::fail_errno("cannot read topology file " + base::printable(path), errno);
  if (!S_ISREG(st.st_mode)) return base::invalid("topology file " + base::printable(path) + " is not a regular file");
  std::string text;
  char chunk[65536];
  while (text.size() <= kMaxXmlBytes) {
    const ssize_t n = ::read(fd, chunk, sizeof chunk);
    if (n == 0) return text;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::fail_errno("cannot read topology file " + base::printable(path), errno);
    text.append(chunk, static_cast<size_t>(n));
  }
  return text;
}

}  // namespace

Result<NodeTopology> read_live() {
  GW_TRY(handle, new_topology());
  // These backends open device contexts or displays, and say nothing that NVML and ROCm SMI do not say better.
  for (const char* component : {"gl", "opencl", "cuda", "levelzero"}) {
    hwloc_topology_set_components(handle.get(), HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
  }
  if (hwloc_topology_load(handle.get()) != 0) return base::fail_errno("hwloc cannot read this machine", errno);
  return build(handle.get(), "this machine");
}

Result<NodeTopology> read_xml_file(const std::string& path) {
  GW_TRY(text, read_bounded(path));
  return read_xml(text, base::printable(path));
}

Result<NodeTopology> read_xml_text(std::string_view xml) { return read_xml(xml, "the topology text"); }

}  // namespace gw::topo
