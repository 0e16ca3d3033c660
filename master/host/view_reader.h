// Reads the views that the site asks for, on the master's thread, in short turns between its other work.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/exec/loop.h"
#include "master/host/view_steps.h"
#include "master/web/source.h"

namespace mr::master {

class ViewReader final : public web::Source {
 public:
  // loop: the master's. All must outlive the loop's last turn.
  ViewReader(Loop& loop, const ViewParts& parts) : loop_(loop), parts_(parts) {}

  // Thread: any. `done` is called on the master's; for logs, which are files, on a pool thread.
  void Read(const web::Topic& topic, std::function<void(web::Reading)> done) override;
  const ViewParts& parts() const { return parts_; }
  // Sets the address at which workers and clients reach the master, for the view of the cluster. Before the first Read.
  void SetAddress(std::string address) { address_ = std::move(address); }

 private:
  struct Work {
    std::unique_ptr<ViewSteps> steps;
    std::function<void(web::Reading)> done;
    Duration busy;
  };
  void GoOn(const std::shared_ptr<Work>& work);
  // Reads the kept end of a log, on a pool thread, which calls `done`. Errors of the view: kNotFound.
  void ReadLog(const web::Topic& topic, std::function<void(web::Reading)> done);

  Loop& loop_;
  const ViewParts parts_;
  std::string address_;
};

}  // namespace mr::master
