// The page of a report: one file that a browser shows without a network.
#pragma once

#include <string>
#include <string_view>

namespace mr::report {

// Returns text that stands for itself between tags and in quoted attributes. Control characters and marks that change
// the direction of text become spaces.
std::string EscapeHtml(std::string_view text);

// Returns the page with this document in it. title: of the browser's window; any bytes. document: JSON.
std::string ReportPage(std::string_view title, std::string_view document);

// The page's files, compiled in (page/files.txt names the scripts in their order).
struct PageFiles {
  std::string_view html, style, script;
};
PageFiles ReportPageFiles();

}  // namespace mr::report
