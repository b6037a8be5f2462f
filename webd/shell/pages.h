// What a browser loads: the files of webd/pages, which are part of the program.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace gw::webd {

struct Page {
  std::string type;  ///< "text/html; charset=utf-8"
  std::string tag;   ///< Another one for other contents: an ETag.
  std::shared_ptr<const std::string> text;
};

/// "/" is "/index.html". Null: there is no such page.
const Page* page_at(std::string_view path);

}  // namespace gw::webd
