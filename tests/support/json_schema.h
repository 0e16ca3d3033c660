// Checks JSON against a schema of a small subset of JSON Schema, draft 2020-12: type, properties, required, items,
// additionalProperties (false), enum, const, and $ref to "#/$defs/x" or "file.json#/$defs/x" beside the schema. A
// schema with any other word is refused, so that none is thought to hold that does not. For one thread.
#pragma once

#include <string>

namespace mr::test {

// The first thing that does not hold, with its place in the document ("$.jobs[0].id: ..."), or "" where all does.
// schema: path of a file. What cannot be read or parsed is told, too.
std::string SchemaViolation(const std::string& document, const std::string& schema);

}  // namespace mr::test
