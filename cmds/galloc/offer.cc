// See offer.h.
#include "cmds/galloc/offer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"

namespace gw::cmds {
namespace {

/// Between this answer and the start somebody may be slow: a claim for all of the time would be refused.
constexpr base::Duration kMargin = base::seconds(30);

bool asks_for_gpus(const GpuOptions& g) {
  return g.total.given || g.per_node.given || g.per_task.given || g.per_socket.given || g.tasks_per_gpu > 0;
}

base::Status add_nodes(const AllocOptions& given, const wire::NodeOffer& offer, std::vector<std::string>& out) {
  GW_TRY(nodes, base::expand_hostlist(offer.nodes()));
  const model::Request& r = given.job.spec.request;
  if (r.nodes_given && r.min_nodes > nodes.size())
    return base::invalid(fmt::format("{} nodes, where offer {} has {}", r.min_nodes, offer.id(), nodes.size()),
                         "ask for less, or for another offer");
  if (r.nodes_given) nodes.resize(std::max(r.min_nodes, 1u));
  const GpuSpec& gpus = given.job.gpus.total;
  if (!r.nodes_given && gpus.given) nodes.resize(std::min<size_t>(nodes.size(), std::max(gpus.count, 1u)));
  if (!r.nodes_given && r.tasks_given) nodes.resize(std::min<size_t>(nodes.size(), std::max(r.tasks, 1u)));
  out.push_back("--nodelist=" + base::compress_hostlist(nodes));
  out.push_back(fmt::format("--nodes={}", nodes.size()));
  return {};
}

void add_sizes(const AllocOptions& given, const wire::NodeOffer& offer, std::vector<std::string>& out) {
  if (asks_for_gpus(given.job.gpus)) return;
  if (offer.gpus() > 0) {
    const std::string type = offer.gpu_type().empty() ? "" : offer.gpu_type() + ":";
    out.push_back(fmt::format("--gpus-per-node={}{}", type, offer.gpus()));
    return;
  }
  const model::Request& r = given.job.spec.request;
  const bool says_cpus = given.job.says_cpus || given.job.given.cpus_per_task || given.job.given.cpus_per_gpu;
  if (r.tasks_given || says_cpus) return;
  out.push_back("--ntasks-per-node=1");
  out.push_back(fmt::format("--cpus-per-task={}", offer.cpus()));
}

/// As long as it can be had: until others are to have it, and as long as jobs there may run.
base::Duration lease_of(const wire::NodeOffer& offer, base::Time now) {
  base::Duration lease = base::kUnlimited;
  if (offer.until_us() > 0) lease = base::Time{offer.until_us()} - now - kMargin;
  return offer.longest_us() > 0 ? std::min(lease, base::Duration{offer.longest_us()}) : lease;
}

base::Status add_time(const AllocOptions& given, const wire::NodeOffer& offer, base::Time now,
                      std::vector<std::string>& out) {
  const base::Duration lease = lease_of(offer, now), asked = given.job.spec.time_limit;
  if (lease == base::kUnlimited) return {};
  if (lease < base::minutes(1))
    return base::fail(base::ErrorCode::kUnavailable, fmt::format("offer {} ends within two minutes", offer.id()),
                      "others are to have it then; see gangway offers");
  if (asked > lease)
    return base::invalid(fmt::format("{} is longer than offer {} lasts: {}", base::format_duration(asked), offer.id(),
                                     base::format_duration(lease)),
                         "give a shorter --time, or none");
  if (asked == base::Duration{}) out.push_back(fmt::format("--time={}", lease.us / base::minutes(1).us));
  return {};
}

}  // namespace

base::Result<std::vector<std::string>> words_of_offer(const AllocOptions& given, const wire::ListOffersReply& told) {
  if (!given.job.spec.partitions.empty() || !given.job.spec.request.nodelist.empty())
    return base::invalid("--from-offer says partition and nodes itself", "leave out --partition and --nodelist");
  const auto offer = std::find_if(told.offers().begin(), told.offers().end(),
                                  [&](const wire::NodeOffer& one) { return one.id() == given.from_offer; });
  if (offer == told.offers().end())
    return base::fail(
        base::ErrorCode::kUnavailable,
        fmt::format("there is no offer {} now: what it told is held by others, or is another amount by now",
                    base::printable(given.from_offer, 60)),
        "gangway offers lists what there is");
  std::vector<std::string> out = {"--partition=" + offer->partition(), "--qos=" + told.qos()};
  GW_TRY_STATUS(add_nodes(given, *offer, out));
  add_sizes(given, *offer, out);
  GW_TRY_STATUS(add_time(given, *offer, base::Time{told.now_us()}, out));
  if (!given.immediate_seconds) out.push_back("--immediate");
  return out;
}

}  // namespace gw::cmds
