// Output that is shown again asks the terminal nothing.
#include "base/screen_queries.h"

#include <gtest/gtest.h>

namespace gw::base {
namespace {

TEST(ScreenQueries, AreLeftOut) {
  for (const char* query : {"\x1b[6n",
                            "\x1b[?6n",
                            "\x1b[5n",
                            "\x1b[c",
                            "\x1b[0c",
                            "\x1b[>c",
                            "\x1b[>0q",
                            "\x1b[=c",
                            "\x1b[?2026$p",
                            "\x1b[18t",
                            "\x1b[14;2t",
                            "\x1b[?u",
                            "\x1b[?1;1;0S",
                            "\x1b[1x",
                            "\x1b[1$w",
                            "\x1b[1;1;1;1;1;1*y",
                            "\x1bZ",
                            "\x05",
                            "\x1b]10;?\a",
                            "\x1b]11;?\x1b\\",
                            "\x1b]4;1;?\a",
                            "\x1bP$q q\x1b\\",
                            "\x1bP+q544e\x1b\\",
                            "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"})
    EXPECT_EQ(without_queries(std::string("a") + query + "b"), "ab") << query;
}

TEST(ScreenQueries, AllElseStays) {
  for (const char* text : {"", "plain\r\n\tt\xc3\xa4xt", "\x1b[1;31mred\x1b[m", "\x1b[?1049h\x1b[2J\x1b[H", "\x1b[!p",
                           "\x1b[2 q", "\x1b]0;title\a", "\x1b]2;what?\x1b\\", "\x1b[22;0t", "\x1b[3S", "\x1b[u",
                           "\x1b"
                           "7\x1b"
                           "8",
                           "\x1b=", "\x1b(B", "\x1bPq#0;2;0;0;0\x1b\\", "\x1b[?25", "\x1b", "\x1b]0;not whole"})
    EXPECT_EQ(without_queries(text), text);
}

TEST(ScreenQueries, NoneComesAboutByLeavingOthersOut) {
  EXPECT_EQ(without_queries("\x1b\x1b[6n[6n"), "[6n");
  EXPECT_EQ(without_queries("\x1b[6\x1b[6nn"), "n");
  EXPECT_EQ(without_queries("\x1b]11;\x1b[c?\a"), "?\a");
}

}  // namespace
}  // namespace gw::base
