// The master's site: pages for people, documents for programs, and events when a document changes. Read-only.
#pragma once

#include <kj/async-io.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "common/exec/pool.h"
#include "common/rpc/http_server.h"
#include "common/rpc/kj_thread.h"
#include "master/web/documents.h"
#include "master/web/hosts.h"
#include "master/web/page.h"

namespace mr::web {

// Thread: the KJ loop's.
class Site {
 public:
  struct Options {
    std::set<std::string> hosts;  // as of Hosts
    std::string release;
    size_t streams = 100;             // of events at the same time; more are refused
    Duration heartbeat = Seconds(5);  // between two events at most, so that dead connections are found
    Documents::Limits limits;
  };
  // Everything must outlive this object; the pool is stopped before it.
  Site(Options options, rpc::KjThread& kj, Pool& pool, Source& source);

  kj::Promise<rpc::HttpReply> Answer(const rpc::HttpRequest& request);
  // Errors: a browser asks for a page of another site, as in Hosts::Check. Programs, which may use any name, pass.
  Status MayRead(const rpc::HttpRequest& request) const;
  Documents& documents() { return documents_; }

 private:
  struct PageBytes {
    std::string text, gzip;
  };
  struct KeptPage {
    uint64_t number = 0;  // of its document
    kj::Own<kj::ForkedPromise<std::shared_ptr<const PageBytes>>> bytes;
  };

  kj::Promise<rpc::HttpReply> AnswerDocument(const rpc::HttpRequest& request, const std::string& path);
  kj::Promise<rpc::HttpReply> AnswerEvents(const std::string& query);
  kj::Promise<rpc::HttpReply> AnswerPage(const rpc::HttpRequest& request, PageInfo info, const Topic& topic);
  kj::Promise<std::shared_ptr<const PageBytes>> BytesOf(PageInfo info, const std::string& url,
                                                        const DocumentPtr& document);
  rpc::HttpReply MissingPage(const std::string& path, const Status& why) const;
  kj::Promise<void> SendEvents(kj::AsyncOutputStream& out, const Topic& topic, uint64_t number);
  rpc::HttpReply Html(unsigned status, std::string text) const;

  const Options options_;
  rpc::KjThread& kj_;
  Pool& pool_;
  const Hosts hosts_;
  const std::string policy_;
  Documents documents_;
  std::map<std::string, KeptPage> pages_;                          // by URL
  std::shared_ptr<size_t> streams_ = std::make_shared<size_t>(0);  // of events, now
};

}  // namespace mr::web
