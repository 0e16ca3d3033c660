// The master's site: pages for people, documents for programs, and events when a document changes. Read-only.
#pragma once

#include <kj/async-io.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/exec/pool.h"
#include "common/rpc/http_server.h"
#include "common/rpc/kj_thread.h"
#include "master/web/documents.h"
#include "master/web/gate.h"
#include "master/web/page.h"

namespace mr::web {

// Thread: the KJ loop's.
class Site {
 public:
  struct Options {
    std::string release;
    size_t streams = 100;             // of events at the same time; more are refused
    Duration heartbeat = Seconds(5);  // between two events at most, so that dead connections are found
    Documents::Limits limits;
  };
  // Everything must outlive this object; the pool is stopped before it.
  Site(Options options, rpc::KjThread& kj, Pool& pool, Source& source);

  // Answers a request for a page, a document, the list of documents, events, or a path that is not there.
  kj::Promise<rpc::HttpReply> Answer(const rpc::HttpRequest& request, const Gate::Passed& reader);
  Documents& documents() { return documents_; }

 private:
  struct PageBytes {
    std::string text, gzip;
  };
  struct KeptPage {
    uint64_t number = 0;  // of its document
    kj::Own<kj::ForkedPromise<std::shared_ptr<const PageBytes>>> bytes;
  };

  kj::Promise<rpc::HttpReply> AnswerDocument(const rpc::HttpRequest& request, const Gate::Passed& reader);
  kj::Promise<rpc::HttpReply> AnswerEvents(const std::string& query, const Gate::Passed& reader);
  kj::Promise<rpc::HttpReply> AnswerPage(const rpc::HttpRequest& request, PageInfo info, const Topic& topic);
  kj::Promise<std::shared_ptr<const PageBytes>> BytesOf(PageInfo info, const std::string& url, const Topic& topic,
                                                        const DocumentPtr& document);
  rpc::HttpReply MissingPage(const std::string& path, const Status& why) const;
  kj::Promise<void> SendEvents(kj::AsyncOutputStream& out, const Topic& topic, uint64_t number);
  rpc::HttpReply Html(unsigned status, std::string text) const;

  const Options options_;
  rpc::KjThread& kj_;
  Pool& pool_;
  const std::string policy_;
  Documents documents_;
  std::map<std::pair<std::string, std::string>, KeptPage> pages_;  // by URL, and the owner whose jobs are in it
  std::shared_ptr<size_t> streams_ = std::make_shared<size_t>(0);  // of events, now
};

}  // namespace mr::web
