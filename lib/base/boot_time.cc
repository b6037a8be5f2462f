// The clock that leases count by, read. See boot_time.h.
#include "base/boot_time.h"

#include <ctime>

namespace gw::base {

BootTime boot_time_now() {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return {int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1000};
}

}  // namespace gw::base
