// Checks JSON against a schema of a small subset of JSON Schema, draft 2020-12: type, properties, required, items,
// additionalProperties (false), enum, const, and $ref to "#/$defs/x" or "file.json#/$defs/x" beside the schema. A
// schema with any other word is refused, so that no constraint is ignored. Thread: one.
#pragma once

#include <string>

namespace mr::test {

// Returns the first violation, with its place in the document ("$.jobs[0].id: ..."), or "" if there is none. A document
// or schema that cannot be read or parsed is a violation, too. schema: path of a file.
std::string SchemaViolation(const std::string& document, const std::string& schema);

}  // namespace mr::test
