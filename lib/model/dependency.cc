// See dependency.h.
#include "model/dependency.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "model/task_set.h"

namespace gw::model {
namespace {

using base::invalid;

constexpr std::array<std::string_view, 6> kNames = {"after",      "afterany",  "afterok",
                                                    "afternotok", "singleton", "aftercorr"};
constexpr int64_t kMostMinutes = int64_t{365} * 24 * 60;

tl::unexpected<base::Error> problem(std::string_view text, const std::string& why, std::string hint = {}) {
  return invalid("Job dependency problem: \"" + base::printable(text, 60) + "\": " + why, std::move(hint));
}

base::Result<DependencyKind> kind_of(std::string_view text, std::string_view word) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (base::iequals(word, kNames[i])) return static_cast<DependencyKind>(i);
  const std::vector<std::string> known(kNames.begin(), kNames.end());
  return problem(text, "there is no such dependency", base::did_you_mean(base::to_lower(word), known));
}

/// JOB[+MINUTES]
base::Result<DependencyTerm> parse_job(std::string_view text, DependencyKind kind, std::string_view word) {
  DependencyTerm term{.kind = kind};
  const size_t plus = word.find('+');
  if (plus != std::string_view::npos) {
    const auto minutes = base::parse_int(word.substr(plus + 1), 0, kMostMinutes, "minutes");
    if (!minutes || kind != DependencyKind::kAfter) return problem(text, "only after takes minutes behind a plus sign");
    term.delay = base::seconds(*minutes * 60);
  }
  std::string_view id = word.substr(0, plus);
  if (id.ends_with("_*")) id.remove_suffix(2);  // as it is shown
  if (const size_t line = id.find('_'); line != std::string_view::npos) {
    const auto task = base::parse_int(id.substr(line + 1), 0, kMaxArrayIndex, "task");
    if (!task)
      return problem(text, "\"" + base::printable(id, 40) + "\" is no task of an array", "such as afterok:5_3");
    term.task = static_cast<uint32_t>(*task);
    id = id.substr(0, line);
  }
  const auto job = base::parse_int(id, 1, UINT32_MAX, "job id");
  if (!job) return problem(text, "\"" + base::printable(id, 40) + "\" is no job id");
  term.job = base::JobId(static_cast<uint32_t>(*job));
  return term;
}

base::Status parse_part(std::string_view text, const std::string& part, Dependency& out) {
  std::vector<std::string> words = base::split(part, ':');
  if (words.empty()) return problem(text, "there is no such dependency as an empty one");
  auto kind = DependencyKind::kAfterAny;
  const bool is_number = !words[0].empty() && words[0].find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) {
    GW_TRY(named, kind_of(text, words[0]));
    kind = named;
    words.erase(words.begin());
  }
  if (kind == DependencyKind::kSingleton) {
    if (!words.empty()) return problem(text, "singleton takes no job");
    out.terms.push_back({.kind = kind});
    return {};
  }
  if (words.empty()) return problem(text, "which job?", "such as afterok:123");
  for (const std::string& word : words) {
    GW_TRY(term, parse_job(text, kind, word));
    if (std::find(out.terms.begin(), out.terms.end(), term) == out.terms.end()) out.terms.push_back(term);
    if (out.terms.size() > kMostDependencies)
      return problem(text, "more than " + std::to_string(kMostDependencies) + " jobs",
                     "let a job in between wait for some of them");
  }
  return {};
}

}  // namespace

std::string_view name(DependencyKind kind) { return kNames[static_cast<size_t>(kind)]; }

bool Dependency::is_met() const {
  return std::all_of(terms.begin(), terms.end(), [](const DependencyTerm& term) {
    return term.kind == DependencyKind::kAfterCorr && !term.is_failed;
  });
}

bool Dependency::is_hopeless() const {
  const auto is_failed = [](const DependencyTerm& t) { return t.is_failed; };
  if (terms.empty()) return false;
  return any ? std::all_of(terms.begin(), terms.end(), is_failed) : std::any_of(terms.begin(), terms.end(), is_failed);
}

base::Result<Dependency> parse_dependency(std::string_view text) {
  Dependency out;
  if (text.empty()) return out;
  out.any = text.find('?') != std::string_view::npos;
  if (out.any && text.find(',') != std::string_view::npos)
    return problem(text, "commas and question marks do not go together");
  for (const std::string& part : base::split(text, out.any ? '?' : ',')) GW_TRY_STATUS(parse_part(text, part, out));
  for (DependencyTerm& term : out.terms)
    if (term.kind == DependencyKind::kAfterCorr && (out.any || term.task)) term.kind = DependencyKind::kAfterOk;
  return out;
}

namespace {

/// Brackets hold a list together.
std::vector<std::string> split_outside_brackets(std::string_view text, char separator) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == separator && depth <= 0)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

base::Status parse_named_part(std::string_view text, const std::string& part, const FindJobs& find, Dependency& out) {
  const std::vector<std::string> words = base::split(part, ':');
  GW_TRY(kind, kind_of(text, words.front()));
  if (kind == DependencyKind::kSingleton) return problem(text, "singleton is not for jobs with names of their own");
  if (words.size() < 2) return problem(text, "which job?", "such as afterok:NAME");
  for (size_t i = 1; i < words.size(); ++i) {
    DependencyTerm term{.kind = kind == DependencyKind::kAfterCorr ? DependencyKind::kAfterOk : kind};
    auto jobs = find(words[i], kind);
    const size_t plus = words[i].rfind('+');
    if (!jobs && plus != std::string::npos && kind == DependencyKind::kAfter) {  // no name that has one in it
      GW_TRY(minutes, base::parse_int(words[i].substr(plus + 1), 0, kMostMinutes, "minutes behind a plus sign"));
      term.delay = base::seconds(minutes * 60);
      jobs = find(std::string_view(words[i]).substr(0, plus), kind);
    }
    if (!jobs) return tl::unexpected(jobs.error());
    for (const base::JobId job : *jobs) {
      term.job = job;
      out.terms.push_back(term);
    }
    if (out.terms.size() > kMostDependencies)
      return problem(text, "more than " + std::to_string(kMostDependencies) + " jobs");
  }
  return {};
}

}  // namespace

base::Result<Dependency> parse_named_dependency(std::string_view text, const FindJobs& find) {
  Dependency out;
  if (text.empty()) return out;
  out.any = text.find('?') != std::string_view::npos;
  const std::vector<std::string> parts = split_outside_brackets(text, out.any ? '?' : ',');
  if (out.any && split_outside_brackets(text, ',').size() > 1)
    return problem(text, "commas and question marks do not go together");
  for (const std::string& part : parts) GW_TRY_STATUS(parse_named_part(text, part, find, out));
  return out;
}

std::optional<base::JobId> find_circle(const std::vector<Dependency>& of_jobs) {
  // Whoever waits for nobody is taken off, and then those that waited for those alone: what is left waits in a circle,
  // or for one.
  std::vector<std::vector<uint32_t>> followers(of_jobs.size());
  std::vector<size_t> open(of_jobs.size());
  std::vector<uint32_t> free;
  for (uint32_t i = 0; i < of_jobs.size(); ++i) {
    open[i] = of_jobs[i].any ? std::min<size_t>(of_jobs[i].terms.size(), 1) : of_jobs[i].terms.size();
    if (open[i] == 0) free.push_back(i);
    for (const DependencyTerm& term : of_jobs[i].terms) followers[term.job.value - 1].push_back(i);
  }
  size_t taken = 0;
  for (; !free.empty(); ++taken) {
    const uint32_t one = free.back();
    free.pop_back();
    for (const uint32_t follower : followers[one])
      if (open[follower] > 0 && --open[follower] == 0) free.push_back(follower);
  }
  if (taken == of_jobs.size()) return std::nullopt;
  // From any of them the way leads into a circle.
  auto at =
      static_cast<uint32_t>(std::find_if(open.begin(), open.end(), [](size_t n) { return n > 0; }) - open.begin());
  for (size_t step = 0; step <= of_jobs.size(); ++step)
    for (const DependencyTerm& term : of_jobs[at].terms)
      if (open[term.job.value - 1] > 0) {
        at = term.job.value - 1;
        break;
      }
  return base::JobId(at + 1);
}

std::string format_dependency(const Dependency& dependency) {
  std::string text;
  for (const DependencyTerm& term : dependency.terms) {
    if (!text.empty()) text += dependency.any ? '?' : ',';
    text += name(term.kind);
    if (term.job) text += ":" + term.job.text();
    if (term.task) text += "_" + std::to_string(*term.task);
    if (term.kind == DependencyKind::kAfterCorr) text += "_*";
    if (term.delay.us > 0) text += "+" + std::to_string(term.delay.seconds() / 60);
    text += term.is_failed ? "(failed)" : "(unfulfilled)";
  }
  return text.empty() ? "(null)" : text;
}

TermState look_at(DependencyTerm& term, const std::optional<OtherJob>& other, base::Time now) {
  const bool has_ended = !other || other->ended_well.has_value();
  switch (term.kind) {
    case DependencyKind::kAfter:
      if (!term.due && other && other->has_started) term.due = other->started + term.delay;
      if (term.due) return term.due <= now ? TermState::kMet : TermState::kOpen;
      return has_ended ? TermState::kMet : TermState::kOpen;
    case DependencyKind::kAfterAny:
      return has_ended ? TermState::kMet : TermState::kOpen;
    case DependencyKind::kAfterOk:
    case DependencyKind::kAfterNotOk:
      if (!has_ended) return TermState::kOpen;
      if (!other) return TermState::kFailed;
      return *other->ended_well == (term.kind == DependencyKind::kAfterOk) ? TermState::kMet : TermState::kFailed;
    case DependencyKind::kSingleton:
    case DependencyKind::kAfterCorr:
      break;
  }
  return TermState::kOpen;
}

}  // namespace gw::model
