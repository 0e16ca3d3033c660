// Checks the columns that a table job needs against the headers: at submit (mrctl), and at run time over all files.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/expressions/types.h"
#include "paceline/args.h"
#include "paceline/csv.h"

namespace mr::builtin {

struct TableHeader {
  std::string file;
  std::vector<std::string> fields;  // names, or 1, 2, 3, ...
  std::string only;                 // the only field, if there is one
  bool selected = false;            // the names are those of --select

  // Replaces the columns by those that --select makes of them.
  void Select(std::vector<std::string> names) {
    fields = std::move(names);
    only.clear();
    selected = true;
  }
};

// Reads a file's first record into *header. Returns the error, or "".
inline std::string ReadTableHeader(const std::string& file, std::string_view record, const CsvDialect& dialect,
                                   bool named, TableHeader* header) {
  header->file = file;
  if (const char* wrong = ParseCsvRecord(record, &header->fields, dialect))
    return "the header of " + file + ": " + wrong;
  header->only = header->fields.size() == 1 ? header->fields[0] : "";
  for (size_t f = 0; !named && f < header->fields.size(); ++f) header->fields[f] = std::to_string(f + 1);
  return "";
}

// One side of a job: the columns of its first file, and those that the job needs.
struct SideColumns {
  TableHeader header;
  std::vector<std::string> wanted;
};

namespace table_internal {

// Returns whether the name is a list of columns, which some jobs accept.
inline bool AreColumns(const std::string& name, const std::vector<std::string>& fields) {
  if (name.find(',') == name.npos) return false;
  for (size_t from = 0; from <= name.size();) {
    const size_t comma = std::min(name.find(',', from), name.size());
    if (std::find(fields.begin(), fields.end(), name.substr(from, comma - from)) == fields.end()) return false;
    from = comma + 1;
  }
  return true;
}

// Returns whether `field` has `word` in it, not as a part of a longer word.
inline bool HasWord(const std::string& field, const std::string& word) {
  const auto letter = [](char c) { return c == '_' || (c | 0x80) == c || std::isalnum(static_cast<unsigned char>(c)); };
  for (size_t at = field.find(word); at != field.npos; at = field.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !letter(field[at - 1])) && (end == field.size() || !letter(field[end]))) return true;
  }
  return false;
}

// Returns " (did you mean 'sum(amount)'?)" for amount: a column that was computed from the missing one is more likely
// than one that is spelled like it. Else the nearest name, or "".
inline std::string SuggestColumn(const std::string& missing, const std::vector<std::string>& fields) {
  for (const std::string& field : fields) {
    if (!missing.empty() && field.find('(') != field.npos && HasWord(field, missing))
      return " (did you mean '" + expr::ShownName(field) + "'?)";
  }
  std::vector<std::string> shown;
  for (const std::string& field : fields) shown.push_back(expr::ShownName(field));
  return Suggest(missing, shown);
}

// Returns the separator that a record of one field probably has, or 0.
inline char OtherSeparator(const std::string& only, char separator) {
  for (const char c : {'\t', ';', '|', ','}) {
    if (c != separator && only.find(c) != std::string::npos) return c;
  }
  return '\0';
}

// Returns whether one of the missing names is a number.
inline bool AnyNumber(const std::string& text) {
  for (size_t at = text.find("no column '"); at != text.npos; at = text.find("no column '", at + 1)) {
    const size_t from = at + 11, to = text.find_first_not_of("0123456789", from);
    if (to != text.npos && to != from && text[to] == '\'') return true;
  }
  return false;
}

// Returns a text with the existing columns and a suggestion.
inline std::string Known(const TableHeader& header, const std::string& missing, bool named, char separator) {
  constexpr size_t kMostNames = 30;  // in one message
  std::string text = header.selected ? "; --select has: "
                     : named         ? "; its header names: "
                                     : "; without a header they are: ";
  for (size_t i = 0; i < header.fields.size() && i < kMostNames; ++i)
    text += (i == 0 ? "" : ", ") + expr::ShownName(header.fields[i]);
  if (header.fields.size() > kMostNames) text += ", ... (" + std::to_string(header.fields.size()) + " in all)";
  if (header.selected) return text + " (add it to --select, or * for all)";
  if (const char other = OtherSeparator(header.only, separator); other != '\0') {
    text += "; that is one column: is it --separator '";
    if (other == '\t') return text + "\\t'? If quotes are data: --format tsv";
    return text + other + (separator == '\t' ? "' without --format tsv?" : "'?");
  }
  if (named && AnyNumber(missing)) text += "; columns have numbers with --no-header only";
  return text;
}

}  // namespace table_internal

// Follows the columns that expressions of a jsonl table may name.
inline constexpr const char* kRareKeyNote = "; a key that only other rows have is declared: --types 'KEY=text'";

// Returns a text with the columns that expressions may name. only: the only field of the header, if its table has
// separators, or "".
inline std::string KnownColumns(const std::vector<expr::Column>& columns, bool named, const std::string& only = "",
                                char separator = '\0') {
  TableHeader header;
  for (const expr::Column& column : columns) header.fields.push_back(column.name);
  header.only = only;
  return table_internal::Known(header, "", named, separator);
}

// Returns the columns with the types that were found in a sample.
inline std::vector<expr::Column> TypedColumns(const std::vector<std::string>& names,
                                              const std::vector<expr::TypeFinder>& types) {
  std::vector<expr::Column> columns;
  for (size_t i = 0; i < names.size(); ++i) {
    expr::Column column{names[i], expr::Type::kText, false, ""};
    if (i < types.size()) {
      column.type = types[i].type();
      column.example = types[i].example();
    }
    column.known = i < types.size() && types[i].any();
    columns.push_back(std::move(column));
  }
  return columns;
}

// Returns one text with all errors in the columns of all sides, or "". named: the headers have names.
inline std::string WrongColumns(const std::vector<SideColumns>& sides, bool named, char separator) {
  std::string wrong;
  for (const SideColumns& side : sides) {
    const TableHeader& header = side.header;
    std::string missing;
    for (const auto& name : side.wanted) {
      const auto n = std::count(header.fields.begin(), header.fields.end(), name);
      if (n > 1) {
        wrong += (wrong.empty() ? "" : "; ") + header.file + " has two columns '" + expr::ShownName(name) +
                 "'; give them different names, or use --no-header and numbers";
      } else if (n == 0 && missing.find("'" + expr::ShownName(name) + "'") == missing.npos) {
        missing +=
            (missing.empty() ? " has no column '" : ", no column '") + expr::ShownName(name) + "'" +
            (table_internal::AreColumns(name, header.fields) ? " (these are several; one is taken here)"
                                                             : table_internal::SuggestColumn(name, header.fields));
      }
    }
    if (missing.empty()) continue;
    const std::string text = header.file + missing + table_internal::Known(header, missing, named, separator);
    if (wrong.find(text) == wrong.npos) wrong += (wrong.empty() ? "" : "; ") + text;  // one file may be both sides
  }
  return wrong;
}

}  // namespace mr::builtin
