// What an administrator does. See admin.h.
#include "tests/sim/admin.h"

#include "tests/sim/settings.h"

namespace gw::sim_cluster {
namespace {

constexpr char kAdmin[] = "what was acknowledged is kept";
constexpr char kThere[] = "there", kGone[] = "gone";

}  // namespace

void Admin::begin() {
  box_.agenda.after(random_.between(base::seconds(1), base::seconds(40)), [this] {
    if (!is_there_) return;
    const uint32_t what = random_(8);
    if (what < 2) change_quotas();
    if (what == 2) change_partition();
    if (what == 3) change_reservation();
    if (what == 4 || what == 5) change_node();
    if (what == 6) change_configuration();
    if (what == 7) look();
    begin();
  });
}

void Admin::change(const std::string& name, const wire::ApiRequest& request, const Facts& facts, Time until) {
  Subject& subject = subjects_[name];
  if (subject.is_open) return;
  subject.is_open = true;
  ++subject.version;
  clients_.ask(0, request, [this, name, facts, until](const wire::ApiReply& reply) {
    Subject& answered = subjects_[name];
    answered.is_open = false;
    ++answered.version;
    if (name.starts_with("node ")) dead_.erase(name.substr(5));
    box_.trace.say(box_.now(), "admin: {} {}", name, reply.has_error() ? reply.error().what() : "is changed");
    if (reply.has_error()) return;
    answered.until = until;
    if (facts.contains(kGone)) answered.facts.clear();
    for (const auto& [key, value] : facts) {
      if (value.empty())
        answered.facts.erase(key);
      else
        answered.facts[key] = value;
    }
  });
}

void Admin::change_quotas() {
  wire::ApiRequest r;
  wire::QuotaChange& change_one = *r.mutable_change_quotas()->add_changes();
  const std::string name = random_.any({"a", "a1", "b", "x"});
  change_one.set_name(name);
  change_one.set_what(wire::QuotaChange::kModify);
  Facts facts;
  const uint32_t jobs = 2 + random_(20), priority = random_(50);
  if (name == "x") {
    const bool deletes = random_.chance(40);
    const bool is_there = subjects_["qos x"].facts.contains(kThere);
    change_one.set_what(is_there ? deletes ? wire::QuotaChange::kDelete : wire::QuotaChange::kModify
                                 : wire::QuotaChange::kAdd);
    if (deletes && is_there) return change("qos x", r, {{kGone, kGone}, {kThere, ""}});
    facts[kThere] = kThere;
    facts[kGone] = "";
  }
  change_one.mutable_qos()->set_max_jobs(jobs);
  change_one.mutable_qos()->set_priority(priority);
  facts["max_jobs"] = std::to_string(jobs);
  facts["priority"] = std::to_string(priority);
  change("qos " + name, r, facts);
}

void Admin::change_partition() {
  const std::string name = random_.any({"p0", "p1"});
  const bool is_there = subjects_["partition " + name].facts.contains(kThere);
  wire::ApiRequest r;
  const int64_t minutes = 30 + random_(100);
  if (!is_there) {
    wire::Partition& partition = *r.mutable_create_partition()->mutable_partition();
    partition.set_name(name);
    for (const std::string& node : nodes_)
      if (random_.chance(60) || partition.nodes_size() == 0) partition.add_nodes(node);
    partition.set_max_time_us(base::minutes(minutes).us);
    partition.set_default_time_us(base::minutes(10).us);
    partition.set_tier(1 + static_cast<int32_t>(random_(3)));
    for (const char* key : {"nodes", "max_time", "default_time", "tier"}) partition.add_origins()->set_key(key);
  } else if (random_.chance(30)) {
    r.mutable_delete_partition()->set_name(name);
    return change("partition " + name, r, {{kGone, kGone}, {kThere, ""}});
  } else {
    r.mutable_update_partition()->set_name(name);
    r.mutable_update_partition()->set_max_time_us(base::minutes(minutes).us);
  }
  change("partition " + name, r,
         {{kThere, kThere}, {kGone, ""}, {"max_time", std::to_string(base::minutes(minutes).us)}});
}

void Admin::create_reservation(const std::string& name) {
  wire::ApiRequest r;
  wire::Reservation& course = *r.mutable_create_reservation()->mutable_reservation();
  course.set_name(name);
  course.add_nodes(random_.any(nodes_));
  const Time start = box_.now() + base::seconds(1 + random_(200));
  const Duration length = base::seconds(60 + random_(600));
  course.set_start_us(start.us);
  course.set_duration_us(length.us);
  course.add_users("user1000");
  course.set_ignore_jobs(random_.chance(50));
  change("reservation " + name, r,
         {{kThere, kThere}, {kGone, ""}, {".start", std::to_string(start.us)}, {"duration", std::to_string(length.us)}},
         start + length);
}

void Admin::change_reservation() {
  const std::string name = random_.any({"r0", "r1"});
  Subject& subject = subjects_["reservation " + name];
  if (!subject.is_open && subject.until <= box_.now()) {
    subject.facts.clear();
    subject.until = Time::never();
    ++subject.version;
  }
  if (!subject.facts.contains(kThere)) return create_reservation(name);
  wire::ApiRequest r;
  if (random_.chance(50)) {
    r.mutable_delete_reservation()->set_name(name);
    return change("reservation " + name, r, {{kGone, kGone}, {kThere, ""}});
  }
  const Duration length = base::seconds(60 + random_(600));
  r.mutable_update_reservation()->set_name(name);
  r.mutable_update_reservation()->set_duration_us(length.us);
  change("reservation " + name, r, {{"duration", std::to_string(length.us)}},
         Time{std::stoll(subject.facts[".start"])} + length);
}

void Admin::change_node() {
  const std::string name = random_.any(nodes_), subject = "node " + name;
  if (subjects_[subject].is_open) return;
  wire::ApiRequest r;
  wire::UpdateNodeRequest& update = *r.mutable_update_node();
  update.add_names(name);
  update.set_reason("seen to");
  const bool is_away = subjects_[subject].facts.contains("admin");
  const uint32_t what = random_(10);
  const uint32_t gpu = random_(2);
  if (what < 4 && is_away) {
    update.set_action(wire::kNodeResume);
    change(subject, r, {{"admin", ""}});
  } else if (what < 3) {
    update.set_action(wire::kNodeDrain);
    change(subject, r, {{"admin", "1"}});
  } else if (what < 5) {
    update.set_action(wire::kNodeDown);
    update.set_dead(random_.chance(50));
    if (update.dead()) dead_.insert(name), hands_.cut_power(name);  // it says what is so
    change(subject, r, {{"admin", update.dead() ? "" : "2"}});      // who was dead and comes back is up
  } else {
    const bool is_off = subjects_[subject].facts.contains("gpu " + std::to_string(gpu));
    update.set_action(is_off ? wire::kGpuOnline : wire::kGpuOffline);
    update.add_gpus(gpu);
    change(subject, r, {{"gpu " + std::to_string(gpu), is_off ? "" : "offline"}});
  }
}

void Admin::change_configuration() {
  hands_.change_configuration(change_settings(random_, hands_.configuration()));
  wire::ApiRequest r;
  r.mutable_reconfigure();
  clients_.ask(0, r, {});
}

std::map<std::string, uint32_t> Admin::versions() const {
  std::map<std::string, uint32_t> out;
  for (const auto& [name, subject] : subjects_)
    if (!subject.is_open) out[name] = subject.version;
  return out;
}

/// What was not changed since it was asked for must be as it was acknowledged.
void Admin::compare(const std::string& kind, const std::map<std::string, uint32_t>& asked,
                    const std::map<std::string, Facts>& found) const {
  for (const auto& [name, subject] : subjects_) {
    const auto before = asked.find(name);
    const bool is_settled = expects_ && before != asked.end() && before->second == subject.version && !subject.is_open;
    const bool is_over = subject.until != Time::never() && subject.until <= box_.now() + base::seconds(60);
    if (!name.starts_with(kind) || !is_settled || is_over || subject.facts.empty()) continue;
    const auto shown = found.find(name.substr(kind.size() + 1));
    if (subject.facts.contains(kGone)) {
      if (shown != found.end()) fail(kAdmin, name + " was deleted, and is there");
      continue;
    }
    if (shown == found.end()) fail(kAdmin, name + " is not there any more");
    for (const auto& [key, value] : subject.facts) {
      const auto now = shown->second.find(key);
      const std::string text = now == shown->second.end() ? "" : now->second;
      if (key != kThere && key[0] != '.' && text != value)
        fail(kAdmin, name + ": " + key + " was said to be " + value + ", and is \"" + text + "\"");
    }
  }
}

void Admin::look() {
  wire::ApiRequest quotas, partitions, reservations, nodes;
  quotas.mutable_list_quotas();
  partitions.mutable_list_partitions();
  reservations.mutable_list_reservations();
  nodes.mutable_list_nodes();
  const auto ask = [this](const wire::ApiRequest& r, std::string kind, auto read) {
    clients_.ask(0, r, [this, kind, read, before = versions()](const wire::ApiReply& reply) {
      if (!reply.has_error()) compare(kind, before, read(reply));
    });
  };
  ask(quotas, "qos", [](const wire::ApiReply& reply) {
    std::map<std::string, Facts> out;
    for (const wire::Qos& qos : reply.list_quotas().qos())
      out[qos.name()] = {{"max_jobs", std::to_string(qos.max_jobs())}, {"priority", std::to_string(qos.priority())}};
    return out;
  });
  ask(partitions, "partition", [](const wire::ApiReply& reply) {
    std::map<std::string, Facts> out;
    for (const wire::Partition& p : reply.list_partitions().partitions())
      out[p.name()] = {{"max_time", std::to_string(p.max_time_us())}};
    return out;
  });
  ask(reservations, "reservation", [](const wire::ApiReply& reply) {
    std::map<std::string, Facts> out;
    for (const wire::Reservation& r : reply.list_reservations().reservations())
      out[r.name()] = {{"duration", std::to_string(r.duration_us())}};
    return out;
  });
  ask(nodes, "node", [](const wire::ApiReply& reply) {
    std::map<std::string, Facts> out;
    for (const wire::Node& node : reply.list_nodes().nodes()) {
      out[node.name()]["admin"] = std::to_string(node.admin());
      for (const auto& [gpu, why] : node.offline_gpus()) out[node.name()]["gpu " + std::to_string(gpu)] = "offline";
    }
    return out;
  });
}

}  // namespace gw::sim_cluster
