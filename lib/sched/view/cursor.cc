// See cursor.h.
#include "sched/view/cursor.h"

#include "sched/queue/queue.h"

namespace gw::sched {

void Cursor::begin_pass() {
  ++pass_;
  put_off_.clear();
}

bool Cursor::is_passed(const JobClass& c) const {
  if (c.passed_in == 0) return false;
  if (all_since_ > 0 && c.passed_in >= all_since_) return true;
  const auto uid = c.only_user();
  const auto round = uid ? rounds_.find(*uid) : rounds_.end();
  return round != rounds_.end() && c.passed_in >= round->second.since;
}

void Cursor::pass_by(JobClass& c, bool is_limited) const {
  c.passed_in = pass_;
  c.was_limited = is_limited;
}

bool Cursor::end_pass(uint64_t epoch, End end, base::Time next_change) {
  const bool is_more = is_more_after(epoch, end);
  next_change_ = is_more ? next_change : base::Time::never();
  return is_more;
}

bool Cursor::is_more_after(uint64_t epoch, End end) {
  for (const uint32_t uid : put_off_) rounds_.try_emplace(uid, Round{pass_, epoch});
  if (end == End::kOutOfSteps) {
    if (all_since_ == 0) all_epoch_ = epoch;
    if (all_since_ == 0) all_since_ = pass_;
    return true;
  }
  // Those that were looked at first have not seen what changed since.
  bool is_more = !put_off_.empty() || (all_since_ > 0 && all_epoch_ != epoch);
  all_since_ = 0;
  if (end == End::kOutOfStarts) return true;  // it looked at some only, and what it starts changes everything
  for (auto& [uid, round] : rounds_) {
    if (put_off_.contains(uid) || round.epoch == epoch) continue;
    round = Round{pass_ + 1, epoch};
    is_more = true;
  }
  // Who is through stays so until all are: two who take turns at being put off would continue for ever.
  if (!is_more) rounds_.clear();
  return is_more;
}

std::set<uint32_t> Cursor::users() const {
  std::set<uint32_t> out;
  for (const auto& [uid, round] : rounds_) out.insert(uid);
  return out;
}

void Cursor::restore(bool has_run_out, const std::set<uint32_t>& users, Time next_change, uint64_t epoch) {
  pass_ = 1;
  all_since_ = has_run_out ? 1 : 0;
  all_epoch_ = epoch;
  next_change_ = next_change;
  rounds_.clear();
  for (const uint32_t uid : users) rounds_[uid] = Round{1, epoch};
}

}  // namespace gw::sched
