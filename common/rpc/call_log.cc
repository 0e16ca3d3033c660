#include "common/rpc/call_log.h"

#include <capnp/dynamic.h>

#include <algorithm>
#include <utility>

#include "common/base/ids.h"
#include "common/io/clock.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"
#include "schema/common.capnp.h"
#include "schema/control.capnp.h"
#include "schema/job.capnp.h"

namespace mr::rpc {
namespace {

constexpr size_t kTextBytes = 256;   // of one parameter: longer paths are cut; a guess
constexpr size_t kAllBytes = 2'048;  // of all parameters of a call

// Returns the short form of a value, or "" where it has none.
std::string ShortForm(const capnp::DynamicValue::Reader& value, capnp::Type type) {
  switch (value.getType()) {
    case capnp::DynamicValue::TEXT: {
      const auto text = value.as<capnp::Text>();
      return {text.begin(), std::min(text.size(), kTextBytes)};
    }
    case capnp::DynamicValue::BOOL: return value.as<bool>() ? "true" : "false";
    case capnp::DynamicValue::INT: return std::to_string(value.as<int64_t>());
    case capnp::DynamicValue::UINT: return std::to_string(value.as<uint64_t>());
    case capnp::DynamicValue::FLOAT: return std::to_string(value.as<double>());
    case capnp::DynamicValue::STRUCT: {
      const auto schema = type.asStruct();
      const auto inner = value.as<capnp::DynamicStruct>();
      if (schema == capnp::Schema::from<JobId>()) return Name(FromWire(inner.as<JobId>()));
      if (schema == capnp::Schema::from<AttemptId>()) {
        const auto id = FromWire(inner.as<AttemptId>());
        return Name(id.task.job) + " stage " + std::to_string(id.task.stage) + " task " + std::to_string(id.task.task) +
               " attempt " + std::to_string(id.number);
      }
      if (schema == capnp::Schema::from<WorkerRef>()) return std::to_string(inner.as<WorkerRef>().getId());
      if (schema == capnp::Schema::from<WorkerInfo>()) {
        return ShortForm(inner.get("name"), schema.getFieldByName("name").getType());
      }
      if (schema == capnp::Schema::from<JobSpec>()) {
        return ShortForm(inner.get("name"), schema.getFieldByName("name").getType());
      }
      return "";
    }
    default: return "";
  }
}

Code OutcomeOf(AnyCall& call, const MethodAccess& method) {
  const auto results = call.getResults().getAs<capnp::DynamicStruct>(method.results).asReader();
  KJ_IF_MAYBE (field, method.results.findFieldByName("outcome")) {
    if (field->getType() != capnp::Type(capnp::Schema::from<Outcome>())) return Code::kOk;
    return FromOutcome(results.get(*field).as<capnp::DynamicStruct>().as<Outcome>()).code();
  }
  KJ_IF_MAYBE (field, method.results.findFieldByName("result")) {
    if (field->getType() != capnp::Type(capnp::Schema::from<Registration>())) return Code::kOk;
    const auto result = results.get(*field).as<capnp::DynamicStruct>().as<Registration>();
    return FromOutcome(result.getOutcome()).code();
  }
  return Code::kOk;
}

// Returns the job that the answer of a submit names, as one more part of the object.
std::string NewJob(AnyCall& call, const MethodAccess& method) {
  KJ_IF_MAYBE (field, method.results.findFieldByName("job")) {
    const auto results = call.getResults().getAs<capnp::DynamicStruct>(method.results).asReader();
    return ", job=" + ShortForm(results.get(*field), field->getType());
  }
  return "";
}

// A call under way. If the connection breaks, nobody sees its answer: only the destructor runs then.
class UnderWay {
 public:
  UnderWay(GuardPtr guard, CallRecord record, std::shared_ptr<const CallNote> note)
      : guard_(std::move(guard)), record_(std::move(record)), note_(std::move(note)) {}
  ~UnderWay() { End(Code::kCancelled, ""); }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

  // more: for the object. Once; later calls do nothing.
  void End(Code code, const std::string& more) {
    if (std::exchange(ended_, true)) return;
    record_.code = code;
    record_.object += more;
    record_.sequence = note_->sequence;
    guard_->log->Called(std::move(record_));
  }

 private:
  const GuardPtr guard_;
  CallRecord record_;
  const std::shared_ptr<const CallNote> note_;
  bool ended_ = false;
};

}  // namespace

Status Guard::CheckGrant(const secure::Right& right, std::string_view grant) const {
  if (grants == nullptr) return Status::Ok();
  return grants->Check(identity, right, grant, {static_cast<int64_t>(WallClockMs() / 1000)});
}

std::string ParametersOf(AnyCall& call, const MethodAccess& method) {
  std::string all;
  const auto params = call.getParams().getAs<capnp::DynamicStruct>(method.params);
  for (const auto field : method.params.getFields()) {
    if (!field.getType().isBool() && !params.has(field, capnp::HasMode::NON_DEFAULT)) continue;
    const std::string value = ShortForm(params.get(field), field.getType());
    if (value.empty()) continue;
    all += (all.empty() ? "" : ", ") + std::string(field.getProto().getName().cStr()) + "=" + value;
    if (all.size() > kAllBytes) break;
  }
  all.resize(std::min(all.size(), kAllBytes));
  return all;
}

void RecordRefused(const Guard& guard, const std::string& interface, const MethodAccess& method, AnyCall& call,
                   Code code) {
  if (guard.log == nullptr || !method.changes) return;
  guard.log->Called({guard.identity, guard.peer, interface + "." + method.name, ParametersOf(call, method), code, 0});
}

kj::Promise<void> Recorded(kj::Promise<void> answered, const GuardPtr& guard, const std::string& interface,
                           const MethodAccess& method, std::string object, AnyCall call,
                           std::shared_ptr<const CallNote> note) {
  auto under_way = std::make_shared<UnderWay>(
      guard, CallRecord{guard->identity, guard->peer, interface + "." + method.name, std::move(object), Code::kOk, 0},
      std::move(note));
  return answered.then(
      [under_way, call, &method]() mutable -> kj::Promise<void> {
        const Code code = OutcomeOf(call, method);
        under_way->End(code, code == Code::kOk ? NewJob(call, method) : "");
        return kj::READY_NOW;
      },
      [under_way](kj::Exception&& e) -> kj::Promise<void> {
        under_way->End(FromException(e).code(), "");
        return kj::mv(e);
      });
}

}  // namespace mr::rpc
