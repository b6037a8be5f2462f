// See growth.h.
#include "tests/cost/growth.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace gw::cost {
namespace {

using schema::Field;
using schema::message_value;
using schema::number_value;
using schema::text_value;
using schema::Tree;
using schema::Type;
using schema::Value;
using wire::FieldBound;
using wire::MessageBounds;

using Values = std::vector<Value>;

/// A way to fill a field to some size.
struct Manner {
  std::string name;
  uint64_t most = UINT64_MAX;  ///< The largest size that it can make.
  std::function<Values(uint64_t size)> values;
  bool is_known = false;  ///< Names of things that are there.
};

constexpr uint64_t kShort = 4096;     // up to this a text's length alone can matter, not what stands in it
constexpr uint64_t kNames = 100'000;  // what a text may stand for, as docs/limits.md has it
constexpr uint64_t kFirstEntries = 8, kFirstBytes = 64, kFine = 1 << 11, kEnumValues = 8;

/// One, then doubling from `first`, by four where it is much, to `most`; for the first manner once beyond it.
std::vector<uint64_t> sizes_up_to(uint64_t first, uint64_t most, bool goes_beyond) {
  std::vector<uint64_t> out;
  if (most > 1) out.push_back(1);
  for (uint64_t size = first; size < most; size *= size < kFine ? 2 : 4) out.push_back(size);
  out.push_back(most);
  if (goes_beyond) out.push_back(2 * most);
  return out;
}

/// Values of a number: doubling where they are small, then coarser, to the largest one that is taken.
std::vector<uint64_t> values_up_to(uint64_t most) {
  std::vector<uint64_t> out;
  for (uint64_t v = 1; v < most; v *= v < kFine ? 4 : 64) {
    out.push_back(v);
    if (v > UINT64_MAX / 64) break;
  }
  out.push_back(most);
  return out;
}

std::string made_name(uint64_t i) { return "made" + std::to_string(i); }

/// Names with commas between them, as many as fit; at least one.
std::string joined(uint64_t bytes, const std::string& before, const std::function<std::string(uint64_t)>& name) {
  std::string out = before + name(0);
  for (uint64_t i = 1; out.size() < bytes; ++i) out += "," + before + name(i);
  return out;
}

bool is_number(Type type) {
  return type == Type::kInt64 || type == Type::kUint64 || type == Type::kInt32 || type == Type::kUint32 ||
         type == Type::kEnum || type == Type::kBool;
}
bool is_text(Type type) { return type == Type::kString || type == Type::kBytes; }

class Walk {
 public:
  Walk(const schema::Messages& messages, const Pools& pools, const Base& base, std::vector<Growth>& out)
      : messages_(messages), pools_(pools), base_(base), out_(out) {}

  /// All fields below a message that stands at `path_`.
  void message(const std::string& type, const MessageBounds& bounds, const std::string& name) {
    for (const Field& f : messages_.at(type)) field(f, bounds, name.empty() ? f.name : name + "." + f.name);
  }
  void one_field(const std::string& type, const MessageBounds& bounds, const std::string& name) {
    for (const Field& f : messages_.at(type))
      if (f.name == name) field(f, bounds, name);
  }

 private:
  const schema::Messages& messages_;
  const Pools& pools_;
  const Base& base_;
  std::vector<Growth>& out_;
  std::vector<uint32_t> path_;

  void field(const Field& f, const MessageBounds& bounds, const std::string& name) {
    const auto row = std::find_if(bounds.fields.begin(), bounds.fields.end(),
                                  [&](const FieldBound& b) { return b.number == f.number; });
    if (row == bounds.fields.end()) {
      std::fprintf(stderr, "%s has no row in lib/wire/bounds_*.cc\n", name.c_str());
      std::abort();
    }
    if (f.is_list) {
      const std::vector<Manner> all = list_manners(f, *row);
      for (const Manner& m : all) add(f, name, m, true, sizes_up_to(kFirstEntries, row->count, &m == &all.front()));
    } else if (is_text(f.type)) {
      const std::vector<Manner> all = text_manners(row->most);
      for (const Manner& m : all) add(f, name, m, false, sizes_up_to(kFirstBytes, row->most, &m == &all.front()));
      if (row->most > kShort) add(f, name, range(), true, sizes_up_to(kFirstEntries, kNames, true));
    } else if (is_number(f.type)) {
      const uint64_t most = f.type == Type::kEnum ? kEnumValues : row->most;
      const Manner value{"value", UINT64_MAX, [](uint64_t n) { return Values{number_value(n)}; }};
      add(f, name, value, true, values_up_to(most));
    }
    if (f.type != Type::kMessage) return;
    path_.push_back(f.number);
    message(f.message, *row->inside, name);
    path_.pop_back();
  }

  void add(const Field& f, const std::string& name, const Manner& manner, bool is_list, std::vector<uint64_t> sizes) {
    std::erase_if(sizes, [&](uint64_t size) { return size > manner.most; });
    auto bytes = [this_base = &base_, all = &messages_, path = path_, number = f.number,
                  values = manner.values](uint64_t size) {
      Tree tree = this_base->example;
      below(tree, path).fields[number] = values(size);
      return encode(*all, this_base->type, tree);
    };
    out_.push_back({name, manner.name, is_list, manner.is_known, std::move(sizes), std::move(bytes)});
  }

  /// The message at a path; of a list the first entry. What is not there is made.
  static Tree& below(Tree& tree, const std::vector<uint32_t>& path) {
    Tree* at = &tree;
    for (const uint32_t number : path) {
      Values& values = at->fields[number];
      if (values.empty()) values.push_back(message_value({}));
      at = &values.front().inside.front();
    }
    return *at;
  }

  std::vector<Manner> list_manners(const Field& f, const FieldBound& row) const {
    if (f.type == Type::kMessage) return message_manners(f);
    if (is_text(f.type)) return name_manners();
    const uint64_t most = row.most;
    const auto numbers = [most](const auto& nth) {
      return [most, nth](uint64_t n) {
        Values out;
        for (uint64_t i = 0; i < n; ++i)
          out.push_back(number_value(most == UINT64_MAX ? nth(n, i) : nth(n, i) % (most + 1)));
        return out;
      };
    };
    return {{"ascending", UINT64_MAX, numbers([](uint64_t, uint64_t i) { return i + 1; })},
            {"descending", UINT64_MAX, numbers([](uint64_t n, uint64_t i) { return n - i; })},
            {"unknown", UINT64_MAX, numbers([](uint64_t, uint64_t i) { return 1'000'000 + i; })},
            {"all the same", UINT64_MAX, numbers([](uint64_t, uint64_t) { return 1; })}};
  }

  std::vector<Manner> name_manners() const {
    const auto names = [](const auto& nth) {
      return [nth](uint64_t n) {
        Values out;
        for (uint64_t i = 0; i < n; ++i) out.push_back(text_value(nth(i)));
        return out;
      };
    };
    std::vector<Manner> out = {{"made up", UINT64_MAX, names(made_name)},
                               {"all the same", UINT64_MAX, names([](uint64_t) { return made_name(1); })}};
    for (const auto& [what, pool] : pools_) {
      const auto* all = &pool;
      out.push_back({what + "s", pool.size(), names([all](uint64_t i) { return all->at(i); }), true});
      out.push_back({"the same " + what, UINT64_MAX, names([all](uint64_t) { return all->front(); }), true});
    }
    return out;
  }

  /// Entries like the example's first, told apart by their first name or number.
  std::vector<Manner> message_manners(const Field& f) const {
    const Tree first = first_entry(f);
    const auto entries = [first](const std::function<void(Tree&, uint64_t)>& change) {
      return [first, change](uint64_t n) {
        Values out;
        for (uint64_t i = 0; i < n; ++i) change(out.emplace_back(message_value(first)).inside.front(), i);
        return out;
      };
    };
    std::vector<Manner> out = {{"all the same", UINT64_MAX, entries([](Tree&, uint64_t) {})}};
    const std::vector<Field>& fields = messages_.at(f.message);
    const auto text = std::find_if(fields.begin(), fields.end(), [](const Field& in) { return is_text(in.type); });
    if (text != fields.end()) {
      const uint32_t number = text->number;
      out.push_back({"made up", UINT64_MAX,
                     entries([number](Tree& t, uint64_t i) { t.fields[number] = {text_value(made_name(i))}; })});
      for (const auto& [what, pool] : pools_) {
        const auto* all = &pool;
        out.push_back({what + "s", pool.size(),
                       entries([number, all](Tree& t, uint64_t i) { t.fields[number] = {text_value(all->at(i))}; }),
                       true});
      }
    }
    const auto count = std::find_if(fields.begin(), fields.end(), [](const Field& in) {
      return is_number(in.type) && in.type != Type::kEnum && in.type != Type::kBool;
    });
    if (count != fields.end()) {
      const uint32_t number = count->number;
      out.push_back(
          {"numbered", UINT64_MAX, entries([number](Tree& t, uint64_t i) { t.fields[number] = {number_value(i)}; })});
    }
    return out;
  }

  Tree first_entry(const Field& f) const {
    Tree copy = base_.example;
    const Values& values = below(copy, path_).fields[f.number];
    return values.empty() ? Tree() : values.front().inside.front();
  }

  std::vector<Manner> text_manners(uint64_t most) const {
    const auto text = [](const auto& of_size) {
      return [of_size](uint64_t n) { return Values{text_value(of_size(n))}; };
    };
    std::vector<Manner> out = {{"one word", UINT64_MAX, text([](uint64_t n) { return std::string(n, 'x'); })}};
    if (most <= kShort) return out;
    out.push_back({"names", UINT64_MAX, text([](uint64_t n) { return joined(n, "", made_name); })});
    out.push_back({"names to add", UINT64_MAX, text([](uint64_t n) { return joined(n, "+", made_name); })});
    out.push_back({"assignments", UINT64_MAX, text([](uint64_t n) {
                     std::string all = joined(n, "A=", made_name);
                     std::replace(all.begin(), all.end(), ',', '\0');
                     return all;
                   })});
    out.push_back({"numbers in brackets", UINT64_MAX, text([](uint64_t n) {
                     return "n[" + joined(n, "", [](uint64_t i) { return std::to_string(i); }) + "]";
                   })});
    for (const auto& [what, pool] : pools_) {
      const auto* all = &pool;
      uint64_t bytes = 0;
      for (const std::string& name : pool) bytes += name.size();
      out.push_back({what + "s", bytes, text([all](uint64_t n) {
                       return joined(n, "", [all](uint64_t i) { return all->at(i % all->size()); });
                     }),
                     true});
      out.push_back({"the same " + what, UINT64_MAX,
                     text([all](uint64_t n) { return joined(n, "", [all](uint64_t) { return all->front(); }); }),
                     true});
    }
    return out;
  }

  /// A short text that stands for many names.
  static Manner range() {
    return {"a range", UINT64_MAX, [](uint64_t n) { return Values{text_value("n[0-" + std::to_string(n - 1) + "]")}; }};
  }
};

}  // namespace

std::vector<Growth> growths(const schema::Messages& messages, const Pools& pools, const Base& base,
                            const std::string& kind) {
  std::vector<Growth> out;
  Walk(messages, pools, base, out).one_field(base.type, *base.bounds, kind);
  return out;
}

}  // namespace gw::cost
