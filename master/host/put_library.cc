// MasterForClient.putLibrary.
#include "common/rpc/kj_status.h"
#include "master/host/library_upload.h"
#include "master/host/shell.h"

namespace mr::master {

kj::Promise<void> AnswerPutLibrary(Shell& shell, uint64_t connection, PutLibraryContext context) {
  const auto params = context.getParams();
  const std::string sha256(params.getSha256().cStr());
  const auto data = params.getData();
  const uint64_t total = params.getTotalBytes(), offset = params.getOffset();
  if (!LibraryName(sha256) || data.size() > kUploadPiece || total > kMaxLibraryBytes || offset > total ||
      data.size() > total - offset || (data.size() == 0 && total != 0)) {
    rpc::ToOutcome(InvalidArgument("a library comes in pieces of at most 1 MiB, under its SHA-256, and has at most "
                                   "1 GiB"),
                   context.getResults().initOutcome());
    return kj::READY_NOW;
  }
  auto answer = rpc::MakeAnswer<Status>(shell.kj());
  // A name of this connection's own: two uploads of one library do not meet.
  shell.pool().Post(
      [directory = shell.options().directory + "/lib", part = "." + sha256 + "." + std::to_string(connection) + ".part",
       sha256, total, offset, bytes = std::string(reinterpret_cast<const char*>(data.begin()), data.size()),
       fulfill = std::move(answer.fulfill)] { fulfill(StorePiece(directory, part, sha256, total, offset, bytes)); });
  const bool last = offset + data.size() == total;
  return answer.promise
      .then([&shell, sha256, last](Status status) -> kj::Promise<Status> {
        if (!status.ok() || !last) return status;
        return shell.Ask([&master = shell.client_parts(), sha256] {
          master.libraries.Stored(sha256);
          return Status::Ok();
        });
      })
      .then([context](Status status) mutable { rpc::ToOutcome(status, context.getResults().initOutcome()); });
}

}  // namespace mr::master
