// See service_sample.h.
#include "sched/queue/service_sample.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace gw::sched {
namespace {

constexpr size_t kLeastNews = 10;
constexpr base::Duration kBetween = base::minutes(10);

}  // namespace

void ServiceSample::add(base::Duration service) {
  if (service.us <= 0) return;
  ++fresh_;
  const double seconds = base::in_seconds(service);
  if (ring_.size() < kMost) return ring_.push_back(seconds);
  ring_[next_] = seconds;
  next_ = (next_ + 1) % kMost;
}

bool ServiceSample::take_news(base::Time now) {
  if (fresh_ < std::max(kLeastNews, ring_.size() / 10) || (told_ && now - told_ < kBetween)) return false;
  fresh_ = 0;
  told_ = now;
  return true;
}

Services ServiceSample::all() const {
  Services out = ring_;
  std::sort(out.begin(), out.end());
  return out;
}

std::string ServiceSample::text() const {
  std::string out;
  for (size_t i = 0; i < ring_.size(); ++i)
    out += fmt::format("{}{:.0f}", i == 0 ? "" : " ", ring_[(next_ + i) % ring_.size()]);
  return out;
}

base::Status ServiceSample::restore(std::string_view text) {
  ServiceSample read;
  for (const std::string_view word : base::split(text, ' ')) {
    constexpr int64_t kMostSeconds = int64_t{1} << 40;
    GW_TRY(seconds, base::parse_int(word, 0, kMostSeconds, "service"));
    read.add(base::seconds(std::max<int64_t>(seconds, 1)));
  }
  read.fresh_ = 0;
  *this = std::move(read);
  return {};
}

}  // namespace gw::sched
