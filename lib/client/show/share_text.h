// The tree of quotas as `gshare` draws it: who is guaranteed, due and using how much, and who lends to whom.
// Invariants: a side is drawn below its parent; text from users never commands a terminal.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "wire/api.pb.h"

namespace gw::client {

/// What is shown, and how.
struct ShareView {
  std::vector<std::string> resources;  ///< "gpu", "gpu:h100", "cpu", ...; "all": each that there is.
  std::vector<std::string> qos;        ///< These, and what is below them; empty: all.
  bool is_long = false;                ///< Also those without jobs of their own, demand and what is never preempted.
  bool no_header = false;
  bool parsable = false, parsable2 = false;  ///< `|` behind, or between, the fields.
  bool unicode = false, colour = false;
  bool is_narrow = false;  ///< Short words above the columns, so that there is room for bars.
  size_t columns = 120;    ///< Of the terminal: bars are as wide as these allow.
};

/// The tree, and the loans below it. Errors: QOS and resources that there are none of, with "did you mean".
base::Result<std::string> share_text(const wire::ShowSharesReply& shares, const ShareView& view);
/// {"schema_version", "reclaim", "sides": [{..., "resources": {NAME: {...}}}], "loans": [...], "last_update"}; errors
/// as above.
base::Result<std::string> shares_json(const wire::ShowSharesReply& shares, const ShareView& view);

}  // namespace gw::client
