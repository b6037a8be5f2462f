// See pages.h.
#include "webd/shell/pages.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <utility>

namespace gw::webd {
namespace {

const std::pair<std::string_view, std::string_view> kFiles[] = {
#include "web/pages.inc"
};

std::string type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "text/javascript; charset=utf-8";
}

std::map<std::string, Page, std::less<>> all_pages() {
  std::map<std::string, Page, std::less<>> pages;
  for (const auto& [name, text] : kFiles)
    pages[std::string(name)] = {type_of(name), fmt::format("\"{:016x}\"", std::hash<std::string_view>()(text)),
                                std::make_shared<const std::string>(text)};
  return pages;
}

}  // namespace

const Page* page_at(std::string_view path) {
  static const auto pages = all_pages();
  const auto it = pages.find(path == "/" ? "/index.html" : path);
  return it == pages.end() ? nullptr : &it->second;
}

}  // namespace gw::webd
