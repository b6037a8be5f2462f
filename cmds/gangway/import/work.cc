// See work.h.
#include "cmds/gangway/import/work.h"

#include <fmt/format.h>

#include "base/text.h"

namespace gw::cmds::import {
namespace {

std::string setting(std::string_view key, const std::string& value) {
  return fmt::format("{}={}", key, base::printable(value, 200));
}

}  // namespace

void Work::note(const Line& line, Verdict verdict, std::string text) {
  notes.push_back({line.place(), verdict, std::move(text)});
}

void Work::take(const Line& line, std::string_view key, const std::string& value, const std::string& path,
                std::string yaml) {
  note(line, Verdict::kTaken, fmt::format("{} -> {}: {}", setting(key, value), path, yaml));
  draft.set(path, std::move(yaml));
}

void Work::change(const Line& line, std::string_view key, const std::string& value, const std::string& path,
                  std::string yaml, std::string_view why) {
  note(line, Verdict::kChanged, fmt::format("{} -> {}: {} ({})", setting(key, value), path, yaml, why));
  draft.set(path, std::move(yaml));
}

void Work::ignore(const Line& line, std::string_view key, const std::string& value, const std::string& why) {
  note(line, Verdict::kIgnored, fmt::format("{} ({})", setting(key, value), why));
}

void Work::unknown(const Line& line, const std::string& key, std::span<const SlurmKey> known) {
  std::vector<std::string> names;
  for (const SlurmKey& k : known) names.emplace_back(k.name);
  const std::string hint = base::did_you_mean(key, names);
  problems.push_back(fmt::format("{}: unknown key \"{}\"{}", line.place(), base::printable(key, 60),
                                 hint.empty() ? "" : " (" + hint + ")"));
}

bool Work::is_yes(const std::string& value) {
  return base::iequals(value, "yes") || base::iequals(value, "true") || value == "1" || base::iequals(value, "force");
}

}  // namespace gw::cmds::import
