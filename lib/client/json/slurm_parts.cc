// See slurm_parts.h.
#include "client/json/slurm_parts.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cstring>

#include "base/text.h"
#include "client/conn/program.h"

namespace gw::client::slurm {
namespace {

Json struct_of(bool is_set, bool is_infinite, int64_t value) {
  return {{"set", is_set}, {"infinite", is_infinite}, {"number", value}};
}

}  // namespace

Json number(int64_t value) { return struct_of(true, false, value); }
Json unset() { return struct_of(false, false, 0); }
Json infinite() { return struct_of(false, true, 0); }
Json number_or_unset(int64_t value) { return value == 0 ? unset() : number(value); }
Json moment(base::Time time) { return number(time ? time.seconds() : 0); }

Json minutes(base::Duration length) {
  return length == base::kUnlimited ? infinite() : number((length.us + 59'999'999) / 60'000'000);
}

Json process_end(int code, int signo) {
  const char* status = signo != 0 ? "SIGNALED" : code != 0 ? "ERROR" : "SUCCESS";
  const char* name = signo == 0 ? nullptr : ::sigabbrev_np(signo);
  return {{"status", Json::array({status})},
          {"return_code", number(code)},
          {"signal", {{"id", signo == 0 ? unset() : number(signo)}, {"name", name == nullptr ? "" : name}}}};
}

Json words(const std::string& text) {
  Json list = Json::array();
  for (const std::string& part : base::split(text, ','))
    if (!part.empty()) list.push_back(part);
  return list;
}

namespace {

constexpr int kIndent = 2;

void add_meta(Json& body, const Asked& asked) {
  const passwd* user = ::getpwuid(::geteuid());
  const group* of = ::getgrgid(::getegid());
  body["meta"] = {
      {"plugin", {{"type", ""}, {"name", ""}, {"data_parser", "data_parser/v0.0.40"}, {"accounting_storage", ""}}},
      {"client",
       {{"source", ""}, {"user", user == nullptr ? "" : user->pw_name}, {"group", of == nullptr ? "" : of->gr_name}}},
      {"command", asked.command},
      {"slurm",
       {{"version", {{"major", "23"}, {"micro", "4"}, {"minor", "11"}}},
        {"release", kSlurmVersion},
        {"cluster", asked.cluster}}}};
  body["errors"] = Json::array();
  body["warnings"] = Json::array();
}

std::string text_of(const Json& json) { return json.dump(kIndent, ' ', false, Json::error_handler_t::replace); }

/// So many levels further in. Line ends are of the layout alone: those of texts are escaped.
std::string indented(const std::string& text, size_t levels) {
  const std::string begin(levels * kIndent, ' ');
  std::string out = begin;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += begin;
  }
  return out;
}

}  // namespace

std::string answer(Json body, const Asked& asked) {
  add_meta(body, asked);
  return text_of(body) + "\n";
}

bool answer(const std::string& name, const std::function<Json()>& next, Json body, const Asked& asked,
            const Sink& out) {
  constexpr size_t kPiece = 1 << 16;
  add_meta(body, asked);
  std::string text = "{\n  \"" + name + "\": [";
  bool is_first = true;
  for (Json record = next(); !record.is_null(); record = next()) {
    text += (is_first ? "\n" : ",\n") + indented(text_of(record), 2);
    is_first = false;
    if (text.size() < kPiece) continue;
    if (!out(text)) return false;
    text.clear();
  }
  text += is_first ? "],\n" : "\n  ],\n";
  text += text_of(body).substr(2) + "\n";  // without its bracket and line end
  return out(text);
}

}  // namespace gw::client::slurm
