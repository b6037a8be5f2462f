// What a job says of its array, between the model and the wire.
#include <deque>
#include <utility>

#include "wire/convert.h"

namespace gw::wire {

ArrayPlace to_wire(const model::ArrayPlace& place) {
  ArrayPlace w;
  w.set_job(place.job.value);
  if (place.is_task()) w.set_task(place.task);
  w.set_count(place.count);
  w.set_least(place.least);
  w.set_most(place.most);
  w.set_step(place.step);
  return w;
}

model::ArrayPlace from_wire(const ArrayPlace& w) {
  return {
      base::JobId(w.job()), w.has_task() ? w.task() : model::kNoArrayTask, w.count(), w.least(), w.most(), w.step()};
}

base::Result<model::TaskSet> from_wire(const google::protobuf::RepeatedPtrField<TaskRange>& w) {
  std::deque<model::TaskRange> ranges;
  for (const TaskRange& range : w) ranges.push_back({range.first(), range.last(), range.step()});
  return model::TaskSet::of(std::move(ranges));
}

void to_wire(const model::TaskSet& tasks, google::protobuf::RepeatedPtrField<TaskRange>& w) {
  for (const model::TaskRange& range : tasks.ranges()) {
    TaskRange* to = w.Add();
    to->set_first(range.first);
    to->set_last(range.last);
    to->set_step(range.step);
  }
}

ArrayTasks to_wire(const model::ArrayTasks& tasks) {
  ArrayTasks w;
  to_wire(tasks.left, *w.mutable_left());
  w.set_throttle(tasks.throttle);
  w.set_completed(tasks.completed);
  w.set_failed(tasks.failed);
  w.set_part_of(tasks.part_of.value);
  return w;
}

base::Result<model::ArrayTasks> from_wire(const ArrayTasks& w) {
  GW_TRY(left, from_wire(w.left()));
  return model::ArrayTasks{std::move(left), w.throttle(), w.completed(), w.failed(), base::JobId(w.part_of())};
}

base::Result<ArrayTasks> array_row(const std::string& bytes, const std::string& ranges) {
  ArrayTasks row, kept;
  if (!row.ParseFromString(bytes) || !kept.ParseFromString(ranges)) return base::invalid("it is cut");
  if (ranges.empty()) return row;  // of a version that kept all in one
  GW_TRY(left, from_wire(kept.left()));
  left.drop_below(row.next());
  row.clear_left();
  to_wire(left, *row.mutable_left());
  row.clear_next();
  return row;
}

}  // namespace gw::wire
