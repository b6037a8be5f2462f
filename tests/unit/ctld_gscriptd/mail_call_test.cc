// The command line of a mail, also where the controller asks for what none would.
#include "ctld/gscriptd/mail_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gw::ctld {
namespace {

using testing::ElementsAre;

config::Config with_mail() {
  config::Config config;
  config.mail_program = "/usr/bin/mail";
  config.mail_domain = "example.org";
  return config;
}

wire::ScriptMail a_mail() {
  wire::ScriptMail mail;
  mail.set_to("ann,bob@b.example");
  mail.set_subject("Gangway Job_id=7");
  mail.set_body("text");
  mail.add_variables()->set_name("SLURM_JOB_ID");
  mail.mutable_variables(0)->set_value("7");
  return mail;
}

TEST(MailCall, RecipientsStandBehindTwoDashesAndGetTheDomain) {
  const auto call = mail_call(a_mail(), with_mail());
  ASSERT_TRUE(call);
  EXPECT_EQ(call->program, "/usr/bin/mail");
  EXPECT_THAT(call->args, ElementsAre("-s", "Gangway Job_id=7", "--", "ann@example.org", "bob@b.example"));
  EXPECT_THAT(call->variables, ElementsAre("SLURM_JOB_ID=7"));
  EXPECT_EQ(call->input, "text");
}

TEST(MailCall, TheDashesCanBeLeftAway) {
  config::Config config = with_mail();
  config.mail_double_dash = false;
  EXPECT_THAT(mail_call(a_mail(), config)->args,
              ElementsAre("-s", "Gangway Job_id=7", "ann@example.org", "bob@b.example"));
}

TEST(MailCall, NothingIsRunWithoutAProgram) {
  config::Config config = with_mail();
  config.mail_program.clear();
  EXPECT_FALSE(mail_call(a_mail(), config));
}

TEST(MailCall, WhatNoControllerWouldSendIsRefused) {
  const auto refused = [](const std::function<void(wire::ScriptMail&)>& change) {
    wire::ScriptMail mail = a_mail();
    change(mail);
    return !mail_call(mail, with_mail());
  };
  EXPECT_FALSE(refused([](auto&) {}));
  EXPECT_TRUE(refused([](auto& m) { m.set_to("-oQ/tmp"); }));
  EXPECT_TRUE(refused([](auto& m) { m.set_to(""); }));
  EXPECT_TRUE(refused([](auto& m) { m.set_subject(""); }));
  for (const char* body : {"~!sh", "a\n~!sh", "a\rb", "a\x1b[2J"})
    EXPECT_TRUE(refused([body](auto& m) { m.set_body(body); })) << body;
  EXPECT_TRUE(refused([](auto& m) { m.set_subject("a\nBcc: all"); }));
  EXPECT_TRUE(refused([](auto& m) { m.set_subject(std::string(2'001, 'a')); }));
  for (const char* name : {"LD_PRELOAD", "PATH", "SLURM_a", "SLURM_=", ""})
    EXPECT_TRUE(refused([name](auto& m) { m.mutable_variables(0)->set_name(name); })) << name;
  EXPECT_TRUE(refused([](auto& m) { m.mutable_variables(0)->set_value("a\nb"); }));
  EXPECT_TRUE(refused([](auto& m) { m.mutable_variables(0)->set_value(std::string("a\0b", 3)); }));
  EXPECT_TRUE(refused([](auto& m) {
    for (int i = 0; i < 50; ++i) *m.add_variables() = m.variables(0);
  }));
}

}  // namespace
}  // namespace gw::ctld
