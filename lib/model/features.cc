// Feature expressions (`ib&nvlink|pcie`, `(a|b)&c`) to alternatives and back.
// Invariant: the result is bounded whatever the text says: at most kMaxAlternatives sets, kMaxDepth parentheses.
#include <algorithm>

#include "base/text.h"
#include "model/request.h"

namespace gw::model {
namespace {

using Alternatives = std::vector<FeatureSet>;
constexpr size_t kMaxAlternatives = 256;
constexpr int kMaxDepth = 32;

bool is_feature_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.' || c == ':' || c == '=' || c == '/' || c == '+';
}

/// Recursive descent: or := and ('|' and)* ; and := atom (('&' | ',') atom)* ; atom := name | '(' or ')'.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  base::Result<Alternatives> parse() {
    GW_TRY(all, parse_or(0));
    if (at_ != text_.size()) return bad("unexpected character");
    return std::move(all);
  }

 private:
  tl::unexpected<base::Error> bad(const std::string& why) const {
    std::string place = at_ < text_.size() ? "at \"" + base::printable(text_.substr(at_), 40) + "\"" : "at the end";
    return base::invalid("Invalid feature specification \"" + base::printable(text_) + "\": " + why + " " + place,
                         "combine feature names with & (and), | (or) and parentheses");
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  base::Result<Alternatives> parse_or(int depth) {
    GW_TRY(all, parse_and(depth));
    while (take('|')) {
      GW_TRY(more, parse_and(depth));
      all.insert(all.end(), more.begin(), more.end());
      if (all.size() > kMaxAlternatives) return bad("too many alternatives");
    }
    return std::move(all);
  }

  base::Result<Alternatives> parse_and(int depth) {
    GW_TRY(left, parse_atom(depth));
    while (take('&') || take(',')) {
      GW_TRY(right, parse_atom(depth));
      if (left.size() * right.size() > kMaxAlternatives) return bad("too many alternatives");
      Alternatives product;
      for (const FeatureSet& a : left)
        for (const FeatureSet& b : right) product.push_back(joined(a, b));
      left = std::move(product);
    }
    return std::move(left);
  }

  base::Result<Alternatives> parse_atom(int depth) {
    if (take('(')) {
      if (depth >= kMaxDepth) return bad("parentheses nested too deep");
      GW_TRY(inner, parse_or(depth + 1));
      if (!take(')')) return bad("missing )");
      return std::move(inner);
    }
    const size_t start = at_;
    while (at_ < text_.size() && is_feature_char(text_[at_])) ++at_;
    if (at_ == start) return bad("expected a feature name");
    return Alternatives{{std::string(text_.substr(start, at_ - start))}};
  }

  static FeatureSet joined(const FeatureSet& a, const FeatureSet& b) {
    FeatureSet both = a;
    for (const std::string& f : b)
      if (std::find(both.begin(), both.end(), f) == both.end()) both.push_back(f);
    return both;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

base::Result<std::vector<FeatureSet>> parse_features(const std::string& text) {
  if (text.empty()) return Alternatives{};
  return Parser(text).parse();
}

std::string format_features(const std::vector<FeatureSet>& features) {
  std::vector<std::string> parts;
  for (const FeatureSet& set : features) parts.push_back(base::join(set, "&"));
  return base::join(parts, "|");
}

}  // namespace gw::model
