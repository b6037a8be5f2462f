// Contracts of runs. See contract.h.
#include "ctld/core/rows/contract.h"

#include <algorithm>

namespace gw::ctld {

namespace {

base::Duration time_to_end(const Settings& settings) { return settings.heartbeat * 2 + settings.kill_wait; }

}  // namespace

model::Contract contract_for(const Settings& settings, const model::Partition* partition) {
  model::Contract contract;
  contract.kill_wait = settings.kill_wait;
  contract.allow_root = settings.allow_root_jobs;
  contract.has_prolog = settings.has_prolog;
  contract.has_epilog = settings.has_epilog;
  if (partition == nullptr || partition->lease.us <= 0) return contract;
  contract.lease = partition->lease;
  contract.margin = base::Duration{partition->lease.us / 5} + time_to_end(settings);
  return contract;
}

model::Contract contract_of_earlier_version(const Settings& settings, base::Duration over_after) {
  model::Contract contract = contract_for(settings, nullptr);
  if (over_after.us <= 0) return contract;
  // That version added no more than this to the lease. A heartbeat that was changed since must not leave nothing of it.
  contract.margin = std::min(time_to_end(settings), base::Duration{over_after.us / 2});
  contract.lease = over_after - contract.margin;
  return contract;
}

}  // namespace gw::ctld
