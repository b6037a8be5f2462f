// Whether a request may be answered at all: by what name the server was asked for, from which page, and by which
// method. Pure. A page elsewhere that a user's browser shows can send requests here; these checks keep it from reading,
// and from using a name of its own for this server (DNS rebinding).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gw::webd {

class AllowedHosts {
 public:
  /// `listen`: the address that is listened on, `hosts`: other names of this server (web.hosts).
  AllowedHosts(const std::string& listen, const std::vector<std::string>& hosts);
  /// Is this the Host of a request to us? The port counts for nothing.
  bool has(std::string_view host) const;
  /// "https://web.example.org:8443": does such a page come from here?
  bool has_origin(std::string_view origin) const;

 private:
  std::vector<std::string> names_;
};

}  // namespace gw::webd
