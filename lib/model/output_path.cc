// File name patterns of batch jobs: the implementation.
// Invariant: see output_path.h.
#include "model/output_path.h"

#include <algorithm>
#include <cctype>

namespace gw::model {

namespace {

constexpr size_t kMaxWidth = 10;

std::string padded(uint64_t value, size_t width) {
  std::string text = std::to_string(value);
  if (text.size() < width) text.insert(0, width - text.size(), '0');
  return text;
}

// A name as part of a file name: it must not lead elsewhere.
std::string as_component(std::string_view name) {
  std::string text(name);
  for (char& c : text)
    if (c == '/' || c == '\0') c = '_';
  if (text == "." || text == "..") std::replace(text.begin(), text.end(), '.', '_');
  return text;
}

// Appends the value of pattern `letter`; false if there is none.
bool append_value(std::string& out, char letter, size_t width, const PatternValues& v) {
  switch (letter) {
    case 'j':
    case 'J':
      out += padded(v.job_id, width);
      return true;
    case 'A':
      out += padded(v.array ? v.array->job.value : v.job_id, width);
      return true;
    case 'a':
      out += padded(v.array ? v.array->task : kNoArrayTask, width);
      return true;
    case 'b':
      out += padded((v.array ? v.array->task : kNoArrayTask) % 10, width);
      return true;
    case 'n':
      out += padded(v.node_index, width);
      return true;
    case 't':
      out += padded(v.task, width);
      return true;
    case 'x':
      out += as_component(v.job_name);
      return true;
    case 'u':
      out += as_component(v.user);
      return true;
    case 'N':
      out += as_component(std::string_view(v.node).substr(0, v.node.find('.')));
      return true;
    case 's':
      out += as_component(v.step);
      return true;
    case '%':
      out += '%';
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string expand_patterns(std::string_view path, const PatternValues& values) {
  std::string out;
  if (path.find('\\') != std::string_view::npos) {
    std::copy_if(path.begin(), path.end(), std::back_inserter(out), [](char c) { return c != '\\'; });
    return out;
  }
  for (size_t i = 0; i < path.size();) {
    if (path[i] != '%') {
      const size_t next = std::min(path.find('%', i), path.size());
      out += path.substr(i, next - i);
      i = next;
      continue;
    }
    size_t end = i + 1;
    size_t width = 0;
    for (; end < path.size() && std::isdigit(static_cast<unsigned char>(path[end])); ++end)
      width = std::min(width * 10 + static_cast<size_t>(path[end] - '0'), kMaxWidth);
    if (end < path.size() && append_value(out, path[end], width, values)) {
      i = end + 1;
    } else {
      out += path[i++];
    }
  }
  return out;
}

std::string resolve_job_path(std::string_view path, std::string_view work_dir, const PatternValues& values) {
  if (path.empty()) return {};
  std::string name = expand_patterns(path, values);
  if (name.empty() || name.front() == '/' || work_dir.empty()) return name;
  std::string full(work_dir);
  if (full.back() != '/') full += '/';
  return full + name;
}

std::string_view default_output(bool slurm_names, bool is_in_array) {
  if (is_in_array) return slurm_names ? "slurm-%A_%a.out" : "gangway-%A_%a.out";
  return slurm_names ? "slurm-%j.out" : "gangway-%j.out";
}

}  // namespace gw::model
