// For a program that is linked statically: it cannot load the name service's modules (LDAP, SSSD, mDNS and so on).
#pragma once

namespace gw::client {

/// Keeps all look-ups of users and hosts of this process to /etc/passwd, /etc/group and /etc/hosts. True if the
/// configuration is plainly readable (config::load_plain_client_part) and the controller's user and address are numbers
/// or found there; else only a program with the whole name service can tell.
bool is_controller_known_by_files();

}  // namespace gw::client
