// Trees of nodes.
#include "noded/pmix/fences.h"

#include <algorithm>

namespace gw::noded::pmix {

using base::ErrorCode;

void Fences::join(const std::string& group, std::vector<uint32_t> nodes, std::string data, DataFn done) {
  const Key key{group, rounds_[group]++};
  Fence& fence = fences_[key];
  fence.is_joined = true;
  fence.data = std::move(data);
  fence.done = std::move(done);
  place(fence, nodes);
  advance(key, fence);
}

void Fences::place(Fence& fence, const std::vector<uint32_t>& nodes) const {
  const size_t at = static_cast<size_t>(std::find(nodes.begin(), nodes.end(), options_.self) - nodes.begin());
  const size_t width = options_.width;
  if (at > 0) fence.parent = nodes[(at - 1) / width];
  for (size_t child = at * width + 1; child <= at * width + width && child < nodes.size(); ++child)
    fence.children.push_back(nodes[child]);
}

base::Status Fences::on_message(uint32_t from, wire::PmixFence message) {
  const Key key{message.group(), message.round()};
  const auto next = rounds_.find(key.first);
  const auto known = fences_.find(key);
  if (known == fences_.end() && next != rounds_.end() && key.second < next->second) return {};  // it has ended here
  bytes_ += message.data().size();
  if (bytes_ > options_.max_bytes)
    return base::fail(ErrorCode::kProtocol, "collective operations of more than " + std::to_string(options_.max_bytes) +
                                                " bytes are under way");
  Fence& fence = fences_[key];
  if (message.is_down() ? fence.down.has_value() : fence.up.contains(from))
    return base::fail(ErrorCode::kProtocol, "node " + std::to_string(from) + " takes part twice in one operation");
  if (message.is_down())
    fence.down = std::move(message);
  else
    fence.up.emplace(from, std::move(message));
  if (fence.is_joined) advance(key, fence);
  return {};
}

void Fences::on_lost(uint32_t node) {
  lost_.insert(node);
  std::vector<Key> keys;
  for (const auto& [key, fence] : fences_)
    if (fence.is_joined) keys.push_back(key);
  for (const Key& key : keys)
    if (const auto found = fences_.find(key); found != fences_.end()) advance(key, found->second);
}

std::set<uint32_t> Fences::awaited() const {
  std::set<uint32_t> nodes;
  for (const auto& [key, fence] : fences_) {
    if (!fence.is_joined) continue;
    if (fence.has_sent && fence.parent) nodes.insert(*fence.parent);
    for (const uint32_t child : fence.children)
      if (!fence.has_sent && !fence.up.contains(child)) nodes.insert(child);
  }
  return nodes;
}

// A node that is lost counts as one that came with an error, so that all others learn of it.
void Fences::advance(const Key& key, Fence& fence) {
  wire::PmixFence message;
  message.set_group(key.first);
  message.set_round(key.second);
  if (!fence.has_sent) {
    for (const uint32_t child : fence.children) {
      if (const auto came = fence.up.find(child); came != fence.up.end()) {
        if (came->second.status() != 0) message.set_status(came->second.status());
      } else if (lost_.contains(child)) {
        message.set_status(options_.lost_status);
      } else {
        return;
      }
    }
    std::string all = std::move(fence.data);
    for (const uint32_t child : fence.children)
      if (const auto came = fence.up.find(child); came != fence.up.end()) all += came->second.data();
    message.set_data(std::move(all));
    fence.has_sent = true;
    if (fence.parent)
      send_(*fence.parent, message);
    else
      fence.down = std::move(message);
  }
  if (!fence.down) {
    if (!lost_.contains(*fence.parent)) return;
    fence.down.emplace();
    fence.down->set_group(key.first);
    fence.down->set_round(key.second);
    fence.down->set_status(options_.lost_status);
  }
  fence.down->set_is_down(true);
  for (const uint32_t child : fence.children)
    if (!lost_.contains(child)) send_(child, *fence.down);
  finish(key, fence.down->status(), std::move(*fence.down->mutable_data()));
}

void Fences::finish(const Key& key, int status, std::string data) {
  const auto found = fences_.find(key);
  const DataFn done = std::move(found->second.done);
  for (const auto& [node, message] : found->second.up) bytes_ -= std::min(bytes_, message.data().size());
  if (found->second.parent) bytes_ -= std::min(bytes_, data.size());
  fences_.erase(found);
  done(status, std::move(data));
}

}  // namespace gw::noded::pmix
