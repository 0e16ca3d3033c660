// Messages of Cap'n Proto behind the verdict: two bytes choose a struct (the parameters or the results of a method that
// a daemon serves, or one that is translated by itself), the rest is a flat message with it. Everything that translates
// a struct to plain values gets it, under the limits of a connection. Parameters of the block store's interface are
// also called, on a namespace with two workers and two files.
#include <capnp/dynamic.h>
#include <capnp/message.h>
#include <capnp/schema.h>
#include <capnp/serialize.h>
#include <kj/async.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/model/stage_check.h"
#include "common/rpc/client_wire.h"
#include "common/rpc/control_wire.h"
#include "common/rpc/server.h"
#include "common/rpc/spec_wire.h"
#include "dfs/meta/service.h"
#include "master/host/worker_wire.h"
#include "schema/client.capnp.h"
#include "schema/control.capnp.h"
#include "schema/data.capnp.h"
#include "schema/dfs.capnp.h"
#include "schema/join.capnp.h"
#include "schema/served_interfaces.h"
#include "tests/fuzz/target.h"
#include "tests/support/anybody.h"

namespace mr::fuzz {
namespace {

// A namespace that answers at once. Fresh for each call, so that one input shows a crash again.
class Store final : public dfs::FsHost {
 public:
  Store() {
    Apply(dfs::MasterStarted{{}, {}});
    for (const uint32_t worker : {1u, 2u}) {
      Apply(dfs::WorkerJoined{{}, {worker}, 100 + worker, "host" + std::to_string(worker) + ":1", "", 0, 0, {}});
    }
    for (const char* path : {"/a", "/d/b"}) {
      (void)Do(namespace_.PrepareCreate(At(), path, false, 0, 0, path));
    }
  }
  kj::Promise<Changed> Mutate(PrepareFn prepare, std::function<void(const dfs::Namespace&)> then) override {
    Status status = Do(prepare(namespace_, At()));
    if (then) then(namespace_);
    return Changed(std::move(status));
  }
  kj::Promise<void> Query(std::function<void(const dfs::Namespace&)> fn) override {
    fn(namespace_);
    return kj::READY_NOW;
  }

 private:
  static dfs::Stamp At() { return {{}, 1'700'000'000'000}; }
  void Apply(const dfs::Record& record) {
    for (const dfs::Effect& effect : namespace_.Apply(record)) (void)dfs::TargetOf(effect);
  }
  Status Do(const dfs::Namespace::Prepared& prepared) {
    if (!prepared.ok()) return prepared.status();
    if (prepared->has_value()) Apply(**prepared);
    return Status::Ok();
  }

  dfs::Namespace namespace_{dfs::NamespaceConfig{}};
};

using Translate = std::function<void(capnp::DynamicStruct::Reader)>;

// Translators by the id of the struct.
class Translators {
 public:
  Translators() {
    Add<rpc::JobSpec>([](rpc::JobSpec::Reader in) {
      const mr::JobSpec spec = rpc::FromWire(in);
      (void)CheckStages(spec.stages);
      (void)CheckUri(spec.output_uri);
      (void)PrintableName(spec.name);
      // The journal keeps these bytes: what was read has to be read back.
      const std::string bytes = rpc::CanonicalBytes(spec);
      const auto again = rpc::SpecOfBytes(bytes);
      MR_CHECK(again.ok() && rpc::CanonicalBytes(*again) == bytes);
    });
    Add<rpc::Report>([](rpc::Report::Reader in) {
      (void)master::ReportFrom(in);
      (void)rpc::WireSize(rpc::FromWire(in));
    });
    Add<rpc::WorkerInfo>([](rpc::WorkerInfo::Reader in) {
      master::RegisterIn pages;
      master::AddPage(&pages, in.getInventory(), in.getRunning(), in.getBlocks());
      const master::RegisterIn all = master::RegisterFrom(in, std::move(pages));
      master::CheckListed(all);
    });
    AddFromWire<rpc::StageInfo>();
    AddFromWire<rpc::Command>();
    AddFromWire<rpc::CommandBatch>();
    AddFromWire<rpc::Progress>();
    AddFromWire<rpc::Replica>();
    AddFromWire<rpc::BlockReport>();
    AddFromWire<rpc::BlockLocation>();
    AddFromWire<rpc::Launch>();
    AddFromWire<rpc::StagedBlock>();
    AddFromWire<rpc::DiskRoom>();
    AddFromWire<rpc::JobStatus>();
    AddFromWire<rpc::QueueStatus>();
    AddFromWire<rpc::DrainStatus>();
    AddFromWire<rpc::JournalStatus>();
    AddFromWire<rpc::AttemptStatus>();
    AddFromWire<rpc::WorkerStatus>();
    AddFromWire<rpc::Decision>();
    AddFromWire<rpc::CounterValue>();
    Add<rpc::TaskStatus>([](rpc::TaskStatus::Reader in) { (void)rpc::FromWire(mr::JobId{1, 1}, in); });
    Add<rpc::FileStatus>([](rpc::FileStatus::Reader in) { (void)dfs::FromWire(in); });
    Add<rpc::StoreHealth>([](rpc::StoreHealth::Reader in) { (void)dfs::FromWire(in); });
  }
  const Translate* Find(capnp::StructSchema schema) const {
    const auto found = by_id_.find(schema.getProto().getId());
    return found == by_id_.end() ? nullptr : &found->second;
  }
  const std::vector<capnp::StructSchema>& schemas() const { return schemas_; }

 private:
  template <class T, class F>
  void Add(F translate) {
    const auto schema = capnp::Schema::from<T>();
    schemas_.push_back(schema);
    by_id_[schema.getProto().getId()] = [translate](capnp::DynamicStruct::Reader in) { translate(in.as<T>()); };
  }
  template <class T>
  void AddFromWire() {
    Add<T>([](typename T::Reader in) { (void)rpc::FromWire(in); });
  }

  std::map<uint64_t, Translate> by_id_;
  std::vector<capnp::StructSchema> schemas_;
};

struct Choice {
  capnp::StructSchema schema;
  bool called = false;  // parameters of FileSystem
  uint16_t method = 0;
};

// All that an input can choose.
const std::vector<Choice>& Choices() {
  static const std::vector<Choice>* const choices = [] {
    auto* all = new std::vector<Choice>();
    const auto add = [&](capnp::InterfaceSchema interface) {
      const bool called = interface == capnp::Schema::from<rpc::FileSystem>();
      for (const auto method : interface.getMethods()) {
        all->push_back({method.getParamType(), called, method.getOrdinal()});
        all->push_back({method.getResultType()});
      }
    };
#define MR_ADD(interface) add(capnp::Schema::from<interface>());
    MR_SERVED_INTERFACES(MR_ADD)
#undef MR_ADD
    const Translators translators;
    for (const auto schema : translators.schemas()) all->push_back({schema});
    return all;
  }();
  return *choices;
}

// Reads every field, and translates each struct that has a translator. most: elements that are read of a list; enough
// for loops over lists, and few enough for lists without bytes (2^29 of Void).
class Reader {
 public:
  void Read(capnp::DynamicStruct::Reader in) {
    if (const Translate* translate = translators_.Find(in.getSchema())) {
      // A struct that cannot be read throws, which closes the connection.
      (void)kj::runCatchingExceptions([&] { (*translate)(in); });
    }
    KJ_IF_MAYBE (field, in.which()) {
      if (field->getType().which() != capnp::schema::Type::INTERFACE) ReadValue(in.get(*field));
    }
    for (const auto field : in.getSchema().getNonUnionFields()) {
      if (field.getType().which() != capnp::schema::Type::INTERFACE) ReadValue(in.get(field));
    }
  }

 private:
  void ReadValue(const capnp::DynamicValue::Reader& value) {
    switch (value.getType()) {
      case capnp::DynamicValue::STRUCT: Read(value.as<capnp::DynamicStruct>()); break;
      case capnp::DynamicValue::LIST: {
        const auto list = value.as<capnp::DynamicList>();
        const auto element = list.getSchema().whichElementType();
        if (element == capnp::schema::Type::INTERFACE) break;
        constexpr uint kMost = 32;
        for (uint i = 0; i < std::min<uint>(list.size(), kMost); ++i) ReadValue(list[i]);
        break;
      }
      case capnp::DynamicValue::TEXT: bytes_ += value.as<capnp::Text>().size(); break;
      case capnp::DynamicValue::DATA: bytes_ += value.as<capnp::Data>().size(); break;
      default: break;
    }
  }

  const Translators translators_;
  size_t bytes_ = 0;
};

void Call(uint16_t method, capnp::DynamicStruct::Reader params) {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  Store store;
  capnp::Capability::Client files = dfs::MakeFileSystem(store, mr::test::Anybody());
  auto request = files.typelessRequest(capnp::Schema::from<rpc::FileSystem>().getProto().getId(), method, nullptr);
  request.setAs<capnp::DynamicStruct>(params);
  auto answer = request.send().ignoreResult().catch_([](kj::Exception&&) {}).eagerlyEvaluate(nullptr);
  scope.poll();
}

void Run(std::string_view bytes) {
  static Reader* const reader = new Reader();
  Input input(bytes);
  const Choice& choice = Choices()[input.Short() % Choices().size()];
  const std::string_view rest = input.Rest();
  kj::Array<capnp::word> words = kj::heapArray<capnp::word>(rest.size() / sizeof(capnp::word));
  memcpy(words.begin(), rest.data(), words.size() * sizeof(capnp::word));
  capnp::ReaderOptions options;
  options.traversalLimitInWords = rpc::LimitsFor(rpc::Role::kWorker).traversal_words;
  options.nestingLimit = rpc::LimitsFor(rpc::Role::kWorker).nesting;
  (void)kj::runCatchingExceptions([&] {
    capnp::FlatArrayMessageReader message(words, options);
    const auto root = message.getRoot<capnp::DynamicStruct>(choice.schema);
    if (choice.called) (void)kj::runCatchingExceptions([&] { Call(choice.method, root); });
    reader->Read(root);
  });
}

// Sets every field: numbers to 1, texts to a path, lists to two elements.
void Fill(capnp::DynamicStruct::Builder out, int depth);

void FillField(capnp::DynamicStruct::Builder out, capnp::StructSchema::Field field, int depth) {
  using Type = capnp::schema::Type;
  const auto type = field.getType();
  switch (type.which()) {
    case Type::BOOL: out.set(field, true); break;
    case Type::INT8:
    case Type::INT16:
    case Type::INT32:
    case Type::INT64:
    case Type::UINT8:
    case Type::UINT16:
    case Type::UINT32:
    case Type::UINT64:
    case Type::FLOAT32:
    case Type::FLOAT64: out.set(field, 1); break;
    case Type::TEXT: out.set(field, "/d/b"); break;
    case Type::DATA: out.init(field, 16); break;
    case Type::STRUCT:
      if (depth > 0) Fill(out.init(field).as<capnp::DynamicStruct>(), depth - 1);
      break;
    case Type::LIST:
      if (depth > 0 && type.asList().whichElementType() != Type::INTERFACE) {
        auto list = out.init(field, 2).as<capnp::DynamicList>();
        for (uint i = 0; i < 2; ++i) {
          if (type.asList().whichElementType() == Type::STRUCT) {
            Fill(list[i].as<capnp::DynamicStruct>(), depth - 1);
          } else if (type.asList().whichElementType() == Type::TEXT) {
            list.set(i, "/a");
          }
        }
      }
      break;
    default: break;
  }
}

void Fill(capnp::DynamicStruct::Builder out, int depth) {
  for (const auto field : out.getSchema().getNonUnionFields()) FillField(out, field, depth);
  const auto of_union = out.getSchema().getUnionFields();
  if (of_union.size() > 0) FillField(out, of_union[depth % of_union.size()], depth);
}

std::vector<std::string> Seeds() {
  constexpr int kDepth = 5;  // of a job's spec down to the ports of a stage
  std::vector<std::string> seeds;
  for (size_t i = 0; i < Choices().size(); ++i) {
    capnp::MallocMessageBuilder message;
    Fill(message.initRoot<capnp::DynamicStruct>(Choices()[i].schema), kDepth);
    const auto words = capnp::messageToFlatArray(message);
    std::string seed{static_cast<char>(i & 255), static_cast<char>(i >> 8)};
    seed.append(words.asChars().begin(), words.asChars().end());
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

}  // namespace

const Target kMessages{"messages", Run, Seeds};

}  // namespace mr::fuzz
