// A source of documents for tests: answers at once, or when the test says so.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "master/web/source.h"

namespace mr::web {

// Thread: any.
class FakeSource final : public Source {
 public:
  void Read(const Topic& topic, std::function<void(Reading)> done) override {
    std::function<Reading(const Topic&)> answer;
    {
      const std::lock_guard lock(mutex_);
      reads_.push_back(PathOf(topic));
      if (held_) {
        waiting_.push_back(std::move(done));
        return;
      }
      answer = answer_;
    }
    done(answer(topic));
  }

  // A cluster with this release: documents with different texts.
  static Reading Cluster(const std::string& release, bool final = false) {
    ClusterView view;
    view.release = release;
    return {std::make_shared<View>(std::move(view)), final, {}};
  }

  void AnswerWith(std::function<Reading(const Topic&)> answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }
  // From now on readings wait for Release.
  void Hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  // Answers the readings that wait, and later ones at once.
  void Release(const Reading& reading) {
    std::vector<std::function<void(Reading)>> waiting;
    {
      const std::lock_guard lock(mutex_);
      held_ = false;
      waiting.swap(waiting_);
    }
    for (const auto& done : waiting) done(reading);
  }
  // The paths that were read, in order.
  std::vector<std::string> reads() const {
    const std::lock_guard lock(mutex_);
    return reads_;
  }

 private:
  mutable std::mutex mutex_;
  bool held_ = false;
  std::vector<std::string> reads_;
  std::vector<std::function<void(Reading)>> waiting_;
  std::function<Reading(const Topic&)> answer_ = [](const Topic& topic) { return Cluster(PathOf(topic)); };
};

}  // namespace mr::web
