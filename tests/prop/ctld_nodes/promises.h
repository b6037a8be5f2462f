// What a controller must know again after a crash, as text by name, so that two of them can be compared and what
// differs can be read: jobs, what they hold, what wakes it up, what its scheduler was told.
#pragma once

#include <map>
#include <string>

#include "ctld/core/controller.h"
#include "sched/view/view.h"

namespace gw::ctld::testing {

using Promises = std::map<std::string, std::string>;

/// Without jobs that ended until `oldest_end`, which leave memory about now.
Promises promises_of(const Controller& core, const sched::ClusterView& view, Time oldest_end);
/// The first difference, for people; empty: there is none.
std::string difference(const Promises& kept, const Promises& found);

}  // namespace gw::ctld::testing
