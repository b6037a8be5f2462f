// Texts of many rows, made on several cores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <future>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace gw::client {

/// Calls `append(out, row)` for rows 0 to `rows` - 1 and hands the texts that come of it to `take`, in their order.
/// Many rows are made on several cores at the same time: `append` may not change what it shares. A few thousand rows
/// at once, so that no text of all of them lies in memory. Where no threads may be made, all of them here.
template <typename Append, typename Take>
void text_in_parts(size_t rows, const Append& append, const Take& take) {
  constexpr size_t kAtOnce = 4'000, kWorthAThread = 250, kMostThreads = 8;
  const size_t cores = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
  std::vector<std::string> texts(cores);  // used again: fresh memory costs more than the writing
  const auto make = [&append, &texts](size_t part, size_t from, size_t to) {
    std::string text = std::exchange(texts[part], {});
    text.clear();
    for (size_t row = from; row < to; ++row) append(text, row);
    texts[part] = std::move(text);
  };
  const auto begin = [&make](size_t part, size_t from, size_t to) {
    try {
      return std::async(std::launch::async, make, part, from, to);
    } catch (const std::system_error&) {  // no thread is to be had: when it is asked for
      return std::async(std::launch::deferred, make, part, from, to);
    }
  };
  for (size_t first = 0; first < rows; first += kAtOnce) {
    const size_t count = std::min(kAtOnce, rows - first), parts = std::clamp<size_t>(count / kWorthAThread, 1, cores);
    std::vector<std::future<void>> others;
    for (size_t part = 1; part < parts; ++part)
      others.push_back(begin(part, first + count * part / parts, first + count * (part + 1) / parts));
    make(0, first, first + count / parts);
    take(texts[0]);
    for (size_t part = 1; part < parts; ++part) {
      others[part - 1].get();
      take(texts[part]);
    }
  }
}

}  // namespace gw::client
