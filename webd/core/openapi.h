// The document of the API in the form of OpenAPI 3.1, made of the table of its paths.
#pragma once

#include <string>

namespace gw::webd {

std::string openapi_json();

}  // namespace gw::webd
