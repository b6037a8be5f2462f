// See quota_watch.h.
#include "ctld/shell/quota_watch.h"

#include <utility>

namespace gw::ctld {

void QuotaWatch::look_again() {
  if (std::exchange(is_due_, true)) return;
  timer_ = loop_.after(base::seconds(1), [this] {
    scheduler_.inspect([this, alive = alive_](sched::ClusterView& view, base::Time) -> std::function<void()> {
      return [this, alive, figures = quota_figures(view)]() mutable {
        if (!*alive) return;
        latest_ = std::move(figures);
        is_due_ = false;
      };
    });
  });
}

}  // namespace gw::ctld
