// Snapshots of the scheduler for clients: the scheduler's thread copies what it sees, a thread of its own here turns
// the copy into bytes, and the loop sends them. Invariants: one snapshot is made at a time; done() is called on the
// loop, once for each, never after destruction.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/result.h"
#include "ctld/shell/scheduler_thread.h"
#include "io/loop.h"

namespace gw::ctld {

class Snapshots {
 public:
  /// The whole file.
  using DoneFn = std::function<void(const base::Result<std::string>&)>;

  Snapshots(io::Loop& loop, SchedulerThread& scheduler, std::string version, std::string cluster);
  ~Snapshots();
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;

  /// Takes a snapshot of the scheduler's next pass, which is made at once. Error kConflict: another one is under way;
  /// `done` is not called then.
  base::Status start(DoneFn done);

 private:
  io::Poster poster_;
  SchedulerThread& scheduler_;
  const std::string version_, cluster_;
  bool is_under_way_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::thread thread_;

  void encode(const std::shared_ptr<const PassRecord>& record, DoneFn done);
};

}  // namespace gw::ctld
