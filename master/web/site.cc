#include "master/web/site.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/rpc/answer.h"
#include "master/web/render.h"
#include "master/web/replies.h"

namespace mr::web {
namespace {

constexpr std::string_view kApi = "/api/v1";
constexpr const char* kTextType = "text/plain; charset=utf-8";
// The age that a document may have when it is requested: people do not see it, and many pages share one reading (a
// guess).
constexpr Duration kAge = Millis(500);
constexpr size_t kKeptPages = 8;  // pages of documents that have not changed since; a guess

// Returns whether If-None-Match names this tag. Proxies that compress mark tags as weak.
bool HasTag(const std::string& if_none_match, const std::string& etag) {
  return if_none_match == "*" || if_none_match.find(etag) != std::string::npos;
}

// Makes the reply carry one of two forms of a text, which `owner` keeps.
template <class T>
void SetBody(const std::shared_ptr<const T>& owner, bool gzip, rpc::HttpReply* reply) {
  if (gzip) reply->headers.emplace_back("Content-Encoding", "gzip");
  reply->shared_body = std::shared_ptr<const std::string>(owner, gzip ? &owner->gzip : &owner->text);
}

std::string EventText(const char* name, const std::string& data) {
  return "event: " + std::string(name) + "\ndata: " + data + "\n\n";
}

// Returns the page of a URL, and its topic; nothing if there is no such page.
bool FindPage(std::string_view path, PageInfo* info, Topic* topic) {
  struct Named {
    std::string_view path;
    const char *view, *title;
    TopicKind kind;
  };
  constexpr Named kNamed[] = {{"/", "cluster", "Cluster", TopicKind::kCluster},
                              {"/store", "store", "Store", TopicKind::kStore},
                              {"/history", "history", "History", TopicKind::kJobs},
                              {"/scheduler", "scheduler", "Scheduler", TopicKind::kScheduler}};
  for (const Named& named : kNamed) {
    if (path != named.path) continue;
    info->view = named.view;
    info->title = std::string(named.title) + " - Paceline";
    topic->kind = named.kind;
    if (named.kind == TopicKind::kJobs) topic->states = {JobState::kSucceeded, JobState::kFailed, JobState::kKilled};
    info->source = "api/v1/" + PathOf(*topic);
    return true;
  }
  const bool job = path.starts_with("/jobs/");
  if (!job && !path.starts_with("/workers/")) return false;
  const std::string_view id = path.substr(path.find('/', 1) + 1);
  const auto parsed = ParseTopic((job ? "jobs/" : "workers/") + std::string(id) + (job ? "/report" : ""), "");
  if (!parsed.ok()) return false;
  *topic = *parsed;
  info->view = job ? "job" : "worker";
  info->id = id;
  info->root = "../";
  info->title = std::string(id) + " - Paceline";
  info->source = "api/v1/" + PathOf(*topic);
  return true;
}

}  // namespace

Site::Site(Options options, rpc::KjThread& kj, Pool& pool, Source& source)
    : options_(std::move(options)),
      kj_(kj),
      pool_(pool),
      policy_(PagePolicy()),
      documents_(kj, pool, source, options_.limits) {}

kj::Promise<rpc::HttpReply> Site::Answer(const rpc::HttpRequest& request, const Gate::Passed& reader) {
  switch (reader.route->kind) {
    case RouteKind::kIndex: return JsonReply(200, RenderIndex());
    case RouteKind::kEvents: return AnswerEvents(request.query, reader);
    case RouteKind::kDocument: return AnswerDocument(request, reader);
    case RouteKind::kPage: break;
    case RouteKind::kHealth:
    case RouteKind::kReady:
    case RouteKind::kMetrics:
    case RouteKind::kLogin:
    case RouteKind::kMissing: {
      const Status missing = NotFound("there is no document of this name; api/v1 lists them");
      if (request.path.starts_with(std::string(kApi) + "/")) return ErrorReply(missing, "");
      return MissingPage(request.path, NotFound("there is no such page"));
    }
  }
  PageInfo info;
  Topic topic;
  if (!FindPage(request.path, &info, &topic)) return MissingPage(request.path, NotFound("there is no such page"));
  topic.owner = OwnerSeen(*reader.route, reader.identity);
  info.release = options_.release;
  return AnswerPage(request, std::move(info), topic);
}

kj::Promise<rpc::HttpReply> Site::AnswerDocument(const rpc::HttpRequest& request, const Gate::Passed& reader) {
  auto topic = ParseTopic(request.path.substr(kApi.size() + 1), request.query);
  if (!topic.ok()) return ErrorReply(topic.status(), "");
  topic->owner = OwnerSeen(*reader.route, reader.identity);
  return documents_.Get(*topic, kAge)
      .then([gzip = request.gzip, known = request.if_none_match, topic = *topic](const DocumentPtr& document) {
        if (!document->status.ok()) return ErrorReply(document->status, "");
        rpc::HttpReply reply = JsonReply(HasTag(known, document->etag) ? 304 : 200, "");
        reply.headers.emplace_back("ETag", document->etag);
        if (topic.kind == TopicKind::kLog) {
          reply.content_type = kTextType;
          reply.headers.emplace_back("Content-Security-Policy", "default-src 'none'; sandbox");
        }
        if (reply.status == 200) SetBody(document, gzip, &reply);
        return reply;
      });
}

kj::Promise<rpc::HttpReply> Site::AnswerEvents(const std::string& query, const Gate::Passed& reader) {
  const auto parameters = ParseQuery(query);
  if (!parameters.ok()) return ErrorReply(parameters.status(), "");
  if (parameters->size() != 1 || parameters->front().first != "of") {
    return ErrorReply(InvalidArgument("events needs ?of=PATH, the path of a document below api/v1"), "");
  }
  const std::string& of = parameters->front().second;
  const size_t mark = std::min(of.find('?'), of.size());
  auto topic = ParseTopic(of.substr(0, mark), of.substr(std::min(mark + 1, of.size())));
  if (!topic.ok()) return ErrorReply(topic.status(), "");
  const Route& route = RouteOf(std::string(kApi) + "/" + of.substr(0, mark));
  if (route.kind != RouteKind::kDocument) return ErrorReply(NotFound("there is no document of this name"), "");
  if (const Status allowed = CheckRoute(route, reader.identity); !allowed.ok()) return ErrorReply(allowed, "");
  topic->owner = OwnerSeen(route, reader.identity);
  if (*streams_ >= options_.streams) {
    return ErrorReply(Unavailable("too many pages are open (" + std::to_string(options_.streams) + ")"),
                      "close some, or read the document now and then");
  }
  rpc::HttpReply reply;
  reply.content_type = "text/event-stream";
  // The last one keeps proxies from gathering events.
  reply.headers = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}, {"X-Accel-Buffering", "no"}};
  ++*streams_;
  reply.still_good = reader.still_good;
  reply.stream = [this, topic = *topic, counted = std::shared_ptr<void>(nullptr, [streams = streams_](void*) {
                                          --*streams;
                                        })](kj::AsyncOutputStream& out) { return SendEvents(out, topic, 0); };
  return reply;
}

kj::Promise<void> Site::SendEvents(kj::AsyncOutputStream& out, const Topic& topic, uint64_t number) {
  auto changed = documents_.Changed(topic, number);
  auto quiet =
      kj_.timer().afterDelay(options_.heartbeat.ns * kj::NANOSECONDS).then([]() -> DocumentPtr { return nullptr; });
  return changed.exclusiveJoin(kj::mv(quiet)).then([this, &out, topic, number](const DocumentPtr& document) {
    std::string text = ": still here\n\n";
    bool more = true;
    uint64_t next = number;
    if (document != nullptr && !document->status.ok()) {
      text = EventText("gone", "{}");
      more = false;
    } else if (document != nullptr) {
      // Tags are hexadecimal digits in double quotes.
      text = EventText("changed", "{\"etag\":" + document->etag + "}");
      if (document->final) text += EventText("final", "{}");
      more = !document->final;
      next = document->number;
    }
    auto bytes = kj::heap<std::string>(std::move(text));
    auto written = out.write(bytes->data(), bytes->size());
    return written.attach(kj::mv(bytes)).then([this, &out, topic, next, more]() -> kj::Promise<void> {
      if (!more) return kj::READY_NOW;
      return SendEvents(out, topic, next);
    });
  });
}

kj::Promise<rpc::HttpReply> Site::AnswerPage(const rpc::HttpRequest& request, PageInfo info, const Topic& topic) {
  return documents_.Get(topic, kAge)
      .then([this, info = std::move(info), url = request.path, topic,
             gzip = request.gzip](const DocumentPtr& document) -> kj::Promise<rpc::HttpReply> {
        if (!document->status.ok()) return MissingPage(url, document->status);
        return BytesOf(info, url, topic, document).then([this, gzip](const std::shared_ptr<const PageBytes>& bytes) {
          rpc::HttpReply reply = Html(200, "");
          SetBody(bytes, gzip, &reply);
          return reply;
        });
      });
}

kj::Promise<std::shared_ptr<const Site::PageBytes>> Site::BytesOf(PageInfo info, const std::string& url,
                                                                  const Topic& topic, const DocumentPtr& document) {
  const std::pair key(url, topic.owner);
  if (pages_.size() >= kKeptPages && !pages_.contains(key)) pages_.clear();
  KeptPage& kept = pages_[key];
  if (kept.bytes.get() == nullptr || kept.number != document->number) {
    info.etag = document->etag;
    auto answer = rpc::MakeAnswer<std::shared_ptr<const PageBytes>>(kj_);
    pool_.Post([fulfill = std::move(answer.fulfill), info, document] {
      auto bytes = std::make_shared<PageBytes>();
      bytes->text = PageText(info, document->text);
      bytes->gzip = Gzip(bytes->text);
      fulfill(std::move(bytes));
    });
    kept.number = document->number;
    kept.bytes = kj::heap<kj::ForkedPromise<std::shared_ptr<const PageBytes>>>(answer.promise.fork());
  }
  return kept.bytes->addBranch();
}

rpc::HttpReply Site::MissingPage(const std::string& path, const Status& why) const {
  PageInfo info;
  info.view = "missing";
  info.title = "Not found - Paceline";
  info.release = options_.release;
  for (const char c : path.substr(std::min<size_t>(1, path.size()))) {
    if (c == '/') info.root += "../";
  }
  return Html(HttpStatusOf(why), PageText(info, RenderError(why, "")));
}

rpc::HttpReply Site::Html(unsigned status, std::string text) const {
  rpc::HttpReply reply{status, std::move(text), "text/html; charset=utf-8"};
  reply.headers = {{"Cache-Control", "no-store"},        {"Vary", "Accept-Encoding"},
                   {"Content-Security-Policy", policy_}, {"X-Content-Type-Options", "nosniff"},
                   {"Referrer-Policy", "no-referrer"},   {"Cross-Origin-Opener-Policy", "same-origin"}};
  return reply;
}

}  // namespace mr::web
