// Old records leave the database, a few at a time, between commits (store::RetireOrder says which).
// Invariant: at most one bite is under way; what fails is told once until it works again.
#pragma once

#include <functional>
#include <string>

#include "config/config.h"
#include "ctld/shell/committer.h"
#include "io/loop.h"

namespace gw::ctld {

class RecordRetention {
 public:
  /// `config` is asked anew each time; `now` is the wall clock. Both outlive this.
  RecordRetention(io::Loop& loop, Committer& committer, const config::Config& config, std::function<base::Time()> now);

 private:
  io::Loop& loop_;
  Committer& committer_;
  const config::Config& config_;
  std::function<base::Time()> now_;
  io::Timer timer_;
  std::string fault_;

  void arm(base::Duration pause);
  void bite();
  void on_done(const base::Result<uint64_t>& gone, size_t most);
};

}  // namespace gw::ctld
