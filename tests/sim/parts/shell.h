// The controller as its program runs it: the core, the writer of its state, the scheduler beside it (ctld/shell).
// Invariants: as there, nothing that depends on writes leaves before these are on disk, in order, one group of writes
// after the other; but here the disk takes as long as the test wants, and the power may go between any two effects.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ctld/core/controller.h"
#include "sched/cycle/plan.h"

namespace gw::ctld::testing {

/// Where the effects go that leave the controller.
class Outside {
 public:
  virtual ~Outside() = default;
  virtual void take(const Reply& reply) = 0;
  virtual void take(const ListReady& ready) = 0;
  virtual void take(const ToNode& message) = 0;
  virtual void take(const CloseLink& close) = 0;
  virtual void take(const Fence& fence) = 0;
  virtual void take(const Reload& reload) = 0;
  virtual void take(const RunJobProgram& /*run*/) {}
  /// A group of writes is about to be made: with it the disk will hold what the core knows now.
  virtual void on_group() {}
  /// The power is gone.
  virtual void on_crash() = 0;
};

/// What the controller writes to.
class StateDisk {
 public:
  virtual ~StateDisk() = default;
  virtual base::Result<store::Snapshot> load(Time ended_since) = 0;
  /// As store::Store has it: all of it, durable, or nothing.
  virtual base::Status commit(std::span<const store::Batch> batches) = 0;
};

class SimShell {
 public:
  SimShell(Settings settings, Outside& outside, StateDisk& disk)
      : settings_(std::move(settings)), outside_(outside), disk_(disk) {}

  bool is_up() const { return core_ != nullptr; }
  /// Starts on what is on disk. Errors: the disk's, the core's.
  base::Status start(Time now, base::BootTime boot);
  /// The power goes. What is being written may have reached the disk or not.
  void crash(bool is_written);
  /// The power goes after so many effects more.
  void crash_after(uint32_t effects) { fuse_ = effects; }
  /// SIGTERM: what waits is written, and nobody is told.
  void leave();

  template <typename Fn>
  void call(Time now, base::BootTime boot, const Fn& fn) {
    if (!is_up()) return;
    core_->set_lease_clock(boot);
    fn(*core_, now);
    pump();
  }
  bool is_writing() const { return flying_.has_value(); }
  /// The disk is done with the group that is under way. Error: it could not write; the group is to be tried again.
  base::Status finish_write();
  /// The scheduler makes a plan, which the core gets by hand_over(): meanwhile the world may change.
  void plan(Time now);
  bool has_plan() const { return plan_.has_value(); }
  void hand_over(Time now, base::BootTime boot);
  /// The scheduler was told something since it planned last.
  bool has_news() const { return has_news_; }

  const Controller& core() const { return *core_; }
  const sched::ClusterView& view() const { return view_; }
  /// The group under way.
  std::span<const store::Batch> flying() const { return flying_ ? *flying_ : std::span<const store::Batch>(); }
  /// Groups of writes begun so far, and those of them that are durable.
  uint64_t groups_begun() const { return launched_; }
  uint64_t groups_durable() const { return durable_; }
  const Settings& settings() const { return settings_; }
  /// From the next start on, and for who reads the configuration again.
  void configure(Settings settings) { settings_ = std::move(settings); }
  uint32_t starts() const { return starts_; }
  Time started() const { return started_; }

 private:
  void pump();
  void add(store::Batch writes, std::vector<Outgoing> out, bool owes);
  void begin();
  void fetch_owed();
  void launch();
  base::Status write_group();
  void release(std::vector<Outgoing> out);
  void let_out(Outgoing& effect);
  bool burns_out();
  void stop();
  bool is_idle() const { return !flying_ && !is_owed_ && open_writes_.empty() && open_out_.empty(); }

  Settings settings_;
  Outside& outside_;
  StateDisk& disk_;
  std::unique_ptr<Controller> core_;
  sched::ClusterView view_;
  std::vector<store::Batch> open_writes_;
  std::optional<std::vector<store::Batch>> flying_;
  std::vector<Outgoing> open_out_, flying_out_;
  bool is_owed_ = false, is_faulty_ = false, has_news_ = false;
  std::optional<sched::Plan> plan_;
  uint32_t fuse_ = 0, starts_ = 0;
  uint64_t launched_ = 0, durable_ = 0;
  Time started_;
};

}  // namespace gw::ctld::testing
