// Command line of gnoded.
#include "noded/shell/options.h"

#include <gtest/gtest.h>

namespace gw::noded {
namespace {

TEST(Options, ReadsBothForms) {
  const auto options = parse_options({"--node", "n1", "--bind=127.0.1.2", "--check"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->node, "n1");
  EXPECT_EQ(options->bind, "127.0.1.2");
  EXPECT_TRUE(options->check);
}

TEST(Options, NamesWhatIsWrong) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--nod", "x"}, "unknown option \"--nod\" (did you mean \"--node\"?)"},
      {{"-x"}, "unknown option \"-x\" (see gnoded --help)"},
      {{"--node"}, "option --node needs a value: NAME"},
      {{"--check=1"}, "option --check takes no value"},
      {{"word"}, "surplus word \"word\" (see gnoded --help)"}};
  for (const auto& [words, text] : cases) {
    const auto options = parse_options(words);
    ASSERT_FALSE(options) << text;
    EXPECT_EQ(options.error().text(), text);
  }
}

TEST(Options, HelpNamesEveryOption) {
  for (const char* name : {"--config", "--node", "--topology", "--state-dir", "--gstepd", "--controller"})
    EXPECT_NE(usage().find(name), std::string::npos) << name;
}

}  // namespace
}  // namespace gw::noded
