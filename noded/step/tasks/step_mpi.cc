// MPI for the tasks of a step on this node.
#include "noded/step/tasks/step_mpi.h"

namespace gw::noded::step {

StepMpi::StepMpi(io::Loop& loop, const wire::StepSpec& spec, Containment& contain, const MpiSupport& support,
                 const std::string& hosts, const TaskSet& tasks, Events events)
    : loop_(loop),
      spec_(spec),
      contain_(contain),
      support_(support),
      hosts_(hosts),
      tasks_(tasks),
      events_(std::move(events)) {}

base::Status StepMpi::open(StepPlan& plan) {
  wire::LaunchTasks& launch = plan.launch;
  if (!launch.has_pmix() || (launch.pmix().is_optional() && !support_.problem.empty())) {
    launch.clear_pmix();
    return {};
  }
  Mpi::Events events;
  events.end = [this](const std::string& why) { end(why); };
  events.abort = [this](uint32_t rank, const std::string& why) { on_abort(rank, why); };
  events.answered = [this] { events_.answered(); };
  mpi_ = std::make_unique<Mpi>(loop_, spec_, contain_, support_, hosts_, std::move(events));
  GW_TRY_STATUS(mpi_->open(launch.pmix()));
  mpi_->add_variables(plan.environment);
  return {};
}

void StepMpi::end(const std::string& why) {
  if (events_.is_ending()) return;
  mpi_->spread_end(why);
  events_.end(why);
}

void StepMpi::on_abort(uint32_t rank, const std::string& why) {
  /// How long it may take to its own end.
  constexpr base::Duration kPatience = base::seconds(1);
  if (events_.is_ending() || abort_) return;
  if (!tasks_.is_alive(rank)) return end(why);
  abort_.emplace(Abort{rank, why, loop_.after(kPatience, [this] { end(abort_->why); })});
}

void StepMpi::on_task_failed(uint32_t rank) {
  if (!mpi_) return;
  if (abort_ && abort_->rank == rank) end(abort_->why);
  mpi_->on_task_failed(rank);
}

void StepMpi::close() {
  if (mpi_) mpi_->close();
}

}  // namespace gw::noded::step
