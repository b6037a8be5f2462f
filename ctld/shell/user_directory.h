// Names and groups of users from the user database (NSS), which may be slow, hang or fail: looked up in threads,
// remembered a while.
// Invariants: an answer is of the uid and gid that was asked for; answers come on the loop, once for each question,
// never after destruction; the loop never waits for the database. Where it fails or is silent an answer of the last
// hour is given again; without one the question fails.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ctld/core/authorize.h"
#include "io/loop.h"

namespace gw::ctld {

/// Looks a user up now; blocks. A uid without a name gets its number as name and no groups but its own. Error
/// kUnavailable: the database cannot be read.
base::Result<Caller> look_up(uint32_t uid, uint32_t gid);

class UserDirectory {
 public:
  using FoundFn = std::function<void(const base::Result<Caller>&)>;
  using LookUpFn = std::function<base::Result<Caller>(uint32_t uid, uint32_t gid)>;
  struct Limits {
    base::Duration fresh = base::seconds(60);    ///< An answer is asked for again after this.
    base::Duration stale = base::hours(1);       ///< And is of no use after this.
    base::Duration patience = base::seconds(3);  ///< So long a question waits for the database.
  };
  explicit UserDirectory(io::Loop& loop) : UserDirectory(loop, look_up, Limits{}) {}
  /// `look_up` is called from several threads at once.
  UserDirectory(io::Loop& loop, LookUpFn look_up, Limits limits);
  /// Does not wait for a look-up that hangs: its thread ends by itself.
  ~UserDirectory();
  UserDirectory(const UserDirectory&) = delete;
  UserDirectory& operator=(const UserDirectory&) = delete;

  /// Calls `fn` with names and groups; at once if they are known and fresh, later on the loop otherwise. Errors: the
  /// database fails or does not answer (kUnavailable).
  void find(uint32_t uid, uint32_t gid, FoundFn fn);

 private:
  using Key = std::pair<uint32_t, uint32_t>;  // uid, gid: a process may run with another group than its user's own
  struct Entry {
    Caller caller;
    base::Duration at;
  };
  struct Question {
    std::vector<FoundFn> askers;
    bool is_late = false;  // patience ran out: whoever asks now is answered at once
    io::Timer patience;
  };
  struct Shared;  // with the threads

  io::Loop& loop_;
  Limits limits_;
  std::map<Key, Entry> known_;
  std::map<Key, Question> asked_;
  std::shared_ptr<Shared> shared_;

  void on_found(Key key, const base::Result<Caller>& found);
  void on_silence(Key key);
  base::Result<Caller> remembered(Key key, const base::Error& otherwise) const;
  void forget_old();
};

}  // namespace gw::ctld
