// See slurm_file.h.
#include "cmds/gangway/import/slurm_file.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/text.h"

namespace gw::cmds::import {
namespace {

using base::invalid;
using base::Result;
using base::Status;
using Settings = std::vector<std::pair<std::string, std::string>>;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// Up to a comment: a `#` that no backslash stands before, outside quotes.
std::string without_comment(std::string_view line) {
  std::string out;
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && i + 1 < line.size() && line[i + 1] == '#') {
      out += line[++i];
      continue;
    }
    if (c == '#' && quote == 0) break;
    if (c == '"' || c == '\'') quote = quote == c ? '\0' : quote == 0 ? c : quote;
    out += c;
  }
  return out;
}

/// "Include FILE", in any case.
bool is_include(std::string_view line) {
  constexpr size_t kWord = 7;
  return line.size() > kWord && base::iequals(line.substr(0, kWord), "include") && is_space(line[kWord]);
}

class Reader {
 public:
  Status read(const std::string& path, const std::string& from) {
    char* real = ::realpath(path.c_str(), nullptr);
    if (real == nullptr) return invalid(from + base::printable(path, 300) + " cannot be read: no such file");
    const std::string name = real;
    std::free(real);
    if (std::find(open_.begin(), open_.end(), name) != open_.end())
      return invalid(from + base::printable(path, 300) + " includes itself", "take one of the Include lines out");
    if (++files_ > kMostFiles) return invalid(from + "more than " + std::to_string(kMostFiles) + " files are included");
    GW_TRY(text, text_of(path, from));
    open_.push_back(name);
    GW_TRY_STATUS(read_lines(path, text));
    open_.pop_back();
    return {};
  }
  std::vector<Line> take() { return std::move(lines_); }

 private:
  static Result<std::string> text_of(const std::string& path, const std::string& from) {
    std::ifstream file(path, std::ios::binary);
    std::string text;
    char buffer[64 * 1024];
    while (file.read(buffer, sizeof buffer) || file.gcount() > 0) {
      text.append(buffer, static_cast<size_t>(file.gcount()));
      if (text.size() > kMostBytes) return invalid(from + base::printable(path, 300) + " is larger than 16 MiB");
    }
    if (!file.eof()) return invalid(from + base::printable(path, 300) + " cannot be read");
    return text;
  }

  Status read_lines(const std::string& path, const std::string& text) {
    size_t number = 0, first = 1;
    std::string joined;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      ++number;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (joined.empty()) first = number;
      const bool goes_on = line.ends_with('\\');
      if (goes_on) line.pop_back();
      joined += line;
      if (goes_on) continue;
      GW_TRY_STATUS(add(path, first, std::exchange(joined, "")));
    }
    return joined.empty() ? Status{} : add(path, first, joined);
  }

  Status add(const std::string& path, size_t number, const std::string& text) {
    Line line{path, number, {}};
    const std::string bare(base::trim(without_comment(text)));
    if (bare.empty()) return {};
    if (is_include(bare)) {
      std::string target(base::trim(std::string_view(bare).substr(7)));
      if (!target.starts_with('/') && path.find('/') != std::string::npos)
        target = path.substr(0, path.rfind('/') + 1) + target;
      return read(target, line.place() + ": ");
    }
    auto settings = read_settings(bare);
    if (!settings) return invalid(line.place() + ": " + settings.error().what, settings.error().hint);
    line.settings = std::move(*settings);
    lines_.push_back(std::move(line));
    return {};
  }

  std::vector<Line> lines_;
  std::vector<std::string> open_;  ///< Those that are being read, by their real paths.
  size_t files_ = 0;
};

}  // namespace

const std::string* Line::find(std::string_view key) const {
  for (const auto& [name, value] : settings)
    if (base::iequals(name, key)) return &value;
  return nullptr;
}

Result<Settings> read_settings(std::string_view line) {
  Settings settings;
  size_t i = 0;
  while (true) {
    while (i < line.size() && is_space(line[i])) ++i;
    if (i >= line.size()) return settings;
    const size_t begin = i;
    while (i < line.size() && line[i] != '=' && !is_space(line[i])) ++i;
    std::string key(line.substr(begin, i - begin));
    while (i < line.size() && is_space(line[i])) ++i;
    if (i >= line.size() || line[i] != '=' || key.empty())
      return invalid("\"" + base::printable(key, 60) + "\" is not KEY=VALUE");
    if (key.ends_with('+') || key.ends_with('-')) key.pop_back();  // "Gres+=" of 23.11
    ++i;
    while (i < line.size() && is_space(line[i])) ++i;
    std::string value;
    char quote = 0;
    for (; i < line.size() && (quote != 0 || !is_space(line[i])); ++i) {
      if ((line[i] == '"' || line[i] == '\'') && (quote == 0 || quote == line[i]))
        quote = quote == 0 ? line[i] : '\0';
      else
        value += line[i];
    }
    if (quote != 0) return invalid("a quote is not closed behind " + base::printable(key, 60) + "=");
    settings.emplace_back(std::move(key), std::move(value));
  }
}

Result<std::vector<Line>> read_slurm_file(const std::string& path) {
  Reader reader;
  GW_TRY_STATUS(reader.read(path, ""));
  return reader.take();
}

}  // namespace gw::cmds::import
