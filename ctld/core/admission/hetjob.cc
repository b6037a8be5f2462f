// See hetjob.h.
#include "ctld/core/admission/hetjob.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/faults.h"
#include "ctld/core/admission/kinds.h"
#include "ctld/core/admission/routing.h"
#include "ctld/core/cluster/reservation_rules.h"
#include "ctld/core/rows/spec_rules.h"
#include "model/named_counts.h"
#include "sched/place/place.h"
#include "sched/quota/quota_tree.h"
#include "wire/convert.h"

namespace gw::ctld {

namespace {

/// A component as it is submitted: its request is its own, everything else is the leader's.
base::Result<model::JobSpec> accept_component(const Core& core, const Caller& caller, const wire::JobSpec& written,
                                              const model::JobSpec& leader) {
  GW_TRY(own, wire::from_wire(written));
  model::JobSpec spec = leader;
  spec.request = own.request;
  spec.partitions = own.partitions;
  spec.gpu_bind = own.gpu_bind;
  spec.gres_flags = own.gres_flags;
  spec.licenses = own.licenses;
  (void)leave_out_licenses(core, spec);  // the leader's warning says so
  spec.launch.command.clear();
  spec.attended = false;  // the leader is, and takes it along
  if (spec.request.cpus_per_task == 0) return base::invalid("-c/--cpus-per-task: a task needs a CPU");
  GW_TRY_STATUS(settle_spec(spec));
  route_by_reservation(core, spec);
  GW_TRY_STATUS(route(core, caller, spec));
  model::JobSpec timed = spec;
  GW_TRY_STATUS(check_time(core, timed, is_admin(core.settings, caller)));
  GW_TRY_STATUS(model::check_times(spec, core.now));
  GW_TRY_STATUS(check_reservation(core, spec));
  GW_TRY_STATUS(check_licenses(core, spec));
  GW_TRY_STATUS(check_runnable(core, spec));
  return spec;
}

/// Each component could run by itself; could they run beside each other?
base::Status check_together(Core& core, const std::vector<const model::JobSpec*>& components) {
  sched::Capacity& cluster = core.ledger.empty_cluster();
  base::Status verdict;
  uint32_t placed = 0;
  for (const model::JobSpec* spec : components) {
    bool fits = false;
    for (const std::string& name : spec->partitions) {
      const sched::PartitionFacts* facts = cluster.partition(name);
      if (facts == nullptr || fits) continue;
      const sched::Placement placement = sched::place(cluster, *facts, spec->request);
      fits = placement.allocation &&
             cluster.allocate(JobId(placed + 1), name, *placement.allocation, {}, Time::never()).has_value();
    }
    if (!fits) {
      verdict = base::invalid(
          fmt::format("component {} does not fit beside those before it, even on an empty cluster", placed),
          "ask for less, or submit the components as jobs of their own");
      break;
    }
    ++placed;
  }
  for (uint32_t id = 1; id <= placed; ++id) cluster.release_all(JobId(id));
  return verdict;
}

}  // namespace

base::Result<std::vector<model::JobSpec>> accept_components(Core& core, const Caller& caller,
                                                            const wire::SubmitRequest& request,
                                                            const model::JobSpec& leader) {
  constexpr int kMost = 128;
  std::vector<model::JobSpec> out;
  if (request.components_size() > kMost)
    return base::invalid(fmt::format("a heterogeneous job has at most {} components", kMost + 1));
  for (int k = 0; k < request.components_size(); ++k) {
    auto spec = accept_component(core, caller, request.components(k), leader);
    if (!spec) return tl::unexpected(base::after(fmt::format("component {}: ", k + 1), spec.error()));
    out.push_back(std::move(*spec));
  }
  if (out.empty()) return out;
  const auto is_elastic = [](const model::JobSpec& spec) { return spec.request.elastic; };
  if (is_elastic(leader) || std::any_of(out.begin(), out.end(), is_elastic))
    return base::invalid("--elastic does not go with several components: all of them start and end together");
  std::vector<const model::JobSpec*> all = {&leader};
  for (const model::JobSpec& spec : out) all.push_back(&spec);
  model::Licenses licenses;
  for (const model::JobSpec* spec : all) {
    GW_TRY(own, model::parse_licenses(spec->licenses));
    for (const auto& [name, count] : own) licenses[name] += count;
  }
  GW_TRY_STATUS(check_licenses(core, licenses));
  GW_TRY_STATUS(check_together(core, all));
  return out;
}

}  // namespace gw::ctld
