// How many requests there were, of which kind and of whom, and how long the event loop was busy with them: since the
// start, or since somebody began anew. Invariant: as much is kept as there are kinds and users, and of users kMostUsers
// at most; those that come later count together. Of single requests the slowest are kept.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/time.h"
#include "ctld/shell/scheduler_thread.h"
#include "wire/api.pb.h"

namespace gw::ctld {

class RequestFigures {
 public:
  static constexpr size_t kMostUsers = 10'000;
  static constexpr uint32_t kOthers = UINT32_MAX;  ///< The uid under which users above that are counted.

  static constexpr size_t kMostSlow = 10;
  void count(wire::ApiRequest::KindCase kind, uint32_t uid, base::Duration took, base::Time at);
  /// Adds them to an answer, those that took longest first, and the scheduler's since the same moment.
  void put(const PassReport& passes, wire::ShowFiguresReply& shown) const;
  /// What there was before counts no more.
  void reset(const PassReport& passes);

 private:
  struct Sum {
    uint64_t count = 0;
    base::Duration took;
  };
  std::map<wire::ApiRequest::KindCase, Sum> kinds_;
  struct Slow {
    wire::ApiRequest::KindCase kind = wire::ApiRequest::KIND_NOT_SET;
    uint32_t uid = 0;
    base::Duration took;
    base::Time at;
  };
  std::map<uint32_t, Sum> users_;
  std::vector<Slow> slowest_;  // slowest first
  PassReport before_;          // the reset

  template <typename Key, typename Fn>
  static void put_sums(const std::map<Key, Sum>& sums, google::protobuf::RepeatedPtrField<wire::RequestFigures>& to,
                       const Fn& name);
};

}  // namespace gw::ctld
