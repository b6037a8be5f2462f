// bench_swarm CONFIG FIRST NODES TOPOLOGY: plays many nodes for a controller, in one process; nothing is executed. A
// step's tasks "run" at once and end at once, by the protocol of a real shepherd: tickets, keys and encryption are
// real, and no two nodes have the same GPUs. Nodes are called s0, s1, ..., these from number FIRST on; the program says
// "up" on standard output when all of them are registered for the first time, and the seconds of the monotonic clock
// each time that tasks have begun to run on all of them. A node whose link is lost comes back with its runs. SIGUSR1
// cuts all of them off, until SIGUSR2.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "auth/crypto.h"
#include "auth/munge.h"
#include "config/config.h"
#include "io/loop.h"
#include "link/dial_link.h"
#include "stream/server.h"
#include "topo/load.h"
#include "wire/convert.h"
#include "wire/frame.h"
#include "wire/launch.pb.h"
#include "wire/node.pb.h"
#include "wire/step_channels.h"

namespace gw {
namespace {

using stream::StepState;

/// What all nodes share.
struct Swarm {
  explicit Swarm(const config::Config& c) : config(c), munge(c.munge_socket), pool(munge, loop, 4) {}
  const config::Config& config;
  io::Loop loop;
  base::SystemClock clock;
  std::string address = fmt::format("{}:{}", config.controller_host, config.controller_port);
  auth::MungeAuthenticator munge;
  link::AuthPool pool;
  wire::NodeTopology topology;
  size_t registered = 0, wanted = 0;
  size_t begun = 0;  // steps on nodes
  bool is_cut = false;
  std::deque<class Node*> line;  // to dial
  size_t dialing = 0;

  void dial_next();
};

/// The shepherd of a step on one node.
class Shepherd {
 public:
  using OverFn = std::function<void()>;
  Shepherd(Swarm& swarm, std::string host, OverFn over)
      : swarm_(swarm), host_(std::move(host)), over_(std::move(over)) {}

  base::Status open(const wire::StartStep& start) {
    stream::ServerOptions options;
    options.address = host_ + ":0";
    options.step = {start.job().spec().uid(), start.job().job(), start.step() - 1, start.job().attempt(),
                    start.job().generation()};
    std::memcpy(options.controller_key.data(), start.ticket_key().data(), options.controller_key.size());
    GW_TRY(server, stream::Server::open(swarm_.loop, swarm_.clock, key_, std::move(options),
                                        [this](const auth::Ticket&, stream::Session& s) { return welcome(s); }));
    server_ = std::move(server);
    return {};
  }
  std::string address() const { return server_->bound_address(); }
  std::string key() const { return std::string(auth::view(key_.public_key())); }

 private:
  struct ClientHandler : stream::Handler {
    explicit ClientHandler(Shepherd& s) : owner(s) {}
    size_t on_bytes(stream::ChannelId channel, std::string_view bytes) override {
      if (channel == wire::kOrderChannel) owner.on_order_bytes(bytes);
      return bytes.size();
    }
    void on_end(stream::ChannelId) override {}
    void on_writable(stream::ChannelId) override {}
    void on_control(const stream::Control&) override {}
    void on_settled() override { owner.on_settled(); }
    void on_closed(const base::Error&) override { owner.on_closed(); }
    Shepherd& owner;
  };

  base::Result<std::shared_ptr<stream::Handler>> welcome(stream::Session& session) {
    session_ = &session;
    GW_TRY_STATUS(session.open_receive(wire::kOrderChannel));
    GW_TRY_STATUS(session.open_receive(wire::kInputChannel));
    return std::shared_ptr<stream::Handler>(std::make_shared<ClientHandler>(*this));
  }
  void say(StepState::Phase phase) { static_cast<void>(session_->send_control(StepState{phase, {}})); }
  void on_order_bytes(std::string_view bytes) {
    orders_.feed(bytes);
    for (auto frame = orders_.next(); frame && *frame; frame = orders_.next()) {
      wire::StepOrder order;
      if (!order.ParseFromString(**frame)) return;
      if (order.has_launch()) {
        launch_ = std::move(*order.mutable_launch());
        say(StepState::Phase::kStarting);
      }
      if (order.has_go() || launch_.go()) run();
    }
  }
  void run() {
    launch_.set_go(false);
    for (const wire::TaskOrder& task : launch_.tasks())
      static_cast<void>(session_->send_control(stream::TaskStarted{task.rank(), 1}));
    say(StepState::Phase::kRunning);
    if (++swarm_.begun % swarm_.wanted == 0) {
      std::printf("%.6f\n", static_cast<double>(io::Loop::monotonic().us) / 1e6);
      std::fflush(stdout);
    }
    for (int i = 0; i < launch_.tasks_size(); ++i) {
      const auto place = static_cast<uint32_t>(i);
      for (const auto channel : {wire::output_channel(place), wire::error_channel(place)})
        if (session_->open_send(channel)) session_->end(channel);
      static_cast<void>(session_->send_control(stream::TaskEnded{launch_.tasks(i).rank(), 0, 0}));
    }
    has_run_ = true;
  }
  void on_settled() {
    if (!has_run_) return;
    if (!std::exchange(has_said_, true)) return say(StepState::Phase::kEnded);
    swarm_.loop.defer([this] {
      if (session_ != nullptr) session_->close({base::ErrorCode::kUnavailable, "over", ""});
    });
  }
  void on_closed() {
    session_ = nullptr;
    swarm_.loop.defer([fn = over_] { fn(); });
  }

  Swarm& swarm_;
  std::string host_;
  OverFn over_;
  auth::KeyPair key_;
  std::unique_ptr<stream::Server> server_;
  stream::Session* session_ = nullptr;
  wire::FrameDecoder orders_{wire::kMaxStepOrder};
  wire::LaunchTasks launch_;
  bool has_run_ = false, has_said_ = false;
};

class Node {
 public:
  /// Each has a loopback address of its own: a thousand listeners at one would look long for free ports.
  Node(Swarm& swarm, size_t index)
      : swarm_(swarm),
        index_(index),
        name_(fmt::format("s{}", index)),
        host_(fmt::format("127.1.{}.{}", index / 200, index % 200 + 1)) {}

  /// Comes to the controller, when it is its turn.
  void queue() {
    swarm_.line.push_back(this);
    swarm_.dial_next();
  }
  void cut() {
    if (link_) link_->drop("cut off");
    link_.reset();
    beat_.cancel();
    again_.cancel();
    dialing_ = {};
    free_place();
  }
  void dial() {
    holds_place_ = true;
    link::DialLinkOptions options;
    options.address = swarm_.address;
    options.receiver = swarm_.config.cluster + "/gctld";
    options.receiver_uid = swarm_.config.controller_uid;
    options.role = auth::Role::kNode;
    options.timeout = base::seconds(60);
    dialing_ =
        link::dial_link(swarm_.loop, swarm_.pool, std::move(options), [this](auto link) { on_up(std::move(link)); });
  }

 private:
  void on_up(base::Result<std::shared_ptr<link::SecureLink>> link) {
    const auto handle = std::move(dialing_);
    if (!link) {
      come_again(link.error().text());
      return free_place();
    }
    link_ = std::move(*link);
    link_->on_message([this](std::string_view bytes) { on_bytes(bytes); });
    link_->on_closed([this](const std::string& why) {
      link_.reset();
      beat_.cancel();
      free_place();
      come_again(why);
    });
    wire::NodeToController m;
    wire::Register& r = *m.mutable_register_node();
    r.set_name(name_);
    r.set_boot_id("swarm");
    r.set_instance(name_);
    r.set_version(GANGWAY_VERSION);
    *r.mutable_topology() = swarm_.topology;
    for (wire::Gpu& gpu : *r.mutable_topology()->mutable_gpus())
      gpu.set_uuid(fmt::format("GPU-{:08x}-0000-0000-0000-{:012x}", index_, gpu.pcie_switch()));
    r.set_containment("none");
    r.set_is_emulated(true);
    r.set_now_us(swarm_.clock.now().us);
    for (const auto& [run, phase] : runs_) {
      wire::RunState& state = *r.add_runs();
      state.set_job(run.first);
      state.set_attempt(run.second);
      state.set_phase(phase);
    }
    send(m);
  }
  void free_place() {
    if (std::exchange(holds_place_, false)) --swarm_.dialing;
    swarm_.dial_next();
  }
  void come_again(const std::string& why) {
    if (swarm_.is_cut) return;
    if (swarm_.registered < swarm_.wanted) std::fprintf(stderr, "bench_swarm: %s: %s\n", name_.c_str(), why.c_str());
    again_ = swarm_.loop.after(base::milliseconds(500), [this] { queue(); });
  }
  void send(const wire::NodeToController& m) {
    if (link_) static_cast<void>(link_->send(m.SerializeAsString()));
  }
  void beat() {
    wire::NodeToController m;
    m.mutable_heartbeat()->set_now_us(swarm_.clock.now().us);
    send(m);
    beat_ = swarm_.loop.after(interval_, [this] { beat(); });
  }
  void on_bytes(std::string_view bytes) {
    wire::ControllerToNode m;
    if (!m.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
    if (m.has_refused()) {
      std::fprintf(stderr, "bench_swarm: %s is refused: %s\n", name_.c_str(), m.refused().reason().c_str());
      std::exit(1);
    }
    if (m.has_registered()) {
      interval_ = base::microseconds(m.registered().heartbeat_us());
      beat();
      free_place();
      if (++swarm_.registered == swarm_.wanted) std::puts("up"), std::fflush(stdout);
    }
    if (m.has_prepare()) on_prepare(m.prepare());
    if (m.has_go()) runs_[{m.go().job(), m.go().attempt()}] = wire::kRunStarted;
    if (m.has_suspend()) on_suspend(m.suspend());
    if (m.has_start_step()) on_start_step(m.start_step());
    if (m.has_stop()) on_stop(m.stop());
  }
  void on_suspend(const wire::Suspend& s) {
    wire::NodeToController m;
    m.mutable_suspended()->set_job(s.job());
    m.mutable_suspended()->set_attempt(s.attempt());
    m.mutable_suspended()->set_round(s.round());
    send(m);
  }
  void on_prepare(const wire::Prepare& p) {
    runs_[{p.job(), p.attempt()}] = p.go() ? wire::kRunStarted : wire::kRunPrepared;
    wire::NodeToController m;
    m.mutable_prepared()->set_job(p.job());
    m.mutable_prepared()->set_attempt(p.attempt());
    send(m);
    if (!p.go()) return;
    m.mutable_started()->set_job(p.job());
    m.mutable_started()->set_attempt(p.attempt());
    send(m);
  }
  void on_start_step(const wire::StartStep& start) {
    const auto key = std::pair(start.job().job(), start.step());
    auto& shepherd = steps_[key];
    const uint32_t attempt = start.job().attempt();
    shepherd = std::make_unique<Shepherd>(swarm_, host_,
                                          [this, key, attempt] { on_step_over(key.first, attempt, key.second); });
    if (!shepherd->open(start)) std::exit(1);
    wire::NodeToController m;
    wire::Prepared& ready = *m.mutable_prepared();
    ready.set_job(key.first);
    ready.set_attempt(attempt);
    ready.set_step(key.second);
    ready.set_address(shepherd->address());
    ready.set_key(shepherd->key());
    send(m);
  }
  void on_step_over(uint32_t job, uint32_t attempt, uint32_t step) {
    if (steps_.erase({job, step}) == 0) return;
    wire::NodeToController m;
    m.mutable_batch_exited()->set_job(job);
    m.mutable_batch_exited()->set_attempt(attempt);
    m.mutable_batch_exited()->set_step(step);
    send(m);
    say_done(job, attempt, step);
  }
  void say_done(uint32_t job, uint32_t attempt, uint32_t step) {
    wire::NodeToController m;
    m.mutable_done()->set_job(job);
    m.mutable_done()->set_attempt(attempt);
    m.mutable_done()->set_step(step);
    send(m);
  }
  void on_stop(const wire::Stop& stop) {
    if (stop.step() > 0) return on_step_over(stop.job(), stop.attempt(), stop.step());
    std::vector<uint32_t> steps;
    for (const auto& [key, shepherd] : steps_)
      if (key.first == stop.job()) steps.push_back(key.second);
    for (const uint32_t step : steps) on_step_over(stop.job(), stop.attempt(), step);
    runs_.erase({stop.job(), stop.attempt()});
    say_done(stop.job(), stop.attempt(), 0);
  }

  Swarm& swarm_;
  size_t index_;
  std::string name_, host_;
  link::LinkDialHandle dialing_;
  std::shared_ptr<link::SecureLink> link_;
  base::Duration interval_ = base::seconds(5);
  io::Timer beat_, again_;
  bool holds_place_ = false;                                      // among those that are being let in
  std::map<std::pair<uint32_t, uint32_t>, wire::RunPhase> runs_;  // by job and attempt
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<Shepherd>> steps_;
};

/// The controller takes only so many strangers at a time.
void Swarm::dial_next() {
  constexpr size_t kAtOnce = 64;
  while (!line.empty() && dialing < kAtOnce) {
    Node* node = line.front();
    line.pop_front();
    if (is_cut) continue;
    ++dialing;
    node->dial();
  }
}

int run(char** argv) {
  const auto config = config::load(argv[1]);
  const auto topology = topo::load(argv[4]);
  if (!config || !topology) {
    std::fprintf(stderr, "bench_swarm: %s\n", (config ? topology.error() : config.error()).text().c_str());
    return 1;
  }
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  Swarm swarm(*config);
  swarm.topology = wire::to_wire(*topology);
  const auto first = static_cast<size_t>(std::atoi(argv[2]));
  swarm.wanted = static_cast<size_t>(std::atoi(argv[3]));
  std::vector<std::unique_ptr<Node>> nodes;
  for (size_t i = 0; i < swarm.wanted; ++i) nodes.push_back(std::make_unique<Node>(swarm, first + i));
  for (const auto& node : nodes) node->queue();
  swarm.loop.on_signal(SIGUSR1, [&] {
    swarm.is_cut = true;
    for (const auto& node : nodes) node->cut();
  });
  swarm.loop.on_signal(SIGUSR2, [&] {
    swarm.is_cut = false;
    for (const auto& node : nodes) node->queue();
  });
  swarm.loop.run();
  return 0;
}

}  // namespace
}  // namespace gw

int main(int argc, char** argv) {
  if (argc == 5) return gw::run(argv);
  std::fputs("usage: bench_swarm CONFIG FIRST NODES TOPOLOGY\n", stderr);
  return 2;
}
