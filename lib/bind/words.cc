// Reading the words of --cpu-bind, --gpu-bind and --mem-bind.
#include "bind/words.h"

#include <algorithm>
#include <span>

#include "base/text.h"

namespace gw::bind {
namespace {

using base::IndexSet;
using base::invalid;
using base::Result;
using base::Status;
using Text = std::string_view;

/// Highest index in a list.
constexpr uint32_t kMaxIndex = 8191;

enum class After { kNothing, kMap, kMask, kCount };

template <typename Way>
struct Word {
  Text name;
  Way way;
  After after = After::kNothing;
};

constexpr Word<CpuWay> kCpuWords[] = {{"none", CpuWay::kNone},
                                      {"no", CpuWay::kNone},
                                      {"threads", CpuWay::kThreads},
                                      {"thread", CpuWay::kThreads},
                                      {"cores", CpuWay::kCores},
                                      {"core", CpuWay::kCores},
                                      {"closest", CpuWay::kCores},
                                      {"yes", CpuWay::kCores},
                                      {"auto", CpuWay::kAuto},
                                      {"sockets", CpuWay::kSockets},
                                      {"socket", CpuWay::kSockets},
                                      {"ldoms", CpuWay::kLdoms},
                                      {"ldom", CpuWay::kLdoms},
                                      {"rank", CpuWay::kRank},
                                      {"map_cpu", CpuWay::kMap, After::kMap},
                                      {"mask_cpu", CpuWay::kMask, After::kMask},
                                      {"rank_ldom", CpuWay::kRankLdom},
                                      {"map_ldom", CpuWay::kMapLdom, After::kMap},
                                      {"mask_ldom", CpuWay::kMaskLdom, After::kMask}};
constexpr Word<GpuWay> kGpuWords[] = {{"none", GpuWay::kNone},
                                      {"closest", GpuWay::kClosest},
                                      {"single", GpuWay::kSingle, After::kCount},
                                      {"per_task", GpuWay::kPerTask, After::kCount},
                                      {"map_gpu", GpuWay::kMap, After::kMap},
                                      {"mask_gpu", GpuWay::kMask, After::kMask}};
constexpr Word<MemWay> kMemWords[] = {{"none", MemWay::kNone},
                                      {"no", MemWay::kNone},
                                      {"local", MemWay::kLocal},
                                      {"rank", MemWay::kRank},
                                      {"map_mem", MemWay::kMap, After::kMap},
                                      {"mask_mem", MemWay::kMask, After::kMask}};

/// What the help of an option names; the others are older spellings.
constexpr Text kCpuChoices =
    "none, threads, cores, sockets, ldoms, rank, map_cpu:LIST, mask_cpu:LIST, rank_ldom, map_ldom:LIST, mask_ldom:LIST "
    "or closest, with verbose or quiet before it";
constexpr Text kGpuChoices =
    "none, closest, single:N, per_task:N, map_gpu:LIST or mask_gpu:LIST, with verbose before it";
constexpr Text kMemChoices =
    "none, local, rank, map_mem:LIST or mask_mem:LIST, with prefer, verbose or quiet before it";

bool is_all_of(Text text, Text characters) { return !text.empty() && text.find_first_not_of(characters) == Text::npos; }

/// Hexadecimal, with or without 0x.
bool read_mask(Text digits, IndexSet& set) {
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  if (digits.size() > kMaxIndex / 4 || !is_all_of(digits, "0123456789abcdef")) return false;
  for (size_t i = 0; i < digits.size(); ++i) {
    const char c = digits[digits.size() - 1 - i];
    const unsigned value = c <= '9' ? static_cast<unsigned>(c - '0') : static_cast<unsigned>(c - 'a') + 10;
    for (uint32_t bit = 0; bit < 4; ++bit)
      if ((value >> bit & 1U) != 0) set.insert(static_cast<uint32_t>(4 * i) + bit);
  }
  return !set.empty();
}

/// Decimal, or hexadecimal after 0x.
bool read_index(Text digits, IndexSet& set) {
  uint32_t value = 0;
  const bool is_hex = digits.starts_with("0x");
  if (is_hex) digits.remove_prefix(2);
  if (digits.size() > 5 || !is_all_of(digits, is_hex ? "0123456789abcdef" : "0123456789")) return false;
  for (const char c : digits)
    value = value * (is_hex ? 16 : 10) + static_cast<uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  if (value > kMaxIndex) return false;
  set.insert(value);
  return true;
}

Status read_list(Text option, Text word, After form, Text list, std::vector<IndexSet>& out) {
  const bool is_mask = form == After::kMask;
  for (const std::string& item : base::split(list, ',')) {
    const size_t star = item.find('*');
    int64_t count = 1;
    if (star != std::string::npos) {
      auto read = base::parse_int(Text(item).substr(star + 1), 1, kMaxEntries, "repetitions");
      count = read ? *read : 0;
    }
    IndexSet set;
    const Text digits = Text(item).substr(0, star);
    if (count == 0 || !(is_mask ? read_mask(digits, set) : read_index(digits, set)))
      return invalid("option " + std::string(option) + ": \"" + base::printable(item, 40) + "\" in " +
                         std::string(word) + " is no " + (is_mask ? "mask" : "index"),
                     is_mask ? "write a mask such as 0x3, or 0x3*4 for four tasks"
                             : "write a number such as 2, or 2*4 for four tasks");
    if (out.size() + static_cast<size_t>(count) > kMaxEntries)
      return invalid("option " + std::string(option) + ": the list of " + std::string(word) + " is too long",
                     "give at most " + std::to_string(kMaxEntries) + " entries; it starts again at its end");
    out.insert(out.end(), static_cast<size_t>(count), set);
  }
  if (!out.empty()) return {};
  return invalid("option " + std::string(option) + ": " + std::string(word) + " needs a list",
                 std::string(word) + (is_mask ? ":0x3,0xc" : ":0,1"));
}

template <typename Way>
class Reader {
 public:
  Reader(Text option, std::span<const Word<Way>> known, Text choices)
      : option_(option), known_(known), choices_(choices) {}

  Result<Words<Way>> read(Text text) {
    if (text.size() > kMaxText)
      return invalid("option " + std::string(option_) + ": the value is too long",
                     "at most " + std::to_string(kMaxText) + " characters; N*COUNT stands for repetitions");
    const std::string all = base::to_lower(text);
    Text rest = all;
    while (!rest.empty()) {
      const size_t end = rest.find_first_of(",:");
      const Text name = rest.substr(0, end);
      const bool has_value = end != Text::npos && rest[end] == ':';
      const Text tail = end == Text::npos ? Text() : rest.substr(end + 1);
      if (end != Text::npos && !has_value && tail.empty()) return tl::unexpected(unknown({}, false, {}).error());
      if (!has_value && is_manner(name)) {
        rest = tail;
        continue;
      }
      GW_TRY_STATUS(read_way(name, has_value, tail));
      rest = has_value ? Text() : tail;
    }
    return std::move(words_);
  }

 private:
  Text option_;
  std::span<const Word<Way>> known_;
  Text choices_;
  Words<Way> words_;

  bool is_manner(Text name) {
    if (name == "verbose" || name == "v" || name == "quiet" || name == "q") {
      words_.says = name.starts_with('v');
      return true;
    }
    if constexpr (std::is_same_v<Way, MemWay>) {
      words_.prefers |= name == "prefer";
      return name == "prefer" || name == "sort" || name == "nosort";
    }
    return false;
  }

  Status read_way(Text name, bool has_value, Text value) {
    const auto word = std::find_if(known_.begin(), known_.end(), [&](const auto& w) { return w.name == name; });
    if (word == known_.end() || (has_value && word->after == After::kNothing)) return unknown(name, has_value, value);
    words_.way = word->way;
    words_.list.clear();
    if (word->after == After::kNothing) return {};
    if (!has_value) value = {};
    if (word->after != After::kCount) return read_list(option_, name, word->after, value, words_.list);
    auto count = base::parse_int(value, 1, 65'536, "option " + std::string(option_) + ": " + std::string(name));
    if (!count) return tl::unexpected(count.error());
    words_.count = static_cast<uint32_t>(*count);
    return {};
  }

  Status unknown(Text name, bool has_value, Text value) const {
    std::vector<std::string> names;
    for (const Word<Way>& word : known_) names.emplace_back(word.name);
    const std::string whole = std::string(name) + (has_value ? ":" + std::string(value) : "");
    const std::string meant = has_value ? "" : base::did_you_mean(name, names);
    return invalid("option " + std::string(option_) + ": \"" + base::printable(whole, 60) + "\" is no way of binding",
                   (meant.empty() ? "" : meant + " There are ") + std::string(choices_));
  }
};

}  // namespace

Result<CpuWords> parse_cpu(Text text) { return Reader<CpuWay>("--cpu-bind", kCpuWords, kCpuChoices).read(text); }
Result<GpuWords> parse_gpu(Text text) { return Reader<GpuWay>("--gpu-bind", kGpuWords, kGpuChoices).read(text); }
Result<MemWords> parse_mem(Text text) { return Reader<MemWay>("--mem-bind", kMemWords, kMemChoices).read(text); }

std::string mask_text(const IndexSet& set) {
  std::string digits;
  for (size_t i = set.word_count(); i-- > 0;)
    for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[set.word(i) >> shift & 15U];
  const size_t first = digits.find_first_not_of('0');
  return "0x" + (first == std::string::npos ? "0" : digits.substr(first));
}

}  // namespace gw::bind
