// Who watches the cluster, and is told when something has changed. The version of the cluster is another one when
// something that may be shown has changed since anybody was told the last; who watches says which one he has seen. What
// this guarantees: who is behind is told twice a second at most, and at least once in the time that all who watch take
// at kLooks in each kLookEvery; nobody waits much longer than kLongestWait. Invariants: a connection waits once; a look
// takes kLooks steps at most, however many watch. A version is never that of a controller before a restart: it begins
// with the time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "base/time.h"
#include "ctld/core/effects.h"
#include "ctld/core/tables/outbox.h"

namespace gw::ctld {

class ChangeWatch {
 public:
  static constexpr base::Duration kLongestWait = base::seconds(10);
  static constexpr base::Duration kApart = base::milliseconds(500);     ///< Between two answers for one who watches.
  static constexpr base::Duration kLookEvery = base::milliseconds(50);  ///< While somebody is behind.
  static constexpr size_t kLooks = 100;

  explicit ChangeWatch(base::Time boot) : version_(static_cast<uint64_t>(std::max<int64_t>(boot.us, 1))) {}

  /// The transaction that is under way changed something that may be shown.
  void changed() {
    has_changed_ = true;
    is_anyone_behind_ = is_behind_in_round_ = !watchers_.empty();
  }
  /// Answers when there is something newer than `seen` (0: at once). False: the connection waits already.
  bool ask(base::Time now, ConnId conn, uint64_t request_id, uint64_t seen, Outbox& out);
  void forget(ConnId conn) { watchers_.erase(conn); }
  /// When look() has something to do; never: nobody waits.
  base::Time next_due() const;
  /// Answers those whose turn it is.
  void look(base::Time now, Outbox& out);
  size_t size() const { return watchers_.size(); }

 private:
  struct Watcher {
    uint64_t request_id = 0;
    uint64_t seen = 0;
    base::Time asked = {};
  };
  uint64_t version_;
  bool has_changed_ = false;  // since the version was told last: it counts what is told, and not what others do
  std::map<ConnId, Watcher> watchers_;
  ConnId next_ = 0;  // where the next look begins; looks go round
  base::Time looked_ = {};
  bool is_anyone_behind_ = false;
  bool is_behind_in_round_ = false;  // somebody who will be behind when this round is over

  void count_change();
  void tell(ConnId conn, uint64_t request_id, Outbox& out) const;
};

}  // namespace gw::ctld
