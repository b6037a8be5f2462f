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
  };
  explicit AnswerCache(Bounds bounds) : bounds_(bounds) {}

  /// Calls `done` at once where there is a fresh answer, else once it was made. True: nobody makes it yet, so whoever
  /// asks has to, and calls made().
  bool ask(const std::string& key, base::Duration now, DoneFn done);
  void made(const std::string& key, base::Duration now, const base::Result<std::string>& answer);
  /// What was made for keys that begin so is old: who asks now gets an answer that is made after this.
  void forget(const std::string& prefix);
  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    Text text;  // null while it is made
    base::Duration at = {};
    std::vector<DoneFn> waiting = {};
    bool is_old = false;  // it is made from what was before
    int awaited = 0;      // older ones that are under way
  };
  const Bounds bounds_;
  std::map<std::string, Entry> entries_;
  size_t bytes_ = 0;

  void forget_old(base::Duration now);
};

}  // namespace gw::webd
