// The quick reader of a command's keys: what it takes, what it leaves to yaml-cpp, and that both give the same.
#include "config/plain_yaml.h"

#include <gmock/gmock.h>

namespace gw::config {
namespace {

constexpr std::string_view kOnly[] = {"cluster", "controller", "auth"};

std::string shown(const Value& v) {
  std::string text = std::to_string(static_cast<int>(v.kind)) + (v.is_quoted ? "q" : "") + "@" +
                     std::to_string(v.line) + ":" + std::to_string(v.column) + "<" + v.text + ">(";
  for (const Value& item : v.items) text += shown(item) + " ";
  return text + ")";
}

class Plain : public testing::TestWithParam<const char*> {};
TEST_P(Plain, GivesWhatYamlCppGives) {
  const auto plain = read_plain_yaml(GetParam(), kOnly);
  const auto full = read_yaml(GetParam(), "f", kOnly);
  ASSERT_TRUE(plain);
  ASSERT_TRUE(full) << full.error().text();
  EXPECT_EQ(shown(*plain), shown(*full));
}
INSTANTIATE_TEST_SUITE_P(
    Texts, Plain,
    testing::Values(
        "", "# nothing\n\n", "cluster: a", "cluster: abc  # name\n",
        "\n\ncluster:   'it is'\nauth:\n   munge_socket: /m\n",
        "controller:\n  host: 10.0.0.1\n\n  # why\n  port: 6920 # tcp\n  user: \"\"\ncluster: x-1_2.3@4+5\n",
        "controller:\n  port: 1\n  port: 2\n", "a:\n  cluster: inner\ncluster: outer\n", "a: |\n  it is\ncluster: x\n",
        "nodes:\n- {name: n, address: 127.0.1.2, topology: \"dgx-h100\"}\n- name: g[001-064]\n  gpus: 8\ncluster: x\n",
        "admins: [root, \"@sudo\", '#x']  # [ not counted\ntext: a:b [c] #d\ncluster: x\n",
        "links: { heartbeat: 10s }\nplugin_dirs:\n  - \"/a b/[\"\ncluster: x\n"));

class NotPlain : public testing::TestWithParam<const char*> {};
TEST_P(NotPlain, IsLeftToYamlCpp) { EXPECT_FALSE(read_plain_yaml(GetParam(), kOnly)); }
INSTANTIATE_TEST_SUITE_P(
    Texts, NotPlain,
    testing::Values("cluster: {name: x}\n", "cluster: [x]\n", "cluster:\n", "cluster: null\n", "cluster: ~\n",
                    "cluster: a b\n", "cluster: abc\n  def\n", "auth:\n  a: x\n    y\n", "auth:\n  a:\n    b: c\n",
                    "auth:\n  a: x\n b: y\n", "auth:\n- x\n", "cluster: \"a\\x41\"\n", "cluster: \"a\n  b\"\n",
                    "cluster: 'a''b'\n", "cluster: 'a'b\n", "cluster: a#b\n", "cluster: x\ncluster: y\n",
                    "cluster: &a x\n", "cluster: !t x\n", "cluster: |\n  x\n", "\tcluster: x\n", "cluster: x\r\n",
                    "cluster: \xc3\xa4\n", "--- x\n", "cluster : x\n", "\"cluster\": x\n", "? cluster\n: x\n",
                    "{cluster: x}\n", "cluster:x\n", "  cluster: x\n",
                    // A value under another key that may hide a key in a line of its own.
                    "a: [\ncluster: x]\n", "a: {b: c,\ncluster: x}\n", "a: \"\ncluster: x\"\n", "a: '\ncluster: x'\n",
                    "a:\n  - [b\ncluster: x\n", "a: it's\ncluster: x\n", "a: ]\ncluster: x\n", "a: 'b''\ncluster: x\n",
                    "a: [b's {c's]\ncluster: x\n", "a: \"b\\\"\ncluster: x\n", "null: x\ncluster: x\n"));

TEST(PlainYaml, StopsWhereAllHasBeenSeen) {
  const auto root =
      read_plain_yaml("cluster: c\ncontroller:\n  port: 1\nauth:\n  munge_socket: /m\nnonsense: [[[\n", kOnly);
  ASSERT_TRUE(root);
  EXPECT_EQ(root->items.size(), 6u);
}

}  // namespace
}  // namespace gw::config
