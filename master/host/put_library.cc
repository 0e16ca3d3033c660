// MasterForClient.putLibrary.
#include "common/io/clock.h"
#include "common/rpc/kj_status.h"
#include "master/host/library_upload.h"
#include "master/host/shell.h"

namespace mr::master {

kj::Promise<void> AnswerPutLibrary(Shell& shell, const Identity& caller, uint64_t connection,
                                   PutLibraryContext context) {
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
  // A name of this connection's own: two uploads of one library do not meet. Files of administrators count for nobody.
  const LibraryUpload upload{caller.HasAny(kAdmin) ? "" : caller.subject, sha256,
                             "." + sha256 + "." + std::to_string(connection) + ".part", total, connection};
  const bool last = offset + data.size() == total;
  return shell
      .Ask([&master = shell.client_parts(), upload, first = offset == 0] {
        return master.libraries.Admit(upload, first, Now());
      })
      .then(
          [&shell, upload, offset, last, bytes = std::string(reinterpret_cast<const char*>(data.begin()), data.size())](
              Status admitted) mutable -> kj::Promise<Status> {
            if (!admitted.ok()) return admitted;
            auto answer = rpc::MakeAnswer<Status>(shell.kj());
            shell.pool().Post(
                [&shell, upload, offset, last, bytes = std::move(bytes), fulfill = std::move(answer.fulfill)] {
                  const Status stored = StorePiece(shell.options().directory + "/lib", upload, offset, bytes);
                  const bool gone = stored.code() == Code::kCorrupted;
                  if (!gone && (!stored.ok() || !last)) return fulfill(stored);
                  // Here and not behind the answer, which is dropped if the connection closes meanwhile. The file
                  // stays.
                  shell.PostToMaster([&master = shell.client_parts(), upload, gone, stored, fulfill] {
                    if (gone)
                      master.libraries.PartRemoved(upload.part);
                    else
                      master.libraries.Finished(upload, Now());
                    fulfill(stored);
                  });
                });
            return kj::mv(answer.promise);
          })
      .then([context](Status status) mutable { rpc::ToOutcome(status, context.getResults().initOutcome()); });
}

}  // namespace mr::master
