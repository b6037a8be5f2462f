// Protobuf messages in frames over a stream on the loop: how the daemon speaks with launcher and shepherds.
// Invariant: on_closed comes once, after which nothing comes; a peer that breaks the framing is closed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "io/stream.h"
#include "wire/frame.h"

namespace gw::noded {

class MessageStream : public std::enable_shared_from_this<MessageStream> {
 public:
  using PayloadFn = std::function<void(const std::string&)>;
  using ClosedFn = std::function<void()>;

  /// Connects to a unix socket, at once. Errors: nobody listens.
  static base::Result<std::shared_ptr<MessageStream>> connect(io::Loop& loop, const std::string& path,
                                                              PayloadFn on_payload, ClosedFn on_closed);
  ~MessageStream();

  template <typename Message>
  void send(const Message& message) {
    send_payload(message.SerializeAsString());
  }

 private:
  MessageStream(PayloadFn on_payload, ClosedFn on_closed)
      : payload_fn_(std::move(on_payload)), closed_fn_(std::move(on_closed)) {}
  void send_payload(const std::string& payload);
  void on_data(std::string_view bytes);

  std::shared_ptr<io::Stream> stream_;
  wire::FrameDecoder decoder_{wire::kMaxFrame};
  PayloadFn payload_fn_;
  ClosedFn closed_fn_;
};

}  // namespace gw::noded
