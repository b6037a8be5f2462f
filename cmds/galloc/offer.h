// galloc --from-offer: an offer of `gangway offers` as the options that ask for it. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cmds/galloc/alloc_options.h"
#include "wire/api.pb.h"

namespace gw::cmds {

/// The options that are left to say, behind those that were given: partition and nodes, as many GPUs as are offered (or
/// without any all threads) unless some were asked for, no longer than the offer lasts, at once or not at all. Errors:
/// the offer is not among `told`; something was given that it says, or more than it has.
base::Result<std::vector<std::string>> words_of_offer(const AllocOptions& given, const wire::ListOffersReply& told);

}  // namespace gw::cmds
