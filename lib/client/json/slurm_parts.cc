// See slurm_parts.h.
#include "client/json/slurm_parts.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cstring>

#include "base/text.h"

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

std::string answer(Json body, const Asked& asked) {
  const passwd* user = ::getpwuid(::geteuid());
  const group* of = ::getgrgid(::getegid());
  body["meta"] = {
      {"plugin", {{"type", ""}, {"name", ""}, {"data_parser", "data_parser/v0.0.40"}, {"accounting_storage", ""}}},
      {"client",
       {{"source", ""}, {"user", user == nullptr ? "" : user->pw_name}, {"group", of == nullptr ? "" : of->gr_name}}},
      {"command", asked.command},
      {"slurm",
       {{"version", {{"major", "23"}, {"micro", "4"}, {"minor", "11"}}},
        {"release", "23.11.4"},
        {"cluster", asked.cluster}}}};
  body["errors"] = Json::array();
  body["warnings"] = Json::array();
  return body.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gw::client::slurm
