// The option engine: getopt_long's rules, errors, environment input and generated pages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/faults.h"
#include "client/options/in_effect.h"
#include "client/options/option_table.h"

namespace gw::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A small command whose handlers write down what they were given.
class Options : public testing::Test {
 protected:
  Options() {
    const auto note = [this](const char* name) {
      return [this, name](std::string_view value) {
        seen.push_back(std::string(name) + "=" + std::string(value));
        return base::Status{};
      };
    };
    table = {{"nodes", 'N', Arg::kRequired, "COUNT", "nodes", "NODES", kDirective, note("nodes")},
             {"nodelist", 'w', Arg::kRequired, "LIST", "node list", {}, kDirective, note("nodelist")},
             {"exclusive", 0, Arg::kOptional, {}, "alone", "EXCLUSIVE", kDirective, note("exclusive")},
             {"nice", 'y', Arg::kOptional, {}, "nice", {}, kDirective, note("nice")},
             {"hold", 'H', Arg::kNone, {}, "hold", "HOLD", kDirective, note("hold")},
             {"parsable", 0, Arg::kNone, {}, "parsable", {}, kPlain, note("parsable")},
             {"secret", 0, Arg::kNone, {}, {}, {}, kHidden, note("secret")},
             {"comment", 'k', Arg::kRequired, "TEXT", "comment", {}, kRaw, note("comment")}};
    static constexpr Unsupported kNot[] = {{"array", 'a'}, {"nodefile", 'F'}, {"nicer"}, {"arrow"}};
    add_unsupported(table, kNot);
  }
  std::string error(std::vector<std::string> args, ParseRules rules = {}) {
    auto r = parse_options(table, args, rules);
    return r ? "" : r.error().text();
  }
  std::vector<std::string> operands(std::vector<std::string> args, ParseRules rules = {}) {
    auto r = parse_options(table, args, rules);
    EXPECT_TRUE(r.has_value()) << r.error().text();
    return r ? *r : std::vector<std::string>{};
  }

  std::vector<Option> table;
  std::vector<std::string> seen;
};

TEST_F(Options, ReadsEveryFormOfAnOption) {
  EXPECT_THAT(
      operands({"-N4", "-N", "5", "--nodes=6", "--nodes", "7", "-HN8", "--exclusive", "--exclusive=user", "-y", "-y5"}),
      ElementsAre());
  EXPECT_THAT(seen, ElementsAre("nodes=4", "nodes=5", "nodes=6", "nodes=7", "hold=", "nodes=8",
                                "exclusive=", "exclusive=user", "nice=", "nice=5"));
}

TEST_F(Options, PermutesUnlessToldToStop) {
  EXPECT_THAT(operands({"a", "-H", "b", "--", "-N", "c"}), ElementsAre("a", "b", "-N", "c"));
  EXPECT_THAT(seen, ElementsAre("hold="));
  seen.clear();
  EXPECT_THAT(operands({"-H", "script", "-N", "c"}, {.stop_at_operand = true}), ElementsAre("script", "-N", "c"));
  EXPECT_THAT(seen, ElementsAre("hold="));
}

TEST_F(Options, ADashAloneIsAnOperand) { EXPECT_THAT(operands({"-", "-H"}), ElementsAre("-")); }

TEST_F(Options, TakesUniqueAbbreviations) {
  operands({"--excl", "--pars", "--nodes", "1"});
  EXPECT_THAT(seen, ElementsAre("exclusive=", "parsable=", "nodes=1"));
  EXPECT_EQ(error({"--node=1"}), "option '--node' is ambiguous (possibilities: --nodes, --nodelist)");
  EXPECT_THAT(error({"--secr"}), HasSubstr("unrecognized option '--secr'"));
}

TEST_F(Options, AmbiguousPrefixesOfferOnlyWhatIsThere) {
  EXPECT_EQ(error({"--nod="}), "option '--nod' is ambiguous (possibilities: --nodes, --nodelist)");
  EXPECT_EQ(error({"--nic=1"}), "option '--nic' is ambiguous (did you mean \"--nice\"?)");
  EXPECT_EQ(error({"--arr=1"}), "option --array is not supported in this version");
  EXPECT_EQ(error({"--nodef=x"}), "option --nodefile is not supported in this version");
}

TEST_F(Options, NamesWhatIsWrong) {
  EXPECT_EQ(error({"--ndoes=1"}), "unrecognized option '--ndoes' (did you mean \"--nodes\"?)");
  EXPECT_EQ(error({"--xyz"}), "unrecognized option '--xyz'");
  EXPECT_EQ(error({"-Z"}), "invalid option -- 'Z'");
  EXPECT_EQ(error({"-hold"}), "invalid option -- 'h' (did you mean \"--hold\"?)");
  EXPECT_EQ(error({"--hold=1"}), "option --hold takes no value");
  EXPECT_EQ(error({"-N"}), "option -N needs a value: -N, --nodes=COUNT");
  EXPECT_EQ(error({"--nodes"}), "option --nodes needs a value: -N, --nodes=COUNT");
  EXPECT_EQ(error({"--array=1-3"}), "option --array is not supported in this version");
  EXPECT_EQ(error({"-a1"}), "option -a is not supported in this version");
  EXPECT_EQ(error({"--array"}), "option --array is not supported in this version");
  EXPECT_THAT(error({"--=3"}), HasSubstr("unrecognized option"));
}

TEST_F(Options, RefusesBytesThatAreNoText) {
  EXPECT_THAT(error({"-N", "\xff"}), HasSubstr("not valid UTF-8"));
  EXPECT_EQ(error({"--comment", "\xff"}), "");
  EXPECT_THAT(error({std::string("--comment=a\0b", 13)}), HasSubstr("NUL"));
}

TEST_F(Options, DirectivesTakeOnlyTheirOwn) {
  EXPECT_EQ(error({"--parsable"}, {.directives_only = true}), "option --parsable is for the command line only");
  EXPECT_THAT(error({"-H", "word"}, {.directives_only = true}), HasSubstr("unexpected word \"word\""));
}

TEST_F(Options, EnvironmentInLaterPrefixesWins) {
  const std::map<std::string, std::string> env = {
      {"S_NODES", "1"}, {"G_NODES", "2"}, {"S_HOLD", "1"}, {"G_HOLD", "0"}, {"S_EXCLUSIVE", "user"}};
  const GetEnv get = [&](const char* name) {
    const auto it = env.find(name);
    return it == env.end() ? nullptr : it->second.c_str();
  };
  EXPECT_TRUE(read_environment(table, {"S_", "G_"}, get).has_value());
  EXPECT_THAT(seen, ElementsAre("exclusive=user", "nodes=2"));
}

TEST_F(Options, PagesListWhatCanBeUsed) {
  CommandDoc doc;
  doc.summary = "does things";
  doc.synopsis = "[OPTIONS]";
  doc.description = "First.\n\n.second line";
  doc.env_prefixes = {"S_", "G_"};
  doc.exit_codes = {{"0", "fine"}};
  const Program program{"gtest", false};
  const std::string help = help_text(program, doc, table);
  EXPECT_THAT(help, HasSubstr("Usage: gtest [OPTIONS]\n"));
  EXPECT_THAT(help, HasSubstr("gtest: does things\n\nFirst.\n\n.second line\n\nOptions:\n"));
  EXPECT_THAT(help, HasSubstr("-N, --nodes=COUNT"));
  EXPECT_THAT(help, HasSubstr("--exclusive[=VALUE]"));
  EXPECT_THAT(help, testing::Not(HasSubstr("secret")));
  EXPECT_THAT(help, testing::Not(HasSubstr("array")));
  const std::string man = man_page(program, doc, table);
  EXPECT_THAT(man, HasSubstr(".TH GTEST 1"));
  EXPECT_THAT(man, HasSubstr("\\fB\\-N, \\-\\-nodes=COUNT\\fR"));
  EXPECT_THAT(man, HasSubstr("Environment: S_NODES, G_NODES."));
  EXPECT_THAT(man, HasSubstr("\\&.second line"));
  doc.synopsis = "";
  EXPECT_EQ(usage_text(program, doc), "Usage: gtest\n");
}

TEST_F(Options, ShellsAreToldOfOptionsAndAskTheClusterForNames) {
  const Program program{"gtest", false};
  CommandDoc doc;
  doc.operands = Completes::kJobs;
  table.push_back({"partition", 'p', Arg::kRequired, "NAMES", "it's [one]: of", {}, kPlain, [](std::string_view) {
                     return base::Status{};
                   }});
  const std::string bash = completion_script("bash", program, doc, table);
  EXPECT_THAT(bash, HasSubstr("--nodes= -N"));
  EXPECT_THAT(bash, HasSubstr("    --partition|-p) list=\"ginfo -h -o %R\" ;;\n"));
  EXPECT_THAT(bash, HasSubstr("*) list=\"gqueue -h -o %i --me\" ;;")) << "an operand is a job";
  EXPECT_THAT(bash, HasSubstr("complete -F _gtest gtest\n"));
  const std::string zsh = completion_script("zsh", program, doc, table);
  EXPECT_THAT(zsh, HasSubstr("#compdef gtest\n"));
  EXPECT_THAT(zsh, HasSubstr("'--partition=[it'\\''s \\[one\\]\\: of]:NAMES:_gangway_partitions'"));
  EXPECT_THAT(zsh, HasSubstr("'*:operand:_gangway_jobs'"));
  const std::string fish = completion_script("fish", program, doc, table);
  EXPECT_THAT(fish,
              HasSubstr("complete -c gtest -l partition -s p -x -a '(GANGWAY_TIMEOUT=1 ginfo -h -o %R 2>/dev/null)' "
                        "-d 'it\\'s [one]: of'\n"));
  EXPECT_THAT(fish, testing::Not(HasSubstr("secret")));
  EXPECT_EQ(completion_script("csh", program, doc, table), "");
  doc.words = "show update";
  EXPECT_THAT(completion_script("bash", program, doc, table), HasSubstr("printf '%s\\n' show update"));
  EXPECT_THAT(completion_script("zsh", program, doc, table), HasSubstr("'*:operand:(show update)'"));
}

TEST_F(Options, PagesHaveTheirOptionsInGroups) {
  const Program program{"gtest", false};
  CommandDoc doc;
  doc.groups = {{"Empty", {"nosuch"}}, {"Size", {"exclusive", "nodes"}}};
  const std::string help = help_text(program, doc, table);
  EXPECT_THAT(help, testing::Not(HasSubstr("Empty"))) << "a group of nothing";
  EXPECT_LT(help.find("\nSize:\n"), help.find("--nodes"));
  EXPECT_LT(help.find("--nodes"), help.find("\nOther:\n"));
  EXPECT_THAT(man_page(program, doc, table), HasSubstr(".SS Size\n"));
}

TEST_F(Options, InEffectAreTheLastValuesThatWereTaken) {
  OptionsInEffect line, environment;
  std::vector<Option> weaker = table;
  table.push_back({"verbose", 'v', Arg::kNone, {}, {}, {}, kPlain, [](std::string_view) { return base::Status{}; }});
  table.push_back({"refused", 0, Arg::kRequired, {}, {}, {}, kPlain, [](std::string_view) -> base::Status {
                     return base::invalid("no");
                   }});
  line.watch(table);
  environment.watch(weaker);
  operands({"-N4", "-vH", "--nodes=6", "-v", "--exclusive", "-k", "two\nlines"});
  EXPECT_EQ(error({"--refused=1"}), "no");
  ASSERT_TRUE(read_environment(weaker, {"X_"}, [](const char* name) {
    const std::string_view text = name;
    return text == "X_NODES" ? "9" : text == "X_EXCLUSIVE" ? "user" : text == "X_HOLD" ? "0" : nullptr;
  }));
  line.fill(environment);
  operands({"--nice=3"});
  EXPECT_EQ(options_text({"prog"}, line, OptionFrame::kLists),
            "-----------------------------\n"
            "comment     = two\\x0alines\n"
            "exclusive   = set\n"
            "hold        = set\n"
            "nice        = 3\n"
            "nodes       = 6\n"
            "verbose     = 2\n"
            "-----------------------------\n");
  EXPECT_EQ(options_text({"prog"}, environment, OptionFrame::kSubmits),
            "prog: defined options\n"
            "prog: -------------------- --------------------\n"
            "prog: exclusive           : user\n"
            "prog: nodes               : 9\n"
            "prog: -------------------- --------------------\n"
            "prog: end of defined options\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(outspoken({"prog"}, line, OptionFrame::kLists).verbose, 2u);
  EXPECT_NE(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  EXPECT_EQ(outspoken({"prog"}, environment, OptionFrame::kLists).verbose, 0u);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Program, NamesDecideThePersonality) {
  EXPECT_FALSE(program_from("/usr/bin/gbatch").is_slurm);
  EXPECT_TRUE(program_from("/x/slurm/sbatch").is_slurm);
  EXPECT_EQ(version_line({"gbatch", false}).substr(0, 8), "gangway ");
  EXPECT_EQ(version_line({"sbatch", true}).substr(0, 14), "slurm 23.11.4 ");
}

TEST_F(Options, AllThatIsWrongIsToldAtOnce) {
  EXPECT_EQ(error({"--foo", "-N", "3", "--hold=x", "--bar=1"}),
            "unrecognized option '--foo'\noption --hold takes no value\nunrecognized option '--bar'");
  EXPECT_THAT(seen, ElementsAre("nodes=3"));
}

}  // namespace
}  // namespace gw::client
