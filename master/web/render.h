// Documents of the API, made from views. The schemas are in jobs/mrctl/schema; a document may only grow. Thread: any.
#pragma once

#include <string>

#include "common/base/status.h"
#include "master/web/topic.h"
#include "master/web/views.h"

namespace mr::web {

// Returns the document of a topic as one line of JSON. view: what Source::Read gave for this topic. Cost: for a report,
// some microseconds per attempt.
std::string Render(const Topic& topic, View view);

// Returns the document of an error.
std::string RenderError(const Status& status, const std::string& hint);

// Returns the list of documents.
std::string RenderIndex();

}  // namespace mr::web
