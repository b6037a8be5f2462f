// Links and what goes wrong with them. See network.h.
#include "tests/sim/network.h"

#include <algorithm>

namespace gw::sim_cluster {
namespace {

constexpr Duration kSoon = base::milliseconds(50), kTimeout = base::seconds(20);

/// What is under way is lost from some place on.
template <typename Queue>
void lose_tail(Queue& queue, Random& random) {
  if (!queue.empty()) queue.resize(random(queue.size() + 1));
}

}  // namespace

Network::Link* Network::open_link_of(const std::string& node, LinkId* id) {
  for (auto& [number, link] : links_) {
    if (link.node != node || !link.has_node) continue;
    if (id != nullptr) *id = number;
    return &link;
  }
  return nullptr;
}

void Network::dial(const std::string& node) {
  if (!dialing_.insert(node).second) return;
  box_.agenda.after(box_.delay(1'000, 30'000), [this, node] {
    dialing_.erase(node);
    if (is_cut(node) || !ends_.is_controller_up()) return ends_.node_lost_link(node, "cannot connect");
    links_[++last_].node = node;
    box_.trace.say(box_.now(), "link {} of {} is up", last_, node);
    ends_.node_is_linked(node);
  });
}

void Network::from_node(const std::string& node, const wire::NodeToController& message) {
  LinkId id = 0;
  Link* link = open_link_of(node, &id);
  if (link == nullptr || link->is_torn) return;
  link->up.under_way.push_back(message);
  plan_up(id);
}

std::string Network::from_controller(LinkId id, const wire::ControllerToNode& message) {
  const auto it = links_.find(id);
  if (it == links_.end()) return {};
  Link& link = it->second;
  if (!link.has_node || link.is_torn) return link.node;
  link.down.under_way.push_back(message);
  plan_down(id);
  return link.node;
}

void Network::plan_down(LinkId id) {
  Link& link = links_.at(id);
  const bool has_news = !link.down.under_way.empty() || !link.has_controller;
  if (link.down.is_planned || link.is_torn || !link.has_node || cut_down_.contains(link.node) || !has_news) return;
  link.down.is_planned = true;
  box_.agenda.after(box_.delay(100, 4'000), [this, id] { arrive_down(id); });
}

void Network::plan_up(LinkId id) {
  Link& link = links_.at(id);
  const bool has_news = !link.up.under_way.empty() || !link.has_node;
  if (link.up.is_planned || link.is_torn || !link.has_controller || cut_up_.contains(link.node) || !has_news) return;
  link.up.is_planned = true;
  box_.agenda.after(box_.delay(100, 4'000), [this, id] { arrive_up(id); });
}

void Network::arrive_down(LinkId id) {
  const auto it = links_.find(id);
  if (it == links_.end()) return;
  Link& link = it->second;
  link.down.is_planned = false;
  if (link.is_torn || !link.has_node || cut_down_.contains(link.node)) return;
  const std::string node = link.node;
  if (!link.down.under_way.empty()) {
    const wire::ControllerToNode message = std::move(link.down.under_way.front());
    link.down.under_way.pop_front();
    ends_.node_hears(node, message);
  } else if (!link.has_controller) {
    link.has_node = false;
    ends_.node_lost_link(node, "closed");
  }
  if (links_.contains(id)) plan_down(id);
  forget_if_over(id);
}

void Network::arrive_up(LinkId id) {
  const auto it = links_.find(id);
  if (it == links_.end()) return;
  Link& link = it->second;
  link.up.is_planned = false;
  if (link.is_torn || !link.has_controller || cut_up_.contains(link.node) || !ends_.is_controller_up()) return;
  if (!link.up.under_way.empty()) {
    const wire::NodeToController message = std::move(link.up.under_way.front());
    link.up.under_way.pop_front();
    ends_.controller_hears(id, link.node, message);
  } else if (!link.has_node) {
    link.has_controller = false;
    ends_.controller_lost_link(id, "closed");
  }
  if (links_.contains(id)) plan_up(id);
  forget_if_over(id);
}

void Network::forget_if_over(LinkId id) {
  const auto it = links_.find(id);
  if (it != links_.end() && !it->second.has_node && !it->second.has_controller) links_.erase(it);
}

void Network::node_hangs_up(const std::string& node) {
  LinkId id = 0;
  Link* link = open_link_of(node, &id);
  if (link == nullptr) return;
  link->has_node = false;
  plan_up(id);
  forget_if_over(id);
}

void Network::controller_hangs_up(LinkId id) {
  const auto it = links_.find(id);
  if (it == links_.end()) return;
  it->second.has_controller = false;
  plan_down(id);
  forget_if_over(id);
}

void Network::node_dies(const std::string& node, bool is_silent) {
  LinkId id = 0;
  Link* link = open_link_of(node, &id);
  if (link == nullptr) return;
  lose_tail(link->up.under_way, box_.random);
  link->has_node = false;
  link->is_torn = is_silent;
  if (is_silent) tell_controller(id, box_.random.between(base::seconds(30), base::seconds(300)), "timed out");
  plan_up(id);
  forget_if_over(id);
}

void Network::controller_dies(bool is_silent) {
  std::vector<LinkId> all;
  for (const auto& [id, link] : links_) all.push_back(id);
  for (const LinkId id : all) {
    Link& link = links_.at(id);
    link.has_controller = false;
    link.up.under_way.clear();
    lose_tail(link.down.under_way, box_.random);
    const bool finds_out_late = is_silent && box_.random.chance(50);
    link.is_torn |= finds_out_late;
    if (finds_out_late) tell_node(id, box_.random.between(base::seconds(5), base::seconds(120)), "timed out");
    plan_down(id);
    forget_if_over(id);
  }
}

void Network::cut(const std::string& node, bool down, bool up) {
  box_.trace.say(box_.now(), "cut: {}{}{}", node, down ? " down" : "", up ? " up" : "");
  if (down) cut_down_.insert(node);
  if (up) cut_up_.insert(node);
}

void Network::heal(const std::string& node) {
  if (!is_cut(node)) return;
  box_.trace.say(box_.now(), "cut no more: {}", node);
  cut_down_.erase(node);
  cut_up_.erase(node);
  for (const auto& [id, link] : links_) {
    if (link.node != node) continue;
    plan_down(id);
    plan_up(id);
  }
}

void Network::tear(const std::string& node) {
  for (auto& [id, link] : links_) {
    if (link.node != node || link.is_torn) continue;
    box_.trace.say(box_.now(), "link {} of {} is torn", id, node);
    link.is_torn = true;
    link.down.under_way.clear();
    link.up.under_way.clear();
    tell_node(id, box_.random.between(kSoon, kTimeout), "torn");
    tell_controller(id, box_.random.between(kSoon, kTimeout), "torn");
  }
}

void Network::tell_node(LinkId id, Duration after, const std::string& why) {
  box_.agenda.after(after, [this, id, why] {
    const auto it = links_.find(id);
    if (it == links_.end() || !it->second.has_node) return;
    const std::string node = it->second.node;
    it->second.has_node = false;
    forget_if_over(id);
    ends_.node_lost_link(node, why);
  });
}

void Network::tell_controller(LinkId id, Duration after, const std::string& why) {
  box_.agenda.after(after, [this, id, why] {
    const auto it = links_.find(id);
    if (it == links_.end() || !it->second.has_controller) return;
    it->second.has_controller = false;
    forget_if_over(id);
    if (ends_.is_controller_up()) ends_.controller_lost_link(id, why);
  });
}

}  // namespace gw::sim_cluster
