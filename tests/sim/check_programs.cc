// Prolog, run, epilog. See check_programs.h.
#include "tests/sim/check_programs.h"

namespace gw::sim_cluster {
namespace {

constexpr char kOrder[] = "a run is between its prolog and its epilog";

using model::JobProgram;

}  // namespace

void ProgramChecker::on_sent(const std::string& node, const wire::ControllerToNode& message) {
  if (!message.has_prepare()) return;
  const RunKey run{message.prepare().job(), message.prepare().attempt(), 0};
  const auto it = runs_.find(run);
  if (it != runs_.end() && it->second.prolog_asked && !it->second.prolog_succeeded)
    fail(kOrder, node + " is told of " + run.text() + ", whose prolog has not succeeded");
}

void ProgramChecker::on_program_asked(const ctld::RunJobProgram& asked) {
  const RunKey run{asked.job.value, asked.attempt, 0};
  Programs& programs = runs_[run];
  if (programs.under_way != JobProgram::kNone) fail(kOrder, "two programs of " + run.text() + " are under way");
  programs.under_way = asked.program;
  if (asked.program != JobProgram::kProlog) return;
  programs.prolog_asked = true;
  ++programs.times_asked;
}

void ProgramChecker::on_program_ended(const ctld::RunJobProgram& asked, const ctld::ProgramEnd& end) {
  const auto it = runs_.find({asked.job.value, asked.attempt, 0});
  if (it == runs_.end()) return;
  it->second.under_way = JobProgram::kNone;
  using ctld::ProgramRun;
  const bool has_not_run = end.run == ProgramRun::kNotStarted || end.run == ProgramRun::kNotTaken;
  if (asked.program == JobProgram::kEpilog && (end.run == ProgramRun::kRan || end.run == ProgramRun::kNotStarted))
    it->second.epilog_ended = true;
  if (asked.program == JobProgram::kProlog && has_not_run && it->second.times_asked == 1)
    it->second.owes_epilog = false;  // nothing is to be cleaned up
  if (asked.program == JobProgram::kProlog)
    it->second.prolog_succeeded = end.run == ProgramRun::kRan && end.exit_code == 0;
}

void ProgramChecker::on_rows(std::span<const store::Batch> batches, bool is_sure) {
  if (!is_sure) return;  // what of it is there is seen when it is loaded
  for (const store::Batch& batch : batches)
    for (const store::Op& op : batch) {
      if (const auto* put = std::get_if<store::PutJob>(&op)) look_at(put->row);
      if (const auto* put = std::get_if<store::PutJobStatus>(&op)) look_at(put->row);
      if (const auto* end = std::get_if<store::EndJob>(&op)) look_at(end->row);
    }
}

void ProgramChecker::look_at(const store::JobRow& row) {
  wire::JobStatus status;
  if (!status.ParseFromString(row.status)) return;
  if (status.has_placed() && status.placed().contract().has_epilog())
    runs_[{row.id.value, status.attempt(), 0}].owes_epilog = true;
  const auto begin = runs_.lower_bound({row.id.value, 0, 0}), end = runs_.lower_bound({row.id.value + 1, 0, 0});
  for (auto it = begin; it != end;) {
    const auto& [run, programs] = *it;
    if (status.has_placed() && run.attempt == status.attempt()) {
      ++it;
      continue;
    }
    if (programs.under_way != JobProgram::kNone || (programs.owes_epilog && !programs.epilog_ended))
      fail(kOrder, "what had " + run.text() + " goes on before its epilog has ended");
    it = runs_.erase(it);
  }
}

void ProgramChecker::on_loaded(const store::Snapshot& snapshot) {
  for (auto& [run, programs] : runs_) programs.under_way = JobProgram::kNone;  // asked by the controller that died
  for (const store::JobRow& row : snapshot.jobs) look_at(row);
}

}  // namespace gw::sim_cluster
