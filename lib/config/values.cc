// Reading and writing of single values, by kind. Scalars are YAML 1.2: only true and false are booleans, and text is
// text whatever it looks like. See keys.h.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/hostlist.h"
#include "base/name.h"
#include "base/text.h"
#include "config/keys.h"

namespace gw::config {
namespace {

using base::Result;
using base::Status;

constexpr size_t kMaxText = 4096, kMaxHostName = 255;

bool is_address_char(char c) {
  return base::is_name_char(c) || c == ':' || c == '%';
}  // names, IPv4, IPv6 with its zone

Status check_text(std::string_view text) {
  if (text.size() > kMaxText) return base::invalid(fmt::format("text longer than {} characters", kMaxText));
  if (text.find_first_of("\n\r\t") != std::string_view::npos) return base::invalid("text of more than one line");
  return {};
}

Status check_path(std::string_view text) {
  if (text.empty() || text[0] == '/') return check_text(text);
  return base::invalid(fmt::format("\"{}\" is not an absolute path", base::printable(text)), "write it from / on");
}

Status check_topology(std::string_view text) {
  bool is_path = text.find('/') != std::string_view::npos;
  return is_path ? check_path(text) : text.empty() ? Status{} : base::check_name(text, kMaxHostName);
}

Status check_choice(std::string_view text, std::string_view choices) {
  std::vector<std::string> all = base::split(choices, '|');
  if (std::find(all.begin(), all.end(), base::to_lower(text)) != all.end()) return {};
  std::string meant = base::did_you_mean(base::to_lower(text), all);
  return base::invalid(fmt::format("\"{}\" is none of {}", base::printable(text), base::join(all, ", ")), meant);
}

Status check_one(const KeyInfo& key, std::string_view text) {
  switch (key.kind) {
    case Kind::kName:
    case Kind::kNames:
      return text.empty() ? Status{} : base::check_name(text);
    case Kind::kPath:
      return check_path(text);
    case Kind::kTopology:
      return check_topology(text);
    case Kind::kChoice:
      return check_choice(text, key.choices);
    default:
      return check_text(text);
  }
}

Result<bool> parse_bool(const Value& value) {
  if (!value.is_quoted && value.text == "true") return true;
  if (!value.is_quoted && value.text == "false") return false;
  return base::invalid(fmt::format("\"{}\" is not a truth value", base::printable(value.text)),
                       "write true or false, without quotes");
}

// A size in the largest unit that keeps it exact; `units` begins with the letter of `size` itself, or a blank.
std::string size_text(int64_t size, std::string_view units = " KMGT") {
  size_t unit = 0;
  for (; size != 0 && size % 1024 == 0 && unit + 1 < units.size(); ++unit) size /= 1024;
  std::string number = std::to_string(size);
  return units[unit] == ' ' || size == 0 ? number : number + units[unit];
}

Result<int64_t> parse_bytes(std::string_view text, const KeyInfo& key) {
  constexpr std::string_view kUnits = "kmg";
  int64_t unit = 1;
  size_t index = text.empty() ? std::string_view::npos : kUnits.find(base::to_lower(text.substr(text.size() - 1)));
  if (index != std::string_view::npos) {
    for (size_t i = 0; i <= index; ++i) unit *= 1024;
    text.remove_suffix(1);
  }
  GW_TRY(count, base::parse_int(text, 0, INT64_MAX / unit, key.name));
  int64_t bytes = count * unit;
  if (bytes < key.min || bytes > key.max)
    return base::invalid(fmt::format("{} is not between {} and {}", bytes, size_text(key.min), size_text(key.max)));
  return bytes;
}

Result<int64_t> parse_memory(std::string_view text, const KeyInfo& key) {
  GW_TRY(mb, base::parse_memory_mb(text));
  if (mb > static_cast<uint64_t>(key.max))
    return base::invalid(fmt::format("{} is more than {}", base::printable(text),
                                     base::format_memory_mb(static_cast<uint64_t>(key.max))));
  return static_cast<int64_t>(mb);
}

std::string duration_text(base::Duration d) {
  if (d == base::kUnlimited) return "UNLIMITED";
  std::string text;
  int64_t rest = d.seconds();
  constexpr std::pair<int64_t, char> kUnits[] = {{86'400, 'd'}, {3'600, 'h'}, {60, 'm'}, {1, 's'}};
  for (auto [seconds, letter] : kUnits) {
    if (rest >= seconds) text += fmt::format("{}{}", rest / seconds, letter);
    rest %= seconds;
  }
  return text.empty() ? "0s" : text;
}

// Bare numbers are minutes in Slurm's limits and seconds in its other settings: outside limits the unit is asked for.
Result<base::Duration> parse_duration(std::string_view text, const KeyInfo& key) {
  bool is_bare = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (is_bare && key.kind == Kind::kDuration && text.size() < 10)
    return base::invalid(fmt::format("{} has no unit", text), fmt::format("write {0}s or {0}m", text));
  GW_TRY(d, base::parse_duration(text));
  if (d == base::kUnlimited && key.kind == Kind::kLimit) return d;
  base::Duration min = base::seconds(key.min), max = base::seconds(key.max);
  if (d < min || d > max)
    return base::invalid(
        fmt::format("{} is not between {} and {}", base::printable(text), duration_text(min), duration_text(max)));
  return d;
}

// The error with the key's name before it.
void tell(const KeyInfo& key, const Value& at, const base::Error& error, Problems& problems) {
  bool is_named = error.what.starts_with(key.name);
  problems.error(at, is_named ? error.what : fmt::format("{}: {}", key.name, error.what), error.hint);
}

template <typename T>
void assign(const KeyInfo& key, Result<T> parsed, const Value& at, Problems& problems, auto set) {
  if (parsed)
    set(*parsed);
  else
    tell(key, at, parsed.error(), problems);
}

void read_number(const KeyInfo& key, Ref to, const Value& value, Problems& problems) {
  auto parsed = key.kind == Kind::kBytes    ? parse_bytes(value.text, key)
                : key.kind == Kind::kMemory ? parse_memory(value.text, key)
                                            : base::parse_int(value.text, key.min, key.max, key.name);
  assign(key, std::move(parsed), value, problems, [&to](int64_t n) {
    std::visit(
        [n](auto* place) {
          using Place = std::remove_pointer_t<decltype(place)>;
          if constexpr (std::is_integral_v<Place>) *place = static_cast<Place>(n);
        },
        to);
  });
}

Result<double> parse_decimal(const KeyInfo& key, const Value& value) {
  double weight = 0;
  const char* end = value.text.data() + value.text.size();
  auto [stopped, wrong] = std::from_chars(value.text.data(), end, weight);
  if (value.kind != Value::Kind::kScalar || wrong != std::errc{} || stopped != end || !std::isfinite(weight))
    return base::invalid(fmt::format("\"{}\" is not a number", base::printable(value.text)));
  if (weight < static_cast<double>(key.min) || weight > static_cast<double>(key.max))
    return base::invalid(fmt::format("{} is not between {} and {}", weight, key.min, key.max));
  return weight;
}

void read_weights(const KeyInfo& key, std::map<std::string, double>& to, const Value& value, Problems& problems) {
  constexpr size_t kMaxWeights = 1000;
  if (value.kind != Value::Kind::kMap)
    return problems.error(value, fmt::format("{} takes a map of names and numbers", key.name), "write {age: 1000}");
  std::map<std::string, double> all;
  for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
    const Value& name = value.items[i];
    if (name.kind != Value::Kind::kScalar) return problems.error(name, "a key that is no plain text");
    if (Status ok = base::check_name(name.text); !ok) return tell(key, name, ok.error(), problems);
    auto weight = parse_decimal(key, value.items[i + 1]);
    if (!weight) return tell(key, value.items[i + 1], weight.error(), problems);
    if (!all.emplace(name.text, *weight).second)
      return problems.error(name, fmt::format("{}: {} stands twice", key.name, name.text), "leave one");
    if (all.size() > kMaxWeights) return problems.error(name, fmt::format("{} has too many names", key.name));
  }
  to = std::move(all);
}

void read_amounts(const KeyInfo& key, model::Amounts& to, const Value& value, Problems& problems) {
  if (value.kind != Value::Kind::kMap)
    return problems.error(value, fmt::format("{} takes a map of resources and amounts", key.name), "write {gpu: 16}");
  model::Amounts all;
  for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
    const Value& name = value.items[i];
    if (name.kind != Value::Kind::kScalar) return problems.error(name, "a key that is no plain text");
    const auto resource = model::parse_resource(name.text);
    if (!resource) return tell(key, name, resource.error(), problems);
    const auto amount = model::parse_amount(*resource, value.items[i + 1].text);
    if (!amount) return tell(key, value.items[i + 1], amount.error(), problems);
    if (!all.emplace(*resource, *amount).second)
      return problems.error(name, fmt::format("{}: {} stands twice", key.name, *resource), "leave one");
  }
  to = std::move(all);
}

void read_scalar(const KeyInfo& key, Ref to, const Value& value, Problems& problems) {
  if (value.kind == Value::Kind::kNull)
    return problems.error(value, fmt::format("{} has no value", key.name), "give one, or leave the key out");
  if (value.kind != Value::Kind::kScalar)
    return problems.error(value, fmt::format("{} takes one value, not a list or map", key.name));
  if (auto* flag = std::get_if<bool*>(&to))
    return assign(key, parse_bool(value), value, problems, [flag](bool b) { **flag = b; });
  if (auto* duration = std::get_if<base::Duration*>(&to))
    return assign(key, parse_duration(value.text, key), value, problems,
                  [duration](base::Duration d) { **duration = d; });
  if (auto* optional = std::get_if<std::optional<base::Duration>*>(&to)) {
    if (value.text.empty()) return (*optional)->reset();
    return assign(key, parse_duration(value.text, key), value, problems,
                  [optional](base::Duration d) { **optional = d; });
  }
  if (auto* budget = std::get_if<std::optional<model::GpuBudget>*>(&to)) {
    if (value.text.empty()) return (*budget)->reset();
    return assign(key, model::parse_gpu_budget(value.text), value, problems,
                  [budget](const model::GpuBudget& b) { **budget = b; });
  }
  if (auto* decimal = std::get_if<double*>(&to))
    return assign(key, parse_decimal(key, value), value, problems, [decimal](double d) { **decimal = d; });
  if (auto* reclaim = std::get_if<model::Reclaim*>(&to)) {
    Status known = check_choice(value.text, key.choices);
    if (!known) return tell(key, value, known.error(), problems);
    return assign(key, model::parse_reclaim(value.text), value, problems,
                  [reclaim](model::Reclaim r) { **reclaim = r; });
  }
  if (auto* consolidate = std::get_if<model::Consolidate*>(&to)) {
    const std::string word = value.text == "true" ? "on" : value.text == "false" ? "off" : value.text;
    if (Status known = check_choice(word, key.choices); !known) return tell(key, value, known.error(), problems);
    return assign(key, model::parse_consolidate(word), value, problems,
                  [consolidate](model::Consolidate c) { **consolidate = c; });
  }
  if (auto* fit = std::get_if<model::Fit*>(&to)) {
    Status known = check_choice(value.text, key.choices);
    if (!known) return tell(key, value, known.error(), problems);
    return assign(key, model::parse_fit(value.text), value, problems, [fit](model::Fit f) { **fit = f; });
  }
  auto* text = std::get_if<std::string*>(&to);
  if (text == nullptr) return read_number(key, to, value, problems);
  bool must_be_given = (key.kind == Kind::kName || key.kind == Kind::kPath) && !(*text)->empty();
  if (value.text.empty() && must_be_given)
    return problems.error(value, fmt::format("{} must not be empty", key.name), "leave the key out for its default");
  if (Status ok = check_one(key, value.text); !ok) return tell(key, value, ok.error(), problems);
  **text = key.kind == Kind::kChoice ? base::to_lower(value.text) : value.text;
}

Result<std::vector<std::string>> expand_hosts(std::string_view text, size_t room) {
  GW_TRY(hosts, base::expand_hostlist(text, room));
  for (const std::string& host : hosts) GW_TRY_STATUS(base::check_name(host, kMaxHostName));
  return std::move(hosts);
}

Result<std::vector<std::string>> expand_addresses(std::string_view text, size_t room) {
  if (text.find('[') != std::string_view::npos) return base::expand_hostlist(text, room);
  bool is_fit = text.size() <= kMaxHostName && std::all_of(text.begin(), text.end(), is_address_char);
  if (!is_fit) return base::invalid(fmt::format("\"{}\" is not an address", base::printable(text)));
  return text.empty() ? std::vector<std::string>{} : std::vector<std::string>{std::string(text)};
}

// What one item of a list stands for.
Result<std::vector<std::string>> expand_item(const KeyInfo& key, std::string_view text, bool is_list, size_t room) {
  if (key.kind == Kind::kHosts) return expand_hosts(text, room);
  if (key.kind == Kind::kAddresses) return expand_addresses(text, room);
  std::vector<std::string> parts = is_list ? std::vector<std::string>{std::string(text)} : base::split(text, ',');
  for (std::string& part : parts) {
    part = std::string(base::trim(part));
    if (part.empty()) return base::invalid("an empty item");
    GW_TRY_STATUS(check_one(key, part));
  }
  return parts;
}

// Lists of names are kept once a node.
size_t max_items(Kind kind) { return kind == Kind::kNames ? 256 : kind == Kind::kTexts ? 10'000 : base::kMaxHosts; }

void read_list(const KeyInfo& key, std::vector<std::string>& to, const Value& value, Problems& problems) {
  if (value.kind == Value::Kind::kMap)
    return problems.error(value, fmt::format("{} takes a list, not a map", key.name), "write [a, b]");
  bool is_list = value.kind == Value::Kind::kList;
  std::span<const Value> items = is_list                            ? std::span<const Value>(value.items)
                                 : value.kind == Value::Kind::kNull ? std::span<const Value>()
                                                                    : std::span<const Value>(&value, 1);
  std::vector<std::string> all;
  size_t max = max_items(key.kind);
  for (const Value& item : items) {
    if (item.kind != Value::Kind::kScalar) {
      problems.error(item, fmt::format("an item of {} is not a plain value", key.name));
      return;
    }
    auto parts = expand_item(key, item.text, is_list, base::kMaxHosts);
    if (!parts) return tell(key, item, parts.error(), problems);
    all.insert(all.end(), std::make_move_iterator(parts->begin()), std::make_move_iterator(parts->end()));
    if (all.size() > max) return problems.error(item, fmt::format("{} has more than {} items", key.name, max));
  }
  to = std::move(all);
}

// A scalar that YAML reads back as this text.
std::string in_quotes(std::string_view text) {
  bool is_plain =
      !text.empty() &&
      std::all_of(text.begin(), text.end(), [](char c) { return base::is_name_char(c) || c == '/' || c == '@'; }) &&
      text[0] != '-' && text[0] != '@' && text != "null" && text != "Null" && text != "NULL";
  return is_plain ? std::string(text) : quoted_yaml(text);
}

bool is_hostlist_of(const std::string& compressed, const std::vector<std::string>& names) {
  auto expanded = base::expand_hostlist(compressed);
  return expanded && *expanded == names;
}

std::string list_text(const KeyInfo& key, const std::vector<std::string>& all) {
  if ((key.kind == Kind::kHosts || key.kind == Kind::kAddresses) && all.size() > 1) {
    std::string compressed = base::compress_hostlist(all);
    if (is_hostlist_of(compressed, all)) return compressed;
  }
  return base::join(all, ",");
}

std::string weights_text(const std::map<std::string, double>& weights, std::string_view is,
                         std::string_view separator) {
  std::vector<std::string> parts;
  for (const auto& [name, weight] : weights) parts.push_back(fmt::format("{}{}{}", in_quotes(name), is, weight));
  return base::join(parts, separator);
}

std::string amounts_text(const model::Amounts& amounts, std::string_view is, std::string_view separator) {
  std::vector<std::string> parts;
  for (const auto& [resource, amount] : amounts)
    parts.push_back(
        fmt::format("{}{}{}", is == "=" ? resource : in_quotes(resource), is, model::format_amount(resource, amount)));
  return base::join(parts, separator);
}

std::string number_text(const KeyInfo& key, int64_t n) {
  if (key.kind == Kind::kMemory) return size_text(n, "MGT");
  return key.kind == Kind::kBytes ? size_text(n) : std::to_string(n);
}

}  // namespace

void read_value(const KeyInfo& key, Ref to, const Value& value, Problems& problems) {
  if (auto* list = std::get_if<std::vector<std::string>*>(&to))
    read_list(key, **list, value, problems);
  else if (auto* weights = std::get_if<std::map<std::string, double>*>(&to))
    read_weights(key, **weights, value, problems);
  else if (auto* amounts = std::get_if<model::Amounts*>(&to))
    read_amounts(key, **amounts, value, problems);
  else
    read_scalar(key, to, value, problems);
}

std::string show_value(const KeyInfo& key, Ref from) {
  return std::visit(
      [&key](auto* place) -> std::string {
        using Place = std::remove_pointer_t<decltype(place)>;
        if constexpr (std::is_same_v<Place, std::string>)
          return *place;
        else if constexpr (std::is_same_v<Place, bool>)
          return *place ? "true" : "false";
        else if constexpr (std::is_same_v<Place, double>)
          return fmt::format("{}", *place);
        else if constexpr (std::is_same_v<Place, base::Duration>)
          return duration_text(*place);
        else if constexpr (std::is_same_v<Place, std::vector<std::string>>)
          return list_text(key, *place);
        else if constexpr (std::is_same_v<Place, model::Fit> || std::is_same_v<Place, model::Consolidate>)
          return std::string(model::name(*place));
        else if constexpr (std::is_same_v<Place, std::map<std::string, double>>)
          return weights_text(*place, "=", ",");
        else if constexpr (std::is_same_v<Place, model::Amounts>)
          return amounts_text(*place, "=", ",");
        else if constexpr (std::is_same_v<Place, model::Reclaim>)
          return std::string(model::name(*place));
        else if constexpr (std::is_same_v<Place, std::optional<base::Duration>>)
          return *place ? duration_text(**place) : "";
        else if constexpr (std::is_same_v<Place, std::optional<model::GpuBudget>>)
          return *place ? model::format_gpu_budget(**place) : "";
        else
          return number_text(key, static_cast<int64_t>(*place));
      },
      from);
}

std::string yaml_value(const KeyInfo& key, Ref from) {
  if (auto* weights = std::get_if<std::map<std::string, double>*>(&from))
    return "{" + weights_text(**weights, ": ", ", ") + "}";
  if (auto* amounts = std::get_if<model::Amounts*>(&from)) return "{" + amounts_text(**amounts, ": ", ", ") + "}";
  auto* list = std::get_if<std::vector<std::string>*>(&from);
  const bool is_optional = std::holds_alternative<std::optional<base::Duration>*>(from) ||
                           std::holds_alternative<std::optional<model::GpuBudget>*>(from);
  const bool is_text = is_optional || std::holds_alternative<std::string*>(from);
  if (list == nullptr) return is_text ? in_quotes(show_value(key, from)) : show_value(key, from);
  std::string text = list_text(key, **list);
  if (key.kind == Kind::kHosts || (key.kind == Kind::kAddresses && text.find('[') != std::string::npos))
    return (*list)->empty() ? "[]" : in_quotes(text);
  std::vector<std::string> items;
  for (const std::string& item : **list) items.push_back(in_quotes(item));
  return "[" + base::join(items, ", ") + "]";
}

std::string kind_text(const KeyInfo& key) {
  switch (key.kind) {
    case Kind::kText:
      return "text";
    case Kind::kName:
      return "name";
    case Kind::kPath:
      return "absolute path";
    case Kind::kTopology:
      return "name or absolute path";
    case Kind::kChoice:
      return base::join(base::split(key.choices, '|'), ", ");
    case Kind::kBool:
      return "true or false";
    case Kind::kNumber:
      return fmt::format("number, {} to {}", key.min, key.max);
    case Kind::kDecimal:
      return fmt::format("number, {} to {}, also with decimals", key.min, key.max);
    case Kind::kBytes:
      return fmt::format("bytes (K, M), {} to {}", size_text(key.min), size_text(key.max));
    case Kind::kMemory:
      return "memory (M, G, T)";
    case Kind::kDuration:
      return fmt::format("duration, {} to {}", duration_text(base::seconds(key.min)),
                         duration_text(base::seconds(key.max)));
    case Kind::kLimit:
      return "time limit";
    case Kind::kTexts:
      return "list of texts";
    case Kind::kNames:
      return "list of names";
    case Kind::kHosts:
      return "host list";
    case Kind::kAddresses:
      return "addresses";
    case Kind::kWeights:
      return "map of names to numbers";
    case Kind::kAmounts:
      return "map of resources to amounts";
    case Kind::kBudget:
      return "GPU-hours/period";
  }
  return "";
}

}  // namespace gw::config
