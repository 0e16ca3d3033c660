// Where documents come from: the master reads a view of itself for a topic. The host implements this.
#pragma once

#include <functional>
#include <memory>

#include "common/base/status.h"
#include "common/base/time.h"
#include "master/web/topic.h"
#include "master/web/views.h"

namespace mr::web {

struct Reading {
  Result<std::shared_ptr<View>> view;  // its reader gives it away
  bool final = false;                  // the view will not change any more
  Duration busy;                       // the time that the master's thread spent
};

class Source {
 public:
  virtual ~Source() = default;
  // Reads a view in short turns of the master's thread, and calls done once, on any thread. Called on any thread.
  // Errors of the view: kNotFound.
  virtual void Read(const Topic& topic, std::function<void(Reading)> done) = 0;
};

}  // namespace mr::web
