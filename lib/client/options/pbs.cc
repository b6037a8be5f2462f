// See pbs.h. The forms are those of qsub's manual pages of PBS Pro 2022 and Torque 6.
#include "client/options/pbs.h"

#include <time.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/time.h"

namespace gw::client {
namespace {

using base::invalid;
using base::Result;
using base::Status;
using Words = std::vector<std::string>;

constexpr int64_t kMost = 1'000'000;

void leave_out(Words& out, const std::string& what) { out.push_back("--" + std::string(kPbsLeftOut) + "=" + what); }

/// `4gb`, `2000mb`, `512kb`, `100b`, `10` (bytes) as gbatch writes them.
std::string size_of(std::string_view value) {
  std::string size = base::to_lower(value);
  if (size.size() > 1 && (size.back() == 'b' || size.back() == 'w')) size.pop_back();
  const bool is_plain = !size.empty() && size.find_first_not_of("0123456789") == std::string::npos;
  if (!is_plain) return size;
  const auto bytes = base::parse_int(size, 0, INT64_MAX, "size");
  return bytes ? std::to_string((*bytes + 1023) / 1024) + "k" : size;
}

/// KEY=VALUE; without `=` the value is empty.
std::pair<std::string, std::string> key_and_value(const std::string& text) {
  const size_t equals = text.find('=');
  return {text.substr(0, equals), equals == std::string::npos ? std::string() : text.substr(equals + 1)};
}

Result<uint32_t> count_of(const std::string& what, const std::string& text) {
  GW_TRY(count, base::parse_int(text, 1, kMost, what));
  return static_cast<uint32_t>(count);
}

// ---- -l nodes=

/// What -l nodes= asks for, of all its parts.
struct Nodes {
  uint32_t count = 0, tasks = 0, most_tasks = 0, gpus = 0;
  bool is_even = true;  ///< All parts have as many tasks on a node.
  Words hosts, features;
};

/// N or HOST, then properties.
Status read_part(Nodes& nodes, const Words& words) {
  uint32_t count = 1, tasks = 1;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto [key, value] = key_and_value(words[i]);
    if (i == 0 && value.empty()) {
      const bool is_number = key.find_first_not_of("0123456789") == std::string::npos;
      if (!is_number) nodes.hosts.push_back(key);
      if (!is_number) continue;
      GW_TRY(given, count_of("-l nodes", key));
      count = given;
    } else if (key == "ppn") {
      GW_TRY(given, count_of("-l nodes: ppn", value));
      tasks = given;
    } else if (key == "gpus" && value == "0") {
      continue;
    } else if (key == "gpus") {
      GW_TRY(given, count_of("-l nodes: gpus", value));
      nodes.gpus = std::max(nodes.gpus, given);
    } else if (value.empty() && !key.empty() && key != "shared" && !key.starts_with("exclusive")) {
      nodes.features.push_back(key);
    }
  }
  nodes.is_even = nodes.is_even && (nodes.count == 0 || nodes.most_tasks == tasks);
  nodes.count += count;
  nodes.tasks += count * tasks;
  nodes.most_tasks = std::max(nodes.most_tasks, tasks);
  return {};
}

Status translate_nodes(const std::string& value, bool is_qsub, Words& out) {
  Words parts;
  for (std::string& part : base::split(value, '+')) {
    if (part.starts_with("ppn=") && !parts.empty())  // a slip that is seen often
      parts.back() += ":" + part;
    else
      parts.push_back(std::move(part));
  }
  Nodes nodes;
  for (const std::string& part : parts) GW_TRY_STATUS(read_part(nodes, base::split(part, ':')));
  if (nodes.tasks > kMost) return invalid("-l nodes: more than " + std::to_string(kMost) + " tasks");
  out.push_back("--nodes=" + std::to_string(nodes.count));
  if (!nodes.is_even)
    out.push_back("--ntasks=" + std::to_string(nodes.tasks));
  else if (nodes.most_tasks > 1 || is_qsub || value.find("ppn=") != std::string::npos)
    out.push_back("--ntasks-per-node=" + std::to_string(nodes.most_tasks));
  if (nodes.gpus > 0) out.push_back("--gpus-per-node=" + std::to_string(nodes.gpus));
  if (!nodes.hosts.empty()) out.push_back("--nodelist=" + base::join(nodes.hosts, ","));
  if (!nodes.features.empty()) out.push_back("--constraint=" + base::join(nodes.features, "&"));
  return {};
}

// ---- -l select=

/// A kind of chunk of -l select=.
struct Chunk {
  uint32_t count = 1, cpus = 1, tasks = 0, threads = 0, gpus = 0;
  std::string mem;
  bool operator==(const Chunk&) const = default;
};

Result<Chunk> read_chunk(const std::string& text, Words& out) {
  Chunk chunk;
  const Words words = base::split(text, ':');
  for (size_t i = 0; i < words.size(); ++i) {
    const auto [key, value] = key_and_value(words[i]);
    uint32_t* field = key == "ncpus"            ? &chunk.cpus
                      : key == "mpiprocs"       ? &chunk.tasks
                      : key == "ompthreads"     ? &chunk.threads
                      : key == "ngpus"          ? &chunk.gpus
                      : i == 0 && value.empty() ? &chunk.count
                                                : nullptr;
    if (field != nullptr) {
      if ((key == "ngpus" || key == "ncpus") && value == "0") continue;
      GW_TRY(count, count_of("-l select", value.empty() ? key : value));
      *field = count;
    } else if (key == "mem") {
      chunk.mem = size_of(value);
    } else if (key == "host" || key == "vnode") {
      out.push_back("--nodelist=" + value);
    } else {
      leave_out(out, "-l select=" + key);
    }
  }
  return chunk;
}

/// A chunk is a node's part: that is how clusters of large nodes hand them out.
Status translate_select(const std::string& value, Words& out) {
  std::optional<Chunk> all;
  uint64_t nodes = 0;
  for (const std::string& part : base::split(value, '+')) {
    GW_TRY(chunk, read_chunk(part, out));
    nodes += std::exchange(chunk.count, 1);
    if (all && *all != chunk)
      return invalid("-l select: chunks of several kinds are not supported in this version",
                     "write each as a component: #SBATCH lines, with #SBATCH hetjob between them");
    all = chunk;
  }
  if (!all) return invalid("-l select: the value is empty");
  const uint32_t tasks = std::max(all->tasks, 1U);
  out.push_back("--nodes=" + std::to_string(nodes));
  out.push_back("--ntasks-per-node=" + std::to_string(tasks));
  out.push_back("--cpus-per-task=" + std::to_string(std::max((all->cpus + tasks - 1) / tasks, 1U)));
  if (all->gpus > 0) out.push_back("--gpus-per-node=" + std::to_string(all->gpus));
  if (!all->mem.empty()) out.push_back("--mem=" + all->mem);
  return {};
}

// ---- The other resources

/// "::30" is "0:0:30".
std::string full_clock(const std::string& value) {
  std::string out;
  for (size_t i = 0; i < value.size(); ++i) {
    if (value[i] == ':' && (i == 0 || value[i - 1] == ':')) out += '0';
    out += value[i];
  }
  return out;
}

Status translate_resource(const std::string& resource, bool is_qsub, Words& out) {
  const auto [key, value] = key_and_value(std::string(base::trim(resource)));
  if (key == "nodes") return translate_nodes(value, is_qsub, out);
  if (key == "select") return translate_select(value, out);
  const bool is_seconds = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  if (key == "walltime") {
    out.push_back("--time=" + full_clock(value) + (is_seconds ? "s" : ""));
  } else if (key == "mem") {
    out.push_back("--mem=" + size_of(value));
  } else if (key == "pmem") {
    out.push_back("--mem-per-cpu=" + size_of(value));
  } else if (key == "ngpus") {
    out.push_back("--gpus=" + value);
  } else if (key == "ncpus") {
    out.push_back("--cpus-per-task=" + value);
  } else if (key == "procs") {
    out.push_back("--ntasks=" + value);
  } else if (key == "feature") {
    out.push_back("--constraint=" + value);
  } else if (key == "place") {
    if (value.find("excl") != std::string::npos) out.emplace_back("--exclusive");
  } else if (key != "nodect") {
    leave_out(out, "-l " + key);
  }
  return {};
}

// ---- The other options

/// HOST:PATH is PATH; a folder gets the name that output has in PBS.
std::string path_of(const std::string& value, const char* ending) {
  const size_t colon = value.find(':');
  std::string path = colon != std::string::npos && value.find('/') > colon ? value.substr(colon + 1) : value;
  if (path.ends_with('/')) path += "%x." + std::string(ending) + "%j";
  return path;
}

/// "3.SERVER" -> "3", "3[].SERVER" -> "3", "3[7].SERVER" -> "3_7"
std::string job_of(const std::string& id) {
  const std::string bare = id.substr(0, id.find_first_of(".@"));
  const size_t bracket = bare.find('[');
  if (bracket == std::string::npos || !bare.ends_with(']')) return bare;
  const std::string task = bare.substr(bracket + 1, bare.size() - bracket - 2);
  return bare.substr(0, bracket) + (task.empty() ? "" : "_" + task);
}

/// "AFTEROK:3[].SERVER:4" as gbatch has it: of ids the number alone, of the words about arrays those about all.
std::string dependency_of(const std::string& value) {
  Words terms;
  for (const std::string& term : base::split(value, ',')) {
    Words parts = base::split(term, ':');
    for (size_t i = 1; i < parts.size(); ++i) parts[i] = job_of(parts[i]);
    if (parts[0].starts_with("after") && parts[0].ends_with("array")) parts[0].resize(parts[0].size() - 5);
    terms.push_back(base::join(parts, ":"));
  }
  return base::join(terms, ",");
}

std::string mail_events(const std::string& letters) {
  Words events;
  for (const auto& [letter, event] : {std::pair{'b', "BEGIN"}, std::pair{'e', "END"}, std::pair{'a', "FAIL"}})
    if (letters.find(letter) != std::string::npos) events.emplace_back(event);
  return "--mail-type=" + (events.empty() ? "NONE" : base::join(events, ","));
}

/// Two digits of a number.
std::string two(int number) { return (number < 10 ? "0" : "") + std::to_string(number); }

/// [[[[CC]YY]MM]DD]hhmm[.SS]; what is left out is as it is next.
Status translate_begin(const std::string& value, Words& out) {
  const size_t dot = value.find('.');
  const std::string d = value.substr(0, dot);
  const std::string seconds = dot == std::string::npos ? "00" : value.substr(dot + 1);
  const bool is_number = (d + seconds).find_first_not_of("0123456789") == std::string::npos && seconds.size() == 2;
  if (!is_number || d.size() < 4 || d.size() > 12 || d.size() % 2 != 0)
    return invalid("-a: \"" + base::printable(value, 40) + "\" is not [[[[CC]YY]MM]DD]hhmm[.SS]");
  const std::string clock = d.substr(d.size() - 4, 2) + ":" + d.substr(d.size() - 2) + ":" + seconds;
  if (d.size() == 4) return out.push_back("--begin=" + clock), Status{};
  const std::string day = d.substr(d.size() - 6, 2);
  if (d.size() >= 10) {
    const std::string year = d.size() == 12 ? d.substr(0, 4) : "20" + d.substr(0, 2);
    return out.push_back("--begin=" + year + "-" + d.substr(d.size() - 8, 2) + "-" + day + "T" + clock), Status{};
  }
  if (d.size() == 8) return out.push_back("--begin=" + d.substr(0, 2) + "/" + day + "-" + clock), Status{};
  const time_t now = base::SystemClock().now().seconds();
  tm parts{};
  ::localtime_r(&now, &parts);
  const std::string present = two(parts.tm_mday) + two(parts.tm_hour) + two(parts.tm_min);
  int month = parts.tm_mon + 1, year = parts.tm_year + 1900;
  if (d <= present && ++month > 12) month = 1, ++year;
  return out.push_back("--begin=" + std::to_string(year) + "-" + two(month) + "-" + day + "T" + clock), Status{};
}

/// Settings go along; what is only named does anyway.
void translate_variables(const std::string& value, Words& out) {
  Words settings;
  for (const std::string& entry : base::split(value, ','))
    if (entry.find('=') != std::string::npos) settings.push_back(entry);
  if (!settings.empty()) out.push_back("--export=ALL," + base::join(settings, ","));
}

/// Commas separate attributes, and the terms of a dependency.
Words split_attributes(const std::string& value) {
  Words attributes;
  for (std::string& part : base::split(value, ',')) {
    if (part.find('=') == std::string::npos && !attributes.empty() && attributes.back().starts_with("depend="))
      attributes.back() += "," + part;
    else
      attributes.push_back(std::move(part));
  }
  return attributes;
}

void translate_attribute(const std::string& attribute, Words& out) {
  const auto [key, value] = key_and_value(attribute);
  if (key == "depend")
    out.push_back("--dependency=" + dependency_of(value));
  else if (key == "block" && base::iequals(value, "true"))
    out.emplace_back("--wait");
  else
    leave_out(out, "-W " + key);
}

/// Options that one of gbatch's says the same as.
constexpr std::pair<char, std::string_view> kSame[] = {{'N', "--job-name="}, {'A', "--account="}, {'M', "--mail-user="},
                                                       {'d', "--chdir="},    {'w', "--chdir="},   {'J', "--array="},
                                                       {'t', "--array="},    {'P', "--wckey="}};
/// Without a value.
constexpr std::string_view kFlags = "VhIXzxnfEKG";
/// What qsub takes, of each.
constexpr std::string_view kLettersOfPro = "aAcCefGhIjJklmMNopPqrRSuvVWXz";
constexpr std::string_view kLettersOfTorque = "abcACdDeEfFhIjkKlLmMnNopPqrStTuvVwWxXz";

bool takes_value(char letter, PbsKind kind) {
  if (kFlags.find(letter) == std::string_view::npos) return true;
  return kind == PbsKind::kTorque && letter == 'K';
}
/// What changes nothing: all of the environment goes along, the first line of the script names its shell, output and
/// errors share a file unless both are named, and what is kept, printed or checkpointed is not asked of gbatch.
constexpr std::string_view kNothing = "VjSkczEfKxCXG";

/// Errors: the other of the two has it.
Status check_letter(char letter, PbsKind kind) {
  const std::string_view mine = kind == PbsKind::kPro ? kLettersOfPro : kLettersOfTorque;
  if (kind == PbsKind::kAny || mine.find(letter) != std::string_view::npos) return {};
  std::string hint;
  if (letter == 't') hint = "that is Torque's; arrays of PBS Pro are -J";
  if (letter == 'J') hint = "that is PBS Pro's; arrays of Torque are -t";
  return invalid("invalid option -- '" + base::printable({&letter, 1}) + "'", std::move(hint));
}

/// What a job of qsub has otherwise than one of sbatch's. True: it is done.
Result<bool> translate_for_qsub(char letter, const std::string& value, Words& out) {
  switch (letter) {
    case 'V':
      out.emplace_back("--queue-environment");
      return true;
    case 'v':
      out.push_back("--queue-variables=" + value);
      return true;
    case 'j':
      if (value != "oe" && value != "eo" && value != "n")
        return invalid("-j: \"" + base::printable(value, 20) + "\" is none of oe, eo, n");
      out.push_back("--queue-join=" + value);
      return true;
    case 'o':
      out.push_back("--queue-output=" + value);
      return true;
    case 'e':
      out.push_back("--queue-error=" + value);
      return true;
    case 'S':
      out.push_back("--queue-shell=" + value.substr(0, value.find_first_of("@,")));
      return true;
    case 'z':
      out.emplace_back("--quiet");
      return true;
    case 'F':
      out.push_back("--queue-arguments=" + value);
      return true;
    case 'p': {
      GW_TRY(priority, base::parse_int(value, -1024, 1023, "-p"));
      out.push_back("--queue-priority=" + std::to_string(priority));
      return true;
    }
    default:
      return false;
  }
}

/// Bytes of "4gb", "100mb", "1500mw", "10"; 0: nobody knows.
uint64_t bytes_of(const std::string& value) {
  std::string size = base::to_lower(value);
  const uint64_t word = size.ends_with('w') ? 8 : 1;
  if (size.ends_with('b') || size.ends_with('w')) size.pop_back();
  uint64_t unit = 1;
  for (const auto& [letter, bytes] : {std::pair{'k', 10}, std::pair{'m', 20}, std::pair{'g', 30}, std::pair{'t', 40}})
    if (size.ends_with(letter)) unit = uint64_t{1} << bytes;
  if (unit > 1) size.pop_back();
  const auto number = base::parse_int(size, 0, 1'000'000'000, "mem");
  return number ? static_cast<uint64_t>(*number) * unit * word : 0;
}

/// All of -l together: sizes come first; memory is that of the whole job.
Status translate_resources_of_qsub(const Words& values, bool replaces_size, Words& out) {
  Words sizes, others;
  for (const std::string& value : values)
    for (const std::string& resource : base::split(value, ','))
      (resource.starts_with("nodes=") || resource.starts_with("select=") ? sizes : others).push_back(resource);
  if (!sizes.empty() && replaces_size) out.emplace_back("--queue-new-size");
  for (const std::string& size : sizes) GW_TRY_STATUS(translate_resource(size, true, out));
  for (const std::string& resource : others) {
    const auto [key, value] = key_and_value(resource);
    const uint64_t bytes = key == "mem" ? bytes_of(value) : 0;
    if (bytes > 0)
      out.push_back("--queue-mem=" + std::to_string(bytes));
    else
      GW_TRY_STATUS(translate_resource(resource, true, out));
  }
  return {};
}

Status translate_option(char letter, const std::string& value, Words& out) {
  if (kNothing.find(letter) != std::string_view::npos) return {};
  for (const auto& [same, option] : kSame)
    if (letter == same) {
      out.push_back(std::string(option) + value);
      return {};
    }
  switch (letter) {
    case 'I':
      return invalid("option -I asks for an interactive job, which a batch job is not", "galloc opens one");
    case 'h':
      out.emplace_back("--hold");
      return {};
    case 'n':
      out.emplace_back("--exclusive");
      return {};
    case 'q':
      if (!value.starts_with('@')) out.push_back("--partition=" + value.substr(0, value.find('@')));
      return {};
    case 'o':
      out.push_back("--output=" + path_of(value, "o"));
      return {};
    case 'e':
      out.push_back("--error=" + path_of(value, "e"));
      return {};
    case 'm':
      out.push_back(mail_events(value));
      return {};
    case 'r':
      out.emplace_back(value.starts_with('n') ? "--no-requeue" : "--requeue");
      return {};
    case 'a':
      return translate_begin(value, out);
    case 'v':
      translate_variables(value, out);
      return {};
    case 'l':
      for (const std::string& resource : base::split(value, ','))
        GW_TRY_STATUS(translate_resource(resource, false, out));
      return {};
    case 'W':
      for (const std::string& attribute : split_attributes(value)) translate_attribute(attribute, out);
      return {};
    default:
      if (std::isalpha(static_cast<unsigned char>(letter)) == 0)
        return invalid("invalid option -- '" + base::printable({&letter, 1}) + "'");
      leave_out(out, "-" + base::printable({&letter, 1}));
      return {};
  }
}

}  // namespace

base::Result<Words> translate_pbs(const Words& words, PbsRules rules) {
  Words out, resources;
  std::string word;
  for (size_t i = 0; i < words.size();) {
    if (word.empty()) word = words[i];
    if (word.size() < 2 || word[0] != '-') return invalid("unexpected word \"" + base::printable(word, 40) + "\"");
    const char letter = word[1];
    GW_TRY_STATUS(check_letter(letter, rules.kind));
    std::string value = word.substr(2);
    word.clear();
    if (!takes_value(letter, rules.kind) && !value.empty() && rules.is_qsub)
      word = "-" + std::exchange(value, {});  // letters in one word
    else
      ++i;
    if (takes_value(letter, rules.kind) && value.empty()) {
      if (i >= words.size()) return invalid("option " + base::printable(words[i - 1]) + " needs a value");
      value = words[i++];
    }
    bool is_done = rules.is_qsub && letter == 'l';
    if (is_done) resources.push_back(value);
    if (rules.is_qsub && !is_done) {
      GW_TRY(done, translate_for_qsub(letter, value, out));
      is_done = done;
    }
    if (!is_done) GW_TRY_STATUS(translate_option(letter, value, out));
  }
  if (!resources.empty()) GW_TRY_STATUS(translate_resources_of_qsub(resources, rules.replaces_size, out));
  return out;
}

size_t count_pbs_options(const Words& words, PbsKind kind) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word[0] != '-' || word == "--") return i;
    size_t at = 1;  // flags may share a word
    while (at < word.size() && !takes_value(word[at], kind)) ++at;
    if (at + 1 == word.size()) ++i;  // its value is a word of its own
  }
  return words.size();
}

}  // namespace gw::client
