// Values of attributes as text. See the header.
#include "client/show/attribute_text.h"

#include "base/time.h"
#include "client/show/job_view.h"

namespace gw::client {

std::string attribute_text(const wire::JobAttribute& attribute, const wire::JobSpec& spec) {
  if (attribute.kept.get == nullptr) return {};
  const wire::AttributeValue value = attribute.kept.get(spec);
  switch (attribute.kept.form) {
    case wire::Form::kText:
      return std::get<std::string>(value);
    case wire::Form::kFlag:
      return std::get<bool>(value) ? "1" : "";
    case wire::Form::kLength:
    case wire::Form::kMoment:
    case wire::Form::kNumber:
      break;
  }
  const int64_t number = std::get<int64_t>(value);
  if (number == 0) return {};
  if (attribute.kept.form == wire::Form::kMoment) return show_time({number}, "");
  return attribute.kept.form == wire::Form::kLength ? base::format_duration({number}) : std::to_string(number);
}

}  // namespace gw::client
