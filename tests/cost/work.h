// How much was done, counted so that the same run always has the same figure: no clock, no machine's counters. Work is
// counted in units: one for each basic block of code that was compiled for counting, one for 16 bytes that are
// moved or compared by the C library's functions, and 20 for each piece of memory that is asked for. Code of libraries
// (protobuf, the C++ library's compiled part) counts by what it moves and asks for. Memory: what is held by `new`.
// Invariants: nothing is counted outside of count(); the counter itself is not counted. One thread only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gw::cost {

/// Bytes that are held by `new` now, as the allocator rounds them.
size_t held_bytes();

/// Ends the program with kTooMuch once a run takes more than this.
constexpr uint64_t kMostUnits = 20'000'000'000;
constexpr int kTooMuch = 9;

/// For count() alone.
void begin_count();
uint64_t end_count();

/// The units that `run` takes.
template <typename Run>
uint64_t count(Run&& run) {
  begin_count();
  run();
  return end_count();
}

}  // namespace gw::cost
