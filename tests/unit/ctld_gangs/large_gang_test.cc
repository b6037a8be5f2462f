// What happens to a gang costs in proportion to its size, not to the square of it: rows and bytes written, deltas, what
// nodes are told, and memory asked for on the way. Counted, not timed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "tests/unit/ctld_gangs/gang_world.h"

namespace {
size_t asked_bytes = 0;  // of memory, ever
}

// The thread sanitizer brings its own operators, beside which no others can be linked: memory is not counted there.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GW_HAS_OPERATORS
#endif
#endif
#ifndef GW_HAS_OPERATORS
// All of a program's new come here: what copies a gang for each of its nodes shows in the sum.
[[gnu::noinline]] void* operator new(size_t size) {
  asked_bytes += size;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  asked_bytes += size;
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif

namespace gw::ctld {
namespace {

using testing::Cost;
using testing::GangPhase;
using testing::GangWorld;
using testing::kGangLife;

struct Measured {
  Cost cost;
  size_t memory = 0;
};

std::vector<Measured> live(uint32_t nodes, std::span<const GangPhase> phases) {
  GangWorld w(nodes);
  w.take_cost();
  std::vector<Measured> out;
  for (const GangPhase& phase : phases) {
    const size_t before = asked_bytes;
    (w.*phase.run)();
    out.push_back({w.take_cost(), asked_bytes - before});
  }
  return out;
}

void expect_linear(std::span<const GangPhase> phases) {
  constexpr uint32_t kNodes = 150;
  constexpr double kMost = 2.3;
  const std::vector<Measured> once = live(kNodes, phases), twice = live(2 * kNodes, phases);
  for (size_t i = 0; i < phases.size(); ++i) {
    SCOPED_TRACE(phases[i].name);
    const Cost &a = once[i].cost, &b = twice[i].cost;
    const auto expect = [](const char* what, size_t at_n, size_t at_2n) {
      EXPECT_LE(static_cast<double>(at_2n), kMost * static_cast<double>(at_n)) << what << ": " << at_n << ", " << at_2n;
    };
    constexpr size_t kBeside = 20;  // of the job and its user
    EXPECT_LE(b.rows, phases[i].most_rows * 2 * kNodes + kBeside);
    expect("rows", a.rows + kBeside, b.rows);
    expect("bytes written", a.row_bytes, b.row_bytes);
    expect("deltas", a.deltas + kBeside, b.deltas);
    expect("messages to nodes", a.messages + kBeside, b.messages);
    expect("bytes to nodes", a.message_bytes + 1000, b.message_bytes);
    expect("memory asked for", once[i].memory, twice[i].memory);
  }
}

TEST(LargeGang, EveryPartOfItsLifeCostsInProportionToItsNodes) { expect_linear(kGangLife); }

TEST(LargeGang, BeingLostForGoodDoesToo) {
  constexpr GangPhase kLost[] = {{"placed", &GangWorld::place, 3}, {"lost", &GangWorld::lose_for_good, 6}};
  expect_linear(kLost);
}

TEST(LargeGang, AStepThatCannotStartDoesToo) {
  constexpr GangPhase kFailed[] = {{"placed", &GangWorld::place, 3}, {"step failed", &GangWorld::fail_step, 5}};
  expect_linear(kFailed);
}

TEST(LargeGang, ItsPhasesAreWhatTheySay) {
  GangWorld w(4);
  w.place();
  EXPECT_EQ(w.state(w.id), model::JobState::kRunning);
  w.begin_step();
  w.restart_controller();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  EXPECT_EQ(w.state(w.id), model::JobState::kRunning);
  EXPECT_EQ(w.job(w.id).attempt, 1U);
  w.lose();
  EXPECT_EQ(w.job(w.id).placed()->unreachable.size(), 4U);
  w.come_back();
  EXPECT_EQ(w.job(w.id).placed()->unreachable.size(), 0U);
  w.end_step();
  EXPECT_TRUE(w.store.steps.empty());
  w.suspend();
  EXPECT_EQ(w.state(w.id), model::JobState::kSuspended);
  w.resume();
  EXPECT_EQ(w.state(w.id), model::JobState::kRunning);
  w.end();
  EXPECT_EQ(w.state(w.id), model::JobState::kCompleted);
  EXPECT_TRUE(w.store.run_nodes.empty());
  w.place();
  w.lose_for_good();
  EXPECT_EQ(w.state(w.id), model::JobState::kPending);
  EXPECT_TRUE(w.store.run_nodes.empty());
}

}  // namespace
}  // namespace gw::ctld
