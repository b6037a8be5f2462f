// What jobs keep in the store, and whom it is charged to: a job's own row, its script and its environment. A script
// that several jobs of a user have is charged once to each such user. Pure. Invariants: what a user is charged is the
// sum of the rows of his jobs and of the blobs that they use; a blob is used as long as a job that is charged for has
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace gw::ctld {

/// A script or an environment, by its hash.
struct BlobUse {
  std::string hash;  ///< Empty: none.
  size_t bytes = 0;
};

class JobCharges {
 public:
  /// What a user is charged with.
  struct Of {
    size_t jobs = 0;  ///< That have not ended.
    size_t bytes = 0;
  };

  void add(base::JobId id, uint32_t uid, size_t row_bytes, const BlobUse& script, const BlobUse& environment);
  /// A job with the row, the script and the environment of another one.
  void add_like(base::JobId id, base::JobId other);
  /// The row has become longer or shorter.
  void resize(base::JobId id, size_t row_bytes);
  void end(base::JobId id);
  /// It has ended, and waits again.
  void revive(base::JobId id);
  /// Its environment was not released.
  bool has_environment(base::JobId id) const;
  /// The job needs its environment no more. Gives it if no job uses it now, else nothing (an empty hash).
  BlobUse release_environment(base::JobId id);
  /// The job, whose environment was released before, is not charged for any more. Gives its script if no job uses it
  /// now, else nothing.
  BlobUse remove(base::JobId id);

  Of of(uint32_t uid) const;
  size_t row_bytes(base::JobId id) const;
  /// What a blob would add to the charge of this user.
  size_t would_add(uint32_t uid, const BlobUse& blob) const;
  bool uses(const std::string& hash) const { return blobs_.contains(hash); }

 private:
  struct Blob {
    size_t bytes = 0;
    std::map<uint32_t, uint32_t> users;  // jobs of each
  };
  struct Entry {
    uint32_t uid = 0;
    size_t row_bytes = 0;
    const std::string* script = nullptr;  // keys of blobs_
    const std::string* environment = nullptr;
    bool is_live = true;
  };
  std::unordered_map<std::string, Blob> blobs_;
  std::unordered_map<base::JobId, Entry> jobs_;
  std::map<uint32_t, Of> users_;

  const std::string* use(uint32_t uid, const BlobUse& blob);
  BlobUse leave(uint32_t uid, const std::string* hash);
  void tidy(uint32_t uid);
};

}  // namespace gw::ctld
