// See sight.h.
#include "ctld/core/shared/sight.h"

#include <algorithm>
#include <charconv>

#include "base/hostlist.h"

namespace gw::ctld {
namespace {

constexpr size_t kMostInText = 10'000;  // nodes of one host list in a text

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Where the word that begins at `at` is over.
size_t end_of_word(std::string_view text, size_t at) { return std::min(text.find_first_of(" ,;:()", at), text.size()); }

/// "by its run", "by rule 5", "killed by signal 9".
bool is_no_name(std::string_view word) {
  constexpr std::string_view kWords[] = {"its", "itself", "rule", "signal", "a", "an", "the", "hand"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

/// The QOS that name the caller as an operator, with all below them.
std::set<std::string, std::less<>> operated_by(const QuotaTable& quotas, const Caller& caller) {
  std::set<std::string, std::less<>> named, out;
  for (const auto& [name, qos] : quotas.qos)
    if (!qos.operators.empty() && is_named(qos.operators, caller)) named.insert(name);
  if (named.empty()) return out;
  for (const auto& [name, qos] : quotas.qos) {
    const std::vector<std::string> path = quotas.path(name);
    if (std::any_of(path.begin(), path.end(), [&](const std::string& above) { return named.contains(above); }))
      out.insert(name);
  }
  return out;
}

}  // namespace

Sight::Sight(const Core& core, const Caller& caller) : core_(core), caller_(caller) {
  if (!core.settings.private_data.any() || is_admin(core.settings, caller)) return;
  hidden_ = core.settings.private_data;
  own_ = {.all = false, .uid = caller.uid};
  own_.qos = operated_by(core.quotas, caller);
  own_.all = own_.qos.contains(model::kRootQos);  // jobs may be at a QOS that is not in the tree
  if (hidden_.jobs) jobs_ = own_;
}

bool Sight::sees_job(uint32_t id) const {
  if (jobs_.all) return true;
  const model::Job* job = core_.jobs.find(JobId(id));
  return job != nullptr && sees(*job);
}

bool Sight::sees_use_of(std::string_view qos) const {
  if (!hidden_.usage || qos.empty() || qos == model::kRootQos) return true;
  if (qos.ends_with('/')) qos.remove_suffix(1);  // the jobs of an inner QOS itself
  if (!used_) {
    used_.emplace();
    for (const auto& [name, one] : core_.quotas.qos)
      if (may_submit(core_.quotas, caller_, name))
        for (const std::string& above : core_.quotas.path(name)) used_->insert(above);
  }
  return used_->contains(qos);
}

bool Sight::sees_node(const std::string& name) const {
  if (!hidden_.nodes) return true;
  const model::Node* node = core_.nodes.find(name);
  if (node == nullptr) return false;
  const std::set<JobId>& jobs = core_.placements.on(node->id);
  return std::any_of(jobs.begin(), jobs.end(), [this](JobId id) {
    const model::Job* job = core_.jobs.find(id);
    return job != nullptr && own_.has(job->spec.uid, job->spec.qos);
  });
}

std::string Sight::without_jobs(std::string_view text) const {
  constexpr std::string_view kWord = "job ";
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t found = text.find(kWord, at);
    const size_t number = found == std::string_view::npos ? text.size() : found + kWord.size();
    size_t end = number;
    while (end < text.size() && is_digit(text[end])) ++end;
    uint32_t id = 0;
    const bool is_id = end > number && std::from_chars(text.data() + number, text.data() + end, id).ec == std::errc();
    if (is_id && !sees_job(id)) {
      out += text.substr(at, found - at);
      out += kHiddenJob;
    } else {
      out += text.substr(at, end - at);
    }
    at = end;
  }
  return out;
}

std::string Sight::without_names(std::string_view text) const {
  constexpr std::string_view kWord = "by ";
  std::string out;
  while (!text.empty()) {
    const size_t found = text.find(kWord);
    const bool is_word = found == 0 || (found != std::string_view::npos && text[found - 1] == ' ');
    const size_t name = found == std::string_view::npos ? text.size() : found + kWord.size();
    out += text.substr(0, name);
    text.remove_prefix(name);
    if (!is_word) continue;
    const size_t end = end_of_word(text, 0);
    out += sees_user(text.substr(0, end)) || is_no_name(text.substr(0, end)) ? text.substr(0, end) : "somebody else";
    text.remove_prefix(end);
  }
  return without_jobs(out);
}

std::string Sight::without_nodes(std::string_view text) const {
  if (!hidden_.nodes) return std::string(text);
  constexpr std::string_view kEnds = " ,;:()\"'";
  std::string out;
  while (!text.empty()) {
    const size_t begin = std::min(text.find_first_not_of(kEnds), text.size());
    out += text.substr(0, begin);
    text.remove_prefix(begin);
    // A host list has commas within its brackets.
    size_t end = 0;
    for (bool is_open = false; end < text.size() && (is_open || kEnds.find(text[end]) == std::string_view::npos); ++end)
      is_open = text[end] == '[' || (is_open && text[end] != ']');
    const std::string word(text.substr(0, end));
    text.remove_prefix(end);
    const auto names = base::expand_hostlist(word, kMostInText);
    const bool is_of_nodes = names && std::any_of(names->begin(), names->end(), [this](const std::string& name) {
                               return core_.nodes.find(name) != nullptr && !sees_node(name);
                             });
    out += is_of_nodes ? "a node" : word;
  }
  return out;
}

}  // namespace gw::ctld
