// Both directions of an authenticated, encrypted connection: each message is sealed so that changing, reordering,
// repeating or leaving one out is noticed by the receiver. Pure: no I/O.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gw::auth {

constexpr size_t kSessionKeyBytes = 32;
constexpr size_t kStreamHeaderBytes = 24;
/// Bytes by which a sealed message is longer than the plain one.
constexpr size_t kSealOverhead = 17;

/// A session key, wiped when it goes.
class SessionKey {
 public:
  SessionKey() = default;
  SessionKey(const SessionKey&) = default;
  SessionKey& operator=(const SessionKey&) = default;
  ~SessionKey();
  std::array<unsigned char, kSessionKeyBytes> bytes{};
};

/// A message as it came out of open().
struct Opened {
  std::string plain;
  bool final = false;  ///< The sender ends its direction with this message.
};

/// Seals what is sent and opens what is received. Movable, not copyable: a copied state would use a nonce twice.
class SecureStream {
 public:
  SecureStream(const SessionKey& send_key, const SessionKey& receive_key);
  SecureStream(SecureStream&& other) noexcept;
  SecureStream& operator=(SecureStream&& other) noexcept;
  ~SecureStream();

  /// What the other side needs for set_peer_header(); not secret.
  const std::array<unsigned char, kStreamHeaderBytes>& header() const { return header_; }
  /// Must be called once before open(). Errors: wrong length.
  base::Status set_peer_header(std::string_view header);
  /// Seals a message; `final` marks the last one of this direction.
  std::string seal(std::string_view plain, bool final = false);
  /// The same, appended to `out`: no copy of a long message.
  void seal_to(std::string& out, std::string_view plain, bool final = false);
  /// Opens the next message. Errors: kProtocol if it was changed, is out of order, repeated, cut, or follows a final
  /// one; then the stream is of no more use.
  base::Result<Opened> open(std::string_view sealed);
  /// The same into a text that has room from the message before; true for a final message.
  base::Result<bool> open_into(std::string& plain, std::string_view sealed);

 private:
  // Room for libsodium's state, whose header stays in this folder's .cc files.
  struct alignas(16) State {
    std::array<unsigned char, 64> bytes{};
  };
  SessionKey receive_key_;
  std::array<unsigned char, kStreamHeaderBytes> header_{};
  State send_;
  State receive_;
  bool is_receiving_ = false;
};

}  // namespace gw::auth
