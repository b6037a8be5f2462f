// See quota_answers.h.
#include "ctld/core/cluster/quota_answers.h"

#include <fmt/format.h>

#include "base/hostlist.h"
#include "base/stable_hash.h"
#include "ctld/core/cluster/node_offers.h"
#include "sched/view/labels.h"
#include "sched/view/quota_report.h"

namespace gw::ctld {
namespace {

void add_lines(const sched::QuotaReport& report, uint32_t s, wire::QosShare& out) {
  const sched::QosNode& node = report.tree.qos(s);
  for (size_t r = 0; r < report.tree.width(); ++r) {
    if (!node.has_line[r] && node.limit[r] == sched::kNoLimit) continue;
    wire::QosShare::Line& line = *out.add_lines();
    line.set_resource(report.tree.resources()[r]);
    line.set_has_line(node.has_line[r]);
    line.set_guaranteed(report.shares.guaranteed[s][r]);
    if (node.limit[r] != sched::kNoLimit) line.set_limit(node.limit[r]);
    line.set_fair(report.shares.fair[s][r]);
    line.set_demand(report.shares.demand[s][r]);
    line.set_held(report.tally.held[s][r]);
    line.set_counted(report.tally.counted[s][r]);
    line.set_firm(report.tally.firm[s][r]);
    line.set_borrowed(report.borrowed[s][r]);
    line.set_lent(report.lent[s][r]);
    line.set_covered(report.covered[s][r]);
    if (!report.fair_covered.empty()) line.set_fair_covered(report.fair_covered[s][r]);
  }
}

void show_shares(const sched::ClusterView& view, base::Time now, wire::ShowSharesReply& out) {
  const sched::QuotaReport report = sched::report_quotas(view);
  for (uint32_t s = 0; s < report.tree.nodes().size(); ++s) {
    const sched::QosNode& node = report.tree.qos(s);
    wire::QosShare& shown = *out.add_qos();
    shown.set_name(node.name);
    if (node.parent != sched::kNoQos) shown.set_parent(report.tree.qos(node.parent).name);
    shown.set_depth(node.depth);
    shown.set_running(report.running[s]);
    shown.set_waiting(report.waiting[s]);
    shown.set_weight(node.weight);
    shown.set_priority(node.priority);
    shown.set_preempt_children(node.preempt_children);
    add_lines(report, s, shown);
  }
  for (const sched::Loan& loan : report.loans) {
    wire::QuotaLoan& shown = *out.add_loans();
    shown.set_resource(report.tree.resources()[loan.resource]);
    shown.set_from(report.tree.qos(loan.from).name);
    shown.set_to(report.tree.qos(loan.to).name);
    shown.set_amount(loan.amount);
  }
  out.set_reclaim(std::string(model::name(view.policy().reclaim)));
  out.set_now_us(now.us);
}

/// By the name that people know.
std::string shown_name(const sched::QuotaTree& tree, uint32_t qos) {
  const std::string& name = tree.qos(qos).name;
  return name.empty() ? std::string(model::kRootQos) : name;
}

void show_labels(const sched::ClusterView& view, base::Time now, const wire::ShowSharesRequest& asked,
                 wire::ShowSharesReply& out) {
  sched::Labels labels(view);
  const sched::QuotaTree& tree = view.quota().tree();
  std::set<base::JobId> jobs;
  for (uint32_t id : asked.job_ids()) jobs.insert(base::JobId(id));
  for (const sched::JobLabel& label : labels.list(jobs, asked.all_jobs(), now)) {
    wire::JobLabel& shown = *out.add_labels();
    shown.set_job_id(label.job.value);
    shown.set_is_borrowed(label.borrowed_at != sched::kNoQos);
    if (shown.is_borrowed()) shown.set_borrowed_at(shown_name(tree, label.borrowed_at));
    shown.set_has_fair(label.has_fair);
    shown.set_is_beyond_fair(label.beyond_fair_at != sched::kNoQos);
    if (shown.is_beyond_fair()) shown.set_beyond_fair_at(shown_name(tree, label.beyond_fair_at));
    for (uint32_t qos : label.preemptors.some) shown.add_preemptors(shown_name(tree, qos));
    shown.set_preemptors_cut(label.preemptors.is_cut);
    shown.set_extensions(label.extensions);
    shown.set_borrowed_extensions(label.borrowed_extensions);
    shown.set_is_never_preempted(label.is_never_preempted);
    shown.set_protected_until_us(label.protected_until.us);
  }
  out.set_reclaim(std::string(model::name(view.policy().reclaim)));
  out.set_now_us(now.us);
}

/// The same as long as the same is offered, whoever asks: so that who takes it up can say which.
std::string id_of(const wire::NodeOffer& offer) {
  base::StableHash hash;
  hash.add_all(offer.partition(), offer.nodes(), offer.gpu_type(), uint64_t{offer.gpus()}, uint64_t{offer.cpus()},
               uint64_t{offer.mem_mb()});
  return fmt::format("{:016x}", hash.value());
}

void tell_offers(const sched::ClusterView& view, base::Time now, const wire::ListOffersRequest& asked,
                 const std::vector<sched::PlannedStart>& planned, wire::ListOffersReply& out) {
  constexpr int kMostOffers = 1'000;  // more kinds of nodes than anybody chooses from
  OfferQuestion question{asked.qos(), asked.uid(), {asked.partitions().begin(), asked.partitions().end()}};
  if (asked.longest_us() > 0) question.longest = base::Duration{asked.longest_us()};
  const NodeOffers all = offers_of(view, question, planned, now);
  uint32_t left_out = all.left_out;
  for (const NodeOffer& offer : all.offers) {
    wire::NodeOffer shown;
    shown.set_partition(offer.partition);
    shown.set_nodes(base::compress_hostlist(offer.nodes));
    shown.set_node_count(static_cast<uint32_t>(offer.nodes.size()));
    shown.set_gpus(offer.gpus);
    shown.set_gpu_type(offer.gpu_type);
    shown.set_cpus(offer.cpus);
    shown.set_mem_mb(offer.mem_mb);
    if (offer.until != base::Time::never()) shown.set_until_us(offer.until.us);
    if (offer.longest != base::kUnlimited) shown.set_longest_us(offer.longest.us);
    shown.set_id(id_of(shown));
    if (!asked.id().empty() && asked.id() != shown.id()) continue;
    if (out.offers_size() < kMostOffers)
      *out.add_offers() = std::move(shown);
    else
      ++left_out;
  }
  out.set_qos(asked.qos());
  out.set_left_out(left_out);
  if (all.guaranteed) out.set_guaranteed_milli(*all.guaranteed);
  if (all.most) out.set_most_milli(*all.most);
  out.set_now_us(now.us);
}

}  // namespace

wire::ApiReply answer_from(const sched::ClusterView& view, base::Time now, const wire::ApiRequest& request,
                           const std::vector<sched::PlannedStart>& planned) {
  wire::ApiReply out;
  if (request.kind_case() == wire::ApiRequest::kListOffers) {
    tell_offers(view, now, request.list_offers(), planned, *out.mutable_list_offers());
    return out;
  }
  if (request.kind_case() == wire::ApiRequest::kShowShares) {
    const wire::ShowSharesRequest& shares = request.show_shares();
    if (shares.all_jobs() || shares.job_ids_size() != 0)
      show_labels(view, now, shares, *out.mutable_show_shares());
    else
      show_shares(view, now, *out.mutable_show_shares());
    return out;
  }
  const wire::ExplainQuotaRequest& asked = request.explain_quota();
  sched::TakeVerdict verdict = sched::explain_taking(view, asked.preemptor(), asked.from(), now);
  wire::ExplainQuotaReply& told = *out.mutable_explain_quota();
  told.set_may(verdict.may);
  told.set_rule(static_cast<uint32_t>(verdict.rule));
  told.set_gpu_milli(verdict.gpu_milli);
  for (std::string& line : verdict.lines) told.add_lines(std::move(line));
  return out;
}

std::vector<QosFigures> quota_figures(const sched::ClusterView& view) {
  const sched::QuotaReport report = sched::report_quotas(view);
  const auto gpus = [](const sched::Quantities& amounts) {
    return static_cast<double>(amounts[sched::kGpu]) / model::kWholeGpu;
  };
  std::vector<QosFigures> out;
  for (uint32_t s = 1; s < report.tree.nodes().size(); ++s) {
    const sched::QosNode& node = report.tree.qos(s);
    if (node.is_own) continue;  // it counts where it belongs
    out.push_back({node.name, report.running[s], report.waiting[s], gpus(report.shares.guaranteed[s]),
                   gpus(report.tally.held[s]), gpus(report.borrowed[s]), gpus(report.lent[s])});
  }
  return out;
}

}  // namespace gw::ctld
