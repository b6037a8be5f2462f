// What is demanded of a message as one of its fields grows. Invariant: judged by counted figures alone.
#pragma once

#include <string>
#include <vector>

#include "tests/cost/measure.h"

namespace gw::cost {

/// Doubling what is sent, or with it what is answered, may take so many times the work.
constexpr double kMostGrowth = 2.3;
/// Of things that are compared in pairs by their nature.
constexpr double kMostGrowthOfPairs = 4.6;
/// Bytes kept, in memory and in the store each, for one byte that was sent.
constexpr uint64_t kMostKept = 4;
/// For each entry of a list, or name in a text: what is done to a job or node leaves a record that says who did it,
/// however short its number was, and a name of some letters is a string in memory.
constexpr uint64_t kKeptEntry = 256;
/// Whatever is sent: tables of the controller that double their room just now.
constexpr uint64_t kKeptAtAll = 16 << 10;

/// What is wrong with the last of these figures, which are of one growth of a field, ascending; empty: nothing.
/// `example` is the message as it was before its field grew.
std::string fault_of(const std::string& field, const std::vector<Figures>& series, const Figures& example);

}  // namespace gw::cost
