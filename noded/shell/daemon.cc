// The node daemon's shell: the implementation.
// Invariants: see daemon.h.
#include "noded/shell/daemon.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/random.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "base/check.h"
#include "noded/core/queue_env.h"
#include "noded/shell/node_program.h"
#include "noded/step/contain/contain_spec.h"
#include "noded/step/contain/plugin_loader.h"
#include "noded/step/contain/sweep.h"
#include "noded/step/state/step_folder.h"

namespace gw::noded {

namespace {

constexpr int64_t kSweepBudget = 20'000'000;

/// Seconds since the epoch at which the kernel booted; 0: it does not say.
int64_t boot_seconds() {
  std::ifstream stat("/proc/stat");
  for (std::string line; std::getline(stat, line);)
    if (line.starts_with("btime ")) return std::atoll(line.c_str() + 6);
  return 0;
}

/// A heartbeat, with what only the machine itself knows.
wire::NodeToController with_load(wire::NodeToController beat) {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return beat;
  constexpr size_t kFiveMinutes = 1;  // of the loads over 1, 5 and 15
  const uint64_t centi = static_cast<uint64_t>(info.loads[kFiveMinutes]) * 100 >> SI_LOAD_SHIFT;
  beat.mutable_heartbeat()->set_load_centi(static_cast<uint32_t>(std::min<uint64_t>(centi, UINT32_MAX)));
  beat.mutable_heartbeat()->set_free_mem_mb(static_cast<uint64_t>(info.freeram) * info.mem_unit >> 20);
  return beat;
}

wire::NodeHost this_host() {
  wire::NodeHost host;
  utsname name{};
  if (::uname(&name) == 0) {
    host.set_os(fmt::format("{} {} {}", name.sysname, name.release, name.version));
    host.set_arch(name.machine);
  }
  host.set_booted_us(boot_seconds() * 1'000'000);
  host.set_started_us(base::SystemClock().now().us);
  return host;
}

uint64_t random_number() {
  uint64_t number = 0;
  GW_CHECK(::getrandom(&number, sizeof number, 0) == sizeof number);
  return number;
}

/// Device files of GPUs and their numbers on the node. None on emulated nodes: their GPUs are not those of the machine.
std::map<std::string, uint32_t> gpu_files(const NodeFacts& node) {
  std::map<std::string, uint32_t> files;
  if (node.is_emulated) return files;
  const auto& all = node.topology.gpus();
  for (int i = 0; i < all.size(); ++i)
    for (const std::string& file : all[i].devices()) files[file] = static_cast<uint32_t>(i);
  return files;
}

}  // namespace

Daemon::Daemon(Setup setup, StateFolder folder)
    : setup_(std::move(setup)),
      folder_(std::move(folder)),
      munge_(setup_.munge_socket),
      agent_(agent_config()),
      users_(loop_),
      gpus_(loop_, gpu_files(setup_.node)),
      controller_(loop_, munge_, setup_.dial,
                  {[this] { carry_out(agent_.on_link_up(read_clocks())); },
                   [this](const std::string& why) { carry_out(agent_.on_link_down(read_clocks(), why)); },
                   [this](const wire::ControllerToNode& m) { carry_out(agent_.on_controller(read_clocks(), m)); }}),
      launcher_(
          loop_, {setup_.gstepd, folder_.launcher_socket(setup_.gstepd), folder_.launcher_log()},
          {[this](RunKey run) { shepherds_.connect(run); },
           [this](RunKey run, const std::string& why) { carry_out(agent_.on_launch_failed(read_clocks(), run, why)); },
           [this](RunKey run, int code, int signo) { on_shepherd_gone(run, code, signo); },
           [](bool is_error, const std::string& text) {
             spdlog::log(is_error ? spdlog::level::err : spdlog::level::info, "{}", text);
           }}),
      shepherds_(
          loop_, [this](RunKey run) { return folder_.step_socket(run); },
          {[this](RunKey run) { carry_out(agent_.on_shepherd_connected(read_clocks(), run)); },
           [this](RunKey run, const wire::FromShepherd& m) { carry_out(agent_.on_shepherd(read_clocks(), run, m)); },
           [this](RunKey run) { carry_out(agent_.on_shepherd_lost(read_clocks(), run)); },
           [this](RunKey run) { on_shepherd_gone(run, 0, 0); }}) {}

AgentConfig Daemon::agent_config() const {
  AgentConfig config;
  config.node = setup_.node;
  config.node.steps_dir = folder_.steps_dir();
  config.boot_id = folder_.boot_id(setup_.node.is_emulated);
  config.instance = std::to_string(random_number());
  config.version = GANGWAY_VERSION;
  config.warning = setup_.warning;
  config.host = this_host();
  config.own_uid = ::geteuid();
  config.seen = folder_.kept_mark();
  config.unfit = folder_.kept_unfit();
  config.seed = random_number();
  return config;
}

void Daemon::run() {
  for (const int signo : {SIGTERM, SIGINT})
    loop_.on_signal(signo, [this, signo] {
      spdlog::info("signal {}: leaving; {} runs continue", signo, agent_.runs().size());
      loop_.stop();
    });
  if (lease_timer_.fd() >= 0)
    lease_watch_ = loop_.watch_readable(lease_timer_.fd(), [this] { carry_out(agent_.on_tick(read_clocks())); });
  adopt(folder_.scan(folder_.boot_id(setup_.node.is_emulated)));
  for (const std::string& socket : folder_.old_launchers(setup_.gstepd)) Launcher::dismiss(socket);
  launcher_.start();
  gpus_.watch([this] { return agent_.wants_gpu_looks(); },
              [this](const GpuLooks& looks) { carry_out(agent_.on_gpu_looks(read_clocks(), looks)); });
  loop_.run();
}

void Daemon::adopt(const std::vector<RecoveredRun>& found) {
  carry_out(agent_.on_recovered(read_clocks(), found));
  for (const RecoveredRun& run : found)
    if (run.shepherd_answers) shepherds_.connect(RunKey::of(run.record));
}

base::Time Daemon::read_clocks() {
  agent_.set_lease_clock(base::boot_time_now());
  return now();
}

void Daemon::carry_out(Effects effects) {
  waiting_.push_back(std::move(effects));
  if (is_busy_) return;
  is_busy_ = true;
  while (!waiting_.empty()) {
    const Effects next = std::move(waiting_.front());
    waiting_.pop_front();
    for (const Effect& effect : next) std::visit([this](const auto& e) { handle(e); }, effect);
  }
  is_busy_ = false;
  schedule_tick();
}

void Daemon::schedule_tick() {
  lease_timer_.set(agent_.next_lease_end());
  const base::Time due = agent_.next_wakeup();
  // A tick that comes too early finds nothing to do and sets the next one: cheaper than moving the timer each time.
  if (due >= tick_at_) return;
  tick_at_ = due;
  const base::Duration wait = std::max(due - now(), base::Duration{});
  tick_ = loop_.after(wait, [this] {
    tick_at_ = base::Time::never();
    carry_out(agent_.on_tick(read_clocks()));
  });
}

void Daemon::handle(const Connect&) { controller_.dial(); }

void Daemon::handle(const Disconnect& effect) { controller_.drop(effect.why); }

void Daemon::handle(const SendToController& effect) {
  if (!effect.message.has_register_node() && !effect.message.has_heartbeat()) return controller_.send(effect.message);
  wire::NodeToController message = effect.message;
  if (message.has_heartbeat()) return controller_.send(with_load(std::move(message)));
  message.mutable_register_node()->set_now_us(base::SystemClock().now().us);  // for the clock offset: the real clock
  controller_.send(message);
}

void Daemon::handle(const LookupUser& effect) {
  users_.look_up(effect.uid, [this, run = effect.run](const base::Result<UserInfo>& user) {
    carry_out(agent_.on_user(read_clocks(), run, user));
  });
}

void Daemon::handle(const LaunchShepherd& effect) {
  if (const base::Status saved = folder_.save(effect.record); !saved)
    return carry_out(
        agent_.on_launch_failed(read_clocks(), RunKey::of(effect.record), "run record: " + saved.error().text()));
  launcher_.launch(effect.spec);
}

void Daemon::handle(const ToShepherd& effect) { shepherds_.send(effect.run, effect.message); }

static_assert(std::string_view(kPreemptFile) == step::kPreemptFile, "jobs are told where to look");

void Daemon::handle(const KeepOrder& effect) {
  const base::Status kept = step::record_order(folder_.step_dir(effect.run), effect.order);
  if (!kept) spdlog::warn("run {} is ended by SIGTERM and not told why: {}", effect.run.text(), kept.error().text());
}

static_assert(std::string_view(kHostsFile) == step::kHostsFile, "jobs are told where to look");
static_assert(std::string_view(kSlotsFile) == step::kSlotsFile, "scripts of PBS and Grid Engine, too");

void Daemon::handle(const KeepHosts& effect) {
  const RunKey run{effect.order.job(), effect.order.attempt(), 0};
  const auto changed = step::write_hosts_file(folder_.step_dir(run), effect.order);
  if (!changed) return spdlog::warn("run {} is not told of its nodes: {}", run.text(), changed.error().text());
  if (!*changed || effect.is_first) return;
  wire::ToShepherd message;
  message.mutable_signal()->set_signo(effect.order.signo() == 0 ? SIGWINCH : effect.order.signo());
  message.mutable_signal()->set_batch_only(true);
  message.mutable_signal()->set_if_caught(true);  // a script that has not set its trap yet reads the file later
  shepherds_.send(run, message);
}

void Daemon::handle(const PrepareShare& effect) {
  const RunKey run = RunKey::of(effect.record);
  if (const base::Status saved = folder_.save(effect.record); !saved)
    return carry_out(agent_.on_share_prepared(read_clocks(), run, base::pass(base::Result<int>(base::pass(saved)))));
  containment_.submit([this, run, poster = loop_.poster(), dir = setup_.plugin_dir,
                       spec = effect.record.containment()] {
    const auto prepare = [&]() -> base::Status {
      GW_TRY(contain, step::make_containment(dir, spec.kind()));
      return contain->prepare(step::contain_spec(spec));
    };
    poster.post([this, run, status = prepare()] { carry_out(agent_.on_share_prepared(read_clocks(), run, status)); });
  });
}

void Daemon::handle(const ReleaseShare& effect) {
  containment_.submit(
      [this, run = effect.run, poster = loop_.poster(), dir = setup_.plugin_dir, containment = effect.containment] {
        const std::string problem = step::sweep_groups(dir, containment, kSweepBudget);
        poster.post([this, run, problem] { carry_out(agent_.on_share_released(read_clocks(), run, problem)); });
      });
}

void Daemon::handle(const RunProgram& effect) {
  const RunKey run = RunKey::of(effect.record);
  const bool is_prolog = effect.which == NodeProgram::kProlog;
  // That of a prolog is synced: the epilog is owed from now on. An epilog runs on a full disk, too: what is written
  // there says since the prolog that it is owed.
  const base::Status saved = folder_.save(effect.record, /*sync=*/is_prolog);
  if (!saved && is_prolog)
    return carry_out(agent_.on_launch_failed(read_clocks(), run, "run record: " + saved.error().text()));
  if (!saved) spdlog::error("run {}: {}", run.text(), saved.error().text());
  program::ProgramCall call = node_program_call(setup_.gstepd, is_prolog ? setup_.node.prolog : setup_.node.epilog,
                                                effect.which, setup_.config.program_limit);
  call.variables.insert(call.variables.end(), effect.record.program_env().begin(), effect.record.program_env().end());
  programs_.add([this, run, which = effect.which, poster = loop_.poster(), call = std::move(call)] {
    poster.post([this, run, which, status = run_node_program(call)] {
      carry_out(agent_.on_program_ended(read_clocks(), run, which, status));
    });
  });
}

void Daemon::handle(const PersistRun& effect) {
  if (const base::Status saved = folder_.save(effect.record); !saved) spdlog::error("{}", saved.error().text());
}

void Daemon::handle(const ForgetRun& effect) {
  // A shepherd removes its own folder; of a dead one it is left to us.
  if (!shepherds_.is_connected(effect.run))
    if (const base::Status gone = step::remove_state_dir(folder_.step_dir(effect.run)); !gone)
      spdlog::error("{}", gone.error().text());
  shepherds_.drop(effect.run);
  folder_.forget(effect.run);
}

void Daemon::handle(const KeepMark& effect) {
  if (const base::Status kept = folder_.keep_mark(effect.mark); !kept) spdlog::error("{}", kept.error().text());
}

void Daemon::handle(const KeepUnfit& effect) {
  if (const base::Status kept = folder_.keep_unfit(effect.unfit); !kept) spdlog::error("{}", kept.error().text());
}

void Daemon::handle(const Say& effect) {
  static constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                          spdlog::level::warn, spdlog::level::err};
  spdlog::log(kLevels[static_cast<int>(effect.level)], "{}", effect.text);
}

void Daemon::on_shepherd_gone(RunKey run, int code, int signo) {
  shepherds_.drop(run);
  if (!agent_.runs().contains(run)) return;  // it left as it was told to
  carry_out(agent_.on_shepherd_gone(read_clocks(), run, code, signo, step::read_exit(folder_.step_dir(run))));
}

}  // namespace gw::noded
