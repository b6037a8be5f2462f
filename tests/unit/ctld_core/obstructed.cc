// See obstructed.h.
#include "tests/unit/ctld_core/obstructed.h"

#include <array>
#include <stdexcept>
#include <string_view>

#include "base/text.h"
#include "wire/blockers.h"

namespace gw::ctld::testing::obstacles {

Harbour::Harbour() {
  for (const char* name : {"n0", "m0", "n1", "s0", "s1", "x0", "x1"}) {
    nodes[name].name = name;
    makes[name].is_away = name[0] == 'm' || name[0] == 's';
  }
  settings.qos.emplace_back().name = "dept";
  settings.qos.emplace_back().name = "team";
  settings.qos.back().parent = "dept";
  settings.policy.reclaim = model::Reclaim::kNone;  // nobody is preempted for the job
  model::Partition main;
  main.name = "main";
  main.is_default = main.unlimited = true;
  main.cores_per_gpu_kept = 0;
  main.nodes = {"n0", "n1", "s0", "s1"};
  settings.partitions = {main};
}

namespace {

/// What numbers of jobs stand behind.
constexpr std::array<std::string_view, 6> kBeforeJobs = {"job ", "release ", "jobid=", "afterany:", "afterok:", "run "};
constexpr base::Duration kSoon = base::milliseconds(1);

Settings settings_of(const Harbour& harbour) {
  Settings out = harbour.settings;
  for (const auto& [name, node] : harbour.nodes) out.nodes.push_back(node);
  return out;
}

}  // namespace

Obstructed::Obstructed(Harbour h) : World(0, settings_of(h)), harbour(std::move(h)) {
  if (!restored) throw std::logic_error(restored.error().text());
  in_main = settings.partitions.front().nodes;
  for (const auto& [name, make] : harbour.makes)
    if (!make.is_away) join(name);
  wire::ApiRequest aside;
  wire::Partition& p = *aside.mutable_create_partition()->mutable_partition();
  p.set_name("aside");
  for (const char* node : {"x0", "x1"}) p.add_nodes(node);
  p.set_cores_per_gpu_kept(0);
  for (const char* key : {"nodes", "cores_per_gpu_kept"}) p.add_origins()->set_key(key);
  must(0, aside);
  model::Request r = gang(2, 2);
  r.cpus_per_task = 2;
  r.mem_per_node_mb = 8'000;
  request = submission(r);
  wire::JobSpec& spec = *request.mutable_submit()->mutable_spec();
  spec.set_qos("team");
  spec.add_partitions("main");
  spec.set_time_limit_us(base::hours(2).us);
}

void Obstructed::submit_the_job() {
  the_job = enter("it", request, kWaiter);
  if (request.submit().components_size() > 0) others["its component"] = other_component();
  std::erase_if(in_main, [](const std::string& node) { return node.starts_with('s'); });
  set_main(in_main);
}

Obstructed::Told Obstructed::told() {
  wire::ApiRequest r;
  r.mutable_why_job()->set_id(the_job.value);
  const wire::WhyJobReply why = must(kWaiter, r).why_job();
  return {wire::blockers_from(why.job().status().waiting().blockers()), wire::blockers_from(why.outlook().blockers())};
}

std::string Obstructed::name_of(const std::string& id) const {
  for (const auto& [name, other] : others)
    if (other.text() == id) return name;
  return id;
}

std::string Obstructed::words(const model::Blockers& blockers) const {
  const std::string text = model::words(blockers);
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    if (end == i) {
      out += text[i++];
      continue;
    }
    const std::string number = text.substr(i, end - i);
    const bool is_job = std::any_of(kBeforeJobs.begin(), kBeforeJobs.end(),
                                    [&](std::string_view before) { return out.ends_with(before); });
    out += is_job ? name_of(number) : number;
    i = end;
  }
  return out;
}

wire::ApiReply Obstructed::must(uint32_t uid, const wire::ApiRequest& asked) {
  const wire::ApiReply reply = ask(uid, asked);
  if (reply.has_error()) throw std::logic_error(reply.error().what());
  for (const auto* faults : {&reply.jobs().faults(), &reply.cancel().faults()})
    if (!faults->empty()) throw std::logic_error(faults->Get(0).error().what());
  return reply;
}

void Obstructed::act(uint32_t uid, wire::JobAction action, JobId id) {
  wire::ApiRequest r;
  r.mutable_job_action()->add_ids((id ? id : the_job).value);
  r.mutable_job_action()->set_action(action);
  must(uid, r);
}

void Obstructed::change_node(const std::string& node, wire::NodeAction action, const std::vector<uint32_t>& gpus) {
  wire::ApiRequest r;
  wire::UpdateNodeRequest& u = *r.mutable_update_node();
  u.add_names(node);
  u.set_action(action);
  u.set_reason("disk");
  for (const uint32_t gpu : gpus) u.add_gpus(gpu);
  must(0, r);
}

void Obstructed::set_main(const std::vector<std::string>& nodes) {
  in_main = nodes;
  put_in_main(nodes);
}

void Obstructed::put_in_main(const std::vector<std::string>& nodes) {
  change_main([&](wire::UpdatePartitionRequest& u) { u.set_nodes(base::join(nodes, ",")); });
}

void Obstructed::reserve(const std::vector<std::string>& nodes, base::Duration in) {
  wire::ApiRequest r;
  wire::Reservation& made = *r.mutable_create_reservation()->mutable_reservation();
  made.set_name("berths");
  for (const std::string& node : nodes) made.add_nodes(node);
  made.add_users(user(kWaiter).user);
  made.set_start_us((now + in).us);
  made.set_duration_us(base::hours(3).us);
  made.set_ignore_jobs(true);
  must(0, r);
  update([](wire::UpdateJobRequest& u) { u.set_reservation("berths"); });
}

wire::ApiRequest Obstructed::submission_of(const Other& other) {
  model::Request r = gang(1, other.gpus);
  if (other.gpus == 0) r.gpu_counting = model::GpuCounting::kNone;
  r.cpus_per_task = other.cores;
  r.mem_per_node_mb = other.mem_mb;
  if (other.gres) r.gres.add("fpga", 1);
  r.nodelist = {other.node};
  wire::ApiRequest out = submission(r);
  wire::JobSpec& spec = *out.mutable_submit()->mutable_spec();
  spec.set_qos(other.qos);
  spec.add_partitions(other.partition);
  spec.set_licenses(other.licenses);
  if (other.limit != base::kUnlimited) spec.set_time_limit_us(other.limit.us);
  return out;
}

JobId Obstructed::enter(const std::string& name, const wire::ApiRequest& asked, uint32_t uid) {
  const JobId id(must(uid, asked).submit().job_id());
  others[name] = id;
  return id;
}

void Obstructed::run_other(const std::string& name, const Other& other) {
  const JobId id = enter(name, submission_of(other), other.uid);
  settle();
  if (job(id).placed() == nullptr) throw std::logic_error(name + " does not run");
  started(job(id).placed()->allocation.shares.front().name, id);
}

void Obstructed::end(const std::string& name) {
  const JobId id = others.at(name);
  std::vector<std::string> nodes;
  if (const model::Placed* placed = job(id).placed(); placed != nullptr) nodes = placed->allocation.node_names();
  wire::ApiRequest r;
  r.mutable_cancel()->mutable_filter()->add_ids(id.value);
  must(0, r);
  leave(id, nodes);
}

void Obstructed::leave(JobId id, const std::vector<std::string>& nodes) {
  for (const std::string& node : nodes) done(node, id);
}

void Obstructed::join(const std::string& node, const std::vector<wire::RunState>& runs, const wire::StateMark& seen) {
  const Harbour::Make& make = harbour.makes.at(node);
  model::NodeTopology t = model::flat_topology(12, 64'000, 6, make.gpu_type);
  t.sockets = make.sockets;
  for (uint32_t i = 0; i < t.cores.size(); ++i) t.cores[i].socket = i * make.sockets / 12;
  for (uint32_t i = 0; i < t.gpus.size(); ++i) t.gpus[i].pcie_switch = i / 2;
  wire::NodeToController m;
  wire::Register& r = *m.mutable_register_node();
  r.set_name(node);
  r.set_boot_id("b1");
  r.set_version(make.version);
  *r.mutable_topology() = wire::to_wire(t);
  for (const wire::RunState& run : runs) *r.add_runs() = run;
  if (!seen.root().empty()) *r.mutable_seen() = seen;
  const auto received = wire::receive_node_message(m.SerializeAsString(), core->topologies());
  if (!received) throw std::logic_error(node + " is not understood");
  links[node] = ++last_link;
  core->on_node_message(now, links[node], NodePeer{0, "127.0.0.1", received->topology}, received->message);
  pump();
}

void Obstructed::fail_its_launch() {
  settle();
  const std::vector<std::string> nodes = job(the_job).placed()->allocation.node_names();
  wire::NodeToController m;
  m.mutable_prepare_failed()->set_job(the_job.value);
  m.mutable_prepare_failed()->set_attempt(job(the_job).attempt);
  m.mutable_prepare_failed()->set_node_fault(true);
  m.mutable_prepare_failed()->set_reason(static_cast<uint32_t>(model::EndReason::kLaunchFailed));
  m.mutable_prepare_failed()->set_detail("cgroup: no space left");
  say(nodes.front(), m);
  leave(the_job, nodes);
}

void Obstructed::tell_of_later_run(const std::string& node, JobId id) {
  wire::StateMark mark = last(node, wire::ControllerToNode::kRegistered)->registered().mark();
  mark.set_incarnation("later");
  cut(node);
  wire::RunState later = run(id, 7, wire::kRunStarted);
  *later.mutable_placed_in() = mark;
  join(node, {later});
}

void Obstructed::end_later_run(const std::string& node, JobId id) {
  change_node(node, wire::kEndForeign);
  done(node, id, 7);
}

void Obstructed::set_budget(const std::string& name, bool is_user, uint64_t gpu_seconds) {
  wire::ApiRequest r;
  wire::QuotaChange& change = *r.mutable_change_quotas()->add_changes();
  change.set_what(wire::QuotaChange::kModify);
  change.set_name(name);
  change.set_is_user(is_user);
  wire::GpuBudget& budget = is_user ? *change.mutable_budget() : *change.mutable_qos()->mutable_budget();
  budget.set_gpu_seconds(gpu_seconds);
  budget.set_period(wire::kEachDay);
  must(0, r);
}

void Obstructed::cut_array(const std::string& tasks) {
  wire::ApiRequest r;
  wire::TasksOfArray& some = *r.mutable_cancel()->mutable_filter()->add_tasks();
  some.set_array(the_job.value);
  const model::TaskSet set = *model::TaskSet::parse(tasks);
  for (const model::TaskRange& range : set.ranges()) {
    wire::TaskRange& one = *some.add_tasks();
    one.set_first(range.first);
    one.set_last(range.last);
    one.set_step(range.step);
  }
  must(0, r);
  for (const auto& [id, job] : std::map<JobId, model::Job>(core->jobs()))
    if (job.state == model::JobState::kCompleting) leave(id, job.placed()->allocation.node_names());
}

void Obstructed::settle() {
  for (int i = 0; i < 10; ++i) {
    if (!is_scheduler_away) schedule();
    if (core->timers().next() > now + kSoon) return;
    now = now + kSoon;  // what is too much for one transaction is continued
    core->on_tick(now);
    pump();
  }
}

void Obstructed::pass(base::Duration time) {
  now = now + time;
  core->set_lease_clock(boot_now());
  core->on_tick(now);
  pump();
  settle();
}

}  // namespace gw::ctld::testing::obstacles
