#include "dfs/meta/service.h"

#include <kj/debug.h>

#include <algorithm>

#include "common/rpc/kj_status.h"
#include "dfs/meta/caller_files.h"

namespace mr::dfs {
namespace {

constexpr size_t kListBytes = 512 << 10;  // of a page of a list
// Files that one health answer names. A path has up to 4 KiB, and a message has space for many more.
constexpr uint32_t kMaxTroubles = 100;
// Files and blocks per turn of the owner's thread for a health answer: some milliseconds.
constexpr size_t kHealthSlice = 4096;

// The owner's time per file of a call for many, beyond that of the call (measured; kMostFilesOfCall).
constexpr Duration kFileCost = Micros(23);

// Each call reads its parameters into plain values, asks the host, and fills the results on the loop. Values computed
// on the owner's thread are in a shared box, which is read here only after the host's promise has resolved.

// Makes the files of one caller. Thread: the namespace's.
struct AsCaller {
  Caller caller;
  const AssignedAttempts* attempts = nullptr;
  CallerFiles operator()(const Namespace& ns) const { return {ns, caller, attempts}; }
};

class FileSystemImpl final : public rpc::Guarded<rpc::FileSystem> {
 public:
  FileSystemImpl(FsHost& host, rpc::GuardPtr guard) : Guarded(std::move(guard)), host_(host) {}

 protected:
  kj::Promise<void> create(CreateContext context) override {
    const auto p = context.getParams();
    auto box = std::make_shared<Created>();
    const std::string path = p.getPath().cStr();
    std::string request = p.getRequestId().cStr();
    const bool overwrite = p.getOverwrite();
    const uint32_t replication = p.getReplication();
    box->block_bytes = p.getBlockBytes();
    return host_
        .Mutate(
            [=, files = Files()](const Namespace& ns, const Stamp& now) -> Namespace::Prepared {
              auto prepared = files(ns).PrepareCreate(now, path, overwrite, replication, box->block_bytes, request);
              if (!prepared.ok()) return prepared;
              if (const auto& record = *prepared; record.has_value()) {
                box->lease = std::get<FileCreated>(*record).lease;
                box->block_bytes = std::get<FileCreated>(*record).block_bytes;
              } else {
                box->lease = ns.LeaseOf(request);
                if (box->block_bytes == 0) box->block_bytes = ns.config().block_bytes;
              }
              return prepared;
            },
            nullptr)
        .then([context, box, note = note()](const Changed& created) mutable {
          if (note != nullptr) note->sequence = created.sequence;
          auto results = context.getResults();
          rpc::ToOutcome(created.status, results.initOutcome());
          if (!created.ok()) return;
          results.setLease(box->lease);
          results.setBlockBytes(box->block_bytes);
        });
  }

  kj::Promise<void> addBlock(AddBlockContext context) override {
    const auto p = context.getParams();
    const uint64_t lease = p.getLease();
    const uint32_t index = p.getIndex();
    const std::string near = p.getNear().cStr();
    auto added = std::make_shared<BlockAdded>();
    auto located = std::make_shared<LocatedBlock>();
    return host_
        .Mutate(
            [=, files = Files()](const Namespace& ns, const Stamp& now) -> Namespace::Prepared {
              auto prepared = files(ns).PrepareAddBlock(now, lease, index, near);
              if (prepared.ok()) *added = std::get<BlockAdded>(**prepared);
              return prepared;
            },
            [=](const Namespace& ns) { *located = ns.Pipeline(*added); })
        .then([this, context, located](const Changed& added) mutable {
          auto results = context.getResults();
          rpc::ToOutcome(added.status, results.initOutcome());
          if (!added.ok()) return;
          host_.Grant(secure::Right::kWriteBlock, located.get());
          ToWire(*located, results.initBlock());
        });
  }

  kj::Promise<void> complete(CompleteContext context) override {
    const auto p = context.getParams();
    const uint64_t lease = p.getLease();
    std::vector<StagedBlock> blocks;
    for (const auto block : p.getBlocks()) blocks.push_back(FromWire(block));
    return Change(context, [lease, blocks, files = Files()](const Namespace& ns, const Stamp& now) {
      return files(ns).PrepareComplete(now, lease, blocks);
    });
  }

  kj::Promise<void> createFiles(CreateFilesContext context) override {
    const auto p = context.getParams();
    const auto paths = p.getPaths();
    if (Status refused = CheckCount(paths.size()); !refused.ok()) {
      rpc::ToOutcome(refused, context.getResults().initOutcome());
      return kj::READY_NOW;
    }
    const std::string requests = p.getRequestId().cStr(), near = p.getNear().cStr();
    const bool overwrite = p.getOverwrite();
    const uint32_t replication = p.getReplication();
    const uint64_t block_bytes = p.getBlockBytes();
    auto box = std::make_shared<std::vector<Started>>(paths.size());
    std::vector<FsHost::Change> changes;
    for (uint i = 0; i < paths.size(); ++i) {
      const std::shared_ptr<Started> file(box, &(*box)[i]);
      file->path = paths[i].cStr();
      changes.push_back(
          {[=, files = Files(), request = requests + "." + std::to_string(i)](const Namespace& ns, const Stamp& now) {
             auto prepared = files(ns).PrepareCreate(now, file->path, overwrite, replication, block_bytes, request);
             if (!prepared.ok()) return prepared;
             const auto& record = *prepared;
             file->lease = record ? std::get<FileCreated>(*record).lease : ns.LeaseOf(request);
             return prepared;
           },
           // Not called where the host refuses the record.
           [file](const Namespace&) { file->open = true; }});
      changes.push_back({[=, files = Files()](const Namespace& ns, const Stamp& now) -> Namespace::Prepared {
                           if (!file->open) return Unavailable(file->path + " was not started");
                           auto prepared = files(ns).PrepareAddBlock(now, file->lease, 0, near);
                           if (prepared.ok()) file->added = std::get<BlockAdded>(**prepared);
                           return prepared;
                         },
                         [file](const Namespace& ns) { file->located = ns.Pipeline(file->added); }});
    }
    Charge(kFileCost * static_cast<int64_t>(paths.size()));
    return host_.MutateAll(std::move(changes))
        .then([this, context, box, guard = guard(), note = note()](std::vector<Changed> done) mutable {
          auto files = context.getResults().initFiles(static_cast<uint>(box->size()));
          for (uint i = 0; i < files.size(); ++i) {
            Started& file = (*box)[i];
            const Changed &created = done[2 * i], &added = done[2 * i + 1];
            Note(guard, note, "create", "path=" + file.path, created);
            rpc::ToOutcome(created.ok() ? added.status : created.status, files[i].initOutcome());
            if (!created.ok()) continue;
            files[i].setLease(file.lease);
            if (!added.ok()) continue;
            host_.Grant(secure::Right::kWriteBlock, &file.located);
            ToWire(file.located, files[i].initBlock());
          }
        });
  }

  kj::Promise<void> completeFiles(CompleteFilesContext context) override {
    const auto filled = context.getParams().getFiles();
    if (Status refused = CheckCount(filled.size()); !refused.ok()) {
      rpc::ToOutcome(refused, context.getResults().initOutcome());
      return kj::READY_NOW;
    }
    std::vector<FsHost::Change> changes;
    auto leases = std::make_shared<std::vector<uint64_t>>();
    for (const auto file : filled) {
      leases->push_back(file.getLease());
      changes.push_back(
          {[lease = file.getLease(), block = FromWire(file.getBlock()), files = Files()](
               const Namespace& ns, const Stamp& now) { return files(ns).PrepareComplete(now, lease, {block}); },
           nullptr});
    }
    context.releaseParams();
    Charge(kFileCost * static_cast<int64_t>(leases->size()));
    return host_.MutateAll(std::move(changes))
        .then([context, leases, guard = guard(), note = note()](std::vector<Changed> done) mutable {
          auto outcomes = context.getResults().initOutcomes(static_cast<uint>(done.size()));
          for (uint i = 0; i < outcomes.size(); ++i) {
            Note(guard, note, "complete", "lease=" + std::to_string((*leases)[i]), done[i]);
            rpc::ToOutcome(done[i].status, outcomes[i]);
          }
        });
  }

  kj::Promise<void> abandon(AbandonContext context) override {
    const uint64_t lease = context.getParams().getLease();
    return Change(context, [lease, files = Files()](const Namespace& ns, const Stamp&) {
      return files(ns).PrepareAbandon(lease);
    });
  }

  kj::Promise<void> renew(RenewContext context) override {
    const uint64_t lease = context.getParams().getLease();
    return Change(context, [lease, files = Files()](const Namespace& ns, const Stamp& now) {
      return files(ns).PrepareRenew(now, lease);
    });
  }

  kj::Promise<void> mkdir(MkdirContext context) override {
    const std::string path = context.getParams().getPath().cStr();
    return Change(context, [path, files = Files()](const Namespace& ns, const Stamp& now) {
      return files(ns).PrepareMkdir(now, path);
    });
  }

  kj::Promise<void> remove(RemoveContext context) override {
    const std::string path = context.getParams().getPath().cStr();
    const bool recursive = context.getParams().getRecursive();
    return Change(context, [path, recursive, files = Files()](const Namespace& ns, const Stamp&) {
      return files(ns).PrepareRemove(path, recursive);
    });
  }

  kj::Promise<void> rename(RenameContext context) override {
    const std::string from = context.getParams().getFrom().cStr();
    const std::string to = context.getParams().getTo().cStr();
    return Change(context, [from, to, files = Files()](const Namespace& ns, const Stamp& now) {
      return files(ns).PrepareRename(now, from, to);
    });
  }

  kj::Promise<void> setReplication(SetReplicationContext context) override {
    const std::string path = context.getParams().getPath().cStr();
    const uint32_t replication = context.getParams().getReplication();
    return Change(context, [path, replication, files = Files()](const Namespace& ns, const Stamp&) {
      return files(ns).PrepareSetReplication(path, replication);
    });
  }

  kj::Promise<void> setOwner(SetOwnerContext context) override {
    const std::string path = context.getParams().getPath().cStr();
    const std::string owner = context.getParams().getOwner().cStr();
    return Change(context, [path, owner, files = Files()](const Namespace& ns, const Stamp&) {
      return files(ns).PrepareOwner(path, owner);
    });
  }

  kj::Promise<void> setReaders(SetReadersContext context) override {
    const std::string path = context.getParams().getPath().cStr();
    const bool all = context.getParams().getAll();
    return Change(context, [path, all, files = Files()](const Namespace& ns, const Stamp&) {
      return files(ns).PrepareReaders(path, all);
    });
  }

  kj::Promise<void> stat(StatContext context) override {
    const std::string path = context.getParams().getPath().cStr();
    auto box = std::make_shared<std::optional<Result<FileInfo>>>();
    return host_.Query([=, files = Files()](const Namespace& ns) { *box = files(ns).Stat(path); })
        .then([context, box]() mutable {
          auto results = context.getResults();
          rpc::ToOutcome((*box)->status(), results.initOutcome());
          if ((*box)->ok()) ToWire(***box, results.initStatus());
        });
  }

  kj::Promise<void> list(ListContext context) override {
    const std::string path = context.getParams().getPath().cStr();
    const std::string last = context.getParams().getAfter().cStr();
    auto box = std::make_shared<std::optional<Result<ListedFiles>>>();
    return host_
        .Query([=, files = Files()](const Namespace& ns) {
          *box = files(ns).List(path, last.substr(last.rfind('/') + 1), kListBytes);
        })
        .then([context, box]() mutable {
          auto results = context.getResults();
          rpc::ToOutcome((*box)->status(), results.initOutcome());
          if (!(*box)->ok()) return;
          const auto& infos = (**box)->entries;
          auto entries = results.initEntries(static_cast<uint>(infos.size()));
          for (uint i = 0; i < entries.size(); ++i) ToWire(infos[i], entries[i]);
          results.setMore((**box)->more);
        });
  }

  kj::Promise<void> locate(LocateContext context) override {
    const auto p = context.getParams();
    const std::string path = p.getPath().cStr();
    const std::string near = p.getNear().cStr();
    const uint64_t offset = p.getOffset();
    const uint64_t length = p.getLength();
    const uint64_t file = p.getFile();
    auto box = std::make_shared<std::optional<Result<LocatedFile>>>();
    return host_
        .Query([=, files = Files()](const Namespace& ns) {
          const CallerFiles found = files(ns);
          *box = file != 0 ? found.LocateFile(file, offset, length, near) : found.Locate(path, offset, length, near);
        })
        .then([this, context, box]() mutable {
          auto results = context.getResults();
          rpc::ToOutcome((*box)->status(), results.initOutcome());
          if (!(*box)->ok()) return;
          LocatedFile& file = ***box;
          for (LocatedBlock& block : file.blocks) host_.Grant(secure::Right::kReadBlock, &block);
          ToWire(file.info, results.initStatus());
          auto blocks = results.initBlocks(static_cast<uint>(file.blocks.size()));
          for (uint i = 0; i < blocks.size(); ++i) ToWire(file.blocks[i], blocks[i]);
          results.setInlineData(
              kj::arrayPtr(reinterpret_cast<const kj::byte*>(file.inline_data.data()), file.inline_data.size()));
        });
  }

  kj::Promise<void> health(HealthContext context) override {
    const size_t max = std::min<uint32_t>(context.getParams().getMaxFiles(), kMaxTroubles);
    auto walk = std::make_shared<HealthWalk>();
    return Walk(walk, max, Files()).then([context, walk]() mutable {
      ToWire(walk->health, context.getResults().initHealth());
    });
  }

 private:
  struct Created {
    uint64_t lease = 0;
    uint64_t block_bytes = 0;
  };

  // A file of createFiles. Written on the owner's thread, and read on the loop when all records are durable.
  struct Started {
    std::string path;
    bool open = false;
    uint64_t lease = 0;
    BlockAdded added;
    LocatedBlock located;
  };

  static Status CheckCount(size_t files) {
    if (files <= kMostFilesOfCall) return Status::Ok();
    return InvalidArgument("one call names " + std::to_string(files) + " files, and may name " +
                           std::to_string(kMostFilesOfCall));
  }

  // Records one file of a call for many in the audit log, as a call of its own.
  static void Note(const rpc::GuardPtr& guard, const std::shared_ptr<rpc::CallNote>& note, const char* method,
                   std::string object, const Changed& changed) {
    if (note == nullptr) return;
    note->sequence = std::max(note->sequence, changed.sequence);
    guard->log->Called({guard->identity, guard->peer, std::string("FileSystem.") + method, std::move(object),
                        changed.status.code(), changed.sequence});
  }

  AsCaller Files() const { return {caller(), host_.attempts()}; }

  // Walks to the end in parts, between which the thread serves others.
  kj::Promise<void> Walk(const std::shared_ptr<HealthWalk>& walk, size_t max_troubles, const AsCaller& files) {
    auto done = std::make_shared<bool>(false);
    return host_
        .Query([=](const Namespace& ns) { *done = files(ns).AddHealth(walk.get(), kHealthSlice, max_troubles); })
        .then([this, walk, done, max_troubles, files]() -> kj::Promise<void> {
          if (*done) return kj::READY_NOW;
          return Walk(walk, max_troubles, files);
        });
  }

  // Calls with only an outcome as answer.
  template <class Context>
  kj::Promise<void> Change(Context context, FsHost::PrepareFn prepare) {
    context.releaseParams();
    return host_.Mutate(std::move(prepare), nullptr).then([context, note = note()](const Changed& changed) mutable {
      if (note != nullptr) note->sequence = changed.sequence;
      rpc::ToOutcome(changed.status, context.getResults().initOutcome());
    });
  }

  FsHost& host_;
};

}  // namespace

kj::Promise<std::vector<Changed>> FsHost::MutateAll(std::vector<Change> changes) {
  auto promises = kj::heapArrayBuilder<kj::Promise<Changed>>(changes.size());
  for (Change& change : changes) promises.add(Mutate(std::move(change.prepare), std::move(change.then)));
  return kj::joinPromises(promises.finish()).then([](kj::Array<Changed> done) {
    return std::vector<Changed>(std::make_move_iterator(done.begin()), std::make_move_iterator(done.end()));
  });
}

rpc::FileSystem::Client MakeFileSystem(FsHost& host, rpc::GuardPtr guard) {
  return kj::heap<FileSystemImpl>(host, std::move(guard));
}

}  // namespace mr::dfs
