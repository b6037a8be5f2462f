// From the address at which a program listens to the one by which others reach it.
// Invariant: what reachable_address() returns names no wildcard, if it is given a host that is none.
#pragma once

#include <string>
#include <string_view>

namespace gw::base {

/// Whether a host, brackets or not, stands for every address of a machine: "*", "0.0.0.0", "::" in any of its
/// spellings.
bool is_wildcard_host(std::string_view host);

/// Whether a host means something on its own machine or its own cable alone: a wildcard, loopback, link-local, empty.
bool is_local_host(std::string_view host);

/// What others are told: `listening` ("host:port", "[v6]:port") with a wildcard replaced by `host`, a name or an
/// address without brackets by which they reach the machine. Everything else is returned as it is.
std::string reachable_address(std::string_view listening, std::string_view host);

/// "h" of "h:1", "::1" of "[::1]:1"; empty where there is no port.
std::string_view host_of_address(std::string_view address);

}  // namespace gw::base
