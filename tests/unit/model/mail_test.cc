// Events and addresses of mails about jobs.
#include "model/mail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/job.h"

namespace gw::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(MailEvents, AreReadInAnyCaseAndReadBackAsTheSameSet) {
  EXPECT_EQ(parse_mail_events("END"), kMailEnd);
  EXPECT_EQ(parse_mail_events("begin, Fail"), kMailBegin | kMailFail);
  EXPECT_EQ(parse_mail_events("NONE"), 0u);
  EXPECT_EQ(parse_mail_events("ALL"),
            kMailBegin | kMailEnd | kMailFail | kMailRequeue | kMailInvalidDependency | kMailStageOut);
  EXPECT_EQ(parse_mail_events("TIME_LIMIT,TIME_LIMIT_50,TIME_LIMIT_80,TIME_LIMIT_90,ARRAY_TASKS"),
            kMailTimeLimit | kMailTimeLimit50 | kMailTimeLimit80 | kMailTimeLimit90 | kMailArrayTasks);
  for (uint32_t events = 0; events < 2048; events += 7)
    EXPECT_EQ(parse_mail_events(format_mail_events(events)), events) << format_mail_events(events);
  EXPECT_EQ(format_mail_events(0), "NONE");
}

TEST(MailEvents, UnknownOnesAreRefused) {
  EXPECT_THAT(parse_mail_events("ENDE").error().text(), HasSubstr("did you mean \"END\"?"));
  EXPECT_FALSE(parse_mail_events(""));
  EXPECT_FALSE(parse_mail_events("END,ANY"));
}

TEST(MailUsers, AreNeitherOptionsNorFilesNorCommands) {
  EXPECT_THAT(*parse_mail_users("ann, b.c+d@example.org"), ElementsAre("ann", "b.c+d@example.org"));
  for (const char* text :
       {"",   ",",  "ann,-x", "-f",    "-s x", "/etc/passwd", "./x",   "|sh",     "a;b",  "a b",        "a\nb", "a\tb",
        "@x", "+x", ".x",     "a$(b)", "a`b`", "a>b",         "<a@b>", "\"a\"@b", "a\\b", "\xc3\xa4@b", "~ann", "a!b"})
    EXPECT_FALSE(parse_mail_users(text)) << text;
  EXPECT_TRUE(parse_mail_users("a,a,a,a,a,a,a,a,a,a"));
  EXPECT_THAT(parse_mail_users("a,a,a,a,a,a,a,a,a,a,a").error().text(), HasSubstr("more than 10 addresses"));
}

TEST(MailUsers, AreCheckedWithTheRestOfTheJob) {
  JobSpec spec;
  spec.mail_type = "fail,none";
  spec.mail_user = "ann , bob";
  ASSERT_TRUE(normalise(spec));
  EXPECT_EQ(spec.mail_type, "FAIL");
  EXPECT_EQ(spec.mail_user, "ann,bob");
  spec.mail_type = "none";
  ASSERT_TRUE(normalise(spec));
  EXPECT_EQ(spec.mail_type, "");
  spec.mail_user = "-x";
  EXPECT_FALSE(normalise(spec));
}

}  // namespace
}  // namespace gw::model
