// What the scheduler would do with jobs, for those who ask: one question after the other, each between two passes, so
// that a pass waits for one of them at most. Users are served in turn.
// Invariants: of a connection one question is under way; an answer comes once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "ctld/core/api/open_question.h"
#include "ctld/shell/round_robin.h"
#include "ctld/shell/scheduler_thread.h"

namespace gw::ctld {

class Questions {
 public:
  /// `waiting`: a job that was asked about before it is submitted, and would not start now; else null.
  using AnswerFn =
      std::function<void(ConnId conn, uint32_t uid, wire::ApiReply reply, const sched::PendingJob* waiting)>;
  /// `answer` is called on the loop. The scheduler outlives this.
  Questions(SchedulerThread& scheduler, AnswerFn answer);

  /// False: the connection has one under way, or its user as many as may be.
  bool ask(AskOutlooks question);
  /// The connection is closed: nobody wants its answer.
  void forget(ConnId conn) { waiting_.erase(conn); }
  size_t waiting() const { return waiting_.size(); }

 private:
  SchedulerThread& scheduler_;
  AnswerFn answer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::map<ConnId, AskOutlooks> waiting_;
  RoundRobin turns_;
  std::optional<OpenQuestion> current_;

  void begin();
  void step();
};

}  // namespace gw::ctld
