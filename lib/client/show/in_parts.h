// Texts of many rows, made on several cores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <future>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace gw::client {

/// Calls `append(out, row)` for rows 0 to `rows` - 1 and hands the texts that come of it to `take`, in their order.
/// Many rows are made on several cores at the same time: `append` may not change what it shares. A few thousand rows
/// at once, so that no text of all of them lies in memory. Where no threads may be made, all of them here.
template <typename Append, typename Take>
void text_in_parts(size_t rows, const Append& append, const Take& take) {
  constexpr size_t kAtOnce = 4'000, kWorthAThread = 250, kMostThreads = 8;
  const size_t cores = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
  const auto make = [&append](size_t from, size_t to) {
    std::string out;
    for (size_t row = from; row < to; ++row) append(out, row);
    return out;
  };
  const auto begin = [&make](size_t from, size_t to) {
    try {
      return std::async(std::launch::async, make, from, to);
    } catch (const std::system_error&) {  // no thread is to be had: when it is asked for
      return std::async(std::launch::deferred, make, from, to);
    }
  };
  for (size_t first = 0; first < rows; first += kAtOnce) {
    const size_t count = std::min(kAtOnce, rows - first), parts = std::clamp<size_t>(count / kWorthAThread, 1, cores);
    std::vector<std::future<std::string>> others;
    for (size_t part = 1; part < parts; ++part)
      others.push_back(begin(first + count * part / parts, first + count * (part + 1) / parts));
    take(make(first, first + count / parts));
    for (std::future<std::string>& other : others) take(other.get());
  }
}

}  // namespace gw::client
