// See faults.h.
#include "base/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace gw::base {

void Faults::add(Error fault) {
  const bool is_known = std::any_of(all_.begin(), all_.end(), [&](const Error& e) { return e.text() == fault.text(); });
  if (is_known) return;
  if (all_.size() < kMost)
    all_.push_back(std::move(fault));
  else
    ++more_;
}

Status Faults::status() const {
  if (all_.empty()) return {};
  if (all_.size() == 1) return tl::unexpected(all_.front());
  std::string lines;
  for (const Error& each : all_) lines += (lines.empty() ? "" : "\n") + each.text();
  if (more_ > 0) lines += fmt::format("\nand {} more", more_);
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
