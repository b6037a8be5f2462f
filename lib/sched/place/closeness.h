// How close together a waiting job wants its parts now: what it holds out for changes as it waits (--locality,
// --switches).
#pragma once

#include "base/time.h"
#include "model/request.h"

namespace gw::sched {

struct Closeness {
  model::Locality level = model::Locality::kAny;
  uint32_t switches = 0;                   ///< At most so many leaf switches; 0: any number.
  base::Time until = base::Time::never();  ///< Then it becomes another.
  bool operator==(const Closeness&) const = default;
};

/// Of a job that could have started since `eligible`.
Closeness closeness_of(const model::Request& request, base::Time eligible, base::Time now);

}  // namespace gw::sched
