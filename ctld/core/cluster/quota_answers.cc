// See quota_answers.h.
#include "ctld/core/cluster/quota_answers.h"

#include "sched/view/quota_report.h"

namespace gw::ctld {
namespace {

void add_lines(const sched::QuotaReport& report, uint32_t s, wire::QuotaSide& out) {
  const sched::QosNode& node = report.tree.qos(s);
  for (size_t r = 0; r < report.tree.width(); ++r) {
    if (!node.has_line[r] && node.limit[r] == sched::kNoLimit) continue;
    wire::QuotaSide::Line& line = *out.add_lines();
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
  }
}

void show_shares(const sched::ClusterView& view, base::Time now, wire::ShowSharesReply& out) {
  const sched::QuotaReport report = sched::report_quotas(view);
  for (uint32_t s = 0; s < report.tree.nodes().size(); ++s) {
    const sched::QosNode& node = report.tree.qos(s);
    wire::QuotaSide& shown = *out.add_sides();
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

}  // namespace

wire::ApiReply answer_from(const sched::ClusterView& view, base::Time now, const wire::ApiRequest& request) {
  wire::ApiReply out;
  if (request.kind_case() == wire::ApiRequest::kShowShares) {
    show_shares(view, now, *out.mutable_show_shares());
    return out;
  }
  const wire::ExplainQuotaRequest& asked = request.explain_quota();
  sched::TakeVerdict verdict = sched::explain_taking(view, asked.taker(), asked.from());
  wire::ExplainQuotaReply& told = *out.mutable_explain_quota();
  told.set_may(verdict.may);
  told.set_rule(static_cast<uint32_t>(verdict.rule));
  told.set_gpu_milli(verdict.gpu_milli);
  for (std::string& line : verdict.lines) told.add_lines(std::move(line));
  return out;
}

}  // namespace gw::ctld
