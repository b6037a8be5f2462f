// How two programs of Gangway become sure of each other. Sans-I/O: both sides take and give byte strings (the payloads
// of frames); the caller moves them and does the blocking calls to the Authenticator.
//
//   client -> server  hello:   magic, versions, role, credential{hash of what is before it, X25519 key, nonce,
//   receiver} server -> client  accept:  version, X25519 key, proof made with the nonce, stream header       or
//   refusal{reason} client -> server  finish:  stream header, first sealed message (empty): proves that the client
//   holds its key
//
// Only the receiver's uid can decode the credential, so only it knows the nonce and can make the proof. Session keys
// are bound to the transcript and the nonce: whoever changes a byte of hello or accept gets keys that fit nowhere.
// Invariant: a Session exists only after the other side has proved itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "auth/authenticator.h"
#include "auth/crypto.h"
#include "auth/nonce_memory.h"
#include "auth/secure_stream.h"
#include "base/result.h"

namespace gw::auth {

/// What a peer is to the receiver. Which uid, name and address may be a node is for the receiver to decide.
enum class Role : uint8_t { kClient = 1, kNode = 2 };
std::string_view role_name(Role role);

/// Protocol versions that a program speaks, both ends included.
struct VersionRange {
  uint16_t min = 1;
  uint16_t max = 1;
  bool operator==(const VersionRange&) const = default;
  /// "3" or "3 to 5".
  std::string text() const;
};

/// A connection whose other side is known.
struct Session {
  SecureStream stream;
  uint16_t version = 0;
};

/// The client's side, for one connection.
class ClientHandshake {
 public:
  /// `receiver`: cluster name + "/" + daemon name, at most 255 bytes.
  ClientHandshake(std::string receiver, Role role, VersionRange versions);
  /// What to encode into a credential restricted to the uid that runs the receiver.
  std::string credential_payload() const;
  /// The first message, around that credential.
  std::string hello(std::string_view credential);

  struct Done {
    std::string finish;  ///< The client's last handshake message.
    Session session;
  };
  /// Takes the server's answer. Errors: its refusal, with its reason; an answer that was not made by the receiver's
  /// uid.
  base::Result<Done> on_answer(std::string_view answer);

 private:
  std::string receiver_;
  Role role_;
  VersionRange versions_;
  KeyPair keys_;
  Bytes32 nonce_;
  std::string hello_;
};

/// What the server says to a first message that is right; nothing holds yet.
struct Acceptance {
  std::string message;
  SecureStream stream;
  uint32_t uid = UINT32_MAX, gid = UINT32_MAX;
  Bytes32 nonce = {};
  base::Time decoded = {}, expiry = {};  ///< When the credential was read, and until when it might come again.
};

/// A first message that awaits its credential. It shares nothing with its handshake, so that a thread can do the work.
class PendingHello {
 public:
  std::string_view credential() const { return std::string_view(hello_).substr(prefix_size_); }
  /// Takes the decoded credential, makes the server's key pair and agrees on the keys: nearly all of a handshake's
  /// work. Thread-safe. Errors: what decode() said; wrong receiver; hello changed on its way; unusable key.
  base::Result<Acceptance> answer(const base::Result<Credential>& credential) const;

 private:
  friend class ServerHandshake;
  std::string receiver_;
  std::string hello_;
  size_t prefix_size_ = 0;  // of hello_, up to the credential
  uint16_t version_ = 0;

  base::Result<Acceptance> accept(std::string_view client_key, std::string_view nonce) const;
};

/// The server's side, for one connection: on_hello, decode the credential, PendingHello::answer, on_answer, on_finish.
/// Every Error is to be sent to the client as refusal(error), and ends the handshake.
class ServerHandshake {
 public:
  /// `nonces` outlives the handshake; one memory serves all connections of a daemon.
  ServerHandshake(std::string receiver, VersionRange versions, NonceMemory& nonces);
  /// Takes the first message. Errors: not Gangway, no common version, malformed.
  base::Result<PendingHello> on_hello(std::string_view hello);
  /// Takes what became of the hello and gives the accept message. Errors: those of PendingHello::answer; nonce seen
  /// before.
  base::Result<std::string> on_answer(base::Result<Acceptance> answer);
  /// Takes the client's last message. Errors: the client does not hold the key of its hello.
  base::Result<Session> on_finish(std::string_view finish);

  /// Identity of the client; valid after on_finish has succeeded.
  uint32_t uid() const { return uid_; }
  uint32_t gid() const { return gid_; }
  Role role() const { return role_; }

 private:
  std::string receiver_;
  VersionRange versions_;
  NonceMemory& nonces_;
  uint16_t version_ = 0;
  Role role_ = Role::kClient;
  uint32_t uid_ = UINT32_MAX;
  uint32_t gid_ = UINT32_MAX;
  std::optional<SecureStream> stream_;
};

/// The message by which a server tells in clear text why it does not continue.
std::string refusal(const base::Error& error);

}  // namespace gw::auth
