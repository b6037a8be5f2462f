// Answers made shorter for browsers that understand it.
#pragma once

#include <string>
#include <string_view>

namespace gw::http {

/// In the format of gzip. Empty: it cannot be made shorter, or there is no memory for it.
std::string gzip(std::string_view text);
/// Does a header Accept-Encoding take it?
bool takes_gzip(std::string_view accept_encoding);

}  // namespace gw::http
