// The page of a report: one file that a browser shows without a network.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mr::report {

// Returns text that stands for itself between tags and in quoted attributes. Control characters and marks that change
// the direction of text become spaces.
std::string EscapeHtml(std::string_view text);

// Returns JSON that may stand in a script element: without "</script" and "<!--".
std::string EscapeScriptJson(std::string_view json);

// Returns a template with each of the names replaced by its value. Values are not searched for names.
std::string FillTemplate(std::string_view text, const std::vector<std::pair<std::string_view, std::string>>& values);

// Returns the page with this document in it. title: of the browser's window; any bytes. document: JSON.
std::string ReportPage(std::string_view title, std::string_view document);

// The page's files, compiled in (page/files.txt names the scripts in their order).
struct PageFiles {
  std::string_view html, style, script;
};
PageFiles ReportPageFiles();

}  // namespace mr::report
