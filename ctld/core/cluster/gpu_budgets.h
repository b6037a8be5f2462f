// Budgets of GPU-hours at work: what a spent one means for jobs that wait and run, and who is told of it. What was used
// is looked at every minute, and at each change of the tree, so that at most a minute more is used than a budget says.
#pragma once

#include <string>
#include <vector>

#include "ctld/core/core.h"

namespace gw::ctld {

/// The tree of quotas is another than `before`.
void set_budgets(Core& core, const QuotaTable& before);
/// The controller was away: those that run are charged already, those that wait are looked at next.
void restore_budgets(Core& core);
/// A minute is over.
void budgets_due(Core& core);
/// What is used of each.
void list_budgets(const Core& core, wire::ListQuotasReply& list);
/// Of a new job with GPUs: an error if a budget that it counts for is spent and lets nothing start, else a warning for
/// each that is low or spent. Error: kUnavailable.
base::Status check_budgets(const Core& core, const model::JobSpec& spec, std::vector<std::string>& warnings);

}  // namespace gw::ctld
