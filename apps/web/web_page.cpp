#include "apps/web/web_page.h"

#include <fmt/format.h>

#include "apps/web/files.h"

namespace tapir::app {

std::string html_escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string script_json(const nlohmann::ordered_json& data) {
  const std::string text =
      data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    // Outside of strings JSON has none of these.
    if (c == '<' || c == '>' || c == '&') {
      escaped += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string render(const WebPage& page) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n",
      html_escape(page.title));
  const auto add = [&](std::string_view tag, const std::string& file) {
    html += fmt::format("<{0}>\n{1}</{0}>\n", tag, web_file(file));
  };
  add("style", "web/page/common.css");
  for (const std::string& file : page.styles) add("style", file);
  html += "</head>\n<body>\n";
  html += web_file(page.body);
  html += fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n",
                      script_json(page.data));
  add("script", "web/page/common.js");
  add("script", "web/page/chart.js");
  for (const std::string& file : page.scripts) add("script", file);
  return html + "</body>\n</html>\n";
}

}  // namespace tapir::app
