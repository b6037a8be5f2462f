// What all handlers share: effects, rows, history lines, names of things.
#include "ctld/core/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "wire/convert.h"

namespace gw::ctld {

Controller::Controller(Settings settings, Time now)
    : settings_(std::move(settings)), boot_(now), usage_(settings_.usage_half_life) {
  configure_scheduler();
  configure_nodes(now);
  seed_quotas();
  configure_pools();
}

Effects Controller::take_effects_early() {
  for (store::Op& row : usage_.take_rows()) out_.write(std::move(row));
  for (store::Op& row : jobs_.take_rows()) out_.write(std::move(row));
  for (store::Op& row : nodes_.take_rows()) out_.write(std::move(row));
  for (store::Op& row : rows_.take(jobs_.all(), steps_.all())) out_.write(std::move(row));
  for (store::Op& row : lineage_.unsaved()) out_.write(std::move(row));
  mark_messages();
  return out_.take(feed_.take());
}

Effects Controller::take_effects() {
  Effects out = take_effects_early();
  store::Batch late = take_late_rows();
  std::move(late.begin(), late.end(), std::back_inserter(out.writes));
  return out;
}

/// Nodes are told how far the state has come, and which ids were given, with what they get. Beats do not wait for the
/// disk: they cannot say the first, and say the second, since an id that was never given in the end does no harm.
void Controller::mark_messages() {
  if (out_.has_writes()) lineage_.next_commit();
  for (Outgoing& out : out_.messages())
    if (ToNode* message = std::get_if<ToNode>(&out); message != nullptr) {
      if (!message->at_once) message->message.set_commit(lineage_.commit());
      message->message.set_next_job(jobs_.next().value);
    }
}

store::Batch Controller::take_late_rows() {
  store::Batch out;
  if (std::exchange(commit_saved_, lineage_.commit()) != lineage_.commit()) out.push_back(lineage_.commit_row());
  for (store::Op& row : rows_.take_coalesced(jobs_.all(), steps_.all())) out.push_back(std::move(row));
  return out;
}

bool Controller::advance(model::Job& job, model::JobEvent event) {
  if (jobs_.advance(job, event)) return true;
  ++misfits_;
  out_.note(fmt::format("job {}: event {} does not fit state {}", job.id.value, model::name(event),
                        model::long_name(job.state)),
            true);
  return false;
}

Role Controller::role_for(const Caller& caller, const model::Job& job) const {
  if (is_admin(settings_, caller)) return Role::kAdmin;
  if (caller.uid == job.spec.uid) return Role::kOwner;
  return is_operator(book_, caller, job.spec.qos) ? Role::kOperator : Role::kOther;
}

/// As the latest plan named it.
sched::ClassKey Controller::class_of(const model::Job& job) const {
  return sched::class_key(pending_of(job), splits_by_user(), planned_);
}

Controller::WaitInfo Controller::wait_info(const model::Job& job) const {
  const model::Waiting* waiting = job.waiting();
  if (waiting == nullptr) return {};
  if (waiting->reason != model::WaitReason::kNone) return {waiting->reason, waiting->detail};
  if (const auto info = wait_for_components(job)) return *info;
  const auto it = class_waits_.find(class_of(job));
  if (it != class_waits_.end()) return it->second;
  return {model::WaitReason::kNone, "the scheduler has not looked at it yet"};
}

wire::Job Controller::job_to_wire(const model::Job& job) const {
  wire::Job out = wire::to_wire(job, [this](NodeId id) { return nodes_.name_of(id); });
  if (job.waiting() != nullptr) {
    const WaitInfo info = wait_info(job);
    out.mutable_status()->mutable_waiting()->set_reason(static_cast<uint32_t>(info.reason));
    out.mutable_status()->mutable_waiting()->set_detail(info.detail);
  }
  if (stands_still(job)) {
    const auto it = class_waits_.find(class_of(job));
    if (it != class_waits_.end() && !job.placed()->suspension->is_held)
      out.mutable_status()->mutable_placed()->mutable_suspension()->set_detail(it->second.detail);
  }
  return out;
}

void Controller::on_store_state(const std::string& why) {
  if (why == store_fault_) return;
  const bool is_new = store_fault_.empty();
  store_fault_ = why;
  if (is_new) repeat_stops();
  out_.note(why.empty() ? "the state can be written again" : "the state cannot be written: " + why, !why.empty());
}

void Controller::on_shell_reply(ConnId conn, wire::ApiReply message) { out_.send(Reply{conn, std::move(message)}); }

void Controller::on_client_gone(Time now, ConnId conn) {
  client_left(now, conn);
  listings_.forget(conn);
  forget_step_waiters(now, conn);
  std::erase_if(use_asked_, [&](const auto& entry) { return entry.second.conn == conn; });
  std::erase_if(waiters_, [&](const auto& entry) { return entry.second.conn == conn; });
}

std::string Controller::fingerprint() const {
  std::string out = fmt::format("next {}\n", jobs_.next().value);
  for (const auto& [id, job] : jobs_.all()) {
    const store::JobRow row = row_of(job, true);
    out += fmt::format("job {} {} {} {}\n", id.value, row.state, row.spec.size(), row.status.size());
    out += row.spec + row.status;
    if (job.placed() == nullptr) continue;
    for (const model::NodeShare& share : job.placed()->allocation.shares)
      out += wire::run_node(*job.placed(), share).SerializeAsString();
  }
  for (const auto& [id, node] : nodes_.all()) out += NodeTable::state_of(node);
  for (const auto& [uid, used] : usage_.users())
    out += fmt::format("user {} {} {} {}\n", uid, used.amount, used.rate, used.at.us);
  for (const auto& [qos, used] : usage_.qos())
    out += fmt::format("qos {} {} {} {}\n", qos, used.amount, used.rate, used.at.us);
  for (const auto& [name, qos] : book_.qos) out += wire::to_wire(qos).SerializeAsString();
  for (const auto& [name, user] : book_.users) out += fmt::format("user {} {}\n", name, user.default_qos);
  for (const auto& [name, r] : reservations_) out += wire::to_wire(r).SerializeAsString();
  for (const auto& [key, step] : steps_.all()) {
    model::Step stored = step;  // what nodes say again when they are back is not part of the state
    stored.started = {};
    for (model::StepNode& node : stored.nodes) {
      node.address.clear();
      node.key.clear();
    }
    out += wire::to_wire(stored).SerializeAsString();
  }
  for (const auto& [name, partition] : partitions_)
    out += fmt::format("partition {} {}\n", name, static_cast<int>(partition.state));
  return out;
}

}  // namespace gw::ctld
