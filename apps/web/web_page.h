// Web pages that are one file: styles, scripts and data inside, nothing loaded from elsewhere.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tapir::app {

struct WebPage {
  std::string title;
  std::string body;                  // the file with its fixed part
  std::vector<std::string> styles;   // files, after the common ones
  std::vector<std::string> scripts;  // files, after the common ones
  nlohmann::ordered_json data;       // what the scripts read; numbers that are not finite are null
};

std::string render(const WebPage& page);

// Text as it may stand in HTML, between tags and in attributes.
std::string html_escape(std::string_view text);

// JSON as it may stand in a <script>: no text in it can end the script or start a tag. Bytes that
// are not UTF-8 become U+FFFD.
std::string script_json(const nlohmann::ordered_json& data);

}  // namespace tapir::app
