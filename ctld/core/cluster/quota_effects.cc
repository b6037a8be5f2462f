// See quota_effects.h.
#include "ctld/core/cluster/quota_effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "ctld/core/jobs/facts.h"
#include "sched/quota/quota_tree.h"

namespace gw::ctld {

using model::Qos;

namespace {

/// What the QOS of a tree hold, and by which jobs that can be preempted.
struct Use {
  sched::QuotaTree tree;
  sched::Tally tally;
  std::map<uint32_t, std::vector<JobId>> takeable;  // by leaf
  explicit Use(const std::vector<Qos>& list) : tree(list), tally(tree) {}
};

using Over = std::map<std::string, std::string>;  // QOS -> how far it is above

/// Guarantees, and limits, that are exceeded.
Over exceeded(const Use& use) {
  Over out;
  for (uint32_t s = 1; s < use.tree.nodes().size(); ++s) {
    const sched::QosNode& node = use.tree.qos(s);
    if (node.is_own) continue;
    for (size_t r = 0; r < use.tree.width(); ++r) {
      const std::string& resource = use.tree.resources()[r];
      const uint64_t has = use.tally.counted[s][r];
      const auto text = [&](uint64_t amount) { return model::format_amount(resource, amount); };
      if (has > node.limit[r])
        out[node.name] += fmt::format("; holds {} {}, its limit is {}: no more of it starts", text(has), resource,
                                      text(node.limit[r]));
      else if (node.has_line[r] && has > node.guaranteed[r])
        out[node.name] += fmt::format("; holds {} {}, guaranteed {}: {} borrowed", text(has), resource,
                                      text(node.guaranteed[r]), text(has - node.guaranteed[r]));
    }
  }
  return out;
}

std::set<JobId> reclaimable(const Use& use, const Over& over) {
  std::set<JobId> out;
  for (const auto& [leaf, jobs] : use.takeable)
    for (uint32_t s = leaf; s != sched::kNoQos; s = use.tree.qos(s).parent)
      if (over.contains(use.tree.qos(s).name)) out.insert(jobs.begin(), jobs.end());
  return out;
}

/// Where a job of this QOS is after the changes.
std::string moved(std::string qos, const wire::ChangeQuotasRequest& request) {
  for (const wire::QuotaChange& change : request.changes())
    if (change.what() == wire::QuotaChange::kDelete && !change.is_user() && change.name() == qos &&
        !change.move_to().empty())
      qos = change.move_to();
  return qos;
}

}  // namespace

std::vector<std::string> effects_of(const Core& core, const QuotaTable& after,
                                    const wire::ChangeQuotasRequest& request) {
  Use old_use(core.quotas.tree()), new_use(after.tree());
  for (const auto& [id, holding] : core.ledger.capacity().holdings()) {
    const auto gang = core.placements.job_of(id);
    const model::Job* job = core.jobs.find(gang.value_or(id));
    if (job == nullptr || job->state == model::JobState::kCompleting) continue;
    const model::Allocation held = core.ledger.capacity().allocation_of(id);
    const std::string& qos = job->spec.qos;
    const bool is_extension = gang.has_value();
    const bool is_takeable = !is_extension && pending_of(core, *job).preemptible;
    for (Use* use : {&old_use, &new_use}) {
      const uint32_t leaf = use->tree.leaf_of(use == &old_use ? qos : moved(qos, request));
      use->tally.start(use->tree, leaf,
                       is_extension ? use->tree.count_extension(held, core.ledger.capacity())
                                    : use->tree.count(held, core.ledger.capacity()),
                       true);
      if (is_takeable) use->takeable[leaf].push_back(id);
    }
  }
  const Over old_over = exceeded(old_use), new_over = exceeded(new_use);
  const std::set<JobId> could = reclaimable(old_use, old_over);
  std::vector<std::string> out, fresh;
  for (const auto& [name, how] : new_over)
    if (const auto old = old_over.find(name); old == old_over.end() || old->second != how)
      out.push_back(fmt::format("QOS {} {}", name, how.substr(2)));
  for (JobId id : reclaimable(new_use, new_over))
    if (!could.contains(id)) fresh.push_back(id.text());
  constexpr size_t kShown = 20;
  const size_t more = fresh.size() - std::min(fresh.size(), kShown);
  fresh.resize(fresh.size() - more);
  if (!fresh.empty())
    out.push_back(fmt::format("can be taken back now: {} {}{}", fresh.size() == 1 ? "job" : "jobs",
                              base::join(fresh, ", "), more > 0 ? fmt::format(" and {} more", more) : ""));
  return out;
}

}  // namespace gw::ctld
