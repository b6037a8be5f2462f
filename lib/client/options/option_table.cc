// The rules of getopt_long over an option table.
#include "client/options/option_table.h"

#include <algorithm>

#include "base/faults.h"
#include "base/text.h"
#include "base/utf8.h"

namespace gw::client {
namespace {

using base::invalid;

base::Status run_handler(const Option& option, const std::string& written, std::string_view value, ParseRules rules) {
  if (!option.handler) return invalid("option " + written + " is not supported in this version");
  if (rules.directives_only && (option.flags & kDirective) == 0)
    return invalid("option " + written + " is for the command line only");
  if ((option.flags & kRaw) == 0 && !base::is_utf8(value))
    return invalid("option " + written + ": the value is not valid UTF-8: " + base::printable(value, 60));
  if (value.find('\0') != std::string_view::npos) return invalid("option " + written + ": the value holds a NUL byte");
  return option.handler(value);
}

/// One pass over an argument list.
class Parser {
 public:
  Parser(const std::vector<Option>& table, std::span<const std::string> args, ParseRules rules)
      : table_(table), args_(args), rules_(rules) {}

  base::Result<std::vector<std::string>> parse() {
    while (at_ < args_.size() && !stopped_) {
      const std::string& word = args_[at_++];
      if (word == "--") break;
      if (word.size() < 2 || word[0] != '-') {
        if (rules_.stop_at_operand) {
          --at_;
          break;
        }
        operands_.push_back(word);
      } else {
        faults_.add(word[1] == '-' ? parse_long(word) : parse_short(word));
      }
    }
    GW_TRY_STATUS(faults_.status());
    operands_.insert(operands_.end(), args_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, args_.size())),
                     args_.end());
    return std::move(operands_);
  }

 private:
  base::Status use(const Option& option, const std::string& written, std::string_view value) {
    if ((option.flags & kStop) != 0) stopped_ = true;
    if (stopped_ && !faults_.empty()) return {};  // what is wrong before it comes first
    return run_handler(option, written, value, rules_);
  }

  base::Status parse_long(const std::string& word) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? std::string::npos : equals - 2);
    GW_TRY(option, find_long(name));
    const std::string written = "--" + std::string(option->name);
    if (equals != std::string::npos) {
      if (option->arg == Arg::kNone) return invalid("option " + written + " takes no value");
      return use(*option, written, std::string_view(word).substr(equals + 1));
    }
    if (option->arg != Arg::kRequired) return use(*option, written, {});
    if (!option->handler) return run_handler(*option, written, {}, rules_);
    if (at_ >= args_.size()) return invalid("option " + written + " needs a value: " + option_label(*option));
    return use(*option, written, args_[at_++]);
  }

  base::Result<const Option*> find_long(const std::string& name) const {
    std::vector<const Option*> matches;
    std::vector<std::string> names;
    for (const Option& o : table_) {
      if (o.name.empty()) continue;
      if (o.name == name) return &o;
      if ((o.flags & kHidden) != 0) continue;
      if (o.name.starts_with(name)) matches.push_back(&o);
      if (o.handler) names.emplace_back(o.name);
    }
    if (matches.size() == 1 && !name.empty()) return matches.front();
    const std::string shown = "'--" + base::printable(name, 60) + "'";
    if (matches.empty() || name.empty()) {
      const std::string close = base::nearest(name, names);
      return invalid("unrecognized option " + shown, close.empty() ? "" : "did you mean \"--" + close + "\"?");
    }
    return several_match(shown, std::move(matches));
  }

  /// Options that are not there do not stand among the possibilities; if none of them is there, one says so.
  static base::Result<const Option*> several_match(const std::string& shown, std::vector<const Option*> matches) {
    const Option* first = matches.front();
    std::erase_if(matches, [](const Option* o) { return !o->handler; });
    if (matches.empty()) return first;
    std::string all;
    for (const Option* o : matches) all += (all.empty() ? "--" : ", --") + std::string(o->name);
    return invalid("option " + shown + " is ambiguous",
                   matches.size() == 1 ? "did you mean \"" + all + "\"?" : "possibilities: " + all);
  }

  base::Status parse_short(const std::string& word) {
    for (size_t i = 1; i < word.size() && !stopped_; ++i) {
      const char letter = word[i];
      const auto option =
          std::find_if(table_.begin(), table_.end(), [&](const Option& o) { return o.letter == letter; });
      if (letter == 0 || option == table_.end())
        return invalid("invalid option -- '" + base::printable(std::string_view(&letter, 1)) + "'",
                       long_form_hint(word));
      const std::string written = std::string("-") + letter;
      if (option->arg == Arg::kNone) {
        GW_TRY_STATUS(use(*option, written, {}));
        continue;
      }
      if (i + 1 < word.size()) {
        auto done = use(*option, written, std::string_view(word).substr(i + 1));
        const std::string hint = done ? std::string() : long_form_hint(word);
        return hint.empty() ? done : base::Status(base::fail(done.error().code, done.error().what, hint));
      }
      if (option->arg == Arg::kOptional) return use(*option, written, {});
      if (!option->handler) return run_handler(*option, written, {}, rules_);
      if (at_ >= args_.size()) return invalid("option " + written + " needs a value: " + option_label(*option));
      return use(*option, written, args_[at_++]);
    }
    return {};
  }

  /// `-nodes`: somebody forgot a dash.
  std::string long_form_hint(const std::string& word) const {
    const std::string name = word.substr(1, word.find('=') - 1);
    for (const Option& o : table_)
      if (o.name == name && name.size() > 1) return "did you mean \"--" + name + "\"?";
    return {};
  }

  const std::vector<Option>& table_;
  std::span<const std::string> args_;
  ParseRules rules_;
  size_t at_ = 0;
  bool stopped_ = false;
  base::Faults faults_;
  std::vector<std::string> operands_;
};

bool is_negation(std::string_view value) {
  return value == "0" || base::iequals(value, "no") || base::iequals(value, "false");
}

}  // namespace

void add_unsupported(std::vector<Option>& table, std::span<const Unsupported> rows) {
  for (const Unsupported& row : rows) table.push_back({row.name, row.letter, row.arg, {}, {}, {}, kDirective, nullptr});
}

base::Result<std::vector<std::string>> parse_options(const std::vector<Option>& table,
                                                     std::span<const std::string> args, ParseRules rules) {
  GW_TRY(operands, Parser(table, args, rules).parse());
  if (rules.directives_only && !operands.empty())
    return invalid("unexpected word \"" + base::printable(operands.front(), 60) + "\"", "options begin with a dash");
  return std::move(operands);
}

base::Status read_environment(const std::vector<Option>& table, const std::vector<std::string_view>& prefixes,
                              const GetEnv& get) {
  const auto value_of = [&](size_t prefix, const Option& option) {
    return get((std::string(prefixes[prefix]) + std::string(option.env)).c_str());
  };
  base::Faults faults;
  for (size_t i = 0; i < prefixes.size(); ++i)
    for (const Option& option : table) {
      const char* value = option.env.empty() ? nullptr : value_of(i, option);
      if (value == nullptr || (option.arg == Arg::kNone && is_negation(value))) continue;
      bool is_replaced = false;
      for (size_t later = i + 1; later < prefixes.size(); ++later) is_replaced |= value_of(later, option) != nullptr;
      if (is_replaced) continue;
      const std::string variable = std::string(prefixes[i]) + std::string(option.env);
      auto done = run_handler(option, variable, option.arg == Arg::kNone ? std::string_view() : value, {});
      if (!done) faults.add(base::after("environment variable " + variable + ": ", done.error()));
    }
  return faults.status();
}

}  // namespace gw::client
