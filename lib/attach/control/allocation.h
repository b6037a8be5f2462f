// An allocation that a command asks for and attends: submitted, waited for, and gone with the command.
// Invariants: its job is told that it is attended from the moment it waits until this object has gone; nothing is
// called back after that, or from inside a call. After a second of waiting the user is told why, and again when that
// changes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attach/control/errands.h"

namespace gw::attach {

class Allocation {
 public:
  using NoteFn = std::function<void(const std::string& text)>;
  using StartedFn = std::function<void(base::Result<wire::Job>)>;
  using EndedFn = std::function<void(const wire::Job&)>;

  /// `line` is used for this allocation alone; `queries` for what must not wait. Both outlive it.
  Allocation(io::Loop& loop, Errands& line, Errands& queries) : loop_(loop), line_(line), queries_(queries) {}
  void on_note(NoteFn fn) { note_fn_ = std::move(fn); }
  /// Somebody writes to whoever waits for the job.
  void on_message(NoteFn fn) { message_fn_ = std::move(fn); }
  /// It waits, as the first note is about to say.
  void on_pending(io::Callback fn) { pending_fn_ = std::move(fn); }
  /// Gives up if it has not started within so long.
  void limit_wait(base::Duration limit) { limit_ = limit; }
  void attend(bool is_attended) { is_attended_ = is_attended; }

  /// Once. `fn` gets the job when it runs; or why it was refused, or ended before it ran.
  void request(wire::SubmitRequest submit, StartedFn fn);
  /// Once, after it has started, and after the last request over `line`: tells when the job has ended.
  void watch(EndedFn fn);
  /// Cancels the job, which may not have started, or whose id may still be on its way; `fn` follows when the controller
  /// has answered, whatever it said.
  void cancel(io::Callback fn);
  /// The job may be there, though nobody has told so yet.
  bool is_asked() const { return is_asked_; }
  /// 0: not known yet.
  uint32_t job() const { return job_; }
  /// Of a job with several components all of them, in order, once it has started; else none.
  const std::vector<wire::Job>& components() const { return components_; }

 private:
  io::Loop& loop_;
  Errands& line_;
  Errands& queries_;
  NoteFn note_fn_, message_fn_;
  io::Callback pending_fn_;
  StartedFn started_fn_;
  std::optional<base::Duration> limit_;
  bool is_attended_ = true;
  uint32_t job_ = 0;
  uint32_t further_ = 0;  // components beside the first, whose numbers follow its own
  std::vector<wire::Job> components_;
  bool is_asked_ = false;
  io::Callback cancelled_fn_;               // while the id is on its way
  std::optional<std::string> last_reason_;  // none: it has not waited
  bool is_too_late_ = false;
  io::Timer look_timer_, limit_timer_, watch_timer_;

  void wait_for_start();
  void ask_for_start();
  bool tells_notice(const base::Result<wire::ApiReply>& reply) const;
  void look();
  void tell_reason(const wire::Job& job);
  void on_started(base::Result<wire::ApiReply> reply);
  void find_components();
  void finish(base::Result<wire::Job> result);
  void note(const std::string& text) const {
    if (note_fn_) note_fn_(text);
  }
};

/// Why the job of a step that was ended has ended.
class EndOfJob {
 public:
  EndOfJob(io::Loop& loop, Errands& queries) : loop_(loop), queries_(queries) {}
  /// Once. `fn` gets end_text() of a job that was ended; nothing of one that continues, ended by itself, or is not told
  /// of within three seconds. `is_lost`: one that failed is told of too, since it may be for what the node said.
  void ask(uint32_t job, bool is_lost, std::function<void(const std::string& text)> fn);

 private:
  io::Loop& loop_;
  Errands& queries_;
  uint32_t job_ = 0;
  bool is_lost_ = false;
  std::function<void(const std::string&)> fn_;
  io::Timer limit_, again_;

  void look();
  void on_job(const wire::Job& job);
  void answer(const std::string& text);
};

/// "job 7 ended CANCELLED: by alice"
std::string end_text(const wire::Job& job);

}  // namespace gw::attach
