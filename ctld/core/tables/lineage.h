// Where the controller's state comes from: one store, made once, on which controllers have started again and again.
// With it the controller tells runs that its state decided about from runs that a newer state placed (it was restored
// from a backup), or another one (its folder is empty, or of another cluster). Invariants: commits are numbered through
// all starts and never twice; a start has a random name, so that what two copies of a store went through after they
// were parted is never mixed up.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/state_mark.h"
#include "store/rows.h"

namespace gw::ctld {

/// What a mark is to this state.
enum class Kin {
  kOurs,   ///< It holds, or held, what was marked; also a mark that says nothing.
  kNewer,  ///< The same store, but after the copy was made that this state began from.
  kOther,  ///< Another store.
  kHeld,   ///< Ours, but the row of the job cannot be read.
};

class Lineage {
 public:
  /// Takes over what the store holds; rows that are none of ours are skipped. Gives the names of those that cannot be
  /// read. What was marked stays ours where only the count of commits is lost, and becomes newer, or another's, where
  /// the names are: it is kept in any case.
  std::vector<std::string> restore(const std::vector<store::NamedBytes>& meta);
  /// One more start, by this name. Empty: the state has no identity, and everything is ours.
  void begin(const std::string& incarnation);
  /// Rows that say who we are, once; empty from then on.
  store::Batch unsaved();

  uint64_t commit() const { return commit_; }
  /// One more commit, with its number.
  uint64_t next_commit() { return ++commit_; }
  /// The row of the number; it goes with the last commit of a group.
  store::PutMeta commit_row() const;
  /// Marks what is decided now: it is in the next commit.
  model::StateMark mark_of_next() const;
  model::StateMark mark() const;
  Kin kin(const model::StateMark& mark) const;

 private:
  /// More starts than this are not kept: what they marked is then taken for newer, which is safe.
  static constexpr size_t kMostStarts = 1000;

  std::string root_;
  std::vector<std::pair<std::string, uint64_t>> starts_;  // name, first commit
  uint64_t commit_ = 0;
  bool is_saved_ = true;

  bool read_starts(const std::string& lines);
};

}  // namespace gw::ctld
