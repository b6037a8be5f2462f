// See sge.h. The forms are those of qsub(1), sge_types(1) and complex(5) of Grid Engine 8.1.
#include "client/options/sge.h"

#include <algorithm>

#include "base/text.h"
#include "client/options/pbs.h"

namespace gw::client {
namespace {

using base::invalid;
using base::Result;
using base::Status;
using Words = std::vector<std::string>;
using Text = std::string_view;

/// What an option's value becomes; several words are all of its values.
using Translate = Status (*)(const Words& values, Words& out);

struct Row {
  Text name;
  int values;           ///< How many follow it.
  Text same_as;         ///< The option of gbatch that takes the value, "" for none.
  Translate translate;  ///< Null: `same_as`, or nothing is done.
};

void drop(Words& out, const std::string& what) { out.push_back("--" + std::string(kPbsLeftOut) + "=" + what); }

Result<bool> yes_or_no(Text option, const std::string& value) {
  for (const Text yes : {"y", "yes", "true", "1"})
    if (base::iequals(value, yes)) return true;
  for (const Text no : {"n", "no", "false", "0"})
    if (base::iequals(value, no)) return false;
  return invalid(std::string(option) + ": \"" + base::printable(value, 20) + "\" is neither y nor n");
}

/// [[CC]YY]MMDDhhmm[.SS]; without a year this year's.
Status translate_start(const Words& values, Words& out) {
  const std::string digits = values[0].substr(0, values[0].find('.'));
  const bool is_number = digits.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || (digits.size() != 8 && digits.size() != 10 && digits.size() != 12))
    return invalid("-a: \"" + base::printable(values[0], 40) + "\" is not [[CC]YY]MMDDhhmm");
  const std::string day = digits.substr(digits.size() - 8);
  const std::string clock = day.substr(4, 2) + ":" + day.substr(6, 2);
  if (digits.size() == 8) {
    out.push_back("--begin=" + day.substr(0, 2) + "/" + day.substr(2, 2) + "-" + clock);
  } else {
    const std::string year = digits.size() == 10 ? "20" + digits.substr(0, 2) : digits.substr(0, 4);
    out.push_back("--begin=" + year + "-" + day.substr(0, 2) + "-" + day.substr(2, 2) + "T" + clock + ":00");
  }
  return {};
}

Status translate_hold_list(const Words& values, Words& out) {
  out.push_back("--queue-hold-jid=" + values[0]);
  return {};
}

Status translate_mail(const Words& values, Words& out) {
  Words events;
  for (const auto& [letter, event] : {std::pair{'b', "BEGIN"}, std::pair{'e', "END"}, std::pair{'a', "FAIL"}})
    if (values[0].find(letter) != std::string::npos) events.emplace_back(event);
  out.push_back("--mail-type=" + (events.empty() ? std::string("NONE") : base::join(events, ",")));
  return {};
}

/// NAME N, or NAME N-M, of which the least is asked for.
Status translate_environment(const Words& values, Words& out) {
  const size_t dash = values[1].find('-');
  const std::string least = dash == 0 ? "1" : values[1].substr(0, dash);
  GW_TRY(slots, base::parse_int(least, 1, 1'000'000, "-pe"));
  if (dash != std::string::npos) drop(out, "-pe: more than " + std::to_string(slots) + " slots");
  out.push_back("--queue-pe=" + values[0]);
  out.push_back("--queue-slots=" + std::to_string(slots));
  return {};
}

/// Seconds alone, or a clock.
std::string clock_of(std::string value) {
  if (base::iequals(value, "INFINITY")) return "UNLIMITED";
  for (size_t at = 0; at < value.size(); ++at)
    if (value[at] == ':' && (at == 0 || value[at - 1] == ':')) value.insert(at++, "0");
  const bool is_seconds = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  return value + (is_seconds ? "s" : "");
}

/// "4G", "500M", "1024" (bytes)
Result<std::string> bytes_of(Text option, const std::string& value) {
  const bool is_plain = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  if (!is_plain) return value;
  GW_TRY(bytes, base::parse_int(value, 0, INT64_MAX, option));
  return std::to_string((bytes + 1023) / 1024) + "k";
}

Status translate_complex(const std::string& resource, Words& out) {
  const size_t equals = resource.find('=');
  const std::string key = resource.substr(0, equals);
  const std::string value = equals == std::string::npos ? std::string() : resource.substr(equals + 1);
  if (key == "h_rt") {
    out.push_back("--time=" + clock_of(value));
  } else if (key == "h_vmem" || key == "mem_free" || key == "mf" || key == "vf" || key == "virtual_free" ||
             key == "m_mem_free" || key == "s_vmem") {
    GW_TRY(size, bytes_of("-l " + key, value));
    out.push_back("--mem-per-cpu=" + size);
  } else if (key == "gpu" || key == "gpus" || key == "ngpus" || key == "cuda") {
    out.push_back("--gpus=" + (value.empty() ? "1" : value));
  } else if (key == "h" || key == "hostname") {
    if (value.find_first_of("*?|&!") != std::string::npos)
      drop(out, "-l " + key + ": patterns");
    else
      out.push_back("--nodelist=" + value);
  } else if (key == "q" || key == "qname") {
    out.push_back("--partition=" + value.substr(0, value.find('@')));
  } else if (key == "exclusive" || key == "excl") {
    if (value.empty() || base::iequals(value, "true") || value == "1") out.emplace_back("--exclusive");
  } else {
    drop(out, "-l " + key);
  }
  return {};
}

Status translate_complexes(const Words& values, Words& out) {
  for (const std::string& resource : base::split(values[0], ','))
    GW_TRY_STATUS(translate_complex(std::string(base::trim(resource)), out));
  return {};
}

/// Cluster queues; of QUEUE@HOST also the host.
Status translate_queues(const Words& values, Words& out) {
  Words queues, hosts;
  for (const std::string& entry : base::split(values[0], ',')) {
    const size_t at = entry.find('@');
    const std::string queue = entry.substr(0, at);
    if (!queue.empty() && queue != "*" && std::find(queues.begin(), queues.end(), queue) == queues.end())
      queues.push_back(queue);
    if (at != std::string::npos && at + 1 < entry.size() && entry[at + 1] != '@' &&
        entry.find('*') == std::string::npos)
      hosts.push_back(entry.substr(at + 1));
  }
  if (!queues.empty()) out.push_back("--partition=" + base::join(queues, ","));
  if (hosts.size() == 1) out.push_back("--nodelist=" + hosts.front());
  if (hosts.size() > 1) drop(out, "-q: several hosts");
  return {};
}

Status translate_requeue(const Words& values, Words& out) {
  GW_TRY(yes, yes_or_no("-r", values[0]));
  out.emplace_back(yes ? "--requeue" : "--no-requeue");
  return {};
}

Status translate_join(const Words& values, Words& out) {
  GW_TRY(yes, yes_or_no("-j", values[0]));
  out.emplace_back(yes ? "--queue-join=oe" : "--queue-join=n");
  return {};
}

Status translate_binary(const Words& values, Words& out) {
  GW_TRY(yes, yes_or_no("-b", values[0]));
  out.emplace_back(yes ? "--queue-command=yes" : "--queue-command=no");
  return {};
}

Status translate_sync(const Words& values, Words& out) {
  GW_TRY(yes, yes_or_no("-sync", values[0]));
  if (yes) out.emplace_back("--wait");
  return {};
}

Status translate_now(const Words& values, Words& out) {
  GW_TRY(yes, yes_or_no("-now", values[0]));
  if (yes) drop(out, "-now");
  return {};
}

Status translate_check(const Words& values, Words& out) {
  if (values[0] == "v" || values[0] == "p") out.emplace_back("--test-only");
  return {};
}

Status translate_hold(const Words&, Words& out) {
  out.emplace_back("--hold");
  return {};
}

/// A minute before the end, as Grid Engine's queues say where nothing else is set.
Status translate_notify(const Words&, Words& out) {
  out.emplace_back("--signal=B:USR2@60");
  return {};
}

Status translate_priority(const Words& values, Words& out) {
  GW_TRY(priority, base::parse_int(values[0], -1023, 1024, "-p"));
  out.push_back("--queue-priority=" + std::to_string(priority));
  return {};
}

Status translate_tasks(const Words& values, Words& out) {
  if (values[0].find_first_not_of("0123456789-:") != std::string::npos)
    return invalid("-t: \"" + base::printable(values[0], 40) + "\" is not FIRST[-LAST[:STEP]]");
  // Grid Engine's -t N are the tasks 1 to N.
  const bool is_count = values[0].find('-') == std::string::npos;
  out.push_back("--array=" + (is_count && values[0] != "1" ? "1-" + values[0] : values[0]));
  return {};
}

constexpr Row kRows[] = {
    {"a", 1, "", translate_start},
    {"A", 1, "--wckey", nullptr},
    {"ac", 1, "", nullptr},
    {"ar", 1, "--reservation", nullptr},
    {"b", 1, "", translate_binary},
    {"binding", 1, "", nullptr},
    {"c", 1, "", nullptr},
    {"ckpt", 1, "", nullptr},
    {"clear", 0, "", nullptr},
    {"cwd", 0, "--chdir=.", nullptr},
    {"C", 1, "", nullptr},
    {"dc", 1, "", nullptr},
    {"dl", 1, "", nullptr},
    {"e", 1, "--queue-error", nullptr},
    {"h", 0, "", translate_hold},
    {"hard", 0, "", nullptr},
    {"hold_jid", 1, "", translate_hold_list},
    {"hold_jid_ad", 1, "--queue-hold-jid-ad", nullptr},
    {"i", 1, "--input", nullptr},
    {"j", 1, "", translate_join},
    {"js", 1, "", nullptr},
    {"jsv", 1, "", nullptr},
    {"l", 1, "", translate_complexes},
    {"m", 1, "", translate_mail},
    {"M", 1, "--mail-user", nullptr},
    {"masterq", 1, "", nullptr},
    {"N", 1, "--job-name", nullptr},
    {"notify", 0, "", translate_notify},
    {"now", 1, "", translate_now},
    {"o", 1, "--queue-output", nullptr},
    {"ot", 1, "", nullptr},
    {"p", 1, "", translate_priority},
    {"P", 1, "--account", nullptr},
    {"pe", 2, "", translate_environment},
    {"q", 1, "", translate_queues},
    {"r", 1, "", translate_requeue},
    {"R", 1, "", nullptr},
    {"sc", 1, "", nullptr},
    {"shell", 1, "", nullptr},
    {"S", 1, "--queue-shell", nullptr},
    {"soft", 0, "", nullptr},
    {"sync", 1, "", translate_sync},
    {"t", 1, "", translate_tasks},
    {"tc", 1, "--queue-at-once", nullptr},
    {"terse", 0, "--queue-terse", nullptr},
    {"v", 1, "--queue-variables", nullptr},
    {"V", 0, "--queue-environment", nullptr},
    {"verify", 0, "--test-only", nullptr},
    {"w", 1, "", translate_check},
    {"wd", 1, "--chdir", nullptr},
};

Result<const Row*> find(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return invalid("unexpected word \"" + base::printable(word, 40) + "\"");
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Row& r) { return r.name == std::string_view(word).substr(1); });
  if (row != std::end(kRows)) return row;
  const std::string hint = word == "-J" || word == "-W" ? "that is an option of PBS" : "";
  return invalid("Unknown option " + base::printable(word, 40), hint);
}

}  // namespace

Result<Words> translate_sge(const Words& words) {
  Words out;
  bool is_soft = false;  // wishes, of which nothing comes
  for (size_t i = 0; i < words.size();) {
    GW_TRY(row, find(words[i]));
    ++i;
    Words values;
    for (int k = 0; k < row->values; ++k) {
      if (i >= words.size()) return invalid("option -" + std::string(row->name) + " needs a value");
      values.push_back(words[i++]);
    }
    if (row->name == "soft" || row->name == "hard") is_soft = row->name == "soft";
    if (is_soft && (row->name == "l" || row->name == "q")) continue;
    if (row->translate != nullptr) {
      GW_TRY_STATUS(row->translate(values, out));
    } else if (!row->same_as.empty()) {
      out.push_back(std::string(row->same_as) + (values.empty() ? "" : "=" + values[0]));
    } else if (row->name == "ckpt" || row->name == "dl" || row->name == "masterq" || row->name == "jsv") {
      drop(out, "-" + std::string(row->name));
    }
  }
  return out;
}

std::string sge_option_names() {
  Words names;
  for (const Row& row : kRows) names.push_back("-" + std::string(row.name));
  return base::join(names, " ");
}

Result<size_t> count_sge_options(const Words& words) {
  size_t i = 0;
  while (i < words.size() && words[i].size() > 1 && words[i][0] == '-') {
    if (words[i] == "--") return i;
    GW_TRY(row, find(words[i]));
    i += 1 + static_cast<size_t>(row->values);
  }
  return std::min(i, words.size());
}

}  // namespace gw::client
