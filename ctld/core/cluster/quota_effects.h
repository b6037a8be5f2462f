// What a change of the tree of quotas means for the jobs that run: told before it is made, and after.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Who comes to stand above its quota by a change, and whose jobs can be taken back then. Nobody is taken by the change
/// itself (rule 10).
std::vector<std::string> effects_of(const Core& core, const QuotaTable& after,
                                    const wire::ChangeQuotasRequest& request);

}  // namespace gw::ctld
