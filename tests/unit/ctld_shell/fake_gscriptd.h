// A gscriptd that takes what comes, and answers when the test says so.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/listener.h"
#include "wire/frame.h"
#include "wire/script.pb.h"

namespace gw::ctld {

class FakeGscriptd {
 public:
  FakeGscriptd(io::Loop& loop, const std::string& path) {
    io::ListenOptions options;
    options.address = "unix:" + path;
    listener_ = *io::Listener::open(loop, options, [this](std::shared_ptr<io::Stream> stream) {
      stream_ = std::move(stream);
      stream_->on_closed([](const std::string&) {});
      stream_->on_data([this](std::string_view bytes) {
        decoder_.feed(bytes);
        for (auto payload = decoder_.next(); payload && *payload; payload = decoder_.next())
          got.emplace_back().ParseFromString(**payload);
      });
    });
  }
  void answer(const wire::ToScripts& message, wire::FromScripts result = {}) {
    result.set_id(message.id());
    std::string frame;
    wire::append_frame(frame, result.SerializeAsString());
    stream_->send(frame);
  }
  void leave() { stream_->close("gone"); }

  std::vector<wire::ToScripts> got;

 private:
  std::unique_ptr<io::Listener> listener_;
  std::shared_ptr<io::Stream> stream_;
  wire::FrameDecoder decoder_{wire::kMaxFrame};
};

}  // namespace gw::ctld
