// hwloc leaks a few bytes when it refuses a damaged XML text, and its PCI plug-in leaks when it is unloaded. While a
// ThirdPartyLeaks lives, the leak checker leaves out what is allocated.
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GW_LEAK_CHECK 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define GW_LEAK_CHECK 1
#endif

#ifdef GW_LEAK_CHECK
#include <sanitizer/lsan_interface.h>
#endif

namespace gw::topo {

#ifdef GW_LEAK_CHECK
using ThirdPartyLeaks = __lsan::ScopedDisabler;
#else
struct ThirdPartyLeaks {
  ThirdPartyLeaks() {}
};
#endif

}  // namespace gw::topo
