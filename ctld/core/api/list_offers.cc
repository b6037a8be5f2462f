// See list_offers.h.
#include "ctld/core/api/list_offers.h"

#include <memory>
#include <set>
#include <utility>

#include "ctld/core/admission/routing.h"
#include "ctld/core/cluster/quota_rules.h"
#include "ctld/core/shared/replies.h"
#include "ctld/core/shared/sight.h"

namespace gw::ctld {
namespace {

/// All where a job of who asks could go, with its QOS.
void add_open_partitions(const Core& core, const Caller& caller, model::JobSpec& spec, wire::ListOffersRequest& asked) {
  for (const auto& [name, p] : core.partitions.all) {
    spec.partitions = {name};
    if (route(core, caller, spec)) asked.add_partitions(name);
  }
}

/// Made once for each plan, however many ask.
std::shared_ptr<const std::vector<sched::PlannedStart>> kept_by_plan(Core& core) {
  Planning& planning = core.planning;
  if (planning.kept_by_plan) return planning.kept_by_plan;
  std::vector<sched::PlannedStart> all = planning.gathered;
  for (const auto& [job, planned] : planning.estimates) all.push_back(planned);
  planning.kept_by_plan = std::make_shared<const std::vector<sched::PlannedStart>>(std::move(all));
  return planning.kept_by_plan;
}

}  // namespace

void list_offers(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  if (Sight(core, caller).hidden().nodes)
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kDenied, "which nodes are free is private here",
                            "an administrator can say it (private: in the configuration)"});
  wire::ApiRequest filled = request;
  wire::ListOffersRequest& asked = *filled.mutable_list_offers();
  asked.set_uid(caller.uid);
  model::JobSpec spec;
  spec.user = caller.user;
  spec.uid = caller.uid;
  spec.qos = asked.qos();
  if (const base::Status known = check_qos(core, caller, spec); !known)
    return core.out.refuse(conn, request.id(), known.error());
  asked.set_qos(spec.qos);
  const base::Duration longest = max_wall_of(core, spec.qos);
  asked.set_longest_us(longest == base::kUnlimited ? 0 : longest.us);
  const std::set<std::string> named(asked.partitions().begin(), asked.partitions().end());  // each once
  asked.mutable_partitions()->Assign(named.begin(), named.end());
  spec.partitions = {named.begin(), named.end()};
  if (spec.partitions.empty()) {
    add_open_partitions(core, caller, spec, asked);
  } else if (const base::Status open = route(core, caller, spec); !open) {
    return core.out.refuse(conn, request.id(), open.error());
  }
  core.out.send(AskScheduler{conn, std::move(filled), kept_by_plan(core)});
}

}  // namespace gw::ctld
