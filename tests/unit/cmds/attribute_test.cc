// An attribute that is one member and one field is read from its row alone: options, and words of gcontrol update.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/show/attribute_text.h"
#include "cmds/gcontrol/control_verbs.h"
#include "cmds/request/job_options.h"

namespace gw::cmds {
namespace {

using testing::HasSubstr;
using wire::attributes::M;
using wire::attributes::U;
using wire::attributes::W;

/// Rows as a new attribute would have them, over fields that are there.
constexpr wire::JobAttribute kRows[] = {
    {.name = "comment",
     .option = "-k/--some-text",
     .value = "TEXT",
     .help = "a text",
     .variable = "SOME_TEXT",
     .update = {"SomeText",
                {},
                wire::Updater::kOwner,
                false,
                false,
                wire::fields::update_field<&U::has_comment, &U::comment, &U::mutable_comment, &U::clear_comment>(
                    U::kCommentFieldNumber)},
     .kept = wire::fields::kept<&M::comment, &W::comment, &W::mutable_comment>(W::kCommentFieldNumber),
     .most = 10},
    {.name = "nice",
     .option = "--some-number",
     .value = "N",
     .help = "a number",
     .update = {"SomeNumber",
                {},
                wire::Updater::kOwner,
                false,
                false,
                wire::fields::update_field<&U::has_nice, &U::nice, &U::set_nice, &U::clear_nice>(U::kNiceFieldNumber)},
     .kept = wire::fields::kept<&M::nice, &W::nice, &W::set_nice>(W::kNiceFieldNumber),
     .least = -1,
     .most = 7},
    {.name = "requeue",
     .option = "--some-flag",
     .help = "a flag",
     .update = {"SomeFlag",
                {},
                wire::Updater::kOwner,
                false,
                false,
                wire::fields::update_field<&U::has_requeue, &U::requeue, &U::set_requeue, &U::clear_requeue>(
                    U::kRequeueFieldNumber)},
     .kept = wire::fields::kept<&M::requeue, &W::requeue, &W::set_requeue>(W::kRequeueFieldNumber)},
};

struct Read {
  model::JobSpec spec;
  std::string error;
};

Read read(std::vector<std::string> words) {
  BatchOptions o;
  o.spec.requeue = false;
  std::vector<client::Option> table;
  for (const wire::JobAttribute& row : kRows) table.push_back(attribute_option(row, o));
  const auto operands = client::parse_options(table, words);
  return {o.spec, operands ? "" : operands.error().text()};
}

TEST(AttributeRow, IsReadAsAnOption) {
  const Read r = read({"--some-text=a b", "--some-number", "-1", "--some-flag"});
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(r.spec.comment, "a b");
  EXPECT_EQ(r.spec.nice, -1);
  EXPECT_TRUE(r.spec.requeue);
  EXPECT_EQ(read({"-k", "x"}).spec.comment, "x");
  EXPECT_EQ(read({"--some-text="}).error, "-k/--some-text: the value is empty");
  EXPECT_THAT(read({"--some-number=8"}).error, HasSubstr("--some-number"));
  EXPECT_THAT(read({"--some-flag=1"}).error, HasSubstr("--some-flag"));
}

TEST(AttributeRow, IsReadAsAnUpdate) {
  U update;
  EXPECT_TRUE(update_by_row(kRows[0], update, ""));
  EXPECT_TRUE(update_by_row(kRows[1], update, "7"));
  EXPECT_TRUE(update_by_row(kRows[2], update, "no"));
  EXPECT_TRUE(update.has_comment());
  EXPECT_EQ(update.nice(), 7);
  EXPECT_TRUE(update.has_requeue());
  EXPECT_FALSE(update.requeue());
  EXPECT_THAT(update_by_row(kRows[1], update, "8").error().what, HasSubstr("SomeNumber"));
  EXPECT_THAT(update_by_row(kRows[2], update, "perhaps").error().what, HasSubstr("SomeFlag: \"perhaps\""));
}

TEST(AttributeRow, IsShownWhereItIsSaid) {
  wire::JobSpec spec;
  for (const wire::JobAttribute& row : kRows) EXPECT_EQ(client::attribute_text(row, spec), "") << row.option;
  spec.set_comment("c");
  spec.set_nice(-5);
  spec.set_requeue(true);
  EXPECT_EQ(client::attribute_text(kRows[0], spec), "c");
  EXPECT_EQ(client::attribute_text(kRows[1], spec), "-5");
  EXPECT_EQ(client::attribute_text(kRows[2], spec), "1");
  EXPECT_EQ(client::attribute_text(wire::attribute("wckey"), spec), "");
  spec.set_wckey("night");
  EXPECT_EQ(client::attribute_text(wire::attribute("wckey"), spec), "night");
}

TEST(AttributeRow, GcontrolNamesTheKeys) {
  EXPECT_THAT(job_update_keys(), HasSubstr("JobName Partition QOS Account Comment "));
}

}  // namespace
}  // namespace gw::cmds
