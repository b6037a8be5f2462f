// Names and groups of uids from the user database (NSS), which may be slow: looked up in a thread, remembered a while.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "ctld/core/authorize.h"
#include "io/loop.h"

namespace gw::ctld {

class UserDirectory {
 public:
  using FoundFn = std::function<void(const Caller&)>;
  explicit UserDirectory(io::Loop& loop);
  ~UserDirectory();
  UserDirectory(const UserDirectory&) = delete;
  UserDirectory& operator=(const UserDirectory&) = delete;

  /// Calls `fn` with names and groups; at once if they are known and fresh, later on the loop otherwise.
  void find(uint32_t uid, uint32_t gid, FoundFn fn);

 private:
  struct Entry {
    Caller caller;
    base::Duration at;
  };
  struct Query {
    uint32_t uid, gid;
  };
  io::Poster poster_;
  std::map<uint32_t, Entry> known_;
  std::map<uint32_t, std::vector<FoundFn>> asked_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Query> queue_;
  bool is_stopping_ = false;
  std::thread thread_;

  void work();
  void on_found(const Caller& caller);
};

/// Looks a user up now; blocks. A uid without a name gets its number as name and no groups.
Caller look_up(uint32_t uid, uint32_t gid);

}  // namespace gw::ctld
