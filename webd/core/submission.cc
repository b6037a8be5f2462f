// See submission.h.
#include "webd/core/submission.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "client/options/directives.h"
#include "client/options/in_effect.h"
#include "cmds/gbatch/batch_components.h"
#include "cmds/request/batch_script.h"
#include "cmds/request/slurm_forms.h"
#include "wire/convert.h"

namespace gw::webd {
namespace {

constexpr uint32_t kUmask = 022;

constexpr uint64_t kMostNames = 10'000;        // of nodes, in all host lists of a submission together
constexpr size_t kMostOptionBytes = 64 << 10;  // of the options, and of the lines of the script that are some

/// How many names a list like "n[1-3,7]m[0-9],x" stands for, at least; nothing is made of it.
uint64_t names_in(std::string_view text) {
  uint64_t sum = 0, product = 1;
  const auto number = [&text](size_t& i) {
    uint64_t n = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
      n = std::min<uint64_t>(n * 10 + static_cast<uint64_t>(text[i] - '0'), UINT32_MAX);
    return n;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',') sum += std::exchange(product, 1);
    if (text[i] != '[') continue;
    uint64_t inside = 0;
    for (++i; i < text.size() && text[i] != ']'; ++i) {
      const uint64_t first = number(i);
      uint64_t last = first;
      if (i < text.size() && text[i] == '-') last = number(++i);
      inside += last >= first ? last - first + 1 : 1;
      if (i >= text.size() || text[i] == ']') break;
    }
    product = std::min<uint64_t>(product * std::max<uint64_t>(inside, 1), UINT32_MAX);
  }
  return sum + product;
}

/// What costs this server much is refused before it is looked at: it serves others meanwhile.
base::Status check_size(const std::vector<std::string>& options, const std::vector<client::Directive>& directives) {
  uint64_t names = 0;
  size_t bytes = 0;
  const auto count = [&](const std::string& word) {
    bytes += word.size() + 1;
    if (word.find('[') != std::string::npos) names += names_in(word);
  };
  for (const std::string& word : options) count(word);
  for (const client::Directive& line : directives)
    for (const std::string& word : line.words) count(word);
  if (bytes > kMostOptionBytes)
    return base::invalid("options of more than 64 KiB are not taken here", "submit it by gbatch");
  if (names > kMostNames)
    return base::invalid("lists of more than 10000 nodes are not taken here", "submit it by gbatch");
  return {};
}

/// Options that say something to who types a command, or of whom there is but one here.
base::Status check_sense(const client::OptionsInEffect& seen) {
  for (const std::string_view name : {"uid", "gid", "wait", "clusters", "help", "usage", "version"})
    if (seen.count(name) > 0) return base::invalid(fmt::format("--{} has no sense here", name), "leave it out");
  return {};
}

base::Result<std::string> environment_of(const cmds::BatchOptions& o, const Submitted& s) {
  if (!o.slurm.export_file.empty())
    return base::invalid("--export-file: files are not read here", "give the variables as `environment`");
  std::vector<std::string> given;
  for (const auto& [name, value] : s.environment) {
    if (name.empty() || name.find('=') != std::string::npos || (name + value).find('\0') != std::string::npos)
      return base::invalid("environment: " + base::printable(name, 60) + " is no name, or its value no text");
    given.push_back(name + "=" + value);
  }
  std::vector<std::string> more;
  for (const auto& [name, value] : o.slurm.for_steps) more.push_back(name + "=" + value);
  // The node takes it out, and asks the user's login shell.
  const uint32_t login = o.slurm.login_seconds == 0 ? cmds::kLoginSeconds : o.slurm.login_seconds;
  more.push_back("SLURM_GET_USER_ENV=" + std::to_string(login));
  return cmds::export_environment(o.export_form, given, more);
}

base::Status fill_launch(cmds::BatchOptions& o, const Submitted& s, const std::string& from) {
  if (o.chdir.empty()) o.chdir = s.chdir;
  if (!o.chdir.starts_with('/'))
    return base::invalid(
        "chdir: " + (o.chdir.empty() ? "no folder is named" : base::printable(o.chdir, 100) + " is not absolute"),
        "name the folder in which the job runs: /home/alice");
  model::Launch& l = o.spec.launch;
  l.work_dir = o.chdir;
  l.args = s.arguments;
  l.umask = kUmask;
  l.slurm_names = true;  // scripts come from both worlds
  o.spec.submit_host = from;
  o.spec.submit_line = "POST /api/v1/jobs";
  if (o.spec.name.empty()) o.spec.name = "job";
  return {};
}

}  // namespace

base::Result<wire::SubmitRequest> submission_of(Submitted s, const std::string& from, base::Time now,
                                                std::vector<std::string>& notes) {
  GW_TRY_STATUS(cmds::check_script(s.script));
  GW_TRY(directives, client::read_directives(s.script, "script"));
  GW_TRY_STATUS(check_size(s.options, directives));
  cmds::BatchOptions early;
  client::CommonFlags flags;
  client::OptionsInEffect seen;
  GW_TRY(line, cmds::split_components(cmds::batch_table(early, flags, now), s.options));
  if (!line.operands.empty())
    return base::invalid("options: " + base::printable(line.operands.front(), 60) + " is none",
                         "words for the script are `arguments`");
  const auto nothing = [](const char*) -> const char* { return nullptr; };
  GW_TRY(components,
         cmds::read_components({std::move(directives), "script", nothing, std::move(line.components), now, &seen}));
  GW_TRY_STATUS(check_sense(seen));
  if (components.front().wrap) return base::invalid("--wrap: there is a script already", "leave it out");
  GW_TRY(environment, environment_of(components.front(), s));
  wire::SubmitRequest submit;
  for (cmds::BatchOptions& o : components) {
    const bool is_first = &o == &components.front();
    std::vector<std::string> unsaid;
    GW_TRY_STATUS(cmds::complete(o, is_first ? notes : unsaid));
    GW_TRY_STATUS(fill_launch(o, s, from));
    *(is_first ? submit.mutable_spec() : submit.add_components()) = wire::to_wire(o.spec);
  }
  const cmds::BatchOptions& first = components.front();
  submit.set_script(s.script);
  submit.set_environment(environment);
  submit.set_test_only(first.test_only);
  if (first.array)
    *submit.mutable_array() = wire::to_wire(model::ArrayTasks{first.array->tasks, first.array->throttle, 0, 0, {}});
  return submit;
}

}  // namespace gw::webd
