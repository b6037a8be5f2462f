// Machines whose states own their data: what compiles, and what moves along.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/state_machine.h"
#include "noded/step/shepherd/shepherd.h"
#include "noded/step/tasks/farewell.h"
#include "noded/step/tasks/task_launch.h"
#include "noded/step/tasks/task_streams.h"

namespace gw::noded::step {
namespace {

struct Idle {
  std::string name;
};
struct Busy {
  std::unique_ptr<int> work;  // which cannot be copied
  const int& wage;            // nor assigned
};
struct Retired {};
using Worker = base::StateMachine<
    base::Transitions<base::From<Idle>::To<Busy>, base::From<Busy>::To<Idle>, base::From<Busy>::To<Retired>>, Idle,
    Busy, Retired>;

template <typename From, typename To>
concept WorkerMayGo = requires(Worker worker) {
  worker.template go<From, To>();
};
using Retire = Retired (*)(const Idle&);
template <typename From, typename Change>
concept WorkerMayLeave = requires(Worker worker, Change change) {
  worker.template leave<From>(change);
};

static_assert(WorkerMayGo<Busy, Idle> && WorkerMayGo<Busy, Retired>);
static_assert(!WorkerMayGo<Idle, Retired>, "not declared");
static_assert(!WorkerMayGo<Retired, Idle>, "nor back");
static_assert(!WorkerMayLeave<Idle, Retire>, "nor by a function");

TEST(States, DataBelongsToTheStateAndMovesAlong) {
  const int wage = 7;
  Worker worker;
  EXPECT_TRUE((worker.is<Idle>()));
  EXPECT_EQ(worker.in<Busy>(), nullptr);
  worker.in<Idle>()->name = "ada";
  std::string before;
  worker.leave<Idle>([&](Idle idle) {
    before = std::move(idle.name);
    return Busy{std::make_unique<int>(3), wage};
  });
  EXPECT_EQ(before, "ada");
  EXPECT_EQ(worker.in<Idle>(), nullptr);
  ASSERT_TRUE((worker.is<Retired, Busy>()));
  EXPECT_EQ(*worker.in<Busy>()->work + worker.in<Busy>()->wage, 10);
  worker.go<Busy, Idle>("eve");
  EXPECT_EQ(worker.in<Idle>()->name, "eve");
}

TEST(States, LeavingAStateThatItIsNotInThrows) {
  Worker worker;
  EXPECT_THROW((worker.go<Busy, Retired>()), std::bad_variant_access);
}

// Whether a table lets a machine go from one of these states to each of the others, by their order.
template <typename Machine, typename From, typename... To>
constexpr bool kGoesNowhere = !(Machine::template kMayGo<From, To> || ...);

TEST(States, WhatIsOverStaysOver) {
  using L = TaskLaunchStates;
  EXPECT_TRUE(
      (kGoesNowhere<L::Machine, L::Ended, L::Awaiting, L::Starting, L::Running, L::CalledOff, L::Ending, L::Done>));
  EXPECT_TRUE((kGoesNowhere<L::Machine, L::CalledOff, L::Running, L::Done>)) << "an end is not taken back";
  using T = TaskStreamStates;
  EXPECT_TRUE((kGoesNowhere<T::Machine, T::Draining, T::Unopened, T::Flowing>));
  using F = FarewellStates;
  EXPECT_TRUE((kGoesNowhere<F::Machine, F::Over, F::NotYet, F::Draining, F::Settling, F::Closing>));
  EXPECT_TRUE((kGoesNowhere<F::Telling, F::Fetched, F::Untold, F::Told>)) << "the exit is told once";
  using S = ShepherdStates;
  EXPECT_TRUE((kGoesNowhere<S::Machine, S::Exited, S::Configuring, S::Ready, S::Running, S::Clean, S::Leaving>));
  EXPECT_TRUE((kGoesNowhere<S::Machine, S::Configuring, S::Running, S::Clean, S::Leaving>));
}

}  // namespace
}  // namespace gw::noded::step
