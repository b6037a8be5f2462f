// When users are mailed, about what, in which words; and when they are not.
#include "ctld/core/jobs/mails.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ctld_core/world.h"

namespace gw::ctld::testing {
namespace {

using model::JobState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Settings with_mail() {
  Settings settings;
  settings.sends_mail = true;
  return settings;
}

/// A world of one node that keeps the mails.
struct Post : World {
  std::vector<SendMail> mails;
  explicit Post(Settings settings = with_mail(), uint32_t count = 1) : World(count, std::move(settings)) {
    on_effects = [this](const Effects& effects) {
      for (const Outgoing& out : effects.out)
        if (const auto* mail = std::get_if<SendMail>(&out)) mails.push_back(*mail);
    };
    connect_all();
  }
  std::vector<std::string> subjects() {
    std::vector<std::string> out;
    for (const SendMail& mail : mails) out.push_back(mail.subject);
    mails.clear();
    return out;
  }
  JobId enter(const std::string& events, const std::function<void(wire::SubmitRequest&)>& more = {}) {
    wire::ApiRequest r = submission(gang(1));
    wire::JobSpec& spec = *r.mutable_submit()->mutable_spec();
    spec.set_name("night");
    spec.set_mail_type(events);
    if (more) more(*r.mutable_submit());
    const wire::ApiReply reply = ask(kAlice, r);
    EXPECT_FALSE(reply.has_error()) << reply.error().what();
    return JobId(reply.submit().job_id());
  }
  void run(JobId id, int code) {
    schedule();
    started("n0", id);
    tick_with_beats(base::seconds(5));
    exited("n0", id, code);
    done("n0", id);
  }
};

void make_array(wire::SubmitRequest& submit, const char* text) {
  const model::ArraySpec asked = model::parse_array(text).value();
  *submit.mutable_array() = wire::to_wire(model::ArrayTasks{asked.tasks, asked.throttle, 0, 0, {}});
}

TEST(Mails, TellOfStartAndEnd) {
  Post w;
  const JobId id = w.enter("BEGIN,END");
  EXPECT_THAT(w.subjects(), IsEmpty());
  w.run(id, 0);
  EXPECT_EQ(w.mails.front().to, w.job(id).spec.user);
  EXPECT_EQ(w.mails.front().uid, kAlice);
  EXPECT_THAT(w.subjects(), ElementsAre("Gangway Job_id=1 Name=night Began, Queued time 00:00:00",
                                        "Gangway Job_id=1 Name=night Ended, Run time 00:00:05, COMPLETED, ExitCode 0"));
}

TEST(Mails, FailureIsAnEventOfItsOwn) {
  Post w;
  w.run(w.enter("FAIL"), 0);
  EXPECT_THAT(w.subjects(), IsEmpty());
  w.run(w.enter("FAIL,END"), 2);
  EXPECT_THAT(w.subjects(), ElementsAre("Gangway Job_id=2 Name=night Failed, Run time 00:00:05, FAILED, ExitCode 2"));
  w.run(w.enter("END"), 2);
  EXPECT_THAT(w.subjects(), ElementsAre("Gangway Job_id=3 Name=night Ended, Run time 00:00:05, FAILED, ExitCode 2"));
  const JobId waits = w.enter("FAIL", [](auto& submit) { submit.mutable_spec()->set_hold_user(true); });
  w.cancel(kAlice, waits);
  EXPECT_THAT(w.subjects(), IsEmpty()) << "a cancelled one has not failed";
  const JobId also_waits = w.enter("ALL", [](auto& submit) { submit.mutable_spec()->set_hold_user(true); });
  w.cancel(kAlice, also_waits);
  EXPECT_THAT(w.subjects(), ElementsAre("Gangway Job_id=5 Name=night Ended, Run time 00:00:00, CANCELLED, ExitCode 0"));
}

TEST(Mails, PartsOfTheTimeLimitAndItsEnd) {
  Post w;
  const JobId id = w.enter("TIME_LIMIT_50,TIME_LIMIT_90,TIME_LIMIT",
                           [](auto& submit) { submit.mutable_spec()->set_time_limit_us(base::seconds(100).us); });
  w.schedule();
  w.started("n0", id);
  w.tick_with_beats(base::seconds(49));
  EXPECT_THAT(w.subjects(), IsEmpty());
  w.tick_with_beats(base::seconds(36));
  EXPECT_THAT(w.subjects(), ElementsAre("Gangway Job_id=1 Name=night Reached 50% of time limit"))
      << "80 % were not asked for";
  w.tick_with_beats(base::seconds(10));
  EXPECT_THAT(w.subjects(), ElementsAre("Gangway Job_id=1 Name=night Reached 90% of time limit"));
  w.tick_with_beats(base::seconds(6));
  EXPECT_THAT(w.subjects(), ElementsAre("Gangway Job_id=1 Name=night Reached time limit"));
}

TEST(Mails, ANewLimitMovesItsParts) {
  Post w;
  const JobId id =
      w.enter("TIME_LIMIT_50", [](auto& submit) { submit.mutable_spec()->set_time_limit_us(base::seconds(100).us); });
  w.schedule();
  w.started("n0", id);
  wire::ApiRequest r;
  r.mutable_update_job()->add_ids(id.value);
  r.mutable_update_job()->set_time_limit_us(base::seconds(200).us);
  EXPECT_FALSE(w.ask(0, r).has_error());
  w.tick_with_beats(base::seconds(60));
  EXPECT_THAT(w.subjects(), IsEmpty());
  w.tick_with_beats(base::seconds(41));
  EXPECT_EQ(w.subjects().size(), 1u);
}

TEST(Mails, AnArrayIsToldOfOnce) {
  Post w;
  const JobId id = w.enter("ALL", [](auto& submit) { make_array(submit, "1-3"); });
  w.schedule();
  for (const uint32_t index : {1u, 2u, 3u}) w.run(w.core->arrays().find(id)->jobs.at(index), index == 2 ? 4 : 0);
  EXPECT_THAT(w.subjects(),
              ElementsAre("Gangway Array Summary Job_id=1_* (1) Name=night Began, Queued time 00:00:00",
                          "Gangway Array Summary Job_id=1_* (1) Name=night Failed, Mixed, ExitCode [0-4], 1 of 3 tasks "
                          "did not complete"));
}

TEST(Mails, AfterARestartAnArrayHasBegun) {
  Post w;
  const JobId id = w.enter("BEGIN", [](auto& submit) { make_array(submit, "1-3"); });
  w.run(w.core->arrays().find(id)->jobs.at(1), 0);
  EXPECT_EQ(w.subjects().size(), 1u);
  w.restart();
  w.connect_all();
  w.run(w.core->arrays().find(id)->jobs.at(2), 0);
  EXPECT_THAT(w.subjects(), IsEmpty());
}

TEST(Mails, TasksThatNeverBeganAreNoBeginning) {
  Post w;
  const JobId id = w.enter("ALL", [](auto& submit) {
    make_array(submit, "1-3");
    submit.mutable_spec()->set_hold_user(true);
  });
  wire::ApiRequest r;
  wire::TasksOfArray& some = *r.mutable_cancel()->mutable_filter()->add_tasks();
  some.set_array(id.value);
  *some.add_tasks() = wire::to_wire(model::ArrayTasks{model::TaskSet::parse("1").value(), 0, 0, 0, {}}).left(0);
  EXPECT_FALSE(w.ask(kAlice, r).has_error());
  w.restart();
  w.connect_all();
  wire::ApiRequest release;
  release.mutable_job_action()->add_ids(id.value);
  release.mutable_job_action()->set_action(wire::kRelease);
  EXPECT_FALSE(w.ask(kAlice, release).has_error());
  for (const uint32_t index : {2u, 3u}) w.run(w.core->arrays().find(id)->jobs.at(index), 0);
  EXPECT_THAT(w.subjects(), ElementsAre(HasSubstr("Array Summary Job_id=1_* (1) Name=night Began"),
                                        HasSubstr("Name=night Ended, Mixed, ExitCode [0-0], 1 of 3 tasks did not")));
}

TEST(Mails, EachTaskWhereThatIsAskedFor) {
  Post w;
  const JobId id = w.enter("END,ARRAY_TASKS", [](auto& submit) { make_array(submit, "5-6"); });
  for (const uint32_t index : {5u, 6u}) w.run(w.core->arrays().find(id)->jobs.at(index), 0);
  EXPECT_THAT(w.subjects(), ElementsAre(HasSubstr("Array Task Job_id=1_5 (2) Name=night Ended, Run time 00:00:05"),
                                        HasSubstr("Array Task Job_id=1_6 (1) Name=night Ended")));
}

TEST(Mails, ADependencyThatCanNeverBeMet) {
  Post w;
  const JobId first = w.enter("NONE");
  const auto after = [&](auto& submit) { submit.mutable_spec()->set_dependency("afterok:" + first.text()); };
  w.enter("INVALID_DEPEND", after);
  w.run(first, 1);
  EXPECT_THAT(w.subjects(), ElementsAre("Gangway Job_id=2 Name=night Invalid dependency"));
  w.enter("INVALID_DEPEND", after);
  EXPECT_THAT(w.subjects(), ElementsAre("Gangway Job_id=3 Name=night Invalid dependency")) << "known at once";
  const JobId other = w.enter("INVALID_DEPEND", [](auto& submit) { submit.mutable_spec()->set_hold_user(true); });
  wire::ApiRequest r;
  r.mutable_update_job()->add_ids(other.value);
  r.mutable_update_job()->set_dependency("afterok:" + first.text());
  EXPECT_FALSE(w.ask(kAlice, r).has_error());
  EXPECT_EQ(w.subjects().size(), 1u) << "changed later";
}

TEST(Mails, OfAHeterogeneousJobTheFirstComponentIsTold) {
  Post w(with_mail(), 2);
  w.enter("END", [](auto& submit) {
    submit.mutable_spec()->set_hold_user(true);
    *submit.add_components() = submit.spec();
  });
  w.cancel(kAlice, JobId(1));
  EXPECT_EQ(w.job(JobId(2)).state, JobState::kCancelled);
  EXPECT_EQ(w.subjects().size(), 1u);
}

// gscriptd takes no longer ones (mail_call.cc).
TEST(Mails, AreBoundedWhateverAJobSays) {
  Post w;
  const JobId id = w.enter("END", [](auto& submit) {
    submit.mutable_spec()->set_hold_user(true);
    submit.mutable_spec()->set_name(std::string(1'024, '\n'));
    submit.mutable_spec()->mutable_launch()->set_work_dir("/" + std::string(4'000, '\x01'));
  });
  w.cancel(kAlice, id);
  ASSERT_EQ(w.mails.size(), 1u);
  const SendMail& mail = w.mails.front();
  EXPECT_LE(mail.subject.size(), 2'000u);
  EXPECT_LE(mail.body.size(), 32u << 10);
  for (const auto& [name, value] : mail.variables) EXPECT_LE(value.size(), 8'000u) << name;
}

TEST(Mails, AUserHasARate) {
  Settings settings = with_mail();
  settings.mail_per_user_hour = 3;
  Post w(settings);
  for (int i = 0; i < 10; ++i)
    w.cancel(kAlice, w.enter("END", [](auto& submit) { submit.mutable_spec()->set_hold_user(true); }));
  EXPECT_EQ(w.subjects().size(), 3u);
  EXPECT_EQ(std::count_if(w.notes.begin(), w.notes.end(),
                          [](const auto& note) { return note.second.find("mail.per_user_hour") != std::string::npos; }),
            1);
  w.tick_with_beats(base::minutes(20));
  w.cancel(kAlice, w.enter("END", [](auto& submit) { submit.mutable_spec()->set_hold_user(true); }));
  EXPECT_EQ(w.subjects().size(), 1u) << "a third of it has come back";
}

TEST(Mails, WithoutAProgramTheUserIsWarned) {
  Post w{Settings()};
  wire::ApiRequest r = World::submission(gang(1));
  r.mutable_submit()->mutable_spec()->set_mail_type("END");
  const wire::ApiReply reply = w.ask(kAlice, r);
  ASSERT_EQ(reply.submit().warnings_size(), 1);
  EXPECT_THAT(reply.submit().warnings(0), HasSubstr("mail.program"));
  w.run(JobId(reply.submit().job_id()), 0);
  EXPECT_THAT(w.subjects(), IsEmpty());
}

TEST(Mails, TellOfOthersWhatTheOwnerMaySee) {
  for (const bool is_private : {false, true}) {
    Settings settings = with_mail();
    settings.private_data.users = is_private;
    Post w(settings);
    w.cancel(0, w.enter("END", [](auto& submit) { submit.mutable_spec()->set_hold_user(true); }));
    EXPECT_THAT(w.mails.front().body, HasSubstr(is_private ? "Why: by somebody else\n" : "Why: by root\n"));
  }
}

TEST(Mails, AreSlurmsWhereTheJobIs) {
  Post w;
  const JobId id = w.enter("END", [](auto& submit) {
    submit.mutable_spec()->mutable_launch()->set_slurm_names(true);
    submit.mutable_spec()->set_mail_user("ann,bob@example.org");
    submit.mutable_spec()->set_name("a\nTo: all");
  });
  w.run(id, 0);
  EXPECT_EQ(w.mails.front().to, "ann,bob@example.org");
  EXPECT_THAT(w.mails.front().body, HasSubstr("State: COMPLETED\nNodes: n0\n"));
  EXPECT_THAT(w.subjects(), ElementsAre(HasSubstr("Slurm Job_id=1 Name=a\\x0aTo: all Ended")));
}

}  // namespace
}  // namespace gw::ctld::testing
