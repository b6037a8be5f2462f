// Wildcards in addresses.
#include "base/reach.h"

#include <arpa/inet.h>

#include <algorithm>
#include <optional>

namespace gw::base {
namespace {

std::string_view without_brackets(std::string_view host) {
  const bool has = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  return has ? host.substr(1, host.size() - 2) : host;
}

std::optional<in_addr> as_v4(const std::string& host) {
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return v4;
  return std::nullopt;
}

/// IPv4 within IPv6 is IPv4.
std::optional<in6_addr> as_v6(const std::string& host) {
  in6_addr v6{};
  const std::string plain = host.substr(0, host.find('%'));
  if (::inet_pton(AF_INET6, plain.c_str(), &v6) == 1) return v6;
  return std::nullopt;
}

in_addr inner_v4(const in6_addr& v6) {
  in_addr v4{};
  std::copy(v6.s6_addr + 12, v6.s6_addr + 16, reinterpret_cast<unsigned char*>(&v4));
  return v4;
}

bool is_local(in_addr v4) {
  const uint32_t number = ntohl(v4.s_addr);
  return number == 0 || number >> 24 == 127 || number >> 16 == 0xA9FE;  // 127.0.0.0/8, 169.254.0.0/16
}

bool is_local(const in6_addr& v6) {
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return is_local(inner_v4(v6));
  return IN6_IS_ADDR_UNSPECIFIED(&v6) || IN6_IS_ADDR_LOOPBACK(&v6) || IN6_IS_ADDR_LINKLOCAL(&v6);
}

}  // namespace

bool is_wildcard_host(std::string_view host) {
  const std::string text(without_brackets(host));
  if (text == "*") return true;
  if (const auto v4 = as_v4(text)) return v4->s_addr == 0;
  const auto v6 = as_v6(text);
  if (!v6) return false;
  return IN6_IS_ADDR_V4MAPPED(&*v6) ? inner_v4(*v6).s_addr == 0 : IN6_IS_ADDR_UNSPECIFIED(&*v6);
}

bool is_local_host(std::string_view host) {
  const std::string text(without_brackets(host));
  if (text.empty() || text == "*" || text == "localhost") return true;
  if (const auto v4 = as_v4(text)) return is_local(*v4);
  const auto v6 = as_v6(text);
  return v6 && is_local(*v6);
}

std::string_view host_of_address(std::string_view address) {
  const size_t colon = address.rfind(':');
  return colon == std::string_view::npos ? std::string_view() : without_brackets(address.substr(0, colon));
}

std::string reachable_address(std::string_view listening, std::string_view host) {
  if (!is_wildcard_host(host_of_address(listening))) return std::string(listening);
  const std::string_view port = listening.substr(listening.rfind(':'));
  const bool is_v6 = host.find(':') != std::string_view::npos;
  return (is_v6 ? "[" + std::string(host) + "]" : std::string(host)).append(port);
}

}  // namespace gw::base
