// The controller as its program runs it. See shell.h.
#include "tests/sim/parts/shell.h"

#include <iterator>
#include <utility>

namespace gw::ctld::testing {

base::Status SimShell::start(Time now, base::BootTime boot) {
  settings_.incarnation = "start" + std::to_string(++starts_);
  started_ = now;
  core_ = std::make_unique<Controller>(settings_, now);
  core_->set_lease_clock(boot);
  view_ = sched::ClusterView();
  GW_TRY(snapshot, disk_.load(now - settings_.min_job_age));
  GW_TRY_STATUS(core_->restore(snapshot, now));
  pump();
  return {};
}

void SimShell::stop() {
  core_.reset();
  plan_.reset();
  open_writes_.clear();
  open_out_.clear();
  flying_.reset();
  flying_out_.clear();
  is_owed_ = is_faulty_ = has_news_ = false;
  fuse_ = 0;
  outside_.on_crash();
  launched_ = durable_;
}

void SimShell::crash(bool is_written) {
  if (!is_up()) return;
  if (is_written) static_cast<void>(write_group());
  stop();
}

void SimShell::leave() {
  if (!is_up()) return;
  if (write_group()) {
    fetch_owed();
    if (!open_writes_.empty()) launch();
    static_cast<void>(write_group());
  }
  stop();
}

base::Status SimShell::write_group() {
  if (!flying_) return {};
  GW_TRY_STATUS(disk_.commit(*flying_));
  flying_.reset();
  durable_ = launched_;
  return {};
}

bool SimShell::burns_out() {
  if (fuse_ == 0 || --fuse_ > 0) return false;
  stop();
  return true;
}

void SimShell::pump() {
  Effects effects = core_->take_effects_early();
  for (const sched::Delta& delta : effects.deltas) view_.apply(delta);
  has_news_ |= !effects.deltas.empty();
  std::vector<Outgoing> at_once, held;
  for (Outgoing& out : effects.out) {
    const Reply* reply = std::get_if<Reply>(&out);
    const ToNode* message = std::get_if<ToNode>(&out);
    const bool waits = !(reply != nullptr && reply->at_once) && !(message != nullptr && message->at_once);
    (waits ? held : at_once).push_back(std::move(out));
  }
  release(std::move(at_once));
  if (is_up()) add(std::move(effects.writes), std::move(held), core_->has_coalesced_rows());
}

// The rest is the Committer's.

void SimShell::add(store::Batch writes, std::vector<Outgoing> out, bool owes) {
  if (writes.empty() && !owes && is_idle()) return release(std::move(out));
  is_owed_ |= owes;
  if (!writes.empty()) open_writes_.push_back(std::move(writes));
  std::move(out.begin(), out.end(), std::back_inserter(open_out_));
  if (!flying_ && (is_owed_ || !open_writes_.empty())) begin();
}

void SimShell::begin() {
  fetch_owed();
  if (!open_writes_.empty()) return launch();
  release(std::exchange(open_out_, {}));
}

void SimShell::fetch_owed() {
  if (!std::exchange(is_owed_, false)) return;
  if (store::Batch rows = core_->take_coalesced_rows(); !rows.empty()) open_writes_.push_back(std::move(rows));
}

void SimShell::launch() {
  flying_ = std::exchange(open_writes_, {});
  flying_out_ = std::exchange(open_out_, {});
  ++launched_;
  outside_.on_group();
}

base::Status SimShell::finish_write() {
  if (!is_up() || !flying_) return {};
  if (const base::Status done = write_group(); !done) {
    if (!std::exchange(is_faulty_, true)) core_->on_store_state(done.error().text());
    pump();
    return done;
  }
  if (burns_out()) return {};
  std::vector<Outgoing> out = std::exchange(flying_out_, {});
  if (std::exchange(is_faulty_, false)) {
    core_->on_store_state("");
    pump();
    if (!is_up()) return {};
  }
  fetch_owed();
  if (open_writes_.empty())
    for (Outgoing& later : std::exchange(open_out_, {})) out.push_back(std::move(later));
  else if (!flying_)
    launch();
  release(std::move(out));
  return {};
}

void SimShell::release(std::vector<Outgoing> out) {
  for (Outgoing& effect : out) {
    let_out(effect);
    if (burns_out()) return;
  }
}

void SimShell::let_out(Outgoing& effect) {
  if (auto* ticket = std::get_if<SignTicket>(&effect)) outside_.take(Reply{ticket->conn, ticket->reply});
  if (const auto* reply = std::get_if<Reply>(&effect)) outside_.take(*reply);
  if (const auto* ready = std::get_if<ListReady>(&effect)) outside_.take(*ready);
  if (const auto* message = std::get_if<ToNode>(&effect)) outside_.take(*message);
  if (const auto* close = std::get_if<CloseLink>(&effect)) outside_.take(*close);
  if (const auto* fence = std::get_if<Fence>(&effect)) outside_.take(*fence);
  if (const auto* run = std::get_if<RunJobProgram>(&effect)) outside_.take(*run);
  if (const auto* reload = std::get_if<Reload>(&effect)) outside_.take(*reload);
}

void SimShell::plan(Time now) {
  if (!is_up() || plan_) return;
  has_news_ = false;
  plan_ = sched::plan(view_, now, {});
}

void SimShell::hand_over(Time now, base::BootTime boot) {
  if (!plan_) return;
  const sched::Plan plan = *std::exchange(plan_, std::nullopt);
  call(now, boot, [&](Controller& core, Time at) { core.on_plan(at, plan); });
}

}  // namespace gw::ctld::testing
