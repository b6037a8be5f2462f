// Events of a whole cluster. See cluster.h.
#include "tests/prop/ctld_nodes/cluster.h"

#include <rapidcheck.h>

#include <algorithm>
#include <utility>

#include "wire/receive.h"

namespace gw::ctld::testing {

namespace {

constexpr uint32_t kNodes = 3;

Settings settings(bool has_fence) {
  Settings s;
  s.cluster = "test";
  s.admin_uids = s.node_uids = {0};
  s.has_fence = has_fence;
  model::Partition main;
  main.name = "main";
  main.is_default = main.unlimited = main.share_suspended_gpus = true;
  for (uint32_t i = 0; i < kNodes; ++i) {
    s.nodes.emplace_back().name = "n" + std::to_string(i);
    main.nodes.push_back(s.nodes.back().name);
  }
  model::Partition leased = main;
  leased.name = "leased";
  leased.is_default = leased.share_suspended_gpus = false;
  leased.lease = base::seconds(90);
  s.partitions = {main, leased};
  s.policy.preempts = true;
  s.policy.grace = base::seconds(20);
  s.qos = first_quotas();
  return s;
}

}  // namespace

SimCluster::SimCluster(bool has_fence) : shell_(settings(has_fence), *this, disk_) {
  NodeNetwork& network = *this;
  for (const model::NodeConfig& node : shell_.settings().nodes)
    machines_.push_back(std::make_unique<Machine>(node.name, network, eight_gpus(), now_));
  start_controller();
  for (const auto& machine : machines_) dial(*machine);
  flow();
}

void SimCluster::step(uint32_t dice) {
  const uint32_t pick = dice / 32;
  switch (dice % 32) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
      if (const auto which = owners_.think_of(pick, now_)) send(*which, pick % 11 == 0);
      break;
    case 8:
      if (const auto which = owners_.recall(pick, now_)) send(*which, false);
      break;
    case 9:
    case 10:
      event_of_controller(pick);
      break;
    case 11:
    case 12:
      event_of_node(pick);
      break;
    case 13:
    case 14:
      event_of_network(pick);
      break;
    case 15:
    case 16:
      machines_[pick % kNodes]->end_something(now_, pick / kNodes);
      break;
    case 17:
    case 18:
      pass(base::seconds(pick % 45));
      break;
    case 19:
      pass(base::seconds(pick % 8 == 0 ? 400 : 100));
      break;
    case 20:
      shell_.plan(now_);
      break;
    case 21:
      shell_.hand_over(now_, boot_time());
      break;
    case 22:
      plan_to_rest();
      break;
    case 23:
      static_cast<void>(shell_.finish_write());
      break;
    case 24:
      fence_next(pick);
      break;
    case 25:
    case 26:
    case 27:
      flow_once();
      break;
    case 28:
      machines_[pick % kNodes]->work(now_, pick / kNodes);
      break;
    default:
      flow();
  }
  check();
}

void SimCluster::event_of_controller(uint32_t pick) {
  if (!shell_.is_up()) return start_controller();
  switch (pick % 6) {
    case 0:
      shell_.crash(pick / 6 % 2 == 0);
      break;
    case 1:
      shell_.leave();
      break;
    default:
      shell_.crash_after(1 + pick / 6 % 24);
  }
}

void SimCluster::start_controller() {
  if (shell_.is_up()) return;
  const base::Status restored = shell_.start(now_, boot_time());
  if (!restored) RC_FAIL("it does not start: " + restored.error().text());
  if (shell_.is_up()) check_kept();
}

void SimCluster::event_of_node(uint32_t pick) {
  Machine& machine = *machines_[pick % kNodes];
  const uint32_t what = pick / kNodes % 8;
  if (!machine.is_on()) {
    machine.boot(now_);
    return machine.start_daemon(now_);
  }
  if (!machine.has_daemon()) return machine.start_daemon(now_);
  if (what == 0) return machine.power_off();
  if (what == 1) {
    machine.power_off();
    machine.boot(now_);
    return machine.start_daemon(now_);
  }
  if (what < 4) return machine.kill_daemon();
  if (what < 7) return machine.kill_daemon_after(1 + pick / 24 % 12);
  dial(machine);
}

void SimCluster::event_of_network(uint32_t pick) {
  for (const auto& machine : machines_)
    if (machine->is_dialing()) return dial(*machine);
  const auto id = some_link(pick);
  if (!id) return;
  const uint32_t what = pick / kNodes % 5;
  if (what < 2) return tear(*id, pick / 15);
  if (what == 2) return tell_of_tear(*id);
  links_.at(*id).is_slow = what == 3;
}

void SimCluster::dial(Machine& machine) {
  if (!machine.is_dialing()) return;
  if (!shell_.is_up()) return machine.link_down(now_, "refused");
  links_[++last_link_].node = machine.name();
  machine.link_up(now_);
}

SimCluster::Link* SimCluster::link_of(const std::string& node) {
  for (auto& [id, link] : links_)
    if (link.node == node && link.has_node) return &link;
  return nullptr;
}

std::optional<LinkId> SimCluster::some_link(uint32_t pick) const {
  if (links_.empty()) return std::nullopt;
  auto it = links_.begin();
  std::advance(it, pick % links_.size());
  return it->first;
}

void SimCluster::to_controller(const std::string& node, const wire::NodeToController& message) {
  if (Link* link = link_of(node); link != nullptr && !link->is_torn) link->up.push_back(message);
}

void SimCluster::hang_up(const std::string& node) {
  Link* link = link_of(node);
  if (link == nullptr) return;
  link->has_node = false;
  link->down.clear();
}

void SimCluster::take(const Reply& reply) { owners_.hear(reply, shell_.core()); }

void SimCluster::take(const ToNode& message) {
  if (message.message.has_prepare()) check_prepare(message.message.prepare());
  const auto it = links_.find(message.link);
  if (it == links_.end() || !it->second.has_node || it->second.is_torn) return;
  it->second.down.push_back(message.message);
}

void SimCluster::take(const CloseLink& close) {
  if (const auto it = links_.find(close.link); it != links_.end()) it->second.has_controller = false;
}

void SimCluster::on_group() {
  kept_[1] = std::exchange(kept_[0], jobs_now());
  if (shell_.groups_begun() % 4 != 0) return;
  MemoryStore with_group = disk_.rows;
  for (const store::Batch& batch : shell_.flying()) with_group.apply(batch);
  check_restored(with_group);
}

void SimCluster::on_crash() {
  if (shell_.groups_begun() != shell_.groups_durable()) kept_[0] = kept_[1];  // the last one is lost
  for (auto& [id, link] : links_) {
    link.has_controller = false;
    link.up.clear();
  }
}

bool SimCluster::deliver_down(LinkId id) {
  Link& link = links_.at(id);
  if (!link.has_node || link.is_torn) return false;
  const auto machine =
      std::find_if(machines_.begin(), machines_.end(), [&](const auto& m) { return m->name() == link.node; });
  if (!link.down.empty()) {
    const wire::ControllerToNode message = link.down.front();
    link.down.pop_front();
    (*machine)->hear(now_, message);
    return true;
  }
  if (link.has_controller) return false;
  link.has_node = false;
  (*machine)->link_down(now_, "closed");
  return true;
}

bool SimCluster::deliver_up(LinkId id) {
  Link& link = links_.at(id);
  if (!link.has_controller || link.is_torn || !shell_.is_up()) return false;
  if (!link.up.empty()) {
    const std::string bytes = link.up.front().SerializeAsString();
    link.up.pop_front();
    shell_.call(now_, boot_time(), [&](Controller& core, Time now) {
      const auto received = wire::receive_node_message(bytes, core.topologies());
      RC_ASSERT(received.has_value());
      core.on_node_message(now, id, NodePeer{0, "10.0.0.1", received->topology}, received->message);
    });
    return true;
  }
  if (link.has_node) return false;
  link.has_controller = false;
  shell_.call(now_, boot_time(), [&](Controller& core, Time now) { core.on_node_gone(now, id, "closed"); });
  return true;
}

/// What is under way is lost from some place on; who hears of it does so later.
void SimCluster::tear(LinkId id, uint32_t pick) {
  Link& link = links_.at(id);
  for (uint32_t i = pick % 5; i > 0; --i) deliver_down(id);
  for (uint32_t i = pick / 5 % 5; i > 0; --i) deliver_up(id);
  link.is_torn = true;
  link.down.clear();
  link.up.clear();
}

void SimCluster::tell_of_tear(LinkId id) {
  Link& link = links_.at(id);
  if (!link.is_torn) return;
  link.is_torn = false;
  const bool had_node = std::exchange(link.has_node, false);
  const bool had_controller = std::exchange(link.has_controller, false);
  for (const auto& machine : machines_)
    if (had_node && machine->name() == link.node) machine->link_down(now_, "torn");
  if (had_controller)
    shell_.call(now_, boot_time(), [&](Controller& core, Time now) { core.on_node_gone(now, id, "torn"); });
}

void SimCluster::drop_over() {
  std::erase_if(links_, [](const auto& entry) { return entry.second.is_over(); });
}

void SimCluster::send(size_t which, bool is_answer_lost) {
  if (!shell_.is_up()) return;
  const Asked asked = owners_.asked(which);
  const auto request = wire::receive_request(asked.request.SerializeAsString());
  RC_ASSERT(request.has_value());
  const ConnId conn = ++last_conn_;
  if (!is_answer_lost) owners_.sent(which, conn);
  shell_.call(now_, boot_time(),
              [&](Controller& core, Time now) { core.on_request(now, conn, World::user(asked.uid), *request); });
}

/// First the machine is off, for certain; then, maybe much later, the controller hears of it.
void SimCluster::fence_next(uint32_t pick) {
  if (pick % 2 == 0 && !fences_.empty()) {
    const Fence fence = fences_.front();
    fences_.erase(fences_.begin());
    for (const auto& machine : machines_)
      if (machine->name() == fence.node) machine->power_off();
    fenced_.push_back(fence);
  } else if (!fenced_.empty()) {
    const Fence fence = fenced_.front();
    fenced_.erase(fenced_.begin());
    shell_.call(now_, boot_time(),
                [&](Controller& core, Time now) { core.on_fenced(now, fence.node, fence.since, true, "off"); });
  }
}

bool SimCluster::flow_once() {
  bool any = false;
  for (const auto& machine : machines_) {
    if (machine->is_dialing() && shell_.is_up()) {
      dial(*machine);
      any = true;
    }
    for (int i = 0; i < 50 && machine->work(now_, 0); ++i) any = true;
  }
  std::vector<LinkId> ids;
  for (const auto& [id, link] : links_)
    if (!link.is_slow) ids.push_back(id);
  for (const LinkId id : ids) {
    any |= deliver_down(id);
    any |= deliver_up(id);
  }
  drop_over();
  if (shell_.is_writing()) {
    static_cast<void>(shell_.finish_write());
    any = true;
  }
  return any;
}

void SimCluster::flow() {
  for (int i = 0; flow_once(); ++i) RC_ASSERT(i < 10'000);
}

void SimCluster::plan_to_rest() {
  for (int i = 0; i < 30 && shell_.is_up(); ++i) {
    shell_.hand_over(now_, boot_time());
    shell_.plan(now_);
    flow();
    const bool is_all = !shell_.has_plan();
    shell_.hand_over(now_, boot_time());
    if (is_all) return;
  }
}

void SimCluster::tick() {
  for (const auto& machine : machines_) machine->tick(now_);
  shell_.call(now_, boot_time(), [](Controller& core, Time now) { core.on_tick(now); });
}

void SimCluster::pass(base::Duration time) {
  const Time end = now_ + time;
  while (now_ < end) {
    flow();
    Time next = end;
    if (shell_.is_up()) next = std::min(next, shell_.core().timers().next());
    for (const auto& machine : machines_) next = std::min(next, machine->next_wakeup(now_));
    now_ = std::min(end, std::max(next, now_ + base::milliseconds(200)));
    tick();
    if (shell_.is_up()) check_time();
    check_nodes();
  }
  flow();
}

}  // namespace gw::ctld::testing
