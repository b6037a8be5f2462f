// Checker 5: when nothing goes wrong any more, everything that can run runs to its end, and nothing is left over.
#include <fmt/format.h>

#include "base/text.h"
#include "model/job_state.h"
#include "tests/sim/cluster.h"
#include "wire/convert.h"

namespace gw::sim_cluster {
namespace {

constexpr char kRest[] = "everything comes to rest";

wire::ApiRequest resume_nodes(const std::vector<std::string>& names) {
  wire::ApiRequest r;
  for (const std::string& name : names) r.mutable_update_node()->add_names(name);
  r.mutable_update_node()->set_action(wire::kNodeResume);
  return r;
}

wire::ApiRequest gpus_online(const std::string& name) {
  wire::ApiRequest r;
  r.mutable_update_node()->add_names(name);
  r.mutable_update_node()->set_action(wire::kGpuOnline);
  for (uint32_t gpu = 0; gpu < 2; ++gpu) r.mutable_update_node()->add_gpus(gpu);
  return r;
}

wire::ApiRequest unbounded(const std::string& qos) {
  wire::ApiRequest r;
  wire::QuotaChange& change = *r.mutable_change_quotas()->add_changes();
  change.set_what(wire::QuotaChange::kModify);
  change.set_name(qos);
  change.mutable_qos()->mutable_limit()->set_clear(true);
  change.mutable_qos()->set_max_jobs(0);
  change.mutable_qos()->mutable_budget();  // none
  wire::QosAmount& all = *change.mutable_qos()->mutable_guaranteed()->add_set();
  all.set_resource("gpu");
  all.set_amount(1'000'000);  // who can never be preempted needs it
  r.mutable_change_quotas()->set_force(true);
  return r;
}

}  // namespace

void Cluster::pass(Duration time) {
  const Time end = box_.now() + time;
  while (box_.agenda.step(end)) {
  }
}

void Cluster::heal_everything() {
  box_.trace.say(box_.now(), "nothing goes wrong any more");
  box_.has_faults = false;
  shell_.crash_after(0);
  disk_.lose_power_at(0);
  disk_.set_full(false);
  for (const std::string& name : names_) network_.heal(name);
  for (auto& [name, one] : nodes_) {
    one.machine->kill_daemon_after(0);
    boot(one);
  }
  pass(base::seconds(400));
}

wire::ApiReply Cluster::ask_and_wait(uint32_t uid, const wire::ApiRequest& request) {
  wire::ApiReply answer;
  bool is_there = false;
  clients_.ask(uid, request, [&](const wire::ApiReply& reply) {
    answer = reply;
    is_there = true;
    if (reply.has_error()) box_.trace.say(box_.now(), "refused: {}", reply.error().what());
  });
  for (int i = 0; i < 1'200 && !is_there; ++i) pass(base::milliseconds(100));
  if (!is_there) fail(kRest, "a request gets no answer");
  return answer;
}

/// In the controller's own words.
std::string Cluster::why_they_wait() {
  wire::ApiRequest list;
  list.mutable_list_jobs();
  std::string out;
  const wire::ApiReply answer = ask_and_wait(0, list);
  for (const wire::Job& job : answer.list_jobs().jobs()) {
    const wire::Suspension& s = job.status().placed().suspension();
    out += "\n  job " + std::to_string(job.id()) + ": " + job.status().waiting().detail() + s.detail();
    if (job.status().placed().has_suspension())
      out += fmt::format(" (suspended for job {}, rule {}, held {}, by \"{}\")", s.for_job(), s.rule(), s.is_held(),
                         s.who());
  }
  return out;
}

/// It waits for what nobody will give it: a reservation or a partition that is gone; its time has passed; or it stands
/// still, is never preempted, and has no guarantee left in an inner QOS, where it stays.
bool Cluster::may_wait_for_ever(const store::JobRow& row) const {
  wire::JobSpec spec;
  if (!spec.ParseFromString(row.spec)) return false;
  wire::JobStatus status;
  if (!status.ParseFromString(row.status)) return false;
  const bool stands_still = static_cast<model::JobState>(status.state()) == model::JobState::kSuspended;
  const bool is_taken = spec.requeue() || spec.on_preempt() == static_cast<uint32_t>(model::OnPreempt::kCancel);
  if (stands_still && (spec.not_preemptible() || !is_taken) && spec.qos() == "a") return true;
  if (!spec.reservation().empty() || (spec.partitions_size() == 1 && spec.partitions(0) == "p0")) return true;
  // Whoever waits for one of these: a dependency names jobs with lower numbers, so this ends.
  const auto& jobs = kept_->rows().jobs;
  std::string text = spec.dependency();
  for (char& c : text)
    if (c < '0' || c > '9') c = ' ';
  for (const std::string& word : base::split(text, ' ')) {
    const auto id = base::parse_int(word, 1, row.id.value - 1, "job");
    const auto other = id ? jobs.find(base::JobId(static_cast<uint32_t>(*id))) : jobs.end();
    if (other != jobs.end() && may_wait_for_ever(other->second)) return true;
  }
  return false;
}

bool Cluster::is_all_over() const {
  for (const auto& [id, row] : kept_->rows().jobs)
    if (!may_wait_for_ever(row)) return false;
  return true;
}

std::string Cluster::text_of(const store::JobRow& row) const {
  wire::JobStatus status;
  wire::JobSpec spec;
  if (!status.ParseFromString(row.status) || !spec.ParseFromString(row.spec)) return "a row that cannot be read";
  std::string out = fmt::format(
      "job {} of kind {} {} attempt {} qos {} in {}, {} nodes of {} GPUs{}; {}{}", row.id.text(), spec.kind(),
      model::long_name(static_cast<model::JobState>(status.state())), status.attempt(), spec.qos(), spec.partitions(0),
      spec.request().min_nodes(), spec.request().gpus(), spec.licenses().empty() ? "" : ", licences " + spec.licenses(),
      status.waiting().detail(), spec.hold_user() || spec.hold_admin() ? " held" : "");
  for (const std::string& node : status.placed().waiting_for()) out += "; waits for " + node;
  for (const std::string& node : status.placed().unreachable()) out += "; cannot reach " + node;
  return out;
}

/// Whoever waits gets where it can be served: inner QOS guarantee their own jobs nothing.
void Cluster::let_jobs_go() {
  wire::ApiRequest release, resume, move;
  release.mutable_job_action()->set_action(wire::kRelease);
  resume.mutable_job_action()->set_action(wire::kResume);
  move.mutable_update_job()->set_qos("normal");
  for (const auto& [id, row] : kept_->rows().jobs) {
    release.mutable_job_action()->add_ids(id.value);
    resume.mutable_job_action()->add_ids(id.value);
    move.mutable_update_job()->add_ids(id.value);
  }
  if (release.job_action().ids_size() == 0) return;
  ask_and_wait(0, release);
  ask_and_wait(0, resume);
  ask_and_wait(0, move);
}

/// Nobody and nothing is in the way any more.
void Cluster::lift_obstacles() {
  file_.partitions.back().nodes = file_.partitions.front().nodes;
  wire::ApiRequest reconfigure;
  reconfigure.mutable_reconfigure();
  ask_and_wait(0, reconfigure);
  for (const char* name : {"r0", "r1"}) {
    wire::ApiRequest r;
    r.mutable_delete_reservation()->set_name(name);
    ask_and_wait(0, r);
  }
  for (const char* qos : {"normal", "a", "a1", "b"}) ask_and_wait(0, unbounded(qos));
  for (int round = 0; round < 60 && !is_all_over(); ++round) {
    ask_and_wait(0, resume_nodes(names_));
    for (const std::string& name : names_)
      if (round % 10 == 0) ask_and_wait(0, gpus_online(name));
    let_jobs_go();
    pass(base::seconds(round % 10 == 9 ? 400 : 40));
  }
}

void Cluster::check_rest() {
  if (clients_.awaits_answers()) fail(kRest, "requests without an answer: " + clients_.open_text());
  std::string stuck;
  for (const auto& [id, row] : kept_->rows().jobs)
    if (!may_wait_for_ever(row)) stuck += "\n  " + text_of(row);
  if (!stuck.empty()) {
    for (const auto& [name, one] : nodes_) stuck += "\n  " + one.machine->text();
    fail(kRest, "these never end:" + stuck + why_they_wait());
  }
  wire::ApiRequest cancel;
  for (const auto& [id, row] : kept_->rows().jobs) cancel.mutable_cancel()->mutable_filter()->add_ids(id.value);
  if (cancel.has_cancel()) ask_and_wait(0, cancel);
  pass(base::seconds(200));
  for (const auto& [name, one] : nodes_)
    if (!one.machine->is_empty()) fail(kRest, "left over: " + one.machine->text());
  const ctld::testing::MemoryStore& rows = kept_->rows();
  for (const auto& [id, row] : rows.jobs) fail(kRest, "was cancelled and does not end: " + text_of(row));
  if (!rows.run_nodes.empty() || !rows.steps.empty()) fail(kRest, "rows of runs are left over");
  for (const auto& [id, uid] : kept_->jobs())
    if (!rows.ended.contains(base::JobId(id))) fail(kRest, "job " + std::to_string(id) + " has no end");
}

}  // namespace gw::sim_cluster
