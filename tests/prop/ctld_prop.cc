// The controller's core against nodes that lose links, reboot and restart, and against its own crashes, in any order of
// events. Checked after every event: nothing is given twice, to jobs or to the steps of one, no job has two runs alive,
// no step is without its job, what is lost in a crash is nothing, and no event is one that the state table does not
// know.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/ctld_core/world.h"

namespace gw::ctld {
namespace {

using testing::gang;
using testing::World;

using RunKey = std::tuple<uint32_t, uint32_t, uint32_t>;  // job, attempt, step: 0 or its number + 1

/// A node as the controller must be able to bear it: obeys, reports until acknowledged, and forgets all in a reboot.
struct SimNode {
  std::string name;
  bool is_linked = false;
  int boots = 1;
  std::map<RunKey, wire::RunPhase> runs;
  std::set<RunKey> frozen;
  size_t heard = 0;  // messages of the present link taken so far
};

class Chaos {
 public:
  Chaos() : world_(3, settings()) {
    for (const auto& config : world_.settings.nodes) nodes_.push_back({config.name, false, 1, {}, {}, 0});
  }
  /// Who is more urgent preempts others, of whom some are suspended rather than end.
  static Settings settings() {
    Settings s;
    model::Partition& p = s.partitions.emplace_back();
    p.name = "main";
    p.is_default = p.unlimited = p.share_suspended_gpus = true;
    s.policy.preempts = true;
    s.policy.grace = base::seconds(20);
    s.allow_root_jobs = true;
    return s;
  }

  void step(uint32_t dice) {
    const uint32_t pick = dice / 16;
    SimNode& node = nodes_[pick % nodes_.size()];
    switch (dice % 16) {
      case 0:
      case 1:
      case 2:
        submit(pick);
        break;
      case 3:
        world_.schedule();
        break;
      case 4:
        cancel(pick);
        break;
      case 5:
        link(node);
        break;
      case 6:
        cut(node);
        break;
      case 7:
        reboot(node);
        break;
      case 8:
        crash_of_controller();
        break;
      case 9:
        finish_a_run(node, pick);
        break;
      case 10:
        world_.tick(base::seconds(pick % 90));
        break;
      case 11:
        act(pick, wire::kHold);
        break;
      case 12:
        act(pick, wire::kRelease);
        break;
      case 13:
        act(pick, wire::kRequeue);
        break;
      case 14:
        act(pick / 2, pick % 2 == 0 ? wire::kSuspend : wire::kResume);
        break;
      default:
        begin_step(pick);
        break;
    }
    obey();
    check();
  }

 private:
  World world_;
  std::vector<SimNode> nodes_;
  std::vector<JobId> accepted_;

  void submit(uint32_t pick) {
    model::Request request = gang(1 + pick % 3, 1 + pick % 8);
    request.mem_per_node_mb = pick % 5 == 0 ? 40'000 : 1000;
    wire::ApiRequest r = World::submission(request);
    wire::JobSpec& spec = *r.mutable_submit()->mutable_spec();
    spec.set_priority(static_cast<int64_t>(pick / 24 % 3));
    spec.set_on_preempt(static_cast<uint32_t>(model::kOnPreempt[pick / 72 % model::kOnPreempt.size()]));
    if (pick % 7 == 0) spec.set_preempt_signo(10);
    if (pick % 4 == 0) spec.set_kind(static_cast<uint32_t>(model::JobKind::kAllocation));
    if (pick % 11 == 0) {
      spec.set_kind(static_cast<uint32_t>(model::JobKind::kStep));
      r.mutable_submit()->mutable_first_step()->set_client_key(std::string(32, 'f'));
    }
    if (spec.kind() != 0) r.mutable_submit()->clear_script();
    const JobId id(world_.ask(0, r).submit().job_id());
    if (id) accepted_.push_back(id);
  }
  /// Keys repeat: a client may ask again for what it has.
  void begin_step(uint32_t pick) {
    const JobId id = some_job(pick);
    if (!id) return;
    wire::ApiRequest r;
    wire::CreateStepRequest& create = *r.mutable_create_step();
    create.set_job_id(id.value);
    create.set_client_key(std::string(32, static_cast<char>('a' + pick / 8 % 5)));
    create.mutable_step()->set_tasks(1 + pick / 16 % 6);
    create.mutable_step()->set_overlap(pick / 64 % 3 == 0);
    world_.ask(0, r);
  }
  JobId some_job(uint32_t pick) const { return accepted_.empty() ? JobId() : accepted_[pick % accepted_.size()]; }
  void cancel(uint32_t pick) {
    if (const JobId id = some_job(pick)) world_.cancel(1000, id);
  }
  void act(uint32_t pick, wire::JobAction action) {
    const JobId id = some_job(pick);
    if (!id) return;
    wire::ApiRequest r;
    r.mutable_job_action()->add_ids(id.value);
    r.mutable_job_action()->set_action(action);
    world_.ask(0, r);
  }
  void link(SimNode& node) {
    if (node.is_linked) return;
    std::vector<wire::RunState> runs;
    for (const auto& [key, phase] : node.runs) {
      const auto& [job, attempt, step] = key;
      wire::RunState& run = runs.emplace_back(World::run(JobId(job), attempt, phase));
      run.set_step(step);
      if (step == 0) continue;
      run.set_address("10.0.0.1:1");
      run.set_key(std::string(32, 'k'));
    }
    node.heard = 0;
    node.is_linked = true;
    world_.connect(node.name, runs, "boot" + std::to_string(node.boots));
  }
  void cut(SimNode& node) {
    if (!node.is_linked) return;
    node.is_linked = false;
    world_.cut(node.name);
  }
  void reboot(SimNode& node) {
    cut(node);
    node.runs.clear();
    node.frozen.clear();
    ++node.boots;
  }
  /// What is to be known again of each run: in the order of its nodes, what each of them has and has said.
  static std::map<uint32_t, std::vector<std::string>> runs_of(const Controller& core) {
    std::map<uint32_t, std::vector<std::string>> out;
    for (const auto& [id, job] : core.jobs()) {
      if (job.placed() == nullptr) continue;
      out[id.value].push_back(wire::stored_status(job).SerializeAsString());
      for (const model::NodeShare& share : job.placed()->allocation.shares)
        out[id.value].push_back(wire::run_node(*job.placed(), share).SerializeAsString());
    }
    return out;
  }
  void crash_of_controller() {
    world_.tick({});  // what is due has happened: an ended job that is old enough has left memory
    const std::string before = world_.core->fingerprint();
    const auto runs = runs_of(*world_.core);
    for (SimNode& node : nodes_) node.is_linked = false;
    world_.restart();
    RC_ASSERT(world_.restored.has_value());
    RC_ASSERT(runs_of(*world_.core) == runs);
    // Out of reach is what recovery assumes of every node that a job holds; apart from that nothing differs.
    if (std::all_of(world_.core->jobs().begin(), world_.core->jobs().end(),
                    [](const auto& entry) { return !model::is_active(entry.second.state); }))
      RC_ASSERT(world_.core->fingerprint() == before);
  }
  void finish_a_run(SimNode& node, uint32_t pick) {
    if (node.runs.empty() || !node.is_linked) return;
    auto run = node.runs.begin();
    std::advance(run, pick % node.runs.size());
    const auto [job, attempt, step] = run->first;
    if (run->second != wire::kRunStarted || node.frozen.contains({job, attempt, 0})) return;
    run->second = wire::kRunEnding;
    wire::NodeToController m;
    m.mutable_batch_exited()->set_job(job);
    m.mutable_batch_exited()->set_attempt(attempt);
    m.mutable_batch_exited()->set_step(step);
    m.mutable_batch_exited()->set_exit_code(static_cast<int>(pick % 3));
    world_.say(node.name, m);
    if (step == 0) return;
    node.runs.erase({job, attempt, step});
    say_done(node, {job, attempt, step});
  }
  void say_done(const SimNode& node, const RunKey& key) {
    wire::NodeToController m;
    m.mutable_done()->set_job(std::get<0>(key));
    m.mutable_done()->set_attempt(std::get<1>(key));
    m.mutable_done()->set_step(std::get<2>(key));
    world_.say(node.name, m);
  }

  void obey() {
    for (bool any = true; any;) {
      any = false;
      for (SimNode& node : nodes_) {
        while (node.is_linked) {
          const LinkId link = world_.links.at(node.name);
          if (std::count(world_.closed.begin(), world_.closed.end(), link) > 0) {  // the controller gave it up
            node.is_linked = false;
            world_.links.erase(node.name);
            break;
          }
          const auto& inbox = world_.to_node[world_.links.at(node.name)];
          if (node.heard >= inbox.size()) break;
          const wire::ControllerToNode message = inbox[node.heard++];
          take(node, message);
          any = true;
        }
      }
    }
  }
  void take(SimNode& node, const wire::ControllerToNode& m) {
    using Kind = wire::ControllerToNode;
    switch (m.kind_case()) {
      case Kind::kRegistered: {
        std::set<RunKey> wanted;
        for (const auto& run : m.registered().wanted()) wanted.insert({run.job(), run.attempt(), run.step()});
        std::erase_if(node.runs, [&](const auto& run) { return !wanted.contains(run.first); });
        return;
      }
      case Kind::kPrepare:
        return prepare(node, m.prepare());
      case Kind::kGo:
        if (const auto it = node.runs.find({m.go().job(), m.go().attempt(), 0}); it != node.runs.end())
          it->second = wire::kRunStarted;
        return;
      case Kind::kStop:
        return stop(node, {m.stop().job(), m.stop().attempt(), m.stop().step()});
      case Kind::kStartStep:
        return start_step(node, m.start_step());
      case Kind::kSuspend:
        return suspend(node, m.suspend());
      case Kind::kResume:
        node.frozen.erase({m.resume().job(), m.resume().attempt(), 0});
        return;
      default:
        return;
    }
  }
  /// The steps of a job end before it.
  void stop(SimNode& node, const RunKey& key) {
    const auto [job, attempt, step] = key;
    std::vector<RunKey> ending{key};
    if (step == 0)
      for (const auto& [run, phase] : node.runs)
        if (std::get<0>(run) == job && std::get<1>(run) == attempt && std::get<2>(run) != 0)
          ending.insert(ending.begin(), run);
    for (const RunKey& run : ending) {
      node.runs.erase(run);
      node.frozen.erase(run);
      say_done(node, run);
    }
  }
  void start_step(SimNode& node, const wire::StartStep& order) {
    const uint32_t job = order.job().job(), attempt = order.job().attempt();
    const auto run = node.runs.find({job, attempt, 0});
    wire::NodeToController m;
    if (run == node.runs.end() || run->second == wire::kRunEnding) {
      m.mutable_prepare_failed()->set_job(job);
      m.mutable_prepare_failed()->set_attempt(attempt);
      m.mutable_prepare_failed()->set_step(order.step());
    } else {
      node.runs[{job, attempt, order.step()}] = wire::kRunStarted;
      wire::Prepared& ready = *m.mutable_prepared();
      ready.set_job(job);
      ready.set_attempt(attempt);
      ready.set_step(order.step());
      ready.set_address("10.0.0.1:1");
      ready.set_key(std::string(32, 'k'));
    }
    world_.say(node.name, m);
  }
  void suspend(SimNode& node, const wire::Suspend& order) {
    const RunKey key{order.job(), order.attempt(), 0};
    if (const auto run = node.runs.find(key); run == node.runs.end() || run->second != wire::kRunStarted) return;
    wire::NodeToController m;
    m.mutable_suspended()->set_job(order.job());
    m.mutable_suspended()->set_attempt(order.attempt());
    m.mutable_suspended()->set_round(order.round());
    if ((order.job() + order.round()) % 5 == 0)
      m.mutable_suspended()->set_problem("it cannot be frozen");
    else
      node.frozen.insert(key);
    world_.say(node.name, m);
  }
  /// After all has been heard: who is to run runs, and who is to be suspended is suspended.
  void check_pace(const model::Job& job) const {
    if (job.state != model::JobState::kRunning && job.state != model::JobState::kSuspended) return;
    const bool stands = job.placed()->suspension.has_value();
    RC_ASSERT(stands || job.state == model::JobState::kRunning);
    for (const model::NodeShare& share : job.placed()->allocation.shares) {
      for (const SimNode& node : nodes_) {
        const RunKey key{job.id.value, job.attempt, 0};
        const auto run = node.runs.find(key);
        if (node.name != share.name || !node.is_linked || run == node.runs.end()) continue;
        if (run->second == wire::kRunStarted) RC_ASSERT(node.frozen.contains(key) == stands);
      }
    }
  }
  void prepare(SimNode& node, const wire::Prepare& p) {
    auto& phase = node.runs[{p.job(), p.attempt(), 0}];
    if (phase == wire::kRunUnknown) phase = p.go() ? wire::kRunStarted : wire::kRunPrepared;
    wire::NodeToController m;
    if (p.go()) {
      m.mutable_started()->set_job(p.job());
      m.mutable_started()->set_attempt(p.attempt());
    } else {
      m.mutable_prepared()->set_job(p.job());
      m.mutable_prepared()->set_attempt(p.attempt());
    }
    world_.say(node.name, m);
  }

  /// Steps lie within their job, and what one has to itself no other has.
  void check_steps() {
    wire::ApiRequest r;
    r.mutable_list_steps();
    std::map<std::pair<uint32_t, std::string>, base::IndexSet> taken;
    const wire::ApiReply reply = world_.ask(0, r);
    for (const wire::Step& step : reply.list_steps().steps()) {
      const auto job = world_.core->jobs().find(JobId(step.job()));
      RC_ASSERT(job != world_.core->jobs().end());
      RC_ASSERT(job->second.placed() != nullptr);
      RC_ASSERT(job->second.attempt == step.attempt());
      for (const wire::StepNode& node : step.nodes()) {
        if (node.is_gone() || step.request().overlap()) continue;
        const auto& shares = job->second.placed()->allocation.shares;
        const auto whole = std::find_if(shares.begin(), shares.end(),
                                        [&](const model::NodeShare& s) { return s.name == node.share().node(); });
        RC_ASSERT(whole != shares.end());
        const auto cores = base::IndexSet::parse(node.share().cores());
        RC_ASSERT(cores && cores->is_subset_of(whole->cores));
        base::IndexSet& others = taken[{step.job(), node.share().node()}];
        RC_ASSERT(!others.intersects(*cores));
        others |= *cores;
      }
    }
    for (const SimNode& node : nodes_)
      for (const auto& [key, phase] : node.runs) {
        const auto [job, attempt, step] = key;
        RC_ASSERT(step == 0 || node.runs.contains({job, attempt, 0}));
      }
  }

  void check() {
    check_steps();
    const base::Status audit = world_.core->audit();
    if (!audit) RC_FAIL(audit.error().text());
    RC_ASSERT(world_.core->metrics(world_.now).unexpected_events == 0U);
    RC_ASSERT(world_.view.capacity().audit().has_value());
    RC_ASSERT(world_.view.capacity().holdings().size() == world_.core->ledger().holdings().size());
    std::map<uint32_t, std::set<uint32_t>> alive;
    for (const SimNode& node : nodes_) {
      for (const auto& [key, phase] : node.runs) {
        if (phase == wire::kRunStarted && std::get<2>(key) == 0) alive[std::get<0>(key)].insert(std::get<1>(key));
      }
    }
    for (const auto& [job, attempts] : alive) RC_ASSERT(attempts.size() == 1U);
    for (JobId id : accepted_) RC_ASSERT(world_.store.jobs.contains(id) || world_.store.ended.contains(id));
    for (const auto& [id, job] : world_.core->jobs()) {
      RC_ASSERT(job.is_consistent());
      check_pace(job);
      // Nothing waits for nobody: a job that ends has a node to hear of, or it has ended.
      if (job.state == model::JobState::kCompleting) RC_ASSERT(!job.placed()->waiting_for.empty());
    }
  }
};

RC_GTEST_PROP(Controller, SurvivesAnyOrderOfEvents, (const std::vector<uint32_t>& dice)) {
  Chaos chaos;
  for (uint32_t d : dice) chaos.step(d);
}

RC_GTEST_PROP(Controller, SurvivesLongRuns, ()) {
  const auto dice = *rc::gen::container<std::vector<uint32_t>>(120, rc::gen::inRange<uint32_t>(0, 1 << 16));
  Chaos chaos;
  for (uint32_t d : dice) chaos.step(d);
}

}  // namespace
}  // namespace gw::ctld
