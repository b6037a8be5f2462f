// What goes on in the box by itself. See cluster.h.
#include "tests/sim/cluster.h"

#include <algorithm>
#include <utility>

#include "store/sqlite_store.h"
#include "tests/sim/check_attempts.h"
#include "tests/sim/check_gangs.h"
#include "tests/sim/check_gres.h"
#include "tests/sim/check_licenses.h"
#include "tests/sim/check_programs.h"
#include "tests/sim/check_use.h"
#include "tests/sim/settings.h"
#include "wire/receive.h"

namespace gw::sim_cluster {

using ctld::Controller;

namespace {

constexpr char kState[] = "/state";

std::string kind_text(const wire::ControllerToNode& m) {
  const auto run = [](const auto& o) { return std::to_string(o.job()) + "." + std::to_string(o.attempt()); };
  if (m.has_prepare()) return "Prepare " + run(m.prepare()) + (m.prepare().go() ? " go" : "");
  if (m.has_go()) return "Go " + run(m.go());
  if (m.has_stop()) return "Stop " + run(m.stop()) + " step " + std::to_string(m.stop().step());
  if (m.has_ack()) return "Ack " + run(m.ack()) + " step " + std::to_string(m.ack().step());
  if (m.has_suspend()) return "Suspend " + run(m.suspend());
  if (m.has_resume()) return "Resume " + run(m.resume());
  if (m.has_start_step()) return "StartStep " + run(m.start_step().job());
  if (m.has_registered()) return "Registered, wanted " + std::to_string(m.registered().wanted_size());
  return "message " + std::to_string(m.kind_case());
}

std::string request_text(const wire::ApiRequest& r) {
  std::string out = std::to_string(r.kind_case());
  if (r.has_submit()) out = "submit " + r.submit().spec().name();
  if (r.has_job_action()) out = "action " + std::to_string(r.job_action().action());
  for (const uint32_t id : r.job_action().ids()) out += " " + std::to_string(id);
  for (const uint32_t id : r.update_job().ids()) out += " update " + std::to_string(id);
  for (const uint32_t id : r.cancel().filter().ids()) out += " cancel " + std::to_string(id);
  return out;
}

std::string kind_text(const wire::NodeToController& m) {
  const auto run = [](const auto& o) {
    return std::to_string(o.job()) + "." + std::to_string(o.attempt()) + " step " + std::to_string(o.step());
  };
  if (m.has_prepared()) return "Prepared " + run(m.prepared());
  if (m.has_prepare_failed()) return "PrepareFailed " + run(m.prepare_failed());
  if (m.has_batch_exited()) return "BatchExited " + run(m.batch_exited());
  if (m.has_done()) return "Done " + run(m.done());
  if (m.has_started()) return "Started " + std::to_string(m.started().job());
  if (m.has_suspended()) return "Suspended " + std::to_string(m.suspended().job()) + m.suspended().problem();
  if (m.has_register_node()) return "Register with " + std::to_string(m.register_node().runs_size()) + " runs";
  return "message " + std::to_string(m.kind_case());
}

}  // namespace

Cluster::Cluster(uint64_t seed, Trace& trace, Sights& seen)
    : box_{{}, Random(seed), trace},
      faults_(box_.random.fork()),
      storm_(box_.random.any({4U, 10U, 25U})),
      disk_(box_.random.next()),
      network_(box_, *this),
      clients_(box_, *this),
      file_(draw_settings(box_.random, draw_node_count(box_.random))),
      shell_(file_, *this, *this) {
  std::map<std::string, model::NodeTopology> topologies;
  std::vector<uint32_t> gpus;
  for (const model::NodeConfig& config : file_.nodes) {
    names_.push_back(config.name);
    topologies[config.name] = draw_topology(box_.random);
    gpus.push_back(static_cast<uint32_t>(topologies[config.name].gpus.size()));
  }
  const std::vector<std::string> lending = lending_partitions(file_);
  auto kept = std::make_unique<KeptChecker>();
  kept_ = kept.get();
  checkers_.push_back(std::move(kept));
  checkers_.push_back(std::make_unique<LicenseChecker>(file_.policy.licenses));
  std::map<std::string, model::Gres> gres;
  for (const model::NodeConfig& node : file_.nodes) gres[node.name] = node.gres;
  checkers_.push_back(std::make_unique<GresChecker>(std::move(gres)));
  checkers_.push_back(std::make_unique<UseChecker>(topologies, std::set<std::string>(lending.begin(), lending.end())));
  checkers_.push_back(std::make_unique<AttemptChecker>());
  checkers_.push_back(std::make_unique<GangChecker>());
  checkers_.push_back(std::make_unique<ProgramChecker>());
  checkers_.push_back(std::make_unique<SightChecker>(seen));
  users_.emplace(box_, clients_, gpus, [this] { return running_jobs(); });
  Operator& hands = *this;
  admin_.emplace(box_, clients_, hands, names_);
  start_controller();
  NodeNetwork& network = *this;
  for (const std::string& name : names_)
    nodes_[name].machine = std::make_unique<Machine>(name, network, topologies[name], box_.now());
  for (auto& [name, node] : nodes_) after_node(node);
}

void Cluster::run() {
  users_->begin();
  admin_->begin();
  plan_fault();
  end_something();
  const Time end = box_.now() + base::seconds(500 + box_.random(1'000));
  while (box_.agenda.step(end)) {
  }
  users_->leave();
  admin_->leave();
  heal_everything();
  admin_->look();
  pass(base::seconds(30));
  admin_->forget();
  lift_obstacles();
  check_rest();
}

// The controller

void Cluster::start_controller() {
  is_start_planned_ = false;
  if (shell_.is_up()) return;
  shell_.configure(file_);
  disk_.restore_power();
  const base::Status started = shell_.start(box_.now(), box_.boot_time());
  if (!started) fail("the controller starts", started.error().text());
  box_.trace.say(box_.now(), "controller: start {}", shell_.starts());
  after_controller();
  admin_->look();
}

base::Result<store::Snapshot> Cluster::load(Time ended_since) {
  store::SqliteOptions options;
  options.vfs = disk_.vfs();
  GW_TRY(opened, store::open_sqlite(kState, options));
  store_ = std::move(opened.store);
  GW_TRY(all, store_->load({}));
  tell([&](Checker& checker) { checker.on_loaded(all); });
  return store_->load(ended_since);
}

base::Status Cluster::commit(std::span<const store::Batch> batches) {
  base::Status done = store_->commit(batches);
  if (done || !disk_.has_power()) tell([&](Checker& checker) { checker.on_rows(batches, done.has_value()); });
  return done;
}

void Cluster::on_crash() {
  box_.trace.say(box_.now(), "controller: is gone, {}", is_leaving_ ? "as it was told" : "it crashed");
  network_.controller_dies(death_ == Death::kPower && is_silent_);
  clients_.on_crash();
  if (death_ != Death::kNone && disk_.has_power())
    disk_.lose_power(death_ == Death::kProcess ? Disk::Loss::kNothing
                     : faults_.chance(50)      ? Disk::Loss::kSome
                                               : Disk::Loss::kAll);
  store_.reset();
  disk_.set_full(false);
  controller_wakes_ = Time::never();
  is_write_planned_ = is_pass_planned_ = false;
  if (std::exchange(is_start_planned_, true)) return;
  const Duration away = faults_.chance(15) ? base::seconds(faults_.between(30, 150))
                                           : faults_.between(base::milliseconds(50), base::seconds(10));
  box_.agenda.after(away, [this] { start_controller(); });
}

/// Whatever it did may have left something to be done.
void Cluster::after_controller() {
  if (!shell_.is_up()) return;
  plan_write();
  plan_pass();
  wake_controller();
}

void Cluster::plan_write() {
  if (!shell_.is_writing() || std::exchange(is_write_planned_, true)) return;
  const Duration takes = disk_.is_full() ? base::milliseconds(500) : box_.delay(500, 15'000);
  box_.agenda.after(takes, [this, start = shell_.starts()] {
    if (!shell_.is_up() || start != shell_.starts()) return;
    is_write_planned_ = false;
    const base::Status done = shell_.finish_write();
    if (!done) box_.trace.say(box_.now(), "controller: cannot write: {}", done.error().text());
    if (!done && !disk_.has_power()) shell_.crash(false);
    after_controller();
  });
}

void Cluster::plan_pass() {
  if (!shell_.has_news() || shell_.has_plan() || std::exchange(is_pass_planned_, true)) return;
  box_.agenda.after(box_.delay(5'000, 200'000), [this, start = shell_.starts()] {
    if (!shell_.is_up() || start != shell_.starts()) return;
    shell_.plan(box_.now());
    box_.agenda.after(box_.delay(1'000, 100'000), [this, start] {
      if (!shell_.is_up() || start != shell_.starts()) return;
      is_pass_planned_ = false;
      shell_.hand_over(box_.now(), box_.boot_time());
      after_controller();
    });
  });
}

void Cluster::wake_controller() {
  const Time due = std::max(shell_.core().timers().next(), box_.now() + base::milliseconds(20));
  if (due >= controller_wakes_) return;
  controller_wakes_ = due;
  box_.agenda.after(due - box_.now(), [this, due] {
    if (controller_wakes_ != due) return;
    controller_wakes_ = Time::never();
    controller([](Controller& core, Time now) { core.on_tick(now); });
  });
}

void Cluster::take(const ctld::Reply& reply) {
  wire::ApiReply answer;
  if (!answer.ParseFromString(ctld::serialised(reply))) fail("answers can be read", "one cannot");
  clients_.on_reply(reply.conn, answer);
}

void Cluster::take(const ctld::ListReady& ready) {
  box_.agenda.after(base::milliseconds(1), [this, ready] { piece_taken(ready.conn, ready.request_id); });
}

void Cluster::take(const ctld::ToNode& message) {
  const std::string node = network_.from_controller(message.link, message.message);
  if (!node.empty()) tell([&](Checker& checker) { checker.on_sent(node, message.message); });
}

void Cluster::take(const ctld::Fence& fence) {
  box_.trace.say(box_.now(), "controller: fence {}", fence.node);
  box_.agenda.after(box_.random.between(base::milliseconds(500), base::seconds(10)), [this, fence] {
    const bool works = !box_.has_faults || box_.random.chance(80);
    if (works) power_off(node(fence.node));
    box_.agenda.after(box_.delay(10'000, 2'000'000), [this, fence, works] {
      controller([&](Controller& core, Time now) { core.on_fenced(now, fence.node, fence.since, works, "tried"); });
    });
  });
}

void Cluster::take(const ctld::RunJobProgram& run) {
  box_.trace.say(box_.now(), "controller: program {} of {}.{}", static_cast<int>(run.program), run.job.value,
                 run.attempt);
  tell([&](Checker& checker) { checker.on_program_asked(run); });
  ctld::ProgramEnd end;
  using ctld::ProgramRun;
  if (box_.has_faults && box_.random.chance(10))
    end.run = box_.random.any({ProgramRun::kNotStarted, ProgramRun::kNotTaken, ProgramRun::kUnknown});
  if (end.run != ProgramRun::kRan || (box_.has_faults && box_.random.chance(15))) end.exit_code = 1;
  // Never longer than its limit, unlike what box_.delay() gives.
  const Duration longest = box_.random.chance(80) ? base::milliseconds(500) : base::seconds(90);
  const Duration takes = box_.random.between(base::milliseconds(1), longest);
  box_.agenda.after(takes, [this, run, end, start = shell_.starts()] {
    if (!shell_.is_up() || start != shell_.starts()) return;
    box_.trace.say(box_.now(), "controller: program {} of {}.{} ended {} {}", static_cast<int>(run.program),
                   run.job.value, run.attempt, static_cast<int>(end.run), end.exit_code);
    tell([&](Checker& checker) { checker.on_program_ended(run, end); });
    controller([&](Controller& core, Time now) { core.on_program_ended(now, run.job, run.attempt, run.program, end); });
  });
}

void Cluster::take(const ctld::Reload& reload) {
  box_.agenda.after(box_.delay(5'000, 100'000), [this, reload, start = shell_.starts()] {
    if (!shell_.is_up() || start != shell_.starts()) return;
    ctld::Settings fresh = file_;
    fresh.incarnation = shell_.settings().incarnation;
    controller([&](Controller& core, Time now) { core.on_reconfigured(now, fresh, reload, {"some keys"}, {}); });
  });
}

void Cluster::serve(ConnId conn, uint32_t uid, const wire::ApiRequest& request) {
  const auto received = wire::receive_request(request.SerializeAsString());
  if (!received) fail("requests can be read", received.error().text());
  controller(
      [&](Controller& core, Time now) { core.on_request(now, conn, ctld::testing::World::user(uid), *received); });
}

void Cluster::client_left(ConnId conn) {
  controller([&](Controller& core, Time now) { core.on_client_gone(now, conn); });
}

void Cluster::piece_taken(ConnId conn, uint64_t request) {
  controller([&](Controller& core, Time now) { core.on_piece_taken(now, conn, request); });
}

void Cluster::on_answer(const Asked& asked, const wire::ApiReply& reply) {
  tell([&](Checker& checker) { checker.on_answer(asked, reply); });
}

void Cluster::on_request(const Asked& asked) {
  box_.trace.say(box_.now(), "uid {} asks: {} {}", asked.uid, asked.request.client_id(), request_text(asked.request));
  tell([&](Checker& checker) { checker.on_asked(asked); });
}

void Cluster::controller_hears(LinkId link, const std::string& from, const wire::NodeToController& message) {
  tell([&](Checker& checker) { checker.on_controller_heard(from, message); });
  controller([&](Controller& core, Time now) {
    const auto received = wire::receive_node_message(message.SerializeAsString(), core.topologies());
    if (!received) fail("messages can be read", received.error().text());
    core.on_node_message(now, link, ctld::NodePeer{0, "10.0.0.1", received->topology}, received->message);
  });
}

void Cluster::controller_lost_link(LinkId link, const std::string& why) {
  controller([&](Controller& core, Time now) { core.on_node_gone(now, link, why); });
}

std::vector<uint32_t> Cluster::running_jobs() const {
  std::vector<uint32_t> out;
  for (const auto& [id, row] : kept_->rows().jobs)
    if (row.state == static_cast<uint32_t>(model::JobState::kRunning) ||
        row.state == static_cast<uint32_t>(model::JobState::kSuspended))
      out.push_back(id.value);
  return out;
}

// Nodes

void Cluster::to_controller(const std::string& from, const wire::NodeToController& message) {
  if (box_.trace.is_on() && !message.has_heartbeat())
    box_.trace.say(box_.now(), "{} says {}", from, kind_text(message));
  tell([&](Checker& checker) { checker.on_node_said(*node(from).machine, message); });
  network_.from_node(from, message);
}

void Cluster::hang_up(const std::string& from) {
  if (is_silent_)
    network_.node_dies(from, true);
  else
    network_.node_hangs_up(from);
}

void Cluster::on_begun(const std::string& where, RunKey run) {
  box_.trace.say(box_.now(), "{}: {} begins", where, run.text());
  tell([&](Checker& checker) { checker.on_begun(where, run); });
}

void Cluster::node_hears(const std::string& to, const wire::ControllerToNode& message) {
  if (box_.trace.is_on() && !message.has_heartbeat()) box_.trace.say(box_.now(), "{} hears {}", to, kind_text(message));
  tell([&](Checker& checker) { checker.on_node_heard(to, message); });
  node(to).machine->hear(box_.now(), message);
  after_node(node(to));
}

void Cluster::node_is_linked(const std::string& name) {
  node(name).machine->link_up(box_.now());
  after_node(node(name));
}

void Cluster::node_lost_link(const std::string& name, const std::string& why) {
  node(name).machine->link_down(box_.now(), why);
  after_node(node(name));
}

void Cluster::look_at(const Node& one) {
  tell([&](Checker& checker) { checker.on_machine(*one.machine); });
}

void Cluster::after_node(Node& one) {
  look_at(one);
  Machine& machine = *one.machine;
  if (machine.is_dialing()) network_.dial(machine.name());
  if (machine.has_work() && !std::exchange(one.is_work_planned, true))
    box_.agenda.after(box_.delay(500, 40'000), [this, &one] {
      one.is_work_planned = false;
      one.machine->work(box_.now(), box_.has_faults ? box_.random(1'000) : 0);
      after_node(one);
    });
  if (machine.is_on() && !machine.has_daemon() && !std::exchange(one.is_start_planned, true))
    box_.agenda.after(box_.random.between(base::milliseconds(100), base::seconds(20)), [this, &one] {
      one.is_start_planned = false;
      one.machine->start_daemon(box_.now());
      after_node(one);
    });
  wake_node(one);
}

void Cluster::wake_node(Node& one) {
  const Time next = one.machine->next_wakeup(box_.now());
  if (next == Time::never()) return;
  const Time due = std::max(next, box_.now() + base::milliseconds(20));
  if (due >= one.wakes) return;
  one.wakes = due;
  box_.agenda.after(due - box_.now(), [this, &one, due] {
    if (one.wakes != due) return;
    one.wakes = Time::never();
    one.machine->tick(box_.now());
    after_node(one);
  });
}

void Cluster::power_off(Node& one, bool is_silent) {
  if (!one.machine->is_on()) return;
  box_.trace.say(box_.now(), "{} is off", one.machine->name());
  is_silent_ = is_silent;
  one.machine->power_off();
  is_silent_ = false;
  look_at(one);
  box_.agenda.after(box_.random.between(base::seconds(5), base::seconds(60)), [this, &one] { boot(one); });
}

void Cluster::boot(Node& one) {
  if (one.machine->is_on()) return;
  if (admin_ && admin_->says_dead(one.machine->name()))  // it stays so until that has been heard
    return static_cast<void>(box_.agenda.after(base::seconds(5), [this, &one] { boot(one); }));
  box_.trace.say(box_.now(), "{} boots", one.machine->name());
  one.machine->boot(box_.now());
  after_node(one);
}

}  // namespace gw::sim_cluster
