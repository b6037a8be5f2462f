// See faults.h.
#include "base/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace gw::base {

void Faults::add(Error fault) {
  const bool is_known = std::any_of(all_.begin(), all_.end(), [&](const Error& e) { return e.text() == fault.text(); });
  if (!is_known) all_.push_back(std::move(fault));
}

Status Faults::status() const {
  constexpr size_t kMost = 10;
  if (all_.empty()) return {};
  if (all_.size() == 1) return tl::unexpected(all_.front());
  std::string lines;
  for (size_t i = 0; i < std::min(all_.size(), kMost); ++i) lines += (i == 0 ? "" : "\n") + all_[i].text();
  if (all_.size() > kMost) lines += fmt::format("\nand {} more", all_.size() - kMost);
  Error out = all_.front();  // which alone has its sentence: Slurm would tell no other
  out.what = std::move(lines);
  out.hint.clear();
  return tl::unexpected(std::move(out));
}

Error after(std::string_view prefix, const Error& error) {
  Error out = error;
  out.what.clear();
  for (const std::string& line : lines_of(error))
    out.what += (out.what.empty() ? "" : "\n") + std::string(prefix) + line;
  return out;
}

std::vector<std::string> lines_of(const Error& error) {
  std::vector<std::string> out;
  for (const auto& line : split(error.what, '\n')) out.emplace_back(line);
  return out;
}

}  // namespace gw::base
