// Reading --multi-prog files.
#include "cmds/grun/run_multi.h"

#include <algorithm>

#include "base/text.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Result;

struct Line {
  size_t number = 0;
  std::string text;
};

/// Joins lines that end with a backslash; comments and empty ones are left out.
std::vector<Line> logical_lines(std::string_view text) {
  std::vector<Line> lines;
  bool goes_on = false;
  size_t number = 0;
  for (std::string& raw : base::split(text, '\n')) {
    ++number;
    if (!raw.empty() && raw.back() == '\r') raw.pop_back();
    const bool continues = !raw.empty() && raw.back() == '\\';
    if (continues) raw.pop_back();
    if (goes_on)
      lines.back().text += " " + raw;
    else
      lines.push_back({number, std::move(raw)});
    goes_on = continues;
  }
  std::erase_if(lines, [](const Line& l) {
    const auto trimmed = base::trim(l.text);
    return trimmed.empty() || trimmed.front() == '#';
  });
  return lines;
}

std::string substitute(const std::string& word, uint32_t rank, size_t offset) {
  std::string out;
  for (size_t i = 0; i < word.size(); ++i) {
    const char next = word[i] == '%' && i + 1 < word.size() ? word[i + 1] : '\0';
    if (next == 't' || next == 'o') {
      out += std::to_string(next == 't' ? rank : offset);
      ++i;
    } else {
      out += word[i];
    }
  }
  return out;
}

class Reader {
 public:
  Reader(const std::string& label, uint32_t tasks) : label_(label), commands_(tasks) {}

  base::Status read(const Line& line) {
    auto words = base::split_shell_words(line.text);
    if (!words) return wrong(line, words.error().what);
    if (words->empty()) return {};
    if (words->size() < 2) return wrong(line, "no program for " + base::printable(words->front(), 40));
    auto ranks = ranks_of(line, words->front());
    if (!ranks) return tl::unexpected(ranks.error());
    for (size_t offset = 0; offset < ranks->size(); ++offset) {
      const uint32_t rank = (*ranks)[offset];
      std::vector<std::string>& command = commands_[rank];
      if (!command.empty()) return wrong(line, "task " + std::to_string(rank) + " has a program already");
      for (size_t i = 1; i < words->size(); ++i) command.push_back(substitute((*words)[i], rank, offset));
    }
    return {};
  }

  Result<std::vector<std::vector<std::string>>> finish() {
    for (size_t rank = 0; rank < commands_.size(); ++rank)
      if (commands_[rank].empty())
        return invalid(label_ + ": no line names a program for task " + std::to_string(rank),
                       "a line that begins with * is for all that no other line names");
    return std::move(commands_);
  }

 private:
  const std::string& label_;
  std::vector<std::vector<std::string>> commands_;

  tl::unexpected<base::Error> wrong(const Line& line, const std::string& what) const {
    return invalid(label_ + ":" + std::to_string(line.number) + ": " + what);
  }

  Result<std::vector<uint32_t>> ranks_of(const Line& line, const std::string& text) const {
    std::vector<uint32_t> ranks;
    if (text == "*") {
      for (uint32_t rank = 0; rank < commands_.size(); ++rank)
        if (commands_[rank].empty()) ranks.push_back(rank);
      return ranks;
    }
    for (const std::string& part : base::split(text, ',')) {
      const size_t dash = part.find('-');
      const auto low = base::parse_int(std::string_view(part).substr(0, dash), 0, UINT32_MAX, "task");
      const auto high = dash == std::string::npos
                            ? low
                            : base::parse_int(std::string_view(part).substr(dash + 1), 0, UINT32_MAX, "task");
      if (!low || !high || *high < *low)
        return wrong(line, "\"" + base::printable(text, 40) + "\" is no list of task numbers");
      if (*high >= static_cast<int64_t>(commands_.size()))
        return wrong(
            line, "there is no task " + std::to_string(*high) + ": the step has " + std::to_string(commands_.size()));
      for (int64_t rank = *low; rank <= *high; ++rank) ranks.push_back(static_cast<uint32_t>(rank));
    }
    return ranks;
  }
};

}  // namespace

// The line of all other tasks may stand anywhere: it is read last.
Result<std::vector<std::vector<std::string>>> parse_multi_prog(std::string_view text, const std::string& label,
                                                               uint32_t tasks) {
  Reader reader(label, tasks);
  std::vector<Line> lines = logical_lines(text);
  std::stable_partition(lines.begin(), lines.end(),
                        [](const Line& line) { return base::trim(line.text).front() != '*'; });
  for (const Line& line : lines) GW_TRY_STATUS(reader.read(line));
  return reader.finish();
}

}  // namespace gw::cmds
