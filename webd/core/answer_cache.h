// Answers that many ask for within a moment: each is made once. Pure.
// Invariants: an answer is given again for so long as it is fresh, by the clock of who asks; the number of answers and
// their bytes are bounded, of too many the oldest goes; an error is told to all who waited for it, and not kept.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace gw::webd {

/// An answer, and the same made shorter, once somebody wants it so.
struct Answered {
  std::string plain;
  mutable std::shared_ptr<const std::string> packed = {};
};

class AnswerCache {
 public:
  using Text = std::shared_ptr<const Answered>;
  using DoneFn = std::function<void(const base::Result<Text>& answer)>;
  struct Bounds {
    base::Duration fresh = base::seconds(1);
    size_t most = 500;
    size_t most_bytes = size_t{64} << 20;
    base::Duration history_fresh = base::seconds(60);
  };
  explicit AnswerCache(Bounds bounds) : bounds_(bounds) {}

  /// Calls `done` at once where there is a fresh answer, else once it was made. Not 0: whoever asks has to make it, and
  /// says so by made() with this number.
  uint64_t ask(const std::string& key, base::Duration now, DoneFn done);
  /// Of several that are made for a key the one that was begun last counts. `is_history`: it stays fresh for longer,
  /// also when something happens.
  void made(const std::string& key, uint64_t number, base::Duration now, const base::Result<std::string>& answer,
            bool is_history = false);
  /// What was made for keys that begin so is old: who asks now gets an answer that is made after this.
  void forget(const std::string& prefix);
  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    Text text;  // null while it is made
    base::Duration at = {};
    std::vector<DoneFn> waiting = {};
    uint64_t number = 0;  // of the one that is made
    bool is_old = false;  // it is made from what was before
    bool is_history = false;
  };
  const Bounds bounds_;
  std::map<std::string, Entry> entries_;
  size_t bytes_ = 0;
  uint64_t last_number_ = 0;

  bool is_fresh(const Entry& entry, base::Duration now) const;
  void forget_old(base::Duration now);
};

}  // namespace gw::webd
