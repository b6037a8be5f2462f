// Properties of the quick reader of a command's keys: whatever it gives, yaml-cpp gives.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "config/plain_yaml.h"

namespace gw::config {
namespace {

// The fewer are wanted, the sooner a reader stops that has taken a piece of a value for one of them.
constexpr std::string_view kOnly[] = {"cluster", "controller"};

std::string shown(const Value& v) {
  std::string text = std::to_string(static_cast<int>(v.kind)) + (v.is_quoted ? "q" : "") + "@" +
                     std::to_string(v.line) + ":" + std::to_string(v.column) + "<" + v.text + ">(";
  for (const Value& item : v.items) text += shown(item) + " ";
  return text + ")";
}

// Lines that begin, continue with or end values of all kinds, so that what is a key in one text is not in another.
// clang-format off
constexpr std::array kLines = {"cluster: x", "cluster: 'x'", "cluster: \"x\" # a", "controller:", "  port: 1",
    "  user: \"0\"", "    more", "  more", "more", "auth:", "auth: # a", "nodes:", "a: b", "a: [", "a: [b, \"c]\"]",
    "a: {b: c,", "cluster: x]", "cluster: x}", "cluster: x\"", "cluster: x'", "a: \"", "a: 'b", "a: 'b'", "a: 'b''",
    "a: it's", "a: [b's {c's]", "a: |", "  a: >", "  text", "- b", "- [b", "  - c: d", "]", "  }", "# ]\"", "",
    "  port: 1 # b", "  # c", "a: \"b\\\"", "  munge_socket: /m", "...", "---"};
// clang-format on

RC_GTEST_PROP(PlainYaml, GivesNothingThatYamlCppDoesNot, ()) {
  const auto lines = *rc::gen::resize(6, rc::gen::container<std::vector<const char*>>(rc::gen::elementOf(kLines)));
  std::string text;
  for (const char* line : lines) text += std::string(line) + "\n";
  const auto only = std::span(kOnly).first(*rc::gen::inRange<size_t>(1, 3));
  const auto plain = read_plain_yaml(text, only);
  if (!plain) return;
  const auto full = read_yaml(text, "f", only);
  RC_CLASSIFY(full.has_value());
  if (!full) return;  // for what stands under other keys
  RC_LOG() << text;
  RC_ASSERT(shown(*plain) == shown(*full));
}

}  // namespace
}  // namespace gw::config
