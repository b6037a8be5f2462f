// Programs of the administrator run beside each other on few threads.
#include "program/program_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace gw::program {
namespace {

TEST(ProgramPool, RunsAllThatIsAskedForOnFewThreads) {
  std::atomic<int> done = 0;
  std::promise<void> all;
  ProgramPool pool;
  EXPECT_EQ(pool.threads(), 0u);
  for (int i = 0; i < 1000; ++i)
    pool.add([&] {
      if (++done == 1000) all.set_value();
    });
  all.get_future().wait();
  EXPECT_LE(pool.threads(), ProgramPool::kMaxThreads);
}

TEST(ProgramPool, ProgramsRunBesideEachOther) {
  std::promise<void> first;
  auto second = first.get_future().share();
  ProgramPool pool;
  std::promise<void> both;
  pool.add([&] {
    second.wait();
    both.set_value();
  });
  pool.add([&] { first.set_value(); });
  both.get_future().wait();
  EXPECT_EQ(pool.threads(), 2u);
}

TEST(ProgramPool, WhatWaitsAtItsEndIsForgotten) {
  std::atomic<int> ran = 0;
  std::promise<void> go;
  auto gate = go.get_future().share();
  {
    ProgramPool pool;
    for (size_t i = 0; i < 2 * ProgramPool::kMaxThreads; ++i)
      pool.add([&ran, gate] {
        gate.wait();
        ++ran;
      });
    go.set_value();
  }
  EXPECT_LE(ran, static_cast<int>(2 * ProgramPool::kMaxThreads));
}

}  // namespace
}  // namespace gw::program
