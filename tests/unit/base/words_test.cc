// "Did you mean", shell words and quoting, and printable forms of untrusted bytes.
#include <gtest/gtest.h>

#include "base/text.h"

namespace gw::base {
namespace {

using Words = std::vector<std::string>;

TEST(Words, NearestByDistance) {
  const Words candidates{"partition", "priority", "nodes", "node", "gpus", "ntasks", "mem"};
  struct Case {
    const char* word;
    const char* best;
  };
  static constexpr Case kCases[] = {
      {"partiton", "partition"},
      {"pratition", "partition"},
      {"partitino", "partition"},
      {"nods", "nodes"},
      {"gpu", "gpus"},
      {"men", "mem"},
      {"mxx", ""},
      {"xyzzy", ""},
      {"", ""},
      {"m", ""},
      {"partitionxxx", ""},
  };
  for (const Case& c : kCases) EXPECT_EQ(nearest(c.word, candidates), c.best) << c.word;
  EXPECT_EQ(did_you_mean("partiton", candidates), "did you mean \"partition\"?");
  EXPECT_EQ(did_you_mean("xyzzy", candidates), "");
  EXPECT_EQ(nearest("ab", Words{"cd"}), "");
  EXPECT_EQ(nearest(std::string(100'000, 'a'), Words{std::string(100'000, 'a')}), "");
}

TEST(Words, SplitsAsAShellDoes) {
  struct Case {
    const char* line;
    Words words;
  };
  const Case cases[] = {
      {"", {}},
      {"  -N 2\t-J name ", {"-N", "2", "-J", "name"}},
      {"-J 'a b' -o \"c d\"", {"-J", "a b", "-o", "c d"}},
      {"--comment=\"it's\"", {"--comment=it's"}},
      {"a\\ b", {"a b"}},
      {"'a\\b' \"a\\\"b\" \"a\\nb\"", {"a\\b", "a\"b", "a\\nb"}},
      {"''", {""}},
      {"-N 2 # two nodes", {"-N", "2"}},
      {"a#b '#c' \\#d", {"a#b", "#c", "#d"}},
      {"end\\", {"end\\"}},
  };
  for (const Case& c : cases) EXPECT_EQ(split_shell_words(c.line).value(), c.words) << c.line;
  EXPECT_FALSE(split_shell_words("-J 'a"));
  EXPECT_NE(split_shell_words("-J \"a").error().what.find("a \" quote is not closed"), std::string::npos);
}

TEST(Words, QuotesForTheShell) {
  EXPECT_EQ(shell_quote("a/b-c_1.txt"), "a/b-c_1.txt");
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("a b"), "'a b'");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quote("$(x)"), "'$(x)'");
  EXPECT_EQ(split_shell_words(shell_quote("it's $x \"q\" \\")).value(), Words{"it's $x \"q\" \\"});
}

TEST(Words, MakesBytesPrintable) {
  struct Case {
    std::string text;
    const char* shown;
  };
  const Case cases[] = {
      {"plain", "plain"},
      {"a\nb\x1b[31m", "a\\x0ab\\x1b[31m"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"Z\xc3\xbcrich", "Z\xc3\xbcrich"},
      {"\xe2\x82\xac", "\xe2\x82\xac"},
      {"\xff\xc3", "\\xff\\xc3"},
      {"\xc2\x9b", "\\xc2\\x9b"},
      {"\xc0\xaf", "\\xc0\\xaf"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
  };
  for (const Case& c : cases) EXPECT_EQ(printable(c.text), c.shown);
  EXPECT_EQ(printable("0123456789", 10), "0123456789");
  EXPECT_EQ(printable("0123456789x", 10), "0123456...");
  EXPECT_EQ(printable("0123456789", 2), "..");
  EXPECT_LE(printable(std::string(1000, '\n'), 50).size(), 50u);
}

}  // namespace
}  // namespace gw::base
