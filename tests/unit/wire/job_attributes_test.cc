// The table of job attributes: its names are unique, it knows every field of an update, and what its rows do.
#include "wire/job_attributes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <set>

#include "tests/schema/tree.h"

namespace gw::wire {
namespace {

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

TEST(JobAttributes, NamesAreUnique) {
  std::set<std::string> options, letters, variables, keys, shown, json, columns, column_letters;
  const auto once = [](std::set<std::string>& seen, std::string name) {
    EXPECT_TRUE(name.empty() || seen.insert(name).second) << name;
  };
  for (const JobAttribute& a : kJobAttributes) {
    once(options, std::string(option_name(a)));
    if (option_letter(a) != 0) once(letters, {option_letter(a)});
    once(variables, std::string(a.variable));
    once(keys, lower(a.update.key));
    once(keys, lower(a.update.alias));
    once(shown, std::string(a.show_key));
    once(json, std::string(a.json_key));
    once(columns, lower(a.column.name));
    if (a.column.letter != 0) once(column_letters, {a.column.letter});
  }
  EXPECT_TRUE(options.contains("job-name"));
  EXPECT_TRUE(letters.contains("J"));
}

TEST(JobAttributes, SayAllThatTheyPromise) {
  for (const JobAttribute& a : kJobAttributes) {
    const std::string name(option_name(a));
    EXPECT_EQ(a.kept.number != 0, a.kept.get != nullptr) << name;
    EXPECT_EQ(a.kept.number != 0, !a.name.empty()) << name << ": the field's name, for its bound";
    EXPECT_EQ(a.update.who != Updater::kNobody, a.update.field.is_set != nullptr) << name;
    EXPECT_EQ(a.update.who != Updater::kNobody, !a.update.key.empty()) << name;
    // What is not done by hand is done from field to field.
    if (a.update.who != Updater::kNobody && !a.update.by_hand) {
      EXPECT_TRUE(a.update.field.get != nullptr && a.kept.set != nullptr) << name;
    }
    EXPECT_EQ(a.commands == Commands::kNone, a.help.empty()) << name;
  }
}

/// An update that says one field alone.
UpdateJobRequest saying(const schema::Messages& messages, const schema::Field& field) {
  const bool is_text = field.type == schema::Type::kString || field.type == schema::Type::kBytes;
  schema::Tree tree;
  tree.fields[field.number] = {is_text ? schema::text_value("x") : schema::number_value(1)};
  UpdateJobRequest update;
  EXPECT_TRUE(update.ParseFromString(schema::encode(messages, "UpdateJobRequest", tree)));
  return update;
}

TEST(JobAttributes, KnowEveryFieldOfAnUpdate) {
  const schema::Messages messages = schema::messages();
  for (const schema::Field& field : messages.at("UpdateJobRequest")) {
    if (field.name == "ids" || field.name == "tasks" || field.name == "array_throttle") continue;  // not of one job
    const bool is_gres = field.name == "gres";  // GPUs are counted in three ways, each with a key
    const int expected = is_gres ? 3 : 1;
    int rows = 0, cleared = 0;
    for (const JobAttribute& a : kJobAttributes) {
      if (a.update.who == Updater::kNobody) continue;
      UpdateJobRequest update;
      if (is_gres)
        update.mutable_gres();
      else
        update = saying(messages, field);
      rows += a.update.field.is_set(update) ? 1 : 0;
      a.update.field.clear(update);
      cleared += update.ByteSizeLong() == 0 ? 1 : 0;
    }
    EXPECT_EQ(cleared, expected) << field.name << ": a row of wire/job_attributes.h says who may update it";
    EXPECT_EQ(rows, field.name == "switches_wait_us" ? 0 : expected) << field.name << ": it goes with max_switches";
  }
}

TEST(JobAttributes, WhatIsPlainIsTaken) {
  UpdateJobRequest update;
  update.set_comment("c");
  update.set_requeue(false);
  update.set_begin_us(5);
  update.set_priority(7);  // has a rule of its own
  model::JobSpec spec;
  ASSERT_TRUE(take_plain(update, false, spec));
  EXPECT_EQ(spec.comment, "c");
  EXPECT_FALSE(spec.requeue);
  EXPECT_EQ(spec.begin.us, 5);
  EXPECT_EQ(spec.priority, 0);
}

TEST(JobAttributes, WhereItRunsCanOnlyBeSaidWhileItWaits) {
  UpdateJobRequest update;
  update.set_comment("c");
  update.set_time_limit_us(1);
  EXPECT_FALSE(says_where_to_run(update));
  update.set_max_nodes(3);
  EXPECT_TRUE(says_where_to_run(update));
  EXPECT_THAT(keys_while_running(), testing::MatchesRegex("JobName, Comment, .*, Priority and Requeue"));
  EXPECT_THAT(keys_while_running(), testing::Not(testing::HasSubstr("QOS")));
}

/// Of what this version knows nothing is newer than its first node daemons.
TEST(JobAttributes, TheLatestThatIsSaidDecidesWhichNodeDaemonsDo) {
  std::vector<JobAttribute> rows(kJobAttributes.begin(), kJobAttributes.end());
  for (JobAttribute& a : rows) {
    if (a.name == "comment") a.since = model::version(0, 3, 0);
    if (a.name == "preempt_signo") a.since = model::version(0, 2, 0);
  }
  model::JobSpec spec;
  EXPECT_EQ(least_version(spec, rows), model::kFirstVersion);
  spec.preempt_signo = 10;
  EXPECT_EQ(least_version(spec, rows), model::version(0, 2, 0));
  spec.comment = "x";
  EXPECT_EQ(least_version(spec, rows), model::version(0, 3, 0));
  EXPECT_EQ(least_version(spec), model::kFirstVersion);
}

TEST(JobAttributes, ComponentsHaveTheirSizesForThemselves) {
  UpdateJobRequest update;
  update.set_comment("c");
  update.set_min_nodes(2);
  update.set_max_nodes(3);
  update.set_partition("p");
  update.set_switches_wait_us(4);
  clear_own_of_component(update);
  UpdateJobRequest common;
  common.set_comment("c");
  EXPECT_EQ(update.SerializeAsString(), common.SerializeAsString());

  model::JobSpec own, spec;
  own.gpu_bind = "closest";
  own.comment = "own";
  take_own_of_component(own, spec);
  EXPECT_EQ(spec.gpu_bind, "closest");
  EXPECT_EQ(spec.comment, "");
}

}  // namespace
}  // namespace gw::wire
