// Gangs whole or not at all. See check_gangs.h.
#include "tests/sim/check_gangs.h"

#include "base/bitset.h"
#include "base/hostlist.h"

namespace gw::sim_cluster {
namespace {

constexpr char kGangs[] = "gangs start whole";

std::string job_text(const wire::Prepare& prepare) {
  return "job " + std::to_string(prepare.job()) + " in attempt " + std::to_string(prepare.attempt());
}

}  // namespace

void GangChecker::on_answer(const Asked& asked, const wire::ApiReply& reply) {
  if (!asked.request.has_submit() || !reply.has_submit()) return;
  const wire::SubmitRequest& submit = asked.request.submit();
  asked_[{submit.spec().name(), 0}] = submit.spec().request();
  for (int k = 0; k < submit.components_size(); ++k)
    asked_[{submit.spec().name(), k + 1}] = submit.components(k).request();
}

/// As many nodes, and on each as many GPUs, as were asked for.
void GangChecker::check_size(const wire::Prepare& prepare) const {
  const auto nodes = base::expand_hostlist(prepare.gang().nodes());
  if (!nodes || nodes->size() != prepare.gang().node_count())
    fail(kGangs, job_text(prepare) + " is told of the nodes " + prepare.gang().nodes());
  const auto asked = asked_.find({prepare.spec().name(), prepare.spec().het_offset()});
  if (asked == asked_.end() || prepare.generation() > 1) return;
  const wire::Request& request = asked->second;
  if (nodes->size() < request.min_nodes() || nodes->size() > request.max_nodes())
    fail(kGangs, job_text(prepare) + " has " + std::to_string(nodes->size()) + " nodes");
  const auto gpus = base::IndexSet::parse(prepare.share().gpus());
  if (!gpus || gpus->size() != request.gpus())
    fail(kGangs, job_text(prepare) + " has the GPUs " + prepare.share().gpus() + " on " + prepare.share().node());
}

void GangChecker::on_node_heard(const std::string& node, const wire::ControllerToNode& message) {
  if (!message.has_prepare()) return;
  const wire::Prepare& prepare = message.prepare();
  check_size(prepare);
  wire::Prepare& kept = orders_[{node, {prepare.job(), prepare.attempt()}}];
  kept = prepare;
  kept.clear_script();
}

void GangChecker::on_controller_heard(const std::string& node, const wire::NodeToController& message) {
  if (message.has_prepared() && message.prepared().step() == 0)
    prepared_[message.prepared().job()][message.prepared().attempt()].insert(node);
  if (!message.has_register_node()) return;
  for (const wire::RunState& run : message.register_node().runs())
    if (run.step() == 0 && (run.phase() == wire::kRunPrepared || run.phase() == wire::kRunStarted))
      prepared_[run.job()][run.attempt()].insert(node);
}

void GangChecker::check_prepared(const std::string& first, RunKey run, uint32_t job, const wire::Gang& gang) const {
  const auto nodes = base::expand_hostlist(gang.nodes());
  const auto attempts = prepared_.find(job);
  for (const std::string& node : *nodes) {
    if (job == run.job && node == first && nodes->size() == 1) continue;  // a gang of one starts itself
    const bool is_known =
        attempts != prepared_.end() && !attempts->second.empty() &&
        (job == run.job ? attempts->second.contains(run.attempt) && attempts->second.at(run.attempt).contains(node)
                        : attempts->second.rbegin()->second.contains(node));
    if (!is_known)
      fail(kGangs, run.text() + " begins on " + first + " before " + node + " is prepared for job " +
                       std::to_string(job) + " (of the nodes " + gang.nodes() + ")");
  }
}

void GangChecker::on_begun(const std::string& node, RunKey run) {
  if (run.is_step()) return;
  const auto told = orders_.find({node, {run.job, run.attempt}});
  if (told == orders_.end()) fail(kGangs, run.text() + " begins on " + node + ", which was not told of it");
  const wire::Prepare& prepare = told->second;
  check_prepared(node, run, run.job, prepare.gang());
  for (const wire::HetComponent& component : prepare.components())
    check_prepared(node, run, component.job(), component.gang());
}

}  // namespace gw::sim_cluster
