// How a whole cluster comes to rest. See cluster.h.
#include <rapidcheck.h>

#include "base/text.h"
#include "tests/prop/ctld_nodes/cluster.h"

namespace gw::ctld::testing {

namespace {

std::string text_of(const model::Job& job) {
  std::string out = "job " + job.id.text() + " " + std::string(model::long_name(job.state)) + " attempt " +
                    std::to_string(job.attempt) + " qos " + job.spec.qos + " in " + job.spec.partitions.front() + ", " +
                    std::to_string(job.spec.request.min_nodes) + " nodes of " + std::to_string(job.spec.request.gpus) +
                    " GPUs; last failure: " + job.last_failure;
  if (job.is_held()) out += "; held";
  if (job.spec.is_het()) out += "; component of " + job.spec.het_job.text();
  if (job.placed() != nullptr)
    for (const model::NodeShare& share : job.placed()->allocation.shares) out += " " + share.name;
  if (job.placed() != nullptr && job.placed()->suspension) out += "; is to be suspended";
  if (job.spec.kind != model::JobKind::kBatch) out += "; without a script";
  if (job.spec.request.elastic) out += "; elastic";
  if (job.waiting() != nullptr) out += "; waits: " + std::string(model::name(job.waiting()->reason));
  return out;
}

/// It has ended, or waits for a reservation that is gone, for a job that does, or for what can never come.
bool is_at_rest(const JobTable::Map& jobs, const model::Job& job);

/// Without the other components of its heterogeneous job.
bool is_at_rest_alone(const JobTable::Map& jobs, const model::Job& job) {
  if (model::is_end(job.state) || !job.spec.reservation.empty() || job.unmet.is_hopeless()) return true;
  for (const model::DependencyTerm& term : job.unmet.terms) {
    const auto other = jobs.find(term.job);
    if (other != jobs.end() && !model::is_end(other->second.state) && is_at_rest(jobs, other->second)) return true;
  }
  return false;
}

bool is_at_rest(const JobTable::Map& jobs, const model::Job& job) {
  if (!job.spec.is_het() || model::is_end(job.state)) return is_at_rest_alone(jobs, job);
  // Components start together: one that may never start keeps the others.
  for (uint32_t i = 0; i < job.spec.het_size; ++i) {
    const auto component = jobs.find(JobId{job.spec.het_job.value + i});
    if (component != jobs.end() && !model::is_end(component->second.state) && is_at_rest_alone(jobs, component->second))
      return true;
  }
  return false;
}

}  // namespace

void SimCluster::mend_everything() {
  start_controller();
  shell_.crash_after(0);
  std::vector<LinkId> torn;
  for (auto& [id, link] : links_) {
    link.is_slow = false;
    if (link.is_torn) torn.push_back(id);
  }
  for (const LinkId id : torn) tell_of_tear(id);
  for (const auto& machine : machines_) {
    machine->boot(now_);
    machine->start_daemon(now_);
    machine->kill_daemon_after(0);
  }
  fences_.clear();
  fenced_.clear();
  pass(base::seconds(90));
}

/// Holds, reservations, limits: what keeps jobs waiting for good.
void SimCluster::lift_obstacles() {
  for (int i = 0; i < 1000 && owners_.awaits_answers(); ++i) {
    if (const auto which = owners_.recall(1, now_)) send(*which, false);
    flow();
  }
  RC_ASSERT(!owners_.awaits_answers());
  wire::ApiRequest release, resume, tree, course, move, nodes;
  move.mutable_update_job()->set_qos("normal");
  release.mutable_job_action()->set_action(wire::kRelease);
  resume.mutable_job_action()->set_action(wire::kResume);
  for (const auto& [id, job] : shell_.core().jobs()) {
    if (job.waiting() != nullptr) release.mutable_job_action()->add_ids(id.value);
    if (job.waiting() != nullptr) move.mutable_update_job()->add_ids(id.value);
    if (job.placed() != nullptr) resume.mutable_job_action()->add_ids(id.value);
  }
  for (const model::Qos& qos : first_quotas()) {
    wire::QuotaChange& change = *tree.mutable_change_quotas()->add_changes();
    change.set_what(wire::QuotaChange::kModify);
    change.set_name(qos.name);
    wire::QosAmount& all = *change.mutable_qos()->mutable_guaranteed()->add_set();
    all.set_resource("gpu");
    // Who can never be preempted needs it, in "a" beside what "a.1" takes of that.
    all.set_amount(qos.name == "a" ? 48'000 : 24'000);
    change.mutable_qos()->mutable_limit()->set_clear(true);
    change.mutable_qos()->mutable_limit_per_user()->set_clear(true);
    change.mutable_qos()->set_max_jobs(0);
  }
  tree.mutable_change_quotas()->set_force(true);
  for (const auto& machine : machines_) nodes.mutable_update_node()->add_names(machine->name());
  nodes.mutable_update_node()->set_action(wire::kNodeResume);
  course.mutable_delete_reservation()->set_name("course");
  for (const wire::ApiRequest& request : {release, resume, tree, course, move, nodes}) {
    const size_t which = owners_.ask(0, request, now_);
    send(which, false);
    flow();
    const wire::ApiReply answer = owners_.asked(which).answer.value_or(wire::ApiReply());
    if (answer.has_error() && !request.has_delete_reservation()) RC_FAIL(answer.error().what());
  }
  RC_ASSERT(!owners_.awaits_answers());
}

/// Those who hold nodes for steps are done with them.
void SimCluster::end_allocations() {
  std::vector<JobId> done;
  for (const auto& [id, job] : shell_.core().jobs())
    if (job.state == model::JobState::kRunning && job.spec.kind == model::JobKind::kAllocation) done.push_back(id);
  for (const JobId id : done) {
    wire::ApiRequest request;
    request.mutable_end_allocation()->set_job_id(id.value);
    send(owners_.ask(owners_.owners().at(id), request, now_), false);
    flow();
  }
}

/// With everything in order and nobody in the way all jobs come to their end, but for those of a reservation that is
/// gone.
void SimCluster::run_all_jobs() {
  for (int round = 0; round < 30; ++round) {
    plan_to_rest();
    for (const auto& machine : machines_)
      for (uint32_t i = 0; machine->end_something(now_, i); ++i) flow();
    end_allocations();
    pass(base::seconds(round % 10 == 9 ? 600 : 30));
    check();
    lift_obstacles();
    bool is_all = true;
    for (const auto& [id, job] : shell_.core().jobs()) is_all &= is_at_rest(shell_.core().jobs(), job);
    if (is_all) return;
  }
  for (const auto& [id, job] : shell_.core().jobs())
    if (!is_at_rest(shell_.core().jobs(), job)) RC_FAIL("stuck: " + text_of(job) + why_it_waits(id) + machines_text());
}

std::string SimCluster::machines_text() const {
  std::string out;
  for (const auto& machine : machines_) out += "\n" + machine->text();
  for (const auto& [key, step] : disk_.rows.steps)
    out += "\nstep of job " + key.first.text() + ": " + base::printable(step.bytes, 300);
  for (const auto& [id, link] : links_)
    out += "\nlink of " + link.node + (link.has_node ? "" : " without node") +
           (link.has_controller ? "" : " given up") + " " + std::to_string(link.down.size()) + " " +
           std::to_string(link.up.size());
  return out;
}

std::string SimCluster::why_it_waits(JobId id) {
  wire::ApiRequest list;
  list.mutable_list_jobs()->mutable_filter()->add_ids(id.value);
  const size_t which = owners_.ask(0, list, now_);
  send(which, false);
  flow();
  const wire::ApiReply answer = owners_.asked(which).answer.value_or(wire::ApiReply());
  return answer.list_jobs().jobs_size() == 0 ? "" : answer.list_jobs().jobs(0).status().waiting().detail();
}

void SimCluster::end_all_jobs() {
  wire::ApiRequest cancel;
  for (const auto& [id, job] : shell_.core().jobs())
    if (!model::is_end(job.state)) cancel.mutable_cancel()->mutable_filter()->add_ids(id.value);
  if (cancel.has_cancel()) send(owners_.ask(0, cancel, now_), false);
  pass(base::seconds(120));
}

void SimCluster::check_rest() const {
  for (const auto& machine : machines_)
    if (!machine->is_empty()) RC_FAIL("left over: " + machine->text());
  RC_ASSERT(shell_.core().ledger().holdings().empty());
  RC_ASSERT(disk_.rows.jobs.empty());
  RC_ASSERT(disk_.rows.run_nodes.empty());
  RC_ASSERT(disk_.rows.steps.empty());
  for (const auto& [id, owner] : owners_.owners()) RC_ASSERT(disk_.rows.ended.contains(id));
  for (const auto& [id, row] : disk_.rows.ended) {
    wire::JobSpec spec;
    RC_ASSERT(spec.ParseFromString(row.spec));
    RC_ASSERT(owners_.owners().contains(spec.has_array() ? JobId(spec.array().job()) : id));
  }
}

void SimCluster::come_to_rest() {
  mend_everything();
  check();
  lift_obstacles();
  run_all_jobs();
  end_all_jobs();
  check_rest();
}

}  // namespace gw::ctld::testing
