// What a transaction of the core leaves behind: rows to write, messages to send, lines for the log.
// Invariant: what stands in it is carried out in its order, messages only once the rows are durable (effects.h says
// which may overtake them).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ctld/core/effects.h"
#include "model/cluster.h"
#include "model/job.h"

namespace gw::ctld {

class Outbox {
 public:
  /// A transaction begins, at this time.
  void begin(base::Time now) { now_ = now; }

  void write(store::Op row) { writes_.push_back(std::move(row)); }
  void send(Outgoing message) { out_.push_back(std::move(message)); }

  void reply(ConnId conn, uint64_t request_id, wire::ApiReply message);
  void refuse(ConnId conn, uint64_t request_id, const base::Error& error);
  /// Before what is being written: for what shows nothing of the state.
  void refuse_at_once(ConnId conn, uint64_t request_id, const base::Error& error);

  /// A line for the log.
  void note(std::string text, bool is_warning = false) { out_.push_back(Note{is_warning, std::move(text)}); }
  /// Something happened to a job, a node, or to what is nobody's (a partition, a reservation, the quotas): a row of the
  /// history and a line for the log. `uid`: who did it; none: the controller itself.
  using Actor = std::optional<uint32_t>;
  void job_event(const model::Job& job, const std::string& kind, const std::string& text, Actor uid = {});
  void node_event(const model::Node& node, const std::string& kind, const std::string& text, Actor uid = {});
  void event(const std::string& kind, const std::string& text, Actor uid);

  /// Somebody did something to what is not his own, or was refused it (`is_refusal`): a line of the audit, and of the
  /// system's log. Events with an actor who is not the owner come here by themselves. What one request does to many
  /// things is one line for each kind of deed.
  void audit(const std::string& kind, const std::string& object, const std::string& text, Actor uid,
             bool is_refusal = false);

  bool has_writes() const { return !writes_.empty() || !deeds_.empty(); }
  /// What is still to be sent; to be marked before it goes.
  std::vector<Outgoing>& messages() { return out_; }
  /// All of it; the deltas are the feed's.
  Effects take(std::vector<sched::Delta> deltas) {
    write_deeds();
    return {std::exchange(writes_, {}), std::exchange(out_, {}), std::move(deltas)};
  }

 private:
  void note_event(std::string text, bool is_warning = false) {
    out_.push_back(Note{is_warning, std::move(text), /*is_in_history=*/true});
  }

  /// What one did to several things.
  struct Deed {
    store::Audit row;
    std::vector<std::pair<std::string, std::string>> each = {};  ///< Objects and texts: the first of them,
    size_t count = 0;                                            ///< and how many they are.
  };
  void write_deeds();

  base::Time now_;
  std::vector<Deed> deeds_;
  store::Batch writes_;
  std::vector<Outgoing> out_;
};

}  // namespace gw::ctld
