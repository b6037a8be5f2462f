// What many ask at the same time, answered once for all of them. A question has a budget of rows that the controller
// makes for it in a second; who asks beyond it waits a little, together with the others who ask the same, and one
// answer is made for all. What this guarantees: an answer shows nothing from before it was asked for; nobody waits
// longer than kLongestWait for his turn; what is asked rarely is answered at once. Invariants: at most kMostQuestions
// are remembered, each of at most kLongestQuestion bytes; the pieces that are kept take at most kMostKept bytes and the
// last one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "ctld/core/effects.h"

namespace gw::ctld {

/// Which answers are made now, and which for several together.
class AskedTogether {
 public:
  static constexpr base::Duration kLongestWait = base::milliseconds(100);
  static constexpr size_t kMostQuestions = 64, kLongestQuestion = 1024;
  /// Who are answered together; none has the number 0.
  using Batch = uint64_t;
  struct Ready {
    ConnId conn = 0;
    Batch batch = 0;
  };

  /// The batch that the connection waits in from now on; 0: its answer is made at once.
  Batch ask(base::Time now, const std::string& question, ConnId conn);
  /// So many rows were made to answer the question.
  void charge(base::Time now, const std::string& question, size_t rows);
  /// When the next of those who wait are to be answered; never: nobody waits.
  base::Time next_due() const;
  /// Those whose turn it is, in the order in which they asked.
  std::vector<Ready> take_due(base::Time now);

 private:
  /// A row takes the loop some four microseconds: the lists of one question take a twelfth of it, but for the first
  /// ones.
  static constexpr base::Duration kRow = base::microseconds(20);

  struct Question {
    base::Time paid_until = {};  ///< What was made for it is paid for by then, at kRow each.
    Batch batch = 0;
    std::vector<ConnId> waiting = {};
    base::Time due() const { return paid_until - kLongestWait; }
  };
  std::map<std::string, Question> questions_;
  Batch last_batch_ = 0;

  bool has_room(base::Time now);
};

/// Pieces of the answers that were made for several.
template <class Rest>
class KeptPieces {
 public:
  static constexpr size_t kMostKept = size_t{8} << 20;
  struct Piece {
    std::shared_ptr<const std::string> bytes = {};
    Rest rest = {};  ///< What makes the next one.
    bool is_last = false;
  };

  /// The piece of the batch, numbered from 1; null: it is not kept.
  const Piece* find(AskedTogether::Batch batch, uint32_t number) const {
    const auto it = pieces_.find({batch, number});
    return it == pieces_.end() ? nullptr : &it->second;
  }
  /// Keeps it until so much has come after it that there is no room, the oldest batch's first.
  void keep(AskedTogether::Batch batch, uint32_t number, Piece piece) {
    bytes_ += piece.bytes->size();
    pieces_.emplace(std::pair(batch, number), std::move(piece));
    while (bytes_ > kMostKept && pieces_.size() > 1) {
      bytes_ -= pieces_.begin()->second.bytes->size();
      pieces_.erase(pieces_.begin());
    }
  }
  void clear() {
    pieces_.clear();
    bytes_ = 0;
  }
  size_t bytes() const { return bytes_; }

 private:
  std::map<std::pair<AskedTogether::Batch, uint32_t>, Piece> pieces_;
  size_t bytes_ = 0;
};

}  // namespace gw::ctld
