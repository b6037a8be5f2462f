// See text.h.
#include "cmds/queue/text.h"

#include <pwd.h>
#include <time.h>
#include <unistd.h>

namespace gw::cmds::queue {

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string local_time(base::Time time, const char* form, std::string_view otherwise) {
  const time_t seconds = time.seconds();
  tm parts{};
  char text[64];
  if (time.us <= 0 || ::localtime_r(&seconds, &parts) == nullptr) return std::string(otherwise);
  return std::string(text, ::strftime(text, sizeof text, form, &parts));
}

std::string own_user() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry == nullptr ? std::to_string(::geteuid()) : entry->pw_name;
}

}  // namespace gw::cmds::queue
