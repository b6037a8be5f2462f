// Transitions that a table declares, and no others.
#include "base/state_machine.h"

#include <gtest/gtest.h>

#include <memory>

namespace gw::base {
namespace {

struct Waiting {
  std::shared_ptr<int> timer;
};
struct Running {
  int tasks = 0;
};
struct Over {};
using Table = Transitions<From<Waiting>::To<Running, Over>, From<Running>::To<Over>>;
using Life = StateMachine<Table, Waiting, Running, Over>;

template <typename Old, typename New>
concept Changes = requires(Life life, Old old) {
  life.change(old, New{});
};
template <typename New, typename... Olds>
concept ChangesIf = requires(Life life) {
  life.change_if<Olds...>(New{});
};

static_assert(Changes<Waiting, Running> && Changes<Waiting, Over> && Changes<Running, Over>);
static_assert(!Changes<Running, Waiting> && !Changes<Over, Waiting> && !Changes<Over, Running>);
static_assert(!Changes<Waiting, Waiting>, "to stay is a transition, too");
static_assert(ChangesIf<Over, Waiting, Running> && ChangesIf<Running, Waiting>);
static_assert(!ChangesIf<Running, Waiting, Running> && !ChangesIf<Running, Over> && !ChangesIf<Over>);

TEST(StateMachine, BeginsInTheFirstState) {
  Life life;
  EXPECT_TRUE(life.is<Waiting>());
  EXPECT_FALSE((life.is<Running, Over>()));
  EXPECT_EQ(life.in<Running>(), nullptr);
}

TEST(StateMachine, WhatAStateOwnsGoesWithIt) {
  Life life;
  const auto timer = std::make_shared<int>(1);
  life.in<Waiting>()->timer = timer;
  EXPECT_EQ(life.change(*life.in<Waiting>(), Running{3}).tasks, 3);
  EXPECT_EQ(timer.use_count(), 1);
}

TEST(StateMachine, ChangesOnlyFromTheStatesThatAreNamed) {
  Life life;
  EXPECT_FALSE(life.change_if<Running>(Over{}));
  EXPECT_TRUE(life.is<Waiting>());
  EXPECT_TRUE((life.change_if<Waiting, Running>(Over{})));
  EXPECT_FALSE((life.change_if<Waiting, Running>(Over{})));
  EXPECT_TRUE(life.is<Over>());
}

TEST(StateMachineDeathTest, AStateThatItIsNotInChangesNothing) {
  Life life;
  Running other;
  EXPECT_DEATH(life.change(other, Over{}), "old == in<Old>");
}

}  // namespace
}  // namespace gw::base
