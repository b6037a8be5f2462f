// See draft.h.
#include "cmds/gangway/import/draft.h"

#include <algorithm>

#include "base/text.h"

namespace gw::cmds::import {
namespace {

std::string lines_of(const Keys& keys, const std::string& first, const std::string& indent) {
  std::string out;
  for (const auto& [key, value] : keys.all()) out += (out.empty() ? first : indent) + key + ": " + value + "\n";
  return out;
}

std::string list_of(const std::string& name, const std::vector<Keys>& entries) {
  std::string out;
  for (const Keys& entry : entries) out += lines_of(entry, "  - ", "    ");
  return out.empty() ? out : "\n" + name + ":\n" + out;
}

}  // namespace

void Keys::set(const std::string& key, std::string yaml) {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& each) { return each.first == key; });
  if (found == all_.end())
    all_.emplace_back(key, std::move(yaml));
  else
    found->second = std::move(yaml);
}

bool Keys::has(const std::string& key) const { return !get(key).empty(); }

std::string Keys::get(const std::string& key) const {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& each) { return each.first == key; });
  return found == all_.end() ? std::string() : found->second;
}

std::string yaml_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string yaml_list(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(yaml_text(text));
  return "[" + base::join(quoted, ", ") + "]";
}

void Draft::set(const std::string& path, std::string yaml) {
  const size_t dot = path.find('.');
  if (dot == std::string::npos)
    top.set(path, std::move(yaml));
  else
    sections[path.substr(0, dot)].set(path.substr(dot + 1), std::move(yaml));
}

std::string Draft::yaml() const {
  std::string out = lines_of(top, "", "");
  for (const auto& [name, keys] : sections) out += "\n" + name + ":\n" + lines_of(keys, "  ", "  ");
  return out + list_of("nodes", nodes) + list_of("network", network) + list_of("partitions", partitions);
}

}  // namespace gw::cmds::import
